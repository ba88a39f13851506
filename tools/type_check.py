"""mypy, one run of this machine at a time: `python -m tools.type_check`.

What it knows of files is in the user's cache, for all checkouts; of two that write there at once either may find names
that the other has, and end with an internal error.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from fairlead.plane.build import cache, locked

LOCK = "mypy.lock"


def alone(command: Sequence[str | Path]) -> int:
    """Its exit code, once no other one runs."""
    cache().mkdir(parents=True, exist_ok=True)
    with locked(cache() / LOCK):
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(alone((Path(sys.executable).with_name("mypy"),)))
