"""What operators write, known on the wire: by the version that came of a write, or by the pod that was to go.

So an event of the cluster can be told to be an operator's own, on clusters that keep no record of writers as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from msgspec import Struct

from kubeloop import clock
from kubeloop.request import Request, Response, Stream, Transport, place_of
from tests import invariants

if TYPE_CHECKING:
    from tests.e2e.history import Event

_READING = ("get", "list", "watch")


class Writer(Struct, frozen=True):
    name: str
    """Of one life of one operator."""
    pace: float
    """Least seconds between two passes of a group; 0 when there is no such rule."""


class Written(Struct, frozen=True):
    by: Writer
    at: float
    """Loop time at which it was sent."""


class Notes:
    """The writes of all operators of a site."""

    def __init__(self) -> None:
        self._lives = 0
        self._versions: dict[tuple[str, str, str], Written] = {}
        self._deleted: dict[str, Written] = {}

    def begin(self, identity: str, pace: float) -> Writer:
        """The writer of a life that begins now."""
        self._lives += 1
        return Writer(f"{identity}-{self._lives}", pace)

    def noting(self, transport: Transport, writer: Writer) -> Transport:
        """The transport, whose writes are noted as that writer's."""
        return _Noting(transport, self, writer)

    def of(self, plural: str, name: str, version: int) -> Written | None:
        """The write that made this version; None when it was no operator's."""
        return self._versions.get((plural, name, str(version)))

    def judged(self, events: Iterable[Event]) -> Iterable[invariants.Event]:
        """The events in the words of the invariants, each with its writer where that is an operator.

        Only the first event of a deletion is the deleter's; that the pod goes at last is not.
        """
        ending: set[str] = set()
        for event in events:
            metadata, plural = event.object["metadata"], event.resource.plural
            written = self.of(plural, event.name, event.version)
            if event.type == "DELETED" or "deletionTimestamp" in metadata:
                written = None if metadata["uid"] in ending else self._deleted.get(metadata["uid"])
                ending.add(metadata["uid"])
            if written is None:
                yield invariants.Event(plural, event.type, event.object)
            else:
                by = written.by
                yield invariants.Event(plural, event.type, event.object, by.name, written.at, by.pace)

    def note(self, request: Request, body: bytes, written: Written) -> None:
        """Takes in what came of a request that succeeded."""
        place = place_of(request.path)
        if request.method == "DELETE":
            options = json.loads(request.body or b"{}")
            self._deleted[options.get("preconditions", {}).get("uid", "")] = written
            return
        metadata = json.loads(body).get("metadata", {})
        if version := metadata.get("resourceVersion"):
            self._versions[place.plural, metadata.get("name", ""), version] = written


class _Noting:
    def __init__(self, transport: Transport, notes: Notes, writer: Writer) -> None:
        self._transport = transport
        self._notes = notes
        self._writer = writer

    async def send(self, request: Request) -> Response:
        sent = Written(self._writer, clock.monotonic())
        response = await self._transport.send(request)
        if request.verb not in _READING and response.status < 300 and ("dryRun", "All") not in request.query:
            self._notes.note(request, response.body, sent)
        return response

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._transport.stream(request)
