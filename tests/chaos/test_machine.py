"""Hypothesis writes programs of rollouts, disturbances and faults; every one is played and judged to its end.

After all of it everything is healed, and then every rollout must come to its end (L1).
`make soak` plays many more, other ones each time.
"""

from __future__ import annotations

from hypothesis import given

from tests.chaos.machine import MARKS, machine
from tests.chaos.steps import Program, programs, quiet_programs

pytestmark = MARKS
PROGRAMS = 10


@machine(PROGRAMS)
@given(programs())
def test_whatever_happens_no_invariant_breaks_and_rollouts_end(program: Program) -> None:
    program.play()


@machine(PROGRAMS)
@given(quiet_programs())
def test_where_only_operators_touch_pods_nothing_is_excused(program: Program) -> None:
    """The witness judges by the truth alone, however late watches are and whatever becomes of operators."""
    program.play()
