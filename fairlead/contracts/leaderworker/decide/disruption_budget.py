"""How many groups evictions may take at once (section 6.8): what a set asks for, and what that comes to in pods."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from fairlead.contracts.leaderworker.kinds import DISRUPTION_BUDGET, LeaderWorkerSet
from fairlead.core.integers import parse_integer
from fairlead.core.rounding import Rounding, scaled

_PERCENT = re.compile(r"[0-9]{1,3}%")
_WHOLE = 100


class Allowance(Struct, frozen=True):
    groups: int | None = None
    """That may be disturbed at once; None: nobody asks for a bound."""
    problem: str = ""
    """Why the annotation counts as absent; empty where it does not."""

    def bounds(self, replicas: int) -> bool:
        """Whether evictions are bounded; a budget that every group fits into would only block drains for ever."""
        return self.groups is not None and self.groups < replicas

    def is_idle(self, replicas: int) -> bool:
        """Whether it is asked for and bounds nothing, though there are groups."""
        return self.groups is not None and 0 < replicas <= self.groups


def allowance_of(seen: LeaderWorkerSet) -> Allowance:
    """`2` is two groups; `40%` of 4 groups is one, rounded down, and of 2 groups one, since none would be no budget."""
    asked = seen.metadata.annotations.get(DISRUPTION_BUDGET)
    if asked is None:
        return Allowance()
    groups = _groups(asked, seen.spec.replicas)
    if groups is not None:
        return Allowance(groups)
    return Allowance(
        problem=f"{DISRUPTION_BUDGET} is {asked!r}, which is neither a number of groups from 1 nor a percentage of"
        " them; it is ignored"
    )


def _groups(asked: str, replicas: int) -> int | None:
    if _PERCENT.fullmatch(asked):
        percent = int(asked[:-1])
        return max(1, scaled(percent, replicas, Rounding.DOWN)) if percent <= _WHOLE else None
    try:
        groups = parse_integer(asked, bits=32)
    except ValueError:
        return None
    return groups if groups >= 1 else None


def least_pods(groups: int, sizes: Iterable[int]) -> int:
    """How many pods stay when the largest groups are away: of sizes 3, 3 and 2 with one group away, 5."""
    ordered = sorted(sizes, reverse=True)
    return sum(ordered[groups:])
