"""How many programs Hypothesis writes for the rule machines: a few with every test run, thousands with `--soak`."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings

_SOAKS = not settings().derandomize
_PHASES = (Phase.explicit, Phase.reuse, Phase.generate)

MARKS = [pytest.mark.machine, *([pytest.mark.timeout(0)] if _SOAKS else [])]


def machine(programs: int) -> settings:
    """So many programs, the same with every run; with `--soak` as many as its profile says, other ones each time.

    The fixed ones are not made smaller when they fail: that takes long, and each is replayed as it is.
    """
    return settings(
        phases=(*_PHASES, Phase.shrink) if _SOAKS else _PHASES,
        max_examples=settings().max_examples if _SOAKS else programs,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
