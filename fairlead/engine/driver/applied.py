"""Remembers what was written as a whole, so that what is applied on every pass is sent only where it differs.

It is a memory of this process and no fact: it says nothing of an object that the cache shows otherwise than the apply
left it, and it is forgotten after a while and with the process. Applying once more then changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec
from msgspec import Struct

from fairlead.core.digests import digest_of
from kubeloop import clock
from kubeloop.objects.meta import OwnerReference, Ref, Resource
from kubeloop.store import Named, Readable
from kubeloop.watch import is_older

SERVES = 2400.0
"""Seconds after which a body is applied again in any case: somebody may have changed what no generation counts."""


class _Entry(Struct, frozen=True):
    digest: str
    mark: str
    until: float
    version: str = ""
    """That the apply left, where it is known."""


class Marked(Protocol):
    """The metadata by which an object is known to be as an apply left it."""

    @property
    def uid(self) -> str: ...

    @property
    def resource_version(self) -> str: ...

    @property
    def labels(self) -> Mapping[str, str]: ...

    @property
    def owner_references(self) -> tuple[OwnerReference, ...]: ...


def mark_of(metadata: Marked) -> str:
    """What a later look at the object is compared with: which one it is, and what was applied to it.

    Where the kind counts generations they stand for the spec, since a status is written all the time; else the version
    stands for everything. Labels, annotations and owners change without a generation.
    """
    generation = getattr(metadata, "generation", 0)
    if not generation:
        return f"{metadata.uid} version {metadata.resource_version}"
    around = (metadata.labels, getattr(metadata, "annotations", {}), metadata.owner_references)
    return f"{metadata.uid} generation {generation} {digest_of(msgspec.json.encode(around, order='sorted'))}"


class ReadableCache(Protocol):
    """A cache, as far as it is read here."""

    @property
    def store(self) -> Readable[Named]: ...


class Applied:
    """By scope and object, without UID: what the last apply of ours left."""

    def __init__(self) -> None:
        self._entries: dict[str, dict[Ref, _Entry]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._entries.values()))

    def note(self, scope: str, ref: Ref, body: bytes, mark: str, version: str = "") -> None:
        entry = _Entry(digest_of(body), mark, clock.monotonic() + SERVES, version)
        self._entries.setdefault(scope, {})[Ref(ref.resource, ref.namespace, ref.name)] = entry

    def forget(self, scope: str) -> None:
        self._entries.pop(scope, None)

    def of(self, scope: str, caches: Mapping[Resource, ReadableCache]) -> dict[Ref, str]:
        """Digests of the scope's objects that the caches show as the last apply left them."""
        now = clock.monotonic()
        entries = {ref: entry for ref, entry in self._entries.get(scope, {}).items() if now < entry.until}
        if scope in self._entries:
            self._entries[scope] = entries
        return {ref: entry.digest for ref, entry in entries.items() if _is_shown(ref, entry, caches.get(ref.resource))}


def _is_shown(ref: Ref, entry: _Entry, cache: ReadableCache | None) -> bool:
    item = cache.store.get(ref.namespace, ref.name) if cache is not None else None
    if item is None or item.metadata.deletion_timestamp is not None:
        return False
    # An older version comes of a restored backup, and after it the same generations are of other contents.
    return entry.mark == mark_of(item.metadata) and not is_older(item.metadata.resource_version, than=entry.version)
