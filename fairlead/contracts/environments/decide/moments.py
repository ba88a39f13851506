"""When to look again: spread over a range, so that many environments do not all come at once.

The place in the range derives from who looks and when, because a decision knows no randomness.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import blake2b

SOON = (5.0, 9.0)
"""Seconds between looks while something is waited for."""
LATER = (2400.0, 3599.0)
"""Seconds between looks when nothing is."""
BALANCER = timedelta(seconds=1)
"""Between looks at a Balancer that is not ready."""


def soon(uid: str, now: datetime) -> datetime:
    return _within(SOON, uid, now)


def later(uid: str, now: datetime) -> datetime:
    return _within(LATER, uid, now)


def _within(bounds: tuple[float, float], uid: str, now: datetime) -> datetime:
    least, most = bounds
    return now + timedelta(seconds=least + (most - least) * fraction(uid, now))


def fraction(uid: str, now: datetime) -> float:
    """From 0 up to but not including 1, always the same for the same two."""
    digest = blake2b(f"{uid} {now.isoformat()}".encode(), digest_size=6).digest()
    return int.from_bytes(digest) / 2**48
