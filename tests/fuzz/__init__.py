"""Random requests to the embedded cluster and to a real one, whose answers must not tell them apart.

An area draws scenarios, which are cases of `tests.exchanges` that nobody wrote: the same seed draws the same ones.
Every step goes to both clusters, and the masked answers are compared. `python -m tests.fuzz` looks further than the
tests do, and prints the smallest scenario that still shows a difference.
"""
