"""`python -m tests.image`: prints how large the image is and how quickly its programs start, for bench/RESULTS.md.

The time is that of the machine; the CPU that a start takes hardly depends on who else is at work.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.table import machine, markdown
from tests.image.containers import Container, built, container, storage

RUNS = 11
PYTHON = "/opt/fairlead/bin/python3"
STARTS = {
    "a Python that does nothing": (PYTHON, "-c", "pass"),
    "`fairlead --help`": ("fairlead", "--help"),
    "everything that the operator loads": (PYTHON, "-c", "import fairlead.engine.process"),
}


def main() -> None:
    with storage(), container(built()) as made:
        print(machine(), end="\n\n")
        sizes = [("all of it", _megabytes(made.root)), ("what it adds to its base", _megabytes(made.root / "opt"))]
        print(markdown(("the image", "size"), [(what, f"{size:.0f} MB") for what, size in sizes]), end="\n\n")
        rows = [(what, *(f"{median:.0f} ms" for median in _medians(made, words))) for what, words in STARTS.items()]
        print(markdown(("start in a container", "time", "CPU"), rows))


def _megabytes(folder: Path) -> float:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()) / 1e6


def _medians(inside: Container, words: Sequence[str]) -> Iterator[float]:
    yield from map(statistics.median, zip(*(_start(inside.command(words)) for _ in range(RUNS)), strict=True))


def _start(command: Sequence[str]) -> tuple[float, float]:
    """Milliseconds of time and of CPU."""
    begun, before = time.perf_counter(), _used()
    subprocess.run(command, check=True, capture_output=True)
    return (time.perf_counter() - begun) * 1000, (_used() - before) * 1000


def _used() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
