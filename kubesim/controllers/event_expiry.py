"""Events go an hour after they were last written, as the lease that the server keeps them under runs out."""

from __future__ import annotations

import asyncio

from kubeloop import clock
from kubeloop.objects.meta import Resource
from kubesim.kinds.registry import CORE_EVENTS
from kubesim.store.store import Store
from kubesim.store.versions import Author, Event, Key

SECONDS = 3600.0
SHARED = 60.0
"""Seconds within which what is written shares a lease: so much longer may an Event stay."""
_SERVER = Author("system:apiserver", "delete")


class Expiry:
    """Of the Events of one cluster; what was there before it was made stays an hour more."""

    def __init__(self, store: Store) -> None:
        self._table = store.table(CORE_EVENTS)
        self._written: dict[Key, float] = {}
        """When each was written last, in this order."""
        self._some = asyncio.Event()
        store.listen(self._wrote, CORE_EVENTS)

    def _wrote(self, _resource: Resource, event: Event, _author: Author) -> None:
        self._written.pop(event.new.key, None)
        if event.type != "DELETED":
            self._written[event.new.key] = clock.monotonic()
            self._some.set()

    async def run(self) -> None:
        """Until cancelled."""
        now = clock.monotonic()
        known = {key: now for key in sorted(self._table.live) if key not in self._written}
        self._written = known | self._written
        while True:
            if not self._written:
                self._some.clear()
                await self._some.wait()
            oldest = next(iter(self._written.values()))
            lease = oldest // SHARED * SHARED
            await asyncio.sleep(lease + SHARED + SECONDS - clock.monotonic())
            for key in [key for key, time in self._written.items() if time < lease + SHARED]:
                self._table.remove(self._table.live[key], _SERVER)
