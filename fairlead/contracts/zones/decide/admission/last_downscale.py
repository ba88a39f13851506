"""How near the last downscales of a group are: of the zone itself (H-4), and of the others (section 3.11 step 9)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from fairlead.contracts.zones.decide.admission.spacing import min_time_of
from fairlead.contracts.zones.kinds import LAST_DOWNSCALE, MIN_TIME
from fairlead.core.times import format_rfc3339, parse_rfc3339
from kubeloop.durations import format_go, parse_go
from kubeloop.objects.apps import StatefulSet

REPEATED_WITHIN = timedelta(seconds=30)
"""A downscale so soon after the last of the same zone is taken for a repetition of it."""


def annotated(zone: StatefulSet) -> datetime | None:
    """When the zone's annotation says it was last downscaled; ValueError when that is no time."""
    text = zone.metadata.annotations.get(LAST_DOWNSCALE)
    if text is None:
        return None
    try:
        return parse_rfc3339(text)
    except ValueError as error:
        raise ValueError(f"annotation {LAST_DOWNSCALE} of {zone.metadata.name}: {error}") from error


def min_time(zone: StatefulSet) -> timedelta | None:
    """How long other zones wait after a downscale of this one; None for not at all, ValueError for no duration."""
    text = min_time_of(zone)
    if text is None:
        return None
    try:
        return timedelta(seconds=parse_go(text))
    except ValueError as error:
        raise ValueError(f"{MIN_TIME} of {zone.metadata.name}: {error}") from error


def is_repetition(last: datetime | None, zone: StatefulSet, now: datetime) -> bool:
    """H-4: whether a downscale of the zone at `last` is so near that its time is left as it is.

    Within min(30 s, half the min-time): 30 s for 12h, 5 s for 10s. A time a little ahead is that of a replica whose
    clock goes before ours; one far ahead is wrong, and is replaced.
    """
    if last is None:
        return False
    try:
        least = min_time(zone)
    except ValueError:
        least = None
    within = min(REPEATED_WITHIN, least / 2) if least is not None and least > timedelta() else REPEATED_WITHIN
    return abs(now - last) < within


def if_ahead(last: datetime, now: datetime) -> str:
    """What helps where the time of a downscale lies further ahead than that of a replica whose clock goes before ours;
    empty where it does not."""
    if last - now <= REPEATED_WITHIN:
        return ""
    return ", or correct that time, which lies ahead, in its annotation or in the zone tracker"


def too_soon(others: Sequence[StatefulSet], last: Callable[[StatefulSet], datetime | None], now: datetime) -> str:
    """Section 3.11 step 9: what keeps the group from another downscale, empty when nothing does.

    A time in the future has not passed, so it counts as too soon (E-19).
    """
    try:
        for zone in others:
            done = last(zone)
            least = None if done is None else min_time(zone)
            if done is None or least is None or now - done >= least:
                continue
            left = math.ceil((least - (now - done)).total_seconds())
            return (
                f"{zone.metadata.name} was downscaled at {format_rfc3339(done)} and other zones wait "
                f"{format_go(least.total_seconds())} after that; try again in {format_go(left)}{if_ahead(done, now)}"
            )
    except ValueError as error:
        return f"{error}; correct or remove it"
    return ""
