"""Which Events a controller writes of those it tells, as client-go decides it.

What repeats is counted in one Event. Ten different texts for one reason about one object within ten minutes, and the
tenth and all that follow share an Event that shows the last of them. About one object a controller writes 25 Events at
once, repetitions included, and one more every five minutes; what is beyond that is counted, if it repeats something,
and never written.
"""

from __future__ import annotations

from collections.abc import Hashable
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from msgspec import Struct

V = TypeVar("V")

MOST_REMEMBERED = 4096
MOST_TEXTS = 10
TEXTS_WITHIN = timedelta(seconds=600)
BURST = 25
SECONDS_EACH = 300.0
COMBINED = "(combined from similar events): "


class _Remembered(Generic[V]):
    """The entries that were used last, so many of them."""

    def __init__(self) -> None:
        self._entries: dict[Hashable, V] = {}

    def get(self, key: Hashable) -> V | None:
        return self._entries.get(key)

    def put(self, key: Hashable, entry: V) -> None:
        self._entries.pop(key, None)
        self._entries[key] = entry
        if len(self._entries) > MOST_REMEMBERED:
            del self._entries[next(iter(self._entries))]


class _Texts(Struct):
    """What was said about one object for one reason."""

    texts: dict[str, None]
    last: datetime


class Told(Struct):
    """One Event."""

    name: str
    first: datetime
    is_combined: bool
    count: int = 0
    text: str = ""


class Correlator:
    """What one component has told; a subject is an object and whether it is warned of."""

    def __init__(self) -> None:
        self._texts: _Remembered[_Texts] = _Remembered()
        self._told: _Remembered[Told] = _Remembered()
        self._allowed: _Remembered[tuple[float, datetime]] = _Remembered()
        """How many Events may be written of a subject, and as of when."""

    def told(self, subject: Hashable, reason: str, text: str, name: str, now: datetime) -> Told | None:
        """The Event that tells it, counted, to be created under this name if it is new; None to leave it unwritten."""
        is_combined = self._is_one_of_many(subject, reason, text, now)
        key = (subject, reason) if is_combined else (subject, reason, text)
        found = self._told.get(key)
        if found is None:
            found = Told(name, now, is_combined)
        found.count += 1
        found.text = COMBINED + text if is_combined else text
        self._told.put(key, found)
        return found if self._may_write(subject, now) else None

    def _is_one_of_many(self, subject: Hashable, reason: str, text: str, now: datetime) -> bool:
        said = self._texts.get((subject, reason))
        if said is None or now - said.last > TEXTS_WITHIN:
            said = _Texts({}, now)
        said.texts[text] = None
        said.last = now
        self._texts.put((subject, reason), said)
        if len(said.texts) < MOST_TEXTS:
            return False
        del said.texts[next(iter(said.texts))]
        return True

    def _may_write(self, subject: Hashable, now: datetime) -> bool:
        left, since = self._allowed.get(subject) or (float(BURST), now)
        left = min(float(BURST), left + (now - since).total_seconds() / SECONDS_EACH)
        is_allowed = left >= 1.0
        self._allowed.put(subject, (left - is_allowed, now))
        return is_allowed
