"""Storage migration with proof: every object is written in the storage version, checked, and the others are forgotten.

`steps` has the state machine, `journal` what it remembers; the other modules are what its states do.
"""
