"""Rounds kept in a ring of files, for whoever wants to decide them again.

A round hands over what it saw and decided, which is frozen, and goes on: a thread writes it down. What the thread
cannot keep up with is left out, the oldest files go when there are too many or too large ones, and a folder that
cannot be written to is told once and never stops a round.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from queue import Full, Queue
from threading import Thread

from msgspec import Struct
from structlog.types import FilteringBoundLogger

from fairlead import __version__
from fairlead.core.replay import DecidedRound, Decider, record_of

FILE_BYTES = 4 * 2**20
"""A file that has grown to this is followed by another."""
RING_BYTES = 64 * 2**20
RING_FILES = 64
WAITING = 256
"""Rounds that wait to be written; each holds on to what it saw."""
BATCH = 32
"""Rounds that are written together."""
CLOSING_SECONDS = 2.0
PATTERN = "rounds-*.jsonl"
HELP = "free space in the folder, or name another with --record; the rollouts go on, and so does recording once it can"


class Bounds(Struct, frozen=True):
    """How much a ring holds."""

    file_bytes: int = FILE_BYTES
    ring_bytes: int = RING_BYTES
    files: int = RING_FILES


class Ring:
    """Lines in files that are numbered for ever; raises OSError."""

    def __init__(self, folder: Path, bounds: Bounds = Bounds()) -> None:  # noqa: B008  (frozen)
        self._folder = folder
        self._bounds = bounds
        self._current: Path | None = None

    def add(self, lines: Iterable[bytes]) -> None:
        """All of them, in order; one that is larger than the whole ring is left out."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for line in lines:
            if len(line) < self._bounds.ring_bytes:
                self._append(line + b"\n")
        self._drop_oldest()

    def _append(self, line: bytes) -> None:
        current = self._current
        size = None if current is None else _size(current)
        if current is None or size is None or size + len(line) > self._bounds.file_bytes:
            self._drop_oldest(coming=len(line))
            current = self._current = self._new_file()
        file = os.open(current, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
        try:
            _append_whole(file, line)
        finally:
            os.close(file)

    def _new_file(self) -> Path:
        """After the last one. What another process has made, or laid there to be written through, is not used."""
        files = files_in(self._folder)
        for number in count(_number(files[-1]) + 1 if files else 1):
            made = self._folder / f"rounds-{number:08}.jsonl"
            with suppress(FileExistsError):
                # Snapshots show more than everybody may read in the cluster.
                os.close(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
                return made
        raise AssertionError("counting does not end")

    def _drop_oldest(self, coming: int = 0) -> None:
        """Until the rest is within the bounds, together with so many bytes that come, in a file of their own."""
        files = files_in(self._folder)
        sizes = {each: _size(each) or 0 for each in files}
        total, most = sum(sizes.values()) + coming, self._bounds.files - bool(coming)
        while len(files) > most or (len(files) > (not coming) and total > self._bounds.ring_bytes):
            oldest = files.pop(0)
            total -= sizes[oldest]
            oldest.unlink(missing_ok=True)


def files_in(folder: Path) -> list[Path]:
    """The files of a ring, the oldest first."""
    named = (each for each in folder.glob(PATTERN) if each.stem.removeprefix("rounds-").isdecimal())
    return sorted((each for each in named if _size(each) is not None), key=_number)


def _number(file: Path) -> int:
    return int(file.stem.removeprefix("rounds-"))


def _size(file: Path) -> int | None:
    """None where there is no such file, or something else of its name: another process may have removed it."""
    with suppress(FileNotFoundError):
        found = file.lstat()
        return found.st_size if stat.S_ISREG(found.st_mode) else None
    return None


def _append_whole(file: int, line: bytes) -> None:
    """All of it or nothing: half a line would spoil the next one."""
    size, left = os.fstat(file).st_size, memoryview(line)
    try:
        while left:
            left = left[os.write(file, left) :]
    except OSError:
        os.ftruncate(file, size)
        raise


class RoundRecorder:
    """Writes rounds down in a thread of its own; `close` when no more come, or `closed` in a loop that goes on."""

    def __init__(
        self,
        folder: Path,
        deciders: Mapping[str, Decider],
        log: FilteringBoundLogger,
        bounds: Bounds = Bounds(),  # noqa: B008  (frozen)
    ) -> None:
        self._ring = Ring(folder, bounds)
        self._folder = folder
        self._deciders = deciders
        self._log = log
        self._rounds: Queue[DecidedRound | None] = Queue(WAITING)
        self._has_failed = False
        self._skipped = 0
        self._told_skipped = 0
        self._thread: Thread | None = None

    def record(self, decided: DecidedRound) -> None:
        """Takes the round over; returns at once."""
        if decided.controller not in self._deciders:
            return
        self._begin()
        try:
            self._rounds.put_nowait(decided)
        except Full:
            self._skipped += 1

    async def closed(self) -> None:
        """Returns as `close` does; others go on meanwhile, and what they hand over is written as well."""
        await asyncio.to_thread(self.close)
        if not self._rounds.empty():
            self._begin()

    def close(self) -> None:
        """Returns when all that was taken over is written or cannot be, or when the disk takes too long."""
        if self._thread is not None and self._thread.is_alive():
            with suppress(Full):
                self._rounds.put(None, timeout=CLOSING_SECONDS)
            self._thread.join(CLOSING_SECONDS)

    def _begin(self) -> None:
        """One thread at a time: the one before has ended, or goes on."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = Thread(target=self._run, name="recording", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        goes_on = True
        while goes_on:
            batch = [self._rounds.get()]
            while batch[-1] is not None and len(batch) < BATCH and not self._rounds.empty():
                batch.append(self._rounds.get_nowait())  # nobody else takes any
            goes_on = batch[-1] is not None
            self._write([each for each in batch if each is not None])
            self._tell_skipped()

    def _write(self, batch: list[DecidedRound]) -> None:
        try:
            self._ring.add(self._line(each) for each in batch)
            self._has_failed = False
        except OSError as error:
            if not self._has_failed:
                self._log.warning("rounds cannot be recorded", folder=str(self._folder), error=str(error), help=HELP)
            self._has_failed = True
        except Exception as error:  # noqa: BLE001  (a mistake of ours must not end the thread)
            self._log.error("rounds cannot be recorded by a mistake of the operator", exc_info=error)

    def _tell_skipped(self) -> None:
        """The rounds count up and never down, so that both threads may look at them."""
        skipped = self._skipped - self._told_skipped
        if skipped:
            self._told_skipped += skipped
            self._log.warning("rounds were not recorded: they came faster than they can be written", rounds=skipped)

    def _line(self, decided: DecidedRound) -> bytes:
        return record_of(decided, self._deciders[decided.controller].seen, __version__)
