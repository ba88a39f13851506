"""The note of a preparation: an annotation of the StatefulSet that says which of its pods may be prepared, since when.

It is written before the first pod is called, so that whoever comes after a crash knows whom to tell that they stay.
A downscale that takes place makes it void: the pods are gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import pairwise

import msgspec
from msgspec import Struct

from fairlead.api.apps import STATEFULSETS, StatefulSet
from fairlead.api.integers import parse_integer
from fairlead.api.meta import Ref
from fairlead.api.times import format_rfc3339, parse_rfc3339
from fairlead.api.zones import PREPARING
from fairlead.decide.act import Does, Patch, PatchKind

FRESH_FOR = timedelta(seconds=30)
"""A repetition so soon leaves the note as it is: the API server repeats a review whose object has changed meanwhile."""
MOST_ORDINALS = 10_000
"""How many a note may name; one that names more is none of ours."""


class Note(Struct, frozen=True):
    since: datetime
    ordinals: frozenset[int]


def note_of(zone: StatefulSet) -> Note | None:
    """None without a note, and with one that cannot be read: it tells nothing about any pod."""
    time, _, text = zone.metadata.annotations.get(PREPARING, "").partition(" ")
    try:
        return Note(parse_rfc3339(time), _ordinals(text))
    except ValueError:
        return None


def existing(zone: StatefulSet) -> range:
    """The ordinals that the zone is to have."""
    return range(zone.spec.ordinals.start, zone.spec.ordinals.start + zone.spec.replicas)


def noted(zone: StatefulSet, ordinals: Iterable[int], now: datetime) -> Patch | None:
    """Adds these to the pods that may be prepared; None where the note is fresh and names them."""
    last = note_of(zone)
    wanted = frozenset(ordinals)
    if last is not None:
        if wanted <= last.ordinals and abs(now - last.since) < FRESH_FOR:
            return None
        wanted |= {ordinal for ordinal in last.ordinals if ordinal in existing(zone)}
    text = f"{format_rfc3339(now)} {_text(wanted)}"
    body = {"metadata": {"annotations": {PREPARING: text}}}
    return _patch(zone, text, PatchKind.MERGE, msgspec.json.encode(body))


def forgotten(zone: StatefulSet, text: str) -> Patch:
    """Takes away the note that reads so, and no other."""
    path = f"/metadata/annotations/{PREPARING.replace('/', '~1')}"
    steps = [{"op": "test", "path": path, "value": text}, {"op": "remove", "path": path}]
    return _patch(zone, "", PatchKind.JSON, msgspec.json.encode(steps))


def _patch(zone: StatefulSet, text: str, kind: PatchKind, body: bytes) -> Patch:
    metadata = zone.metadata
    return Patch(
        does=Does.NOTE_PREPARATION,
        scope=metadata.uid,
        change_from=metadata.annotations.get(PREPARING, ""),
        change_to=text,
        ref=Ref(STATEFULSETS, metadata.namespace, metadata.name, metadata.uid),
        kind=kind,
        body=body,
    )


def _text(ordinals: Iterable[int]) -> str:
    """`0,3-5` for 0, 3, 4 and 5."""
    ordered = sorted(ordinals)
    starts = [ordered[0], *(later for one, later in pairwise(ordered) if later - one > 1)]
    ends = [*(one for one, later in pairwise(ordered) if later - one > 1), ordered[-1]]
    return ",".join(str(one) if one == end else f"{one}-{end}" for one, end in zip(starts, ends, strict=True))


def _ordinals(text: str) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        run = range(parse_integer(first), parse_integer(last if dash else first) + 1)
        if run.stop - run.start + len(found) > MOST_ORDINALS:
            raise ValueError("too many ordinals")
        found.update(run)
    return frozenset(found)
