"""The record of evictions that were let pass, one per budget: what is on its way down though nothing shows it yet.

A mark counts for two minutes, and only for the very pod it was made for, while that is Running. A pod of the same name
with another UID has begun anew as Pending, so the one that was marked is gone and its successor speaks for itself.

Two replicas may have different times of day, and one may be set meanwhile. So a mark says how much of its time was left
when the record was written, and whoever reads it counts by its own clock for how long the record has stood so. One that
has never read it before takes it for new: a mark may count for longer than it should, and never for less.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta, Struct

from fairlead.core.ask import Good
from kubeloop.objects.core import Pod
from kubeloop.unreadable import UNREADABLE

KEPT = timedelta(minutes=2)
LASTS = int(KEPT.total_seconds())
"""Seconds after which no mark of a record counts, if nobody writes it again."""
LINGERS = timedelta(seconds=30)
"""How long a mark stays after its pod was seen to be over: a review, which lasts no longer, may have listed the pod
before that and read the record after it."""


class AllowedEviction(Struct, frozen=True, omit_defaults=True):
    uid: str
    until: Annotated[datetime, Meta(tz=True)]
    at: Annotated[datetime, Meta(tz=True)] | None = None
    """When the record was written, by the same clock as `until`; None: by an earlier release, which compared times."""


Marks: TypeAlias = Mapping[str, AllowedEviction]
"""By the pod's name."""


def read(record: bytes) -> Marks:
    """A record that cannot be understood protects nobody, as one that was removed; the next swap replaces it."""
    try:
        return msgspec.json.decode(record, type=dict[str, AllowedEviction]) if record else {}
    except UNREADABLE:
        return {}


def recalled(record: Good, now: datetime) -> Marks:
    """The marks, their ends by the clock that says `now`."""
    return {name: AllowedEviction(each.uid, _end(each, record.age, now)) for name, each in read(record.value).items()}


def _end(mark: AllowedEviction, age: float | None, now: datetime) -> datetime:
    """Of a mark with 90 s left when the record was written, which is known for 20 s: in 70 s."""
    if mark.at is None or age is None:
        return min(mark.until, now + KEPT)
    left = min(max(mark.until - mark.at, timedelta()), KEPT)
    return now + left - timedelta(seconds=age)


def is_marked(pod: Pod, marks: Marks, now: datetime) -> bool:
    """Whether the pod was let go and is still there."""
    mark = marks.get(pod.metadata.name)
    return mark is not None and mark.uid == pod.metadata.uid and now < mark.until and pod.status.phase == "Running"


def mark(pods: Iterable[Pod], marks: Marks, now: datetime) -> Marks:
    """With marks for these as well."""
    return {**marks, **{pod.metadata.name: AllowedEviction(pod.metadata.uid, now + KEPT) for pod in pods}}


def written(marks: Marks, listed: Iterable[Pod], now: datetime) -> bytes:
    """The record without the marks that no longer count: past their time; that of a pod seen to be over ends soon."""
    over = {pod.metadata.name for pod in listed if not is_marked(pod, marks, now)}
    ends = {name: min(each.until, now + LINGERS) if name in over else each.until for name, each in marks.items()}
    kept = {name: AllowedEviction(marks[name].uid, ends[name], now) for name in sorted(marks) if now < ends[name]}
    return msgspec.json.encode(kept) if kept else b""
