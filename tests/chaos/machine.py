"""How many programs Hypothesis writes for the rule machines: a few with every test run, thousands with `--soak`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, Phase, settings

SOAKS = not settings().derandomize
_PHASES = (Phase.explicit, Phase.reuse, Phase.generate)

MARKS = [pytest.mark.machine, *([pytest.mark.timeout(0)] if SOAKS else [])]

T = TypeVar("T", bound=Callable[..., None])


def soaked(test: T) -> T:
    """Marks one test as `MARKS` do the tests of a file."""
    for mark in MARKS:
        mark(test)
    return test


def machine(programs: int) -> settings:
    """So many programs, the same with every run; with `--soak` as many as its profile says, other ones each time.

    The fixed ones are not made smaller when they fail: that takes long, and each is replayed as it is.
    """
    return settings(
        phases=(*_PHASES, Phase.shrink) if SOAKS else _PHASES,
        max_examples=settings().max_examples if SOAKS else programs,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
