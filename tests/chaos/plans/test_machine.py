"""Hypothesis writes programs of edits, failures and faults; every one is played and judged to its end.

At every moment I-1 to I-10 and I-12 hold, by a referee that watches the store from outside. After all of it everything
is healed; then every rollout comes to its end in time (L-1 to L-5) and is written to no more, all rollouts can be
deleted, and a new one finishes what they left. `make soak` plays many more.
"""

from __future__ import annotations

from hypothesis import given

from tests.chaos.machine import MARKS, machine
from tests.chaos.plans.programs import (
    DISTURBED,
    EVERYTHING,
    IN_PLACE,
    PAIRS,
    QUIET,
    REVISED,
    REVISED_QUIETLY,
    REVISIONS,
    RolloutProgram,
    rollout_programs,
)

pytestmark = MARKS
PROGRAMS = 2


@machine(PROGRAMS)
@given(rollout_programs(PAIRS, EVERYTHING))
def test_whatever_happens_a_pair_is_rolled_in_safety_and_to_the_end(program: RolloutProgram) -> None:
    program.play()


@machine(PROGRAMS)
@given(rollout_programs(PAIRS, QUIET))
def test_whatever_operators_meet_a_pair_succeeds(program: RolloutProgram) -> None:
    program.play()


@machine(PROGRAMS)
@given(rollout_programs(REVISIONS, REVISED))
def test_whatever_happens_revisions_are_made_and_rolled_in_safety_and_to_the_end(program: RolloutProgram) -> None:
    program.play()


@machine(PROGRAMS)
@given(rollout_programs(REVISIONS, REVISED_QUIETLY))
def test_whatever_operators_meet_revisions_succeed(program: RolloutProgram) -> None:
    program.play()


@machine(PROGRAMS)
@given(rollout_programs((*PAIRS, *IN_PLACE), DISTURBED))
def test_whatever_people_do_rollouts_end(program: RolloutProgram) -> None:
    program.play()


@machine(PROGRAMS)
@given(rollout_programs(IN_PLACE, EVERYTHING))
def test_whatever_happens_pods_are_updated_in_place_in_safety_and_to_the_end(program: RolloutProgram) -> None:
    program.play()
