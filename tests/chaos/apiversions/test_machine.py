"""Hypothesis writes programs of writes, commands and trouble; every one is played and judged to its end.

At every moment I1 to I6, I8 to I10, I14 and I17 hold, by a referee that watches the store and what is shown from
outside. After all of it everything is healed; then every version shows what people asked for, a migration ends where an
undisturbed one would (I7, I15), somebody leads soon (I16), and whoever starts writes nothing (I12). `make soak` plays
many more.
"""

from __future__ import annotations

from hypothesis import given

from tests.chaos.apiversions.handled_steps import HandledProgram, handled_programs
from tests.chaos.apiversions.offline import OfflineProgram, offline_programs
from tests.chaos.apiversions.steps import EVERYTHING, QUIET, TROUBLED, ApiProgram, api_programs
from tests.chaos.machine import MARKS, machine

pytestmark = MARKS
PROGRAMS = 3


@machine(PROGRAMS)
@given(api_programs(QUIET))
def test_whatever_people_ask_for_every_version_shows_it(program: ApiProgram) -> None:
    program.play()


@machine(PROGRAMS)
@given(api_programs(TROUBLED))
def test_whatever_operators_and_commands_meet_nothing_is_lost(program: ApiProgram) -> None:
    program.play()


@machine(PROGRAMS)
@given(api_programs(EVERYTHING))
def test_whatever_people_do_to_definitions_all_comes_right(program: ApiProgram) -> None:
    program.play()


@machine(PROGRAMS)
@given(offline_programs())
def test_whoever_is_killed_an_offline_upgrade_loses_nothing(program: OfflineProgram) -> None:
    program.play()


@machine(PROGRAMS)
@given(handled_programs())
def test_whichever_version_of_the_operator_runs_objects_are_handled_by_one(program: HandledProgram) -> None:
    program.play()
