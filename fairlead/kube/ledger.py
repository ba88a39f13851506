"""Remembers our own writes until the cache shows them, so that no decision is made on a world without them.

A scope is what decides as one (a rollout); one scope's writes never hold up another. What is expected depends on what
is known of the write: its version, the end of an object, or nothing when no answer came.
A list that began after a write shows it whatever else happened, so a refresh of the informer settles every
expectation; `overdue` says when to ask for one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from fairlead.api.meta import Ref, Resource
from fairlead.kube import clock
from fairlead.kube.store import Named, Readable
from fairlead.kube.watch import is_older


class Cache(Protocol):
    """What an informer offers the ledger."""

    @property
    def store(self) -> Readable[Named]: ...

    @property
    def version(self) -> str: ...

    @property
    def listed_at(self) -> float: ...


class _Written(Struct, frozen=True):
    ref: Ref
    version: str
    at: float

    def is_visible(self, cache: Cache) -> bool:
        # Versions grow over all objects of a resource, so a cache that has come further than the write shows it,
        # even when the object is gone again; a cache that has not may lack it because it never saw it.
        if self.version == cache.version or is_older(self.version, than=cache.version):
            return True
        item = cache.store.get(self.ref.namespace, self.ref.name)
        held = item.metadata.resource_version if item is not None else ""
        return held == self.version or is_older(self.version, than=held)


class _Deleted(Struct, frozen=True):
    ref: Ref
    at: float

    def is_visible(self, cache: Cache) -> bool:
        item = cache.store.get(self.ref.namespace, self.ref.name)
        if item is None or item.metadata.deletion_timestamp is not None:
            return True
        return bool(self.ref.uid) and item.metadata.uid != self.ref.uid


class _Unknown(Struct, frozen=True):
    ref: Ref
    at: float

    def is_visible(self, _: Cache) -> bool:
        return False


_Expectation = _Written | _Deleted | _Unknown


class Ledger:
    """Expectations per scope; all times are of the loop's clock."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._expected: dict[str, list[_Expectation]] = {}
        """Per scope what is not visible yet as far as was asked; no list is empty."""

    def wrote(self, scope: str, ref: Ref, resource_version: str) -> None:
        """The cache must come to this version of the object or beyond."""
        self._expect(scope, _Written(ref, resource_version, clock.monotonic()))

    def deleted(self, scope: str, ref: Ref) -> None:
        """The object, of this UID where given, must be absent from the cache or marked as deleted in it."""
        self._expect(scope, _Deleted(ref, clock.monotonic()))

    def unknown(self, scope: str, ref: Ref) -> None:
        """A write without an answer: only a later list tells what became of it."""
        self._expect(scope, _Unknown(ref, clock.monotonic()))

    def pending(self, scope: str, caches: Mapping[Resource, Cache]) -> tuple[Ref, ...]:
        """The scope's writes that the caches do not show yet; what they show is forgotten.

        A resource without a cache is read live, so there is nothing to wait for.
        """
        left = [
            expectation
            for expectation in self._expected.pop(scope, ())
            if (cache := caches.get(expectation.ref.resource)) is not None
            and not cache.listed_at > expectation.at
            and not expectation.is_visible(cache)
        ]
        if left:
            self._expected[scope] = left
        return tuple(expectation.ref for expectation in left)

    def overdue(self, scope: str) -> tuple[Resource, ...]:
        """Resources with a write that was not visible when last asked and is older than the patience: refresh them."""
        latest = clock.monotonic() - self._patience
        late = (expectation.ref.resource for expectation in self._expected.get(scope, ()) if expectation.at <= latest)
        return tuple(dict.fromkeys(late))

    def forget(self, scope: str) -> None:
        """Nothing is expected for a scope that is no more."""
        self._expected.pop(scope, None)

    def _expect(self, scope: str, expectation: _Expectation) -> None:
        self._expected.setdefault(scope, []).append(expectation)
