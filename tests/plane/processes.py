"""Looking at processes that are not ours to wait for."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def alive(pid: int) -> bool:
    """Whether it runs; one that has ended and was not collected yet does not."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2]
    except ProcessLookupError:
        return False
    except FileNotFoundError:
        return not Path("/proc/self").exists()  # elsewhere than on Linux the signal has told
    return not state.startswith("Z")


def until(holds: Callable[[], T], seconds: float = 120.0) -> T:
    """What `holds` returns once that is true; it looks at the system, which announces nothing."""
    deadline = time.monotonic() + seconds
    while not (value := holds()):
        assert time.monotonic() < deadline, "it never held"
        time.sleep(0.01)
    return value
