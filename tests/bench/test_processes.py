"""What is read of processes."""

from __future__ import annotations

import os
import subprocess
import sys

from bench.processes import children, peak_megabytes, present_megabytes


def test_a_process_is_told_with_those_that_it_has_started() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        during = children(os.getpid())
        child.communicate(b"\n")

    assert child.pid in during
    assert child.pid not in children(os.getpid())


def test_memory_is_told_as_it_is_and_as_it_was_at_most() -> None:
    block = bytearray(50_000_000)
    with_it = present_megabytes(os.getpid())
    del block
    without_it, most = present_megabytes(os.getpid()), peak_megabytes(os.getpid())

    # The kernel adds up both in its own time, so they are known to a megabyte or two.
    assert with_it > without_it + 40
    assert most > without_it + 40
