"""Types are checked by one run at a time."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools.type_check import LOCK, alone


def test_nobody_else_checks_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    lock = tmp_path / "fairlead" / LOCK
    other = (
        "import fcntl, sys\n"
        f"try: fcntl.flock(open({str(lock)!r}), fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
        "except BlockingIOError: sys.exit(7)"
    )

    assert alone((sys.executable, "-c", other)) == 7
    assert alone((sys.executable, "-c", "")) == 0
