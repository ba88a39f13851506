"""Rights that are missing, from the refusal to the first sign of the right.

A right may be granted for some namespaces or names only, so each is remembered with the places where it was missed, and
is there again when all of them are answered. People hear of the first, for as long as it is missed there. What needed
it may be gone, so that nobody ever tries again: a place is forgotten when the right was not missed there for a day.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from msgspec import Struct

from kubeloop import clock
from kubeloop.errors import ApiError, Forbidden
from kubeloop.request import Request
from kubeloop.rights import Missed, Right, missed_by, place_in

PERMITTED = (404, 409, 422)
"""Answered to whoever has the right."""
MOST = 100
"""Rights that are remembered; whoever lacks more lacks them all."""
MOST_PLACES = 100
"""Places of one right that are remembered; what goes on elsewhere misses it there again."""
REMEMBERED = timedelta(days=1)
"""Since the right was missed at a place for the last time: all that is tried again is tried more often."""


class Times(Struct, frozen=True):
    """Of a right at one place."""

    first: datetime
    last: datetime


class MissedRights:
    """Of one process; `heard` is what its clients call."""

    def __init__(self) -> None:
        self._missed: dict[Right, dict[Missed, Times]] = {}
        """With a place each at least; the first of them is told."""
        self._forget_at: datetime | None = None
        """No place is to be forgotten before that."""
        self._handlers: list[Callable[[Missed, bool], None]] = []

    def __contains__(self, missed: Missed) -> bool:
        return missed in self._missed.get(missed.right, ())

    def all(self) -> tuple[Missed, ...]:
        """The first place of each."""
        return tuple(_first(self._missed[each]) for each in sorted(self._missed))

    def of(self, name: str) -> Missed | None:
        """Of the right with this name, the first place."""
        return next((_first(places) for right, places in self._missed.items() if right.name == name), None)

    def since(self, missed: Missed) -> datetime:
        """When it was missed there for the first time; of one that is missed."""
        return self._missed[missed.right][missed].first

    def subscribe(self, handler: Callable[[Missed, bool], None]) -> None:
        """Called when a right was missed that was not, and when it is told of a place no more: True if it is there."""
        self._handlers.append(handler)

    def heard(self, request: Request, refusal: ApiError | None) -> None:
        """A request was answered; None: it was carried out."""
        if isinstance(refusal, Forbidden):
            if (missed := missed_by(request, refusal.message)) is not None:
                self._miss(missed, clock.now())
        elif self._missed and (refusal is None or refusal.status in PERMITTED):
            self.granted(place_in(request))
        if self._missed:
            self._forget_old(clock.now())

    def granted(self, missed: Missed) -> None:
        """The right is there, where it was missed."""
        if missed in self:
            self._drop(missed, is_there=True)

    def forget(self) -> None:
        """Whoever stops to do what needed them hears no more of them; what it goes on with misses them again."""
        self._missed.clear()

    def _miss(self, missed: Missed, now: datetime) -> None:
        places = self._missed.get(missed.right, {})
        if missed in places:
            places[missed] = Times(places[missed].first, now)
        elif places:
            if len(places) < MOST_PLACES:
                places[missed] = Times(now, now)
        elif len(self._missed) < MOST:
            self._missed[missed.right] = {missed: Times(now, now)}
            self._tell(missed, is_there=False)

    def _forget_old(self, now: datetime) -> None:
        if self._forget_at is not None and now < self._forget_at:
            return
        times = [
            (missed, each.last + REMEMBERED) for places in self._missed.values() for missed, each in places.items()
        ]
        for missed, end in times:
            if end <= now:
                self._drop(missed, is_there=False)
        self._forget_at = min((end for _, end in times if end > now), default=None)

    def _drop(self, missed: Missed, *, is_there: bool) -> None:
        places = self._missed[missed.right]
        del places[missed]
        if not places:
            del self._missed[missed.right]
        self._tell(missed, is_there=is_there)

    def _tell(self, missed: Missed, *, is_there: bool) -> None:
        for handler in self._handlers:
            handler(missed, is_there)


def _first(places: dict[Missed, Times]) -> Missed:
    return next(iter(places))
