"""Which certificate authorities a definition's `caBundle` holds, from the first sight of one to its end.

An authority is published before anything is served under it, and stays for two reload intervals after nothing is: the
replicas read their files at different times, and one that still shows the old certificate must go on being trusted.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

MOST = 8
"""Authorities in a bundle that holds some which were left: those left first go; what is in use stays."""
INTERVALS_KEPT = 2


class Known(Struct, frozen=True):
    """An authority in the files, behind what is served, or found in a bundle."""

    pem: bytes
    not_after: datetime
    left_at: datetime | None = None
    """Since when nothing here is, or is about to be, served under it; None while something is."""


def bundle(known: tuple[Known, ...], now: datetime, interval: timedelta) -> tuple[Known, ...]:
    """The authorities to trust: those in use, then those left less than two intervals ago, the latest first."""
    used = [each for each in known if each.left_at is None]
    left = sorted(
        (each for each in known if _stays(each, now, interval)), key=lambda each: each.left_at or now, reverse=True
    )
    return (*used, *left[: max(MOST - len(used), 0)])


def next_change(known: tuple[Known, ...], now: datetime, interval: timedelta) -> datetime | None:
    """When the first of them will have been left for long enough; None when none has been left."""
    ends = [_end(each.left_at, interval) for each in known if each.left_at is not None and _stays(each, now, interval)]
    return min(ends, default=None)


def _stays(each: Known, now: datetime, interval: timedelta) -> bool:
    return each.left_at is not None and each.not_after > now and now < _end(each.left_at, interval)


def _end(left_at: datetime, interval: timedelta) -> datetime:
    return left_at + INTERVALS_KEPT * interval
