"""RFC 3339 as the contracts write it: read with an offset or `Z` and any fraction, written in whole seconds UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache

_RFC_3339 = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]+))?(Z|[+-][0-9]{2}:[0-9]{2})", re.ASCII
)


@lru_cache(maxsize=1024)  # a status is read many times for every time that is written into it
def parse_rfc3339(text: str) -> datetime:
    """The moment, in UTC; digits below a microsecond are cut. ValueError says how to write it."""
    found = _RFC_3339.fullmatch(text)
    if found is None:
        raise ValueError(_wrong(text))
    seconds, fraction, offset = found.groups()
    try:
        exact = f"{seconds}.{(fraction or '0')[:6].ljust(6, '0')}{'+00:00' if offset == 'Z' else offset}"
        return datetime.fromisoformat(exact).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(_wrong(text)) from error


def _wrong(text: str) -> str:
    shown = text if len(text) <= 40 else f"{text[:37]}..."
    return f'"{shown}" is not a time: write for example 2026-03-01T12:00:00Z'


def format_rfc3339(moment: datetime) -> str:
    """In UTC, with the fraction of the second cut off."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"
