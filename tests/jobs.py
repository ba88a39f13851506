"""A queue of commands, each in a process of its own, worked off with as many at once as the machine has room for.

A job is ended with all that it started: its processes are a group of their own.

Jobs that compute get a core each. Jobs that mostly wait for programs of their own run beside them, so that cores are
busy while either kind waits.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

CORES = len(os.sched_getaffinity(0))
MOST_WAITING = 6
"""However many cores there are."""
MEMORY_OF_ONE = 1.5 * 1024**3
"""Bytes that one that waits may take, with a control plane."""
MEMORY = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
_LOOK_EVERY = 0.05
_GRACE = 30.0
"""Seconds for which a job that is told to stop may clean up: those on a control plane end it."""


class Job(NamedTuple):
    name: str
    command: Sequence[str | Path]
    seconds: float = 0.0
    """How long it takes, about: what takes longest comes first."""
    waits: bool = False
    """Whether it mostly waits for others."""


class Ended(NamedTuple):
    job: Job
    code: int
    seconds: float
    cpu_seconds: float
    """Of its process and of those that it started and saw end."""
    output: str


def work_off(jobs: Iterable[Job], ended: Callable[[Ended], Iterable[Job]], folder: Path) -> None:
    """Runs all jobs in the folder and those that follow from their ends; leaves no process behind, even when it fails.

    `ended` is called with each that ended, in that order. A SIGTERM ends all of them, and then this process.
    """
    queue, running = sorted(jobs, key=_longest_first), list[_Running]()
    with tempfile.TemporaryDirectory() as outputs, _ended_together(running):
        while queue or running:
            for job in startable(queue, [each.job for each in running], CORES, MEMORY):
                queue.remove(job)
                with _signals_held_back():
                    running.append(_Running(job, folder, Path(outputs)))
            for each in [each for each in running if each.has_ended()]:
                running.remove(each)
                queue = sorted((*queue, *ended(each.result())), key=_longest_first)
            time.sleep(_LOOK_EVERY)


def show(command: Sequence[str | Path]) -> int:
    """The exit code of one command, whose output is shown as it comes; it ends as jobs do."""
    running: list[_Group] = []
    with _ended_together(running):
        with _signals_held_back():
            running.append(_Group(command))
        while (code := running[0].process.poll()) is None:
            # A signal in the moment before a wait without an end would be heard after it.
            time.sleep(_LOOK_EVERY)
        return code


@contextmanager
def _ended_together(running: Sequence[_Group]) -> Iterator[None]:
    """However the block is left, by a signal too, what is in that list then ends."""
    with _leaving_on_sigterm():
        try:
            yield
        finally:
            for each in running:
                each.interrupt()
            until = time.monotonic() + _GRACE
            for each in running:
                each.end(until)


@contextmanager
def _leaving_on_sigterm() -> Iterator[None]:
    """A SIGTERM unwinds the block; the default would leave its processes behind."""

    def leave(number: int, _: FrameType | None) -> None:
        sys.exit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _signals_held_back() -> Iterator[None]:
    """A signal is heard at the end of the block: by one in the middle a process could be started that nobody ends."""
    came: list[int] = []

    def remember(number: int, _: FrameType | None) -> None:
        came.append(number)

    before = {number: signal.signal(number, remember) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for each in came:
            signal.raise_signal(each)


def _environment() -> dict[str, str]:
    """Jobs leave bytecode to one another, whatever the user's shell says: each would compile all tests anew.

    Programs of Go that they start, as control planes are, keep to one core each: what they would do on cores that seem
    idle to them other jobs pay for. They look for garbage when there is three times as much of it as of anything else.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {"GOMAXPROCS": "1", "GOGC": "300", **kept}


def startable(queue: Sequence[Job], running: Sequence[Job], cores: int, memory: float) -> list[Job]:
    """What may start now, in the order of the queue.

    Jobs that wait take a quarter of a core, so there are more of them where none computes. Jobs that compute wait now
    and then, too: where no others run beside them, several cores get one more.
    """
    there = (*queue, *running)
    waiting = min(cores * (2 if any(not job.waits for job in there) else 3), MOST_WAITING, int(memory / MEMORY_OF_ONE))
    room = {True: max(waiting, 1), False: cores + (cores > 1 and not any(job.waits for job in there))}
    chosen: list[Job] = []
    for job in queue:
        if sum(each.waits == job.waits for each in (*running, *chosen)) < room[job.waits]:
            chosen.append(job)
    return chosen


def _longest_first(job: Job) -> float:
    return -job.seconds


class _Group:
    """A process and all that it starts, unless that has a session of its own, as control planes have."""

    def __init__(self, command: Sequence[str | Path], **given: Any) -> None:
        self.process = subprocess.Popen(command, env=_environment(), start_new_session=True, **given)

    def interrupt(self) -> None:
        """As by Ctrl-C at a terminal, which every process of a group hears: pytest cleans up, and one within a test."""
        self._signal(signal.SIGINT)

    def end(self, until: float) -> None:
        """Returns when it has ended with all that it started; from that time on it is not asked any more."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(max(0.0, until - time.monotonic()))
        self._signal(signal.SIGKILL)
        self.process.wait()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)


class _Running(_Group):
    """A job that runs; its output goes to a file."""

    def __init__(self, job: Job, folder: Path, outputs: Path) -> None:
        self.job = job
        self._output = outputs / f"{time.monotonic_ns()}.txt"
        self._started = time.monotonic()
        self._result: tuple[int, float, float] | None = None
        with self._output.open("wb") as stream:
            super().__init__(job.command, cwd=folder, stdout=stream, stderr=subprocess.STDOUT)

    def has_ended(self) -> bool:
        """Whether the process has; what it left running ends here."""
        # Not Popen.poll: only wait4 tells what this one child has used.
        pid, status, used = os.wait4(self.process.pid, os.WNOHANG)
        if not pid:
            return False
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self._result = (self.process.returncode, time.monotonic() - self._started, used.ru_utime + used.ru_stime)
        self.end(until=0.0)
        return True

    def result(self) -> Ended:
        assert self._result is not None, "it still runs"
        return Ended(self.job, *self._result, self._output.read_text(errors="replace").rstrip())
