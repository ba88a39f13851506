"""How many pods of a zone may be not ready at once: the annotation `rollout-max-unavailable` (section 2.2, B-1)."""

from __future__ import annotations

from msgspec import Struct

from fairlead.contracts.zones.kinds import MAX_UNAVAILABLE
from fairlead.core.integers import parse_integer
from fairlead.core.rounding import Rounding, scaled
from kubeloop.objects.apps import StatefulSet


class Budget(Struct, frozen=True, gc=False):
    limit: int
    problem: str = ""
    """Why the annotation was not used, in words for its author; empty when there is no problem."""


ONE = Budget(1)


def max_unavailable(zone: StatefulSet) -> Budget:
    """The zone's budget, never below 1.

    A percentage is of `spec.replicas`, rounded down: 25 % of 10 pods is 2, 50 % of 3 is 1, 10 % of 3 is 0 and thus 1.
    """
    text = zone.metadata.annotations.get(MAX_UNAVAILABLE)
    if text is None:
        return ONE
    given = text.strip()
    if given.endswith("%"):
        percent = integer(given[:-1])
        if percent is None or not 1 <= percent <= 100:
            return Budget(1, f"{shown(text)} is not a percentage from 1% to 100%")
        return Budget(max(1, scaled(percent, zone.spec.replicas, Rounding.DOWN)))
    number = integer(given)
    if number is None or number < 1:
        return Budget(1, f"{shown(text)} is not a number above 0 or a percentage")
    return Budget(number)


def integer(text: str) -> int | None:
    try:
        return parse_integer(text)
    except ValueError:
        return None


def shown(text: str) -> str:
    """Quoted for a message, cut where it is too long for one."""
    return f'"{text}"' if len(text) <= 40 else f'"{text[:37]}..."'
