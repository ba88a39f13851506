"""The log holds nobody up: not with a reader that hangs, nor with one that is gone, nor on a full disk."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import TextIO

import pytest

from fairlead.engine.log_stream import LogStream
from fairlead.engine.logs import configure

LINES = 300
PADDING = "x" * 1000
"""More than a pipe holds, with so many lines."""


class Pipe:
    def __init__(self) -> None:
        reading, writing = os.pipe()
        self.writing: TextIO = os.fdopen(writing, "w", encoding="utf-8")
        self.reading: TextIO = os.fdopen(reading, encoding="utf-8")

    def lines(self, number: int) -> list[str]:
        """The next so many, read in time."""
        found: list[str] = []
        in_time(lambda: found.extend(next(self.reading) for _ in range(number)))
        return found


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    made = Pipe()
    yield made
    made.writing.close()
    made.reading.close()


def in_time(work: Callable[[], object]) -> None:
    """Does it, in seconds; a process that waits for its log would do so for ever."""
    doing = Thread(target=work, daemon=True)
    doing.start()
    doing.join(10)
    assert not doing.is_alive()


def write_all(stream: LogStream) -> None:
    for number in range(LINES):
        stream.write(f"{number} {PADDING}\n")


def finish(stream: LogStream, descriptor: int) -> None:
    stream.finish(10)
    os.close(descriptor)


def test_nobody_waits_for_a_reader_of_the_log_that_hangs_and_no_line_is_lost(pipe: Pipe) -> None:
    log = configure("info", "logfmt", pipe.writing)

    in_time(lambda: [log.info("said", number=number, padding=PADDING) for number in range(LINES)])
    seen = pipe.lines(LINES)

    assert all(f" number={number} " in line and line.endswith("x\n") for number, line in enumerate(seen))


def test_what_comes_while_too_much_waits_is_dropped_and_counted() -> None:
    reading, writing = os.pipe()
    stream, dropped = LogStream(writing, most_bytes=50_000), list[int]()
    stream.dropped = dropped.append

    in_time(lambda: write_all(stream))
    with os.fdopen(reading, encoding="utf-8") as file:
        kept = [int(next(file).split()[0])]
        closing = Thread(target=finish, args=(stream, writing))
        closing.start()
        kept += [int(line.split()[0]) for line in file]
        closing.join()

    assert kept == list(range(len(kept)))
    assert 50 < len(kept) < LINES
    assert dropped == [LINES - len(kept)]


def test_lines_after_a_pause_of_the_reader_come_after_those_before(pipe: Pipe) -> None:
    stream = LogStream(pipe.writing.fileno())
    in_time(lambda: write_all(stream))
    seen = pipe.lines(LINES)
    stream.finish(10)

    stream.write(f"{LINES} is the last\n")

    assert [int(line.split()[0]) for line in (*seen, *pipe.lines(1))] == list(range(LINES + 1))


def test_a_log_that_nobody_reads_any_more_fails_nothing(pipe: Pipe) -> None:
    log = configure("info", "json", pipe.writing)
    pipe.reading.close()

    in_time(lambda: [log.info("said", number=number, padding=PADDING) for number in range(LINES)])
    log.error("said")

    with pytest.raises(BrokenPipeError):
        os.write(pipe.writing.fileno(), b"x")


def test_a_full_disk_fails_nothing() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        configure("info", "logfmt", full).info("said")


def test_a_stream_that_is_closed_is_not_written_to_whoever_has_its_number_now(tmp_path: Path) -> None:
    first = (tmp_path / "log").open("w", encoding="utf-8")
    log, number = configure("info", "logfmt", first), first.fileno()
    first.close()

    with (tmp_path / "other").open("w", encoding="utf-8") as other:
        assert other.fileno() == number, "the lowest that is free"
        log.info("said")

    assert (tmp_path / "other").read_text() == (tmp_path / "log").read_text() == ""


def test_a_stream_that_somebody_made_non_blocking_loses_nothing(pipe: Pipe) -> None:
    """As a shell's other programs may do to a terminal that all of them share."""
    os.set_blocking(pipe.writing.fileno(), False)
    log = configure("info", "logfmt", pipe.writing)

    in_time(lambda: [log.info("said", number=number, padding=PADDING) for number in range(LINES)])

    assert len(pipe.lines(LINES)) == LINES


def test_a_process_without_standard_error_logs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)

    configure("info", "logfmt").info("said")


def test_a_line_longer_than_a_pipe_comes_whole(pipe: Pipe) -> None:
    stream = LogStream(pipe.writing.fileno())

    in_time(lambda: stream.write("ä" * 100_000 + "\n"))
    in_time(lambda: stream.write("next\n"))

    assert pipe.lines(2) == ["ä" * 100_000 + "\n", "next\n"]


def test_a_process_that_may_have_no_more_threads_fails_by_no_line_and_writes_all_once_it_may(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container with a limit of processes."""
    stream = LogStream(pipe.writing.fileno())
    with monkeypatch.context() as limited:
        limited.setattr(Thread, "start", none_to_be_had)
        write_all(stream)

    stream.write("the last\n")

    assert [line.split()[0] for line in pipe.lines(LINES + 1)] == [*map(str, range(LINES)), "the"]


def none_to_be_had(_: Thread) -> None:
    raise RuntimeError("can't start new thread")
