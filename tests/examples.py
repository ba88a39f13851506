"""How many examples Hypothesis writes for a property: a few with every test run, a thousand with `--soak`."""

from __future__ import annotations

from hypothesis import settings


def examples(few: int) -> settings:
    """So many, the same with every run; with `--soak` as many as its profile says, other ones each time."""
    is_soaked = not settings().derandomize
    return settings(max_examples=settings().max_examples if is_soaked else few, deadline=None)
