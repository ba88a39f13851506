"""Conclusions that several rules and views draw from one Snapshot are drawn once and carried by it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import TypeVar, cast

from fairlead.contracts.zones.decide.seen import Snapshot

T = TypeVar("T")


def once(conclude: Callable[[Snapshot, datetime], T]) -> Callable[[Snapshot, datetime], T]:
    """The same function, which works its answer out once for a Snapshot and a moment.

    An answer must not hold the Snapshot: the two would keep each other, and with them old versions of pods, until the
    next collection of garbage.
    """

    @wraps(conclude)
    def carried(seen: Snapshot, now: datetime) -> T:
        known = seen.conclusions.get(conclude)
        if known is not None and known[0] == now:
            return cast("T", known[1])
        answer = conclude(seen, now)
        seen.conclusions[conclude] = now, answer
        return answer

    return carried
