"""Hypothesis writes programs of scaling, evictions and faults; every one is played and judged to its end.

After all of it everything is healed; then every follower reaches its leader, every zone its reference, every pod its
revision, each in the time that the contract gives it (L1 to L5). `HYPOTHESIS_PROFILE=soak` plays many more.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.chaos.scaled_steps import ScaledProgram, scaled_programs

SOAKS = not settings().derandomize
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
machine = settings(
    phases=(*PHASES, Phase.shrink) if SOAKS else PHASES,
    max_examples=settings().max_examples if SOAKS else 30,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
pytestmark = [pytest.mark.timeout(0)] if SOAKS else []


@machine
@given(scaled_programs())
def test_whatever_happens_zones_are_scaled_and_pods_evicted_in_safety_and_to_the_end(program: ScaledProgram) -> None:
    program.play()
