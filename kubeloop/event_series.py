"""What was told lately: which Events are still to be written, and which may yet repeat."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from msgspec import Struct

from kubeloop.event_objects import EventKey, Repetition
from kubeloop.objects.meta import Ref

SERIES_SECONDS = 600.0
"""A repetition after a longer silence is a new Event."""
SPACING = 10.0
LONGEST_SPACING = 300.0
"""Seconds between two writes of one Event that repeats, doubling from SPACING; less than SERIES_SECONDS, so that the
last count of a series is written before the next series begins."""
MOST_REMEMBERED = 1000
MOST_UNWRITTEN = 10_000
"""Hundreds of rollouts that start together tell more than can be written at once; none of that is to be lost."""


class Series(Struct):
    """One Event; `written` is the count that was sent last, or given up, 0 before the first time."""

    name: str
    first: datetime
    last: datetime
    told_at: float
    due: float
    """Loop time before which its count is not written again, unless the object has other news."""
    spacing: float = SPACING
    """Seconds from its next write to the one after that."""
    count: int = 1
    written: int = 0
    of_all: bool = False
    """Whether its name is the same in every process that tells of it."""

    @property
    def told(self) -> Repetition:
        return Repetition(self.first, self.last, self.count)

    @property
    def is_unwritten(self) -> bool:
        return self.count > self.written


class ToldSeries:
    """Series by what they tell, each kind the least recent first; those that are unwritten by their object as well."""

    def __init__(self) -> None:
        self._unwritten: dict[EventKey, Series] = {}
        self._written: dict[EventKey, Series] = {}
        self._about: dict[Ref, dict[EventKey, None]] = defaultdict(dict)
        """Keys of what is unwritten."""

    def __len__(self) -> int:
        return len(self._unwritten) + len(self._written)

    def __iter__(self) -> Iterator[EventKey]:
        yield from self._unwritten
        yield from self._written

    def __contains__(self, key: EventKey) -> bool:
        return key in self._unwritten or key in self._written

    def get(self, key: EventKey) -> Series | None:
        return self._unwritten.get(key) or self._written.get(key)

    def pop(self, key: EventKey) -> Series | None:
        found = self.get(key)
        if found is not None:
            self._forget(key)
        return found

    def put(self, key: EventKey, series: Series) -> None:
        """As the most recent one of its kind."""
        self._forget(key)
        if series.is_unwritten:
            self._unwritten[key] = series
            self._about[key.about][key] = None
        else:
            self._written[key] = series

    def unwritten_about(self, about: Ref) -> list[tuple[EventKey, Series]]:
        return [(key, self._unwritten[key]) for key in self._about.get(about, ())]

    def make_room(self, moment: float) -> int:
        """Forgets what is over by loop time, and the oldest of what is too much; how many were never written whole."""
        while self._written:
            key, oldest = next(iter(self._written.items()))
            if moment - oldest.told_at < SERIES_SECONDS and len(self._written) <= MOST_REMEMBERED:
                break
            self._forget(key)
        lost = len(self._unwritten) - MOST_UNWRITTEN
        for key in list(islice(self._unwritten, max(0, lost))):
            self._forget(key)
        return max(0, lost)

    def _forget(self, key: EventKey) -> None:
        self._written.pop(key, None)
        if self._unwritten.pop(key, None) is not None:
            del self._about[key.about][key]
            if not self._about[key.about]:
                del self._about[key.about]
