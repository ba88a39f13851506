"""A virtual loop on which a process can be stopped and let go on, as SIGSTOP and SIGCONT do.

A process is a context: whatever a task of it sets up (tasks, timers, callbacks) belongs to it. While a process is
stopped its callbacks are put aside; time passes, others act, and what arrives for it waits. When it goes on, all that
has become due meanwhile is due at once, in an order of the loop's seed, with the clock far ahead of where it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

from kubesim.time import VirtualLoop, _Ready

T = TypeVar("T")

_process: ContextVar[str] = ContextVar("process", default="")


class _Aside(_Ready):
    """Ready callbacks, without those of stopped processes."""

    stopped: dict[str, list[asyncio.Handle]]

    def append(self, handle: asyncio.Handle) -> None:
        waiting = self.stopped.get(_process_of(handle))
        if waiting is None:
            super().append(handle)
        else:
            waiting.append(handle)

    def popleft(self) -> asyncio.Handle:
        # The loop takes one when timers were due, and all of them may be a stopped process's.
        return super().popleft() if self._heap else asyncio.Handle(_nothing, (), asyncio.get_event_loop())

    def stop(self, process: str) -> None:
        waiting = self.stopped.setdefault(process, [])
        waiting += [entry[2] for entry in sorted(self._heap, key=_place) if _process_of(entry[2]) == process]
        left = [entry for entry in self._heap if _process_of(entry[2]) != process]
        self._heap[:] = sorted(left, key=_place)  # a sorted list is a heap

    def go_on(self, process: str) -> None:
        for handle in self.stopped.pop(process, ()):
            self.append(handle)


class StoppableLoop(VirtualLoop):
    """Runs processes; the rest of the program belongs to none."""

    def __init__(self, seed: int, *, steps: int | None = None) -> None:
        super().__init__(seed, steps=steps)
        self._ready: _Aside = _Aside(seed, self._root)
        self._ready.stopped = {}

    def start(self, process: str, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """A task of that process."""
        context = copy_context()
        context.run(_process.set, process)
        return self.create_task(work, context=context)

    def stop_process(self, process: str) -> None:
        self._ready.stop(process)

    def go_on(self, process: str) -> None:
        self._ready.go_on(process)

    def is_stopped(self, process: str) -> bool:
        return process in self._ready.stopped


def running() -> StoppableLoop:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, StoppableLoop)
    return loop


def run(main: Coroutine[Any, Any, T], *, seed: int = 0, steps: int | None = None) -> T:
    """Runs the coroutine to its end; the same seed gives the same run in every process."""
    with asyncio.Runner(loop_factory=lambda: StoppableLoop(seed, steps=steps)) as runner:
        return runner.run(main)


def _place(entry: tuple[int, int, asyncio.Handle]) -> tuple[int, int]:
    return entry[:2]


def _process_of(handle: asyncio.Handle) -> str:
    process: str = handle._context.get(_process, "")  # type: ignore[attr-defined]
    return process


def _nothing() -> None:
    pass
