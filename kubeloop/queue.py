"""Keys that want work.

Promises:
- Asked twice means done once: a key waits in one place only, however often it was added.
- Never twice at once: a key that is worked on is not given out again before `done`; added meanwhile, it runs again.
- Fair: keys come out in the order they became ready. Live changes go before the first list, of which at least one key
  is given out after every LIVE_BEFORE_INITIAL live ones, so the n-th waiting key of a first list is given out at the
  latest by get number n x (LIVE_BEFORE_INITIAL + 1).
- The earliest delay wins; adding a key that waits for a delay runs it now.
- A nudge does not cut a back-off short.
- Failures count by time: one that comes before the back-off of the last is over lengthens nothing, so that any number
  of changes at once, each of which runs a key that fails, counts as one failure.
- Spacing holds whatever is asked: a key is not given out sooner than `spacing` seconds after its last `done`.
- What is held grows with the keys that wait, and not with how often they are asked for.

What is lost by `close` is found again by the next first list.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Hashable
from typing import Generic, Protocol, TypeVar

from kubeloop import clock

LIVE_BEFORE_INITIAL = 8
OUT_OF_DATE = 64
"""Entries of the timeline that nobody waits for, beside as many as there are delays, before they are thrown away."""

K = TypeVar("K", bound=Hashable)


class Closed(Exception):
    """The queue gives out no more keys."""


class QueueWatcher(Protocol):
    """Told what happens to keys."""

    def added(self, key: object) -> None:
        """It is ready and waits for a worker."""

    def taken(self, key: object) -> None:
        """A worker has it."""

    def done(self, key: object) -> None:
        """The worker is done with it."""

    def delayed(self, key: object) -> None:
        """It runs again after a while."""

    def dropped(self, key: object) -> None:
        """Nobody works on it any more, ready or not."""


class Queue(Generic[K]):
    """Used from one event loop only; all times are of its clock."""

    def __init__(
        self,
        *,
        first_delay: float = 0.1,
        longest_delay: float = 5.0,
        spacing: float = 0.0,
        jitter: float = 0.0,
        seed: int | None = None,
    ) -> None:
        """`jitter` is the part of a back-off that is left to chance: with 0.5 it is between half of it and all."""
        self._first_delay = first_delay
        self._longest_delay = longest_delay
        self._jitter = jitter
        self._random = clock.chance(seed) if jitter else None
        self._spacing = spacing
        self._live: dict[K, None] = {}
        """Ready keys in order; disjoint from `_initial`, `_delayed` and `_working`."""
        self._initial: dict[K, None] = {}
        """Ready keys that only a first list asked for; disjoint from the other three."""
        self._delayed: dict[K, float] = {}
        """When a key becomes ready; may overlap `_working` only."""
        self._timeline: list[tuple[float, int, K]] = []
        """Heap that has an entry for each of `_delayed` with its time; other entries are out of date and skipped, and
        thrown away when they are many."""
        self._working: set[K] = set()
        """Given out and not done."""
        self._again: set[K] = set()
        """Part of `_working`: asked for again meanwhile."""
        self._held: dict[K, float] = {}
        """Until when spacing holds a key back; in order of time, since the spacing is the same for all."""
        self._failures: dict[K, int] = {}
        """Back-offs since the last `forget`; at least 1."""
        self._backed_off: dict[K, float] = {}
        """When the last back-off of a key is over; has the keys of `_failures`."""
        self._streak = 0
        """Live keys given out since an initial one was, while an initial one waited."""
        self._getters: deque[asyncio.Future[None]] = deque()
        """Waiting calls of `get`; none is pending while a key is ready, except those that wake in this turn."""
        self._timer: asyncio.TimerHandle | None = None
        """Set for the head of `_timeline` whenever that is not empty."""
        self._sequence = 0
        self._closed = False
        self.watcher: QueueWatcher | None = None

    def __len__(self) -> int:
        """How many keys are ready and wait for a worker."""
        return len(self._live) + len(self._initial)

    def add(self, key: K, *, initial: bool = False) -> None:
        """The key runs as soon as its turn comes; as one of a first list it lets live changes go first."""
        now = clock.monotonic()
        self._ask(key, now, now, initial)

    def nudge(self, key: K) -> None:
        """Like `add`, but a key that waits after a failure goes on waiting."""
        if key not in self._failures:
            self.add(key)

    def add_after(self, key: K, seconds: float) -> None:
        """The key runs in that time at the latest."""
        now = clock.monotonic()
        self._ask(key, now + max(seconds, 0.0), now, initial=False)

    def retry(self, key: K) -> None:
        """The key runs again after its back-off, which doubles whenever it was waited for in vain, until `forget`."""
        now, failures = clock.monotonic(), self._failures.get(key, 0)
        if now < self._backed_off.get(key, now):
            self.add_after(key, self._backed_off[key] - now)
            return
        self._failures[key] = failures + 1
        # 2.0**failures overflows a float after some thousand failures; the longest delay is reached long before.
        longest = min(self._first_delay * 2.0 ** min(failures, 60), self._longest_delay)
        chance = self._random.random() if self._random is not None else 0.0
        delay = longest * (1 - self._jitter * chance)
        self._backed_off[key] = now + delay
        self.add_after(key, delay)

    def forget(self, key: K) -> None:
        """The next retry starts with the first delay."""
        self._failures.pop(key, None)
        self._backed_off.pop(key, None)

    def waiting(self) -> tuple[K, ...]:
        """All keys that wait, ready or delayed."""
        return tuple(dict.fromkeys((*self._live, *self._initial, *self._delayed)))

    def drop(self, key: K) -> None:
        """Nobody wants work on the key any more; what is under way goes on."""
        for waiting in (self._live, self._initial, self._delayed):
            waiting.pop(key, None)
        self._again.discard(key)
        self.forget(key)
        if self.watcher is not None:
            self.watcher.dropped(key)

    def due(self, key: K) -> float | None:
        """Seconds until the key runs; 0 when it is ready or runs, None when nobody has asked for it."""
        if key in self._live or key in self._initial or key in self._working:
            return 0.0
        when = self._delayed.get(key)
        return None if when is None else max(when - clock.monotonic(), 0.0)

    async def get(self) -> K:
        """The next key, to be given back with `done`; raises Closed after `close`."""
        loop = asyncio.get_running_loop()
        while not self._closed:
            if self._timeline:
                self._mature()
            if self._live or self._initial:
                return self._take()
            getter = loop.create_future()
            self._getters.append(getter)
            try:
                await getter
            except asyncio.CancelledError:
                if getter.done() and not getter.cancelled():
                    self._wake()  # the call that was woken for a key is gone: wake another for it
                elif getter in self._getters:  # not when a call that left in the same moment woke past this one
                    self._getters.remove(getter)
                raise
        raise Closed

    def done(self, key: K) -> None:
        """The work on the key has ended, well or not."""
        self._working.discard(key)
        if self.watcher is not None:
            self.watcher.done(key)
        now = clock.monotonic()
        if self._spacing > 0:
            self._hold(key, now)
        if key in self._again:
            self._again.discard(key)
            self._ask(key, now, now, initial=False)

    def close(self) -> None:
        """Gives out nothing from now on and takes nothing in."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._getters:
            self._wake()

    def _ask(self, key: K, due: float, now: float, initial: bool) -> None:
        if self._closed or key in self._live or key in self._again:
            return
        if self._held:
            due = max(due, self._held.get(key, due))
        if due > now:
            # A ready key runs sooner than any delay, and of two delays the earlier one wins.
            if key not in self._initial and due < self._delayed.get(key, float("inf")):
                self._delay(key, due)
            return
        self._delayed.pop(key, None)
        if not self._delayed:
            self._timeline.clear()
        if key in self._working:
            self._again.add(key)
        elif not initial:
            was_ready = self._initial.pop(key, self._live) is None
            self._live[key] = None
            self._come(key, was_ready)
        elif key not in self._initial:
            self._initial[key] = None
            self._come(key, was_ready=False)

    def _come(self, key: K, was_ready: bool) -> None:
        if self.watcher is not None and not was_ready:
            self.watcher.added(key)
        self._wake()

    def _hold(self, key: K, now: float) -> None:
        """Starts the spacing of the key, and forgets that of others which is over."""
        for other, until in list(self._held.items()):
            if until > now:
                break
            del self._held[other]
        self._held.pop(key, None)
        self._held[key] = now + self._spacing
        if self._delayed.get(key, self._held[key]) < self._held[key]:
            self._delay(key, self._held[key])

    def _delay(self, key: K, due: float) -> None:
        if self.watcher is not None and key not in self._delayed:
            self.watcher.delayed(key)
        self._delayed[key] = due
        self._sequence += 1
        heapq.heappush(self._timeline, (due, self._sequence, key))
        if len(self._timeline) > 2 * len(self._delayed) + OUT_OF_DATE:
            # Keys that run long before they are due, again and again, leave an entry each time.
            kept: dict[K, tuple[float, int, K]] = {}
            for each in sorted(self._timeline):
                if self._delayed.get(each[2]) == each[0]:
                    kept.setdefault(each[2], each)
            self._timeline = list(kept.values())  # in order, as a heap may be
        self._set_timer()

    def _mature(self) -> None:
        """Makes ready what is due."""
        now = clock.monotonic()
        while self._timeline and self._timeline[0][0] <= now:
            due, _, key = heapq.heappop(self._timeline)
            if self._delayed.get(key) == due:
                self._ask(key, due, now, initial=False)
        self._set_timer()

    def _set_timer(self) -> None:
        due = self._timeline[0][0] if self._timeline else None
        if self._timer is not None:
            if due == self._timer.when():
                return
            self._timer.cancel()
            self._timer = None
        if due is not None:
            self._timer = asyncio.get_running_loop().call_at(due, self._ring)

    def _ring(self) -> None:
        self._timer = None
        self._mature()

    def _take(self) -> K:
        if self._initial and (not self._live or self._streak >= LIVE_BEFORE_INITIAL):
            ready, self._streak = self._initial, 0
        else:
            ready = self._live
            self._streak = self._streak + 1 if self._initial else 0
        key = next(iter(ready))
        del ready[key]
        self._working.add(key)
        if self.watcher is not None:
            self.watcher.taken(key)
        return key

    def _wake(self) -> None:
        """Lets one waiting call of `get` look."""
        while self._getters:
            getter = self._getters.popleft()
            if not getter.done():
                getter.set_result(None)
                return
