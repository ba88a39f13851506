"""Hypothesis writes programs of edits, failures and faults; every one is played and judged to its end.

At every moment S1 to S7, S9 and S12 to S14 hold, by a referee that watches the store and environmentd from outside.
After all of it everything is healed; then the environment comes to where its spec wants it, in time, and is written to
no more (L1 to L4, L6, L7). `make soak` plays many more.
"""

from __future__ import annotations

from hypothesis import given

from tests.chaos.environments.steps import (
    EVERYTHING,
    OPERATORS,
    PEOPLE,
    EnvironmentProgram,
    environment_programs,
)
from tests.chaos.machine import MARKS, machine

pytestmark = MARKS
PROGRAMS = 2


@machine(PROGRAMS)
@given(environment_programs(EVERYTHING))
def test_whatever_happens_environments_are_rolled_out_in_safety_and_to_the_end(program: EnvironmentProgram) -> None:
    program.play()


@machine(PROGRAMS)
@given(environment_programs(PEOPLE))
def test_whatever_people_do_environments_are_rolled_out_in_safety_and_to_the_end(program: EnvironmentProgram) -> None:
    program.play()


@machine(PROGRAMS)
@given(environment_programs(OPERATORS))
def test_whatever_operators_meet_environments_are_rolled_out_in_safety_and_to_the_end(
    program: EnvironmentProgram,
) -> None:
    program.play()
