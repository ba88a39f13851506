"""Hypothesis writes programs of edits, failures and faults; every one is played and judged to its end.

At every moment S1 to S8 and S10 to S13 hold, by a referee that watches the store from outside. After all of it
everything is healed; then every set comes to where its spec wants it, in time (L1 to L5), and is written to no more,
also by who starts (S7, S9). `make soak` plays many more.
"""

from __future__ import annotations

from hypothesis import given

from tests.chaos.leaderworker.steps import DISTURBED, EVERYTHING, QUIET, SetProgram, set_programs
from tests.chaos.machine import MARKS, machine

pytestmark = MARKS
PROGRAMS = 2


@machine(PROGRAMS)
@given(set_programs(EVERYTHING))
def test_whatever_happens_groups_are_rolled_out_in_safety_and_to_the_end(program: SetProgram) -> None:
    program.play()


@machine(PROGRAMS)
@given(set_programs(DISTURBED))
def test_whatever_people_and_pods_do_groups_are_rolled_out_in_safety_and_to_the_end(program: SetProgram) -> None:
    program.play()


@machine(PROGRAMS)
@given(set_programs(QUIET))
def test_whatever_operators_meet_the_budget_is_kept(program: SetProgram) -> None:
    """Nobody touches the pods, so that nothing is excused."""
    program.play()
