"""Keeps a store in step with one resource of the API server, and tells its subscribers what changed.

An informer lists, then watches from the version of the list. When the watch ends it resumes at the last version it
saw; when that version is gone, or yet to come as after a restored backup, it lists again and compares, so that a
deletion or a replacement in the gap is told like any other. While the server cannot be reached the store keeps what was
last seen. A resource that is not served or not permitted counts as known to be absent; it is asked for again at least
every 30 seconds, and taken up when it is there, so that readers who can do without it wait for nothing.
`docs/guarantees.md` says what readers may rely on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import Generic

from msgspec import Struct

from kubeloop import clock
from kubeloop.client import Client
from kubeloop.errors import (
    ApiError,
    Forbidden,
    Gone,
    KubeError,
    NotFound,
    ServerError,
    Throttled,
    TransportError,
    WentBack,
    error_of_event,
)
from kubeloop.objects.meta import Resource
from kubeloop.request import Stream
from kubeloop.shared_events import SharedEvent, batches_of
from kubeloop.store import Index, Key, Store, T, key_of
from kubeloop.watch import (
    LONGEST_DELAY,
    Codec,
    Identity,
    Listing,
    Selection,
    Unreadable,
    WatchLine,
    WatchPace,
    has_gone_back,
    is_older,
    list_all,
)

LONGEST_UNWATCHED = 30.0
"""Seconds for which a store serves that no watch keeps in step; later only a list can say what has become of it."""
GRACE = 15.0
"""Seconds that the server may take to end a watch after the time it was asked for; later the connection is dead."""
FAILURES_BEFORE_LIST = 3
"""Server errors, or watches that broke before they brought anything, in a row after which the version is doubted: what
comes next from there may be what cannot be had."""
LONGEST_ASKED = 60.0
"""Seconds for which a server is left alone that asks for more: a page of maintenance says an hour and goes sooner."""
EARLY = 5.0
"""Seconds before its time by which a watch that ends has been ended by something else: the server may be another."""
SHORTEST_USEFUL_WATCH = 1.0
"""Seconds; a watch that brings nothing and ends sooner counts as a failure, lest it is opened again and again."""


class Change(Struct, Generic[T], frozen=True):
    """`old` is None for a new object, `new` for one that is gone; `initial` marks those of the first list."""

    old: T | None
    new: T | None
    initial: bool = False


class Informer(Generic[T]):
    """One resource, seen through one selection, shared by any number of subscribers."""

    def __init__(
        self,
        client: Client,
        resource: Resource,
        into: type[T],
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        indexes: Mapping[str, Index[T]] = {},
        page: int = 500,
        seed: int | None = None,
        trouble: Callable[[Exception], None] | None = None,
        restored: Callable[[], None] | None = None,
        kept: Callable[[T], T] | None = None,
    ) -> None:
        """`trouble` hears of failed attempts, and of objects that cannot be read, once for each of their versions.

        A version that is too old is no failure unless it comes again at once. After a failure `restored` is called when
        a watch has stayed open for a second. The store holds what `kept` makes of an object, which must leave its
        name, UID and version as they are; subscribers are told of what was kept, and of what comes in full.
        """
        self.resource = resource
        self.selection = Selection(resource, namespace, labels, fields)
        self.store: Store[T] = Store(indexes)
        self.synced = asyncio.Event()
        self.settled = asyncio.Event()
        """Set once it is known what there is, be it that nothing can be had."""
        self.is_absent = False
        """Whether the last answer that says something of it was `not found` or `forbidden`."""
        self.version = ""
        """The store shows everything up to this resource version."""
        self.listed_at = float("-inf")
        """Loop time at which the last completed list began: the store shows everything that was so before."""
        self.behind_since = float("inf")
        """Loop time of what the store shows while no watch is open; without end while one is, and before the first."""
        self.last_error: Exception | None = None
        """Why the store may be behind, until a watch is open again; or what could not be read."""
        self.unreadable: dict[Key, Unreadable] = {}
        """Objects whose present state could not be read; the store keeps the state before, if it had one."""
        self._client = client
        self._codec = Codec(into)
        self._page = page
        self._pace = WatchPace(seed)
        self._trouble = trouble
        self._restored = restored
        self._kept = kept
        self._failed = False
        """Whether `trouble` was told of a failure that is not over."""
        self._handlers: tuple[Callable[[Change[T]], None], ...] = ()
        self._stale = True
        """The version cannot be resumed: list next."""
        self._doubted = False
        """Whether to ask, before the next watch, that the server has come as far as the version."""
        self._begun = 0
        """How many lists were begun."""
        self._completed = 0
        """The number of the last list that is in the store."""
        self._wanted = 0
        """The number of the first list that serves whoever asked last."""
        self._began_at = self.listed_at
        """When the last of them was."""
        self._opened = self._heard = False
        """Whether the server let the watch begin, and whether that brought anything."""
        self._wait: asyncio.Timeout | None = None
        """The wait (for lines or for the next attempt) that a wish for a list cuts short."""
        self._pausing = False
        """Whether it is the wait for the next attempt."""

    def read_as(self, into: type[T]) -> None:
        """From the next object on each is decoded into this struct, a form of the one it was made with."""
        self._codec = Codec(into)

    def subscribe(self, handler: Callable[[Change[T]], None]) -> None:
        """The handler is called after the store has changed, once per change; it must not fail.

        Who subscribes to a store that is filled is told of what it holds at once, as of a first list.
        """
        self._handlers = (*self._handlers, handler)
        if self.synced.is_set():
            for item in self.store.items():
                handler(Change(None, item, initial=True))

    def unsubscribe(self, handler: Callable[[Change[T]], None]) -> None:
        """The handler is not called any more."""
        self._handlers = tuple(each for each in self._handlers if each != handler)

    @property
    def is_outdated(self) -> bool:
        """Whether nothing has kept the store in step for so long that nobody should decide by it."""
        return clock.monotonic() - self.behind_since > LONGEST_UNWATCHED

    async def run(self) -> None:
        """Keeps the store in step until cancelled."""
        while True:
            try:
                await self._follow()
            except KubeError as error:
                await self._recover(error)

    def ask_for_list(self) -> None:
        """Has a list begin as soon as may be, if none that was asked for is on its way.

        Returns at once: `listed_at` shows when the list is in the store, and who finds it too early asks again. Until
        it is there the attempts keep their pace, however often it is asked for.
        """
        if self._completed < self._wanted:
            return
        self._wanted = self._begun + 1
        if self._wait is not None and not self._wait.expired():
            self._wait.reschedule(clock.monotonic())

    def hurry(self) -> None:
        """What kept attempts from succeeding is gone: the next one begins now, and the one after it soon."""
        self._pace.reset()
        if self._pausing and self._wait is not None and not self._wait.expired():
            self._wait.reschedule(clock.monotonic())

    async def _follow(self) -> None:
        """One list, if one is due, and one watch."""
        self._opened = False
        if self._doubted and not self._is_due() and await has_gone_back(self._client, self.selection, self.version):
            self._stale = True
        if self._is_due():
            self._begin()
            self._replace(await list_all(self._client, self.selection, self._codec, self._page))
        if not self._is_due():
            await self._watch()

    def _is_due(self) -> bool:
        return self._stale or self._completed < self._wanted

    async def _recover(self, error: KubeError) -> None:
        """Decides where to go on after a failure, and waits before."""
        self.last_error = error
        if isinstance(error, NotFound | Forbidden):
            self.is_absent = True
            self.settled.set()
        delay = self._pace.next_delay()
        if isinstance(error, ApiError):
            passing = isinstance(error, Throttled | ServerError)
            if not passing or self._pace.failures >= FAILURES_BEFORE_LIST:
                self._stale = True
            delay = max(delay, min(error.retry_after or 0.0, LONGEST_ASKED))
        elif self._opened and not self._heard and self._pace.failures >= FAILURES_BEFORE_LIST:
            self._stale = True
        if self.is_absent:
            delay = min(delay, LONGEST_DELAY)
        if isinstance(error, Gone) and self._pace.failures == 1:
            return  # an old version is no sign of trouble; only when it comes again at once is there reason to wait
        self._failed = True
        self._tell_trouble(error)
        await self._pause(delay)

    async def _pause(self, seconds: float) -> None:
        self._pausing = True
        try:
            async with asyncio.timeout(seconds) as self._wait:
                await asyncio.Event().wait()
        except TimeoutError:
            pass
        finally:
            self._wait, self._pausing = None, False

    async def _watch(self) -> None:
        """Takes in what the server tells until it ends the watch, is silent for too long, or a list is wanted."""
        seconds = self._pace.watch_seconds()
        self._heard, self._doubted, opened = False, True, clock.monotonic()
        useful: asyncio.TimerHandle | None = None
        try:
            async with asyncio.timeout(seconds + GRACE) as self._wait:
                async with self._client.stream(self.selection.watch(self.version, seconds)) as stream:
                    self.last_error, self._opened, self.behind_since = None, True, float("inf")
                    useful = asyncio.get_running_loop().call_later(SHORTEST_USEFUL_WATCH, self._is_restored)
                    await self._read(stream)
            if not self._heard and clock.monotonic() - opened < SHORTEST_USEFUL_WATCH:
                raise TransportError(f"the watch of {self.resource.plural} ended at once")
            self._doubted = not self._heard or clock.monotonic() - opened < seconds - EARLY
            self._pace.reset()
        except TimeoutError:
            pass  # silent for too long, or a list is wanted: either way the next step is the same
        finally:
            if useful is not None:
                useful.cancel()
            self._wait = None
            self.behind_since = min(self.behind_since, clock.monotonic())

    async def _read(self, stream: Stream) -> None:
        batches = batches_of(stream)
        if batches is None:
            async for data in stream:
                self._take(data)
            return
        async with aclosing(batches):
            async for batch in batches:
                for each in batch:
                    if isinstance(each, bytes):
                        self._take(each)
                    else:
                        self._take_shared(each)

    def _take_shared(self, event: SharedEvent) -> None:
        gone = event.gone()
        item = self._codec.shared(event) if gone is None else None
        if gone is not None:
            self._take_deletion(Identity.of(*gone))
        elif item is not None:
            self._take_object(item)
        else:
            self._take(event.line())
            return
        self._heard = True
        self._pace.reset()

    def _take(self, data: bytes) -> None:
        item = self._codec.present(data)
        if item is None:
            self._take_line(self._codec.line(data))
        else:
            self._take_object(item)
            self._heard = True
            self._pace.reset()

    def _take_line(self, line: WatchLine) -> None:
        match line.type:
            case "ADDED" | "MODIFIED":
                self._take_object(self._codec.item(line.object))
            case "DELETED":
                self._take_deletion(self._codec.identity(line.object))
            case "BOOKMARK":
                self._advance(self._codec.identity(line.object).metadata.resource_version)
            case "ERROR":
                raise error_of_event(bytes(line.object), f"watching {self.resource.plural}")
            case _:
                return
        self._heard = True
        self._pace.reset()

    def _take_object(self, item: T | Unreadable) -> None:
        if isinstance(item, Unreadable):
            self._set_aside({**self.unreadable, item.key: item})
            return
        version, key = item.metadata.resource_version, key_of(item)
        self._advance(version)
        if self.unreadable:
            self.unreadable.pop(key, None)
        old = self.store.get(*key)
        if old is not None and old.metadata.uid == item.metadata.uid:
            held = old.metadata.resource_version
            if version == held or is_older(version, than=held):
                return
        self._keep(item)
        self._publish(_changes(old, item, initial=False))

    def _keep(self, item: T) -> None:
        self.store.put(item if self._kept is None else self._kept(item))

    def _take_deletion(self, gone: Identity) -> None:
        self._advance(gone.metadata.resource_version)
        self.unreadable.pop(gone.key, None)
        old = self.store.get(*gone.key)
        if old is None:
            return
        version, held = gone.metadata.resource_version, old.metadata.resource_version
        if old.metadata.uid == gone.metadata.uid:
            outdated = is_older(version, than=held)
        else:
            # The held incarnation is gone too, if it is older than the deletion of another one.
            outdated = not is_older(held, than=version)
        if not outdated:
            self.store.remove(*gone.key)
            self._publish(_changes(old, None, initial=False))

    def _advance(self, version: str) -> None:
        if version and not is_older(version, than=self.version):
            self.version = version

    def _begin(self) -> None:
        self._begun += 1
        self._began_at = clock.monotonic()

    def _replace(self, found: Listing[T]) -> None:
        """The store holds exactly what was listed; then all differences are told."""
        initial = not self.synced.is_set()
        went_back = is_older(found.version, than=self.version)
        if went_back:
            self._failed = True
            self._tell_trouble(WentBack(f"{self.resource.plural}: the server has gone back to an earlier state"))
        changes: list[Change[T]] = []
        for key, item in found.objects.items():
            old = self.store.get(*key)
            changes += _changes(old, item, initial, by_content=went_back)
            if old is not item:
                self._keep(item)
        for old in self.store.items():
            key = key_of(old)
            if key not in found.objects and key not in found.unreadable:
                self.store.remove(*key)
                changes += _changes(old, None, initial)
        self.version = found.version
        self.listed_at = self.behind_since = self._began_at
        self._completed = self._begun
        self._stale = self._doubted = False
        self.is_absent = False
        self.synced.set()
        self.settled.set()
        self._set_aside(found.unreadable)
        self._publish(changes)

    def _publish(self, changes: list[Change[T]]) -> None:
        for change in changes:
            for handler in self._handlers:
                handler(change)

    def _set_aside(self, unreadable: dict[Key, Unreadable]) -> None:
        """These objects cannot be read at present; those of which this is news are reported."""
        before, self.unreadable = self.unreadable, unreadable
        for key, problem in unreadable.items():
            if key not in before or before[key].version != problem.version:
                self.last_error = problem
                self._tell_trouble(problem)

    def _tell_trouble(self, error: Exception) -> None:
        if self._trouble is not None:
            self._trouble(error)

    def _is_restored(self) -> None:
        """The watch has stayed open: whatever fails next is no part of what failed before, however silent it is."""
        self._pace.reset()
        if self._failed:
            self._failed = False
            if self._restored is not None:
                self._restored()


def _changes(old: T | None, new: T | None, initial: bool, *, by_content: bool = False) -> list[Change[T]]:
    """How to tell one difference: a replacement by another object of the same name is a deletion and an addition.

    `by_content`: one version may stand for two states, as after a restored backup.
    """
    if old is None or new is None:
        return [Change(old, new, initial)] if old is not new else []
    if old.metadata.uid != new.metadata.uid:
        return [Change(old, None, initial), Change(None, new, initial)]
    is_same = old.metadata.resource_version == new.metadata.resource_version and not (by_content and old != new)
    return [] if is_same else [Change(old, new, initial)]
