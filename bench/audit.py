"""What a user wrote, as the API server's audit log tells it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
from msgspec import Struct

CONFLICT = 409
LEASES, EVENTS = "leases", "events"
REVIEWS = ("tokenreviews", "subjectaccessreviews")
"""Questions that are asked by creating them."""


class _Reference(Struct, frozen=True):
    resource: str = ""
    subresource: str = ""


class _Answer(Struct, frozen=True):
    code: int = 0


class Line(Struct, frozen=True, rename="camel"):
    """One request that was answered."""

    verb: str
    object_ref: _Reference = _Reference()
    response_status: _Answer = _Answer()

    @property
    def what(self) -> str:
        """Like `patch statefulsets` or `update leaderworkersets/status`."""
        reference = self.object_ref
        return f"{self.verb} {'/'.join(filter(None, (reference.resource, reference.subresource)))}"


class Written(Struct, frozen=True):
    """Requests that would change something, refused ones among them."""

    by_kind: dict[str, int] = {}
    """But for leases and Events."""
    conflicts: int = 0
    """Of those."""
    events: int = 0

    @property
    def writes(self) -> int:
        return sum(self.by_kind.values())


_decode = msgspec.json.Decoder(Line).decode


class AuditLog:
    """The log of a running plane; each look tells what came since the last one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0

    def since_last(self) -> Written:
        with self._path.open("rb") as file:
            file.seek(self._at)
            whole, _, _ = file.read().rpartition(b"\n")
        self._at += len(whole) + 1 if whole else 0
        return counted([_decode(line) for line in whole.splitlines()])


def counted(lines: list[Line]) -> Written:
    kinds: Counter[str] = Counter()
    conflicts = events = 0
    for line in lines:
        resource = line.object_ref.resource
        if resource == EVENTS:
            events += 1
        elif resource not in (LEASES, *REVIEWS):
            kinds[line.what] += 1
            conflicts += line.response_status.code == CONFLICT
    return Written(dict(kinds.most_common()), conflicts, events)
