"""How Prometheus is built."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.plane.prometheus import PROMETHEUS, find


def test_build_asks_go_for_the_pinned_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAIRLEAD_PROMETHEUS", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    go = tmp_path / "go"
    go.write_text('#!/bin/sh\n/bin/echo "$@" >> prometheus\n/bin/chmod +x prometheus\n')
    go.chmod(0o700)

    got, made = find(lambda _line: None).read_text().splitlines()

    assert got == f"get github.com/prometheus/prometheus/cmd/prometheus@v{PROMETHEUS}"
    assert made.split()[0] == "build"
