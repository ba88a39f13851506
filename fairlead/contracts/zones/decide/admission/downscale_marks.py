"""The mark of a downscale in progress: one per group, or per zone without one (rule 45, H-3).

It is in a record that is replaced by compare-and-swap, read before the lists that a downscale is judged by and taken
after them. Had they been read first, another downscale could begin and end between the lists and the record, and both
would be admitted.
A mark that has expired counts as none, so a replica that dies holds nobody back for longer. It says when it was taken
and until when it counts, by the clock of whoever took it; others count its length from when they first read it, since
two replicas may have different times of day.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from math import ceil

import msgspec
from msgspec import Struct

from fairlead.core.ask import Ask, Good, ReadRecord, SwapRecord
from kubeloop.objects.apps import StatefulSet
from kubeloop.unreadable import UNREADABLE

END_SECONDS = 1.0
"""For ending a mark before the answer is sent; after that it is tried again afterwards."""


class DownscaleMark(Struct, frozen=True):
    zone: str
    until: datetime
    at: datetime | None = None
    """When it was written, by the same clock as `until`; None: by an earlier release, which compared times."""

    def counts(self, age: float | None, now: datetime) -> bool:
        """Whether its time is not over; `age` are the seconds for which it is known here."""
        if self.at is None or age is None:
            return now < self.until
        return timedelta(seconds=age) < self.until - self.at


def question(namespace: str, group: str) -> Ask:
    return Ask(ReadRecord(f"downscale/{namespace}/{group}"))


def own_question(zone: StatefulSet) -> Ask:
    """Of a zone that has no group; no group has a name like this."""
    return Ask(ReadRecord(f"downscale/{zone.metadata.namespace}//{zone.metadata.name}"))


def in_progress(answer: Good, now: datetime) -> str:
    """The zone that is being downscaled, empty when none is; a record that is not ours to read is none."""
    if not answer.value:
        return ""
    try:
        mark = msgspec.json.decode(answer.value, type=DownscaleMark)
        return mark.zone if mark.counts(answer.age, now) else ""
    except (*UNREADABLE, msgspec.MsgspecError, TypeError):
        return ""


def taken(asked: Ask, answer: Good, zone: str, now: datetime, length: timedelta) -> Ask:
    """Puts the mark where nothing has changed since the record was read."""
    value = msgspec.json.encode(DownscaleMark(zone, now + length, now))
    return _swap(asked, answer, value, asked.timeout, ceil(length.total_seconds()))


def ended(asked: Ask, begun: Good) -> Ask:
    """Takes away the mark that was put, unless it expired and is another's by then.

    The version of the record does not come back with it: one that did would let a request pass that had read the record
    before all this began.
    """
    return _swap(asked, begun, b"", END_SECONDS)


def _swap(asked: Ask, last: Good, value: bytes, timeout: float, lasts: int = 0) -> Ask:
    if not isinstance(asked.to, ReadRecord):
        raise TypeError("a mark is kept in a record")
    return Ask(SwapRecord(asked.to.record, last.version, value, lasts), effect=True, timeout=timeout)
