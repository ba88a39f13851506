"""Remembers our own writes until the caches show them, so that no decision is made on a world without them.

There is one for a process: whoever decides about a scope waits for the writes of all who wrote to it. A scope is a
name that controllers agree on, such as the UID of what they look after; one scope's writes never hold up another. A
write counts from before it is sent. What is expected then depends on what is known of it: its version, the end of an
object, or nothing when no answer came that can be believed.
A write is visible when every cache of its resource shows it whose selection may hold the object; where nobody watches
the resource there is nothing to wait for.
A list that began after a write shows it whatever else happened, so a fresh list settles every expectation; `overdue`
says when to ask for one. An unknown outcome needs one that began `settle` seconds later: until then the server may
still be at it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import inf, nextafter
from typing import Protocol

from msgspec import Struct

from kubeloop import clock
from kubeloop.objects.meta import Ref
from kubeloop.store import Named, Readable
from kubeloop.watch import Selection, is_older

SETTLE = 5.0
"""Seconds after which a write without an answer has happened or never will.

The connection is cut when the answer is given up, and the server ends what it did for it. More than the time that an
election gives a write.
"""


class Cache(Protocol):
    """What an informer offers the ledger."""

    @property
    def selection(self) -> Selection: ...

    @property
    def store(self) -> Readable[Named]: ...

    @property
    def version(self) -> str: ...

    @property
    def listed_at(self) -> float: ...

    def ask_for_list(self) -> None: ...


class _Expectation(Struct, frozen=True):
    """By itself a write of which nothing is known: no watch shows it."""

    ref: Ref
    settled_from: float
    """A list that begins then or later settles it."""
    due: float
    """When to ask for such a list."""

    def is_visible(self, _: Cache) -> bool:
        return False


class _Written(_Expectation, frozen=True):
    version: str

    def is_visible(self, cache: Cache) -> bool:
        # Versions grow over all objects of a resource, so a cache that has come further than the write shows it,
        # even when the object is gone again; a cache that has not may lack it because it never saw it.
        if self.version == cache.version or is_older(self.version, than=cache.version):
            return True
        item = cache.store.get(self.ref.namespace, self.ref.name)
        held = item.metadata.resource_version if item is not None else ""
        return held == self.version or is_older(self.version, than=held)


class _Deleted(_Expectation, frozen=True):
    def is_visible(self, cache: Cache) -> bool:
        item = cache.store.get(self.ref.namespace, self.ref.name)
        if item is None or item.metadata.deletion_timestamp is not None:
            return True
        return bool(self.ref.uid) and item.metadata.uid != self.ref.uid


class _Outrun(_Expectation, frozen=True):
    version: str

    def is_visible(self, cache: Cache) -> bool:
        item = cache.store.get(self.ref.namespace, self.ref.name)
        return (item.metadata.resource_version if item is not None else "") != self.version


class Ledger:
    """Expectations per scope; all times are of the loop's clock."""

    def __init__(
        self, catch_up_seconds: float, covering: Callable[[Ref], Sequence[Cache]], settle: float = SETTLE
    ) -> None:
        """`covering` gives the caches that look at the resource and the namespace of an object."""
        self._catch_up_seconds = catch_up_seconds
        self._covering = covering
        self._settle = settle
        self._expected: dict[str, list[_Expectation]] = {}
        """Per scope what is not visible yet as far as was asked; no list is empty."""
        self._travelling: dict[Ref, tuple[object, float]] = {}
        """By object, without UID: what may still arrive there, and until when."""

    def wrote(self, scope: str, ref: Ref, resource_version: str) -> None:
        """The cache must come to this version of the object or beyond."""
        self._expect(scope, _Written(ref, *self._after_now(), resource_version))

    def deleted(self, scope: str, ref: Ref) -> None:
        """The object, of this UID where given, must be absent from the cache or marked as deleted in it."""
        self._expect(scope, _Deleted(ref, *self._after_now()))

    def outrun(self, scope: str, ref: Ref, resource_version: str) -> None:
        """Somebody else wrote first: the cache must show another version than this; where it is empty, an object."""
        self._expect(scope, _Outrun(ref, *self._after_now(), resource_version))

    def unknown(self, scope: str, ref: Ref) -> None:
        """A write of which nothing is known: only a list that begins when it must be over tells what became of it."""
        over = clock.monotonic() + self._settle
        self._expect(scope, _Expectation(ref, settled_from=over, due=over))

    def travels(self, ref: Ref, what: object) -> None:
        """This was sent to the object, bound to no version of it; it may be carried out at any time until it ends."""
        now = clock.monotonic()
        self._travelling = {place: each for place, each in self._travelling.items() if each[1] > now}
        self._travelling[_place(ref)] = (what, now + self._settle)

    def is_clear(self, ref: Ref, what: object) -> bool:
        """Whether nothing else may still arrive at the object and undo this."""
        other, over = self._travelling.get(_place(ref), (what, 0.0))
        if over <= clock.monotonic():
            self._travelling.pop(_place(ref), None)
            return True
        return other == what

    @contextmanager
    def in_flight(self, writes: Iterable[tuple[str, Ref]]) -> Iterator[None]:
        """While the context lasts these writes, each with its scope, are pending whatever the caches show."""
        sending = [(scope, _Expectation(ref, settled_from=inf, due=inf)) for scope, ref in writes]
        for scope, expectation in sending:
            self._expect(scope, expectation)
        try:
            yield
        finally:
            for scope, expectation in sending:
                self._drop(scope, expectation)

    def pending(self, scope: str) -> tuple[Ref, ...]:
        """The scope's writes that the caches do not show yet; what they show is forgotten.

        A resource without a cache is read live, so there is nothing to wait for but the end of a write in flight.
        """
        left = [
            expectation
            for expectation in self._expected.pop(scope, ())
            if expectation.settled_from == inf or self._lacking(expectation)
        ]
        if left:
            self._expected[scope] = left
        return tuple(expectation.ref for expectation in left)

    def overdue(self, scope: str) -> tuple[Cache, ...]:
        """Caches that lack a write which was not visible when last asked and which a fresh list is to settle now."""
        now = clock.monotonic()
        late = (expectation for expectation in self._expected.get(scope, ()) if expectation.due <= now)
        return tuple(dict.fromkeys(cache for expectation in late for cache in self._lacking(expectation)))

    def _lacking(self, expectation: _Expectation) -> list[Cache]:
        """The caches that do not show it yet and will."""
        caches = self._covering(expectation.ref)
        lacking = [cache for cache in caches if not _shows(cache, expectation)]
        if not lacking or len(lacking) == len(caches):
            return lacking
        # Where others show the object as it is now, its labels say which of those without it never will have it.
        name = expectation.ref.namespace, expectation.ref.name
        shown = (cache.store.get(*name) for cache in caches if cache not in lacking)
        labels = next((item.metadata.labels for item in shown if item is not None), None)
        if labels is None:
            return lacking
        return [cache for cache in lacking if cache.store.get(*name) is not None or cache.selection.may_hold(labels)]

    def _after_now(self) -> tuple[float, float]:
        """When a list settles what was answered just now, and when to ask for one.

        A list that began at this very moment may have begun before the write.
        """
        now = clock.monotonic()
        return nextafter(now, inf), now + self._catch_up_seconds

    def _expect(self, scope: str, expectation: _Expectation) -> None:
        self._expected.setdefault(scope, []).append(expectation)

    def _drop(self, scope: str, expectation: _Expectation) -> None:
        left = self._expected[scope]
        left.remove(expectation)
        if not left:
            del self._expected[scope]


def _place(ref: Ref) -> Ref:
    return Ref(ref.resource, ref.namespace, ref.name)


def _shows(cache: Cache, expectation: _Expectation) -> bool:
    return cache.listed_at >= expectation.settled_from or expectation.is_visible(cache)
