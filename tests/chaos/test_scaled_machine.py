"""Hypothesis writes programs of scaling, evictions and faults; every one is played and judged to its end.

After all of it everything is healed; then every follower reaches its leader, every zone its reference, every pod its
revision, each in the time that the contract gives it (L1 to L5). `make soak` plays many more.
"""

from __future__ import annotations

from hypothesis import given

from tests.chaos.machine import MARKS, machine
from tests.chaos.scaled_steps import ScaledProgram, scaled_programs

pytestmark = MARKS
PROGRAMS = 4


@machine(PROGRAMS)
@given(scaled_programs())
def test_whatever_happens_zones_are_scaled_and_pods_evicted_in_safety_and_to_the_end(program: ScaledProgram) -> None:
    program.play()
