"""Hypothesis writes programs of rollouts, disturbances and faults; every one is played and judged to its end.

After all of it everything is healed, and then every rollout must come to its end (L1).
`HYPOTHESIS_PROFILE=soak` plays many more, other ones each time.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.chaos.steps import Program, programs, quiet_programs

SOAKS = not settings().derandomize
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
# The fixed examples of every run are not made smaller when they fail: that takes long, and each is replayed as it is.
machine = settings(
    phases=(*PHASES, Phase.shrink) if SOAKS else PHASES,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
pytestmark = [pytest.mark.timeout(0)] if SOAKS else []


@machine
@given(programs())
def test_whatever_happens_no_invariant_breaks_and_rollouts_end(program: Program) -> None:
    program.play()


@machine
@given(quiet_programs())
def test_where_only_operators_touch_pods_nothing_is_excused(program: Program) -> None:
    """The witness judges by the truth alone, however late watches are and whatever becomes of operators."""
    program.play()
