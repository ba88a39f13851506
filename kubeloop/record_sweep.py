"""Deletes the Leases of records that were removed or have run out, when it is certain that nobody misses them.

A Lease is deleted when its version has not changed for QUIET seconds, and for those that its value lasts, by the clock
of the process that looks, and only in that version. QUIET is more than FRESH and the time of a write together: whoever
read that there was no record before this one was made has been told by its Lease that it came too late, or has waited
too long to make one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from math import inf

from msgspec import Struct

from kubeloop import clock, request
from kubeloop.client import Client
from kubeloop.errors import Conflict, KubeError, NotFound
from kubeloop.objects.core import LEASES
from kubeloop.objects.meta import Ref
from kubeloop.records import FRESH, KEY, VALUE, lease_name

QUIET = 2 * FRESH
LOOK_EVERY = 300.0


class _Meta(Struct, rename="camel"):
    name: str
    uid: str
    resource_version: str
    annotations: dict[str, str] | None = None


class _Spec(Struct, rename="camel"):
    lease_duration_seconds: int | None = None


class _Lease(Struct):
    metadata: _Meta
    spec: _Spec | None = None

    @property
    def version(self) -> tuple[str, str]:
        return self.metadata.uid, self.metadata.resource_version

    @property
    def lasts(self) -> float:
        """Seconds for which it counts if it is not written again."""
        if VALUE not in (self.metadata.annotations or {}):
            return 0.0
        return (self.spec.lease_duration_seconds if self.spec else None) or inf

    def is_record(self, prefix: str) -> bool:
        """Any other Lease may have our labels too."""
        key = (self.metadata.annotations or {}).get(KEY, "")
        return bool(key) and self.metadata.name == lease_name(prefix, key)


class Sweep:
    """Of the records that have this prefix and these labels in one namespace."""

    def __init__(
        self,
        client: Client,
        namespace: str,
        prefix: str,
        labels: Mapping[str, str] = {},
        told: Callable[[KubeError], None] = lambda _: None,
    ) -> None:
        """`told` hears the first of the failures that follow one another; nothing depends on sweeping."""
        self._client = client
        self._namespace = namespace
        self._prefix = prefix
        self._selection = ",".join(f"{name}={value}" for name, value in labels.items())
        self._told = told
        self._since: dict[tuple[str, str], float] = {}
        """When a version was first seen."""

    async def keep(self) -> None:
        """Until cancelled."""
        failed = False
        while True:
            try:
                await self.look()
                failed = False
            except KubeError as error:
                if not failed:
                    self._told(error)
                failed = True
            await asyncio.sleep(LOOK_EVERY)

    async def look(self) -> None:
        listed = await self._client.list(LEASES, _Lease, namespace=self._namespace, labels=self._selection)
        found = {lease.version: lease for lease in listed.items if lease.is_record(self._prefix)}
        now = clock.monotonic()
        self._since = {version: self._since.get(version, now) for version in found}
        for version, since in self._since.items():
            if now - since >= QUIET + found[version].lasts:
                await self._delete(found[version].metadata)

    async def _delete(self, found: _Meta) -> None:
        ref = Ref(LEASES, self._namespace, found.name, found.uid)
        try:
            await self._client.call(request.delete(ref, resource_version=found.resource_version))
        except (Conflict, NotFound):
            return  # somebody has made a record of it again, or was faster
