"""How many groups a rollout may take away and how many it may add (section 3.10 point 1)."""

from __future__ import annotations

import re

from msgspec import Struct

from fairlead.contracts.leaderworker.kinds import IntOrPercent, RollingUpdate
from fairlead.core.rounding import Rounding, scaled

_PERCENT = re.compile(r"[0-9]{1,9}%")


class Budget(Struct, frozen=True):
    """`unavailable` groups may be missing of those that are wanted, `surge` groups may be there beyond them."""

    unavailable: int
    surge: int
    unreadable: tuple[str, ...] = ()
    """A sentence for each value that counts as the field's default because it is neither a number nor a percentage."""

    @property
    def max_unavailable_leaders(self) -> int:
        """What the leader StatefulSet is told: all that may be replaced at once, and never nothing."""
        return max(1, self.unavailable + self.surge)


def budget(asked: RollingUpdate, replicas: int) -> Budget:
    """25 % of 10 groups are 2 to be unavailable, rounded down, and 3 to surge, rounded up.

    Both may come out as nothing although groups are wanted: `scale` passes no webhook that would refuse it. The rollout
    would then never move, so that one group may be unavailable.
    """
    unreadable: list[str] = []
    unavailable = _amount("maxUnavailable", asked.max_unavailable, 1, replicas, Rounding.DOWN, unreadable)
    surge = min(_amount("maxSurge", asked.max_surge, 0, replicas, Rounding.UP, unreadable), replicas)
    if unavailable == surge == 0 and replicas > 0:
        unavailable = 1
    return Budget(unavailable, surge, tuple(unreadable))


def _amount(field: str, value: IntOrPercent, default: int, of: int, rounding: Rounding, unreadable: list[str]) -> int:
    if isinstance(value, int) and value >= 0:
        return value
    if isinstance(value, str) and _PERCENT.fullmatch(value):
        return scaled(int(value[:-1]), of, rounding)
    unreadable.append(
        f"{field} is {value!r}, which is neither a number of groups nor a percentage; {default} is used instead"
    )
    return default
