"""How long `fairlead --help` takes, beside a Python that does nothing."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

RUNS = 20
_LIMIT = 30.0


class Startup(Struct, frozen=True):
    """Medians in milliseconds."""

    help: float
    python: float


def measure(runs: int = RUNS) -> Startup:
    """Both are run in turn, so that what else the machine does falls on both alike."""
    program = [str(Path(sys.executable).with_name("fairlead")), "--help"]
    nothing = [sys.executable, "-c", "pass"]
    pairs = [(_milliseconds(program), _milliseconds(nothing)) for _ in range(runs)]
    helps, nothings = zip(*pairs, strict=True)
    return Startup(statistics.median(helps), statistics.median(nothings))


def _milliseconds(command: Sequence[str]) -> float:
    begun = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=_LIMIT)
    return (time.perf_counter() - begun) * 1000
