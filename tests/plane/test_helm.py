"""How Helm is built."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.plane.helm import HELM, find


def test_build_asks_go_for_the_pinned_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAIRLEAD_HELM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    go = tmp_path / "go"
    go.write_text('#!/bin/sh\n/bin/echo "$@" > "$GOBIN/helm"\n/bin/chmod +x "$GOBIN/helm"\n')
    go.chmod(0o700)

    built = find(lambda _line: None)

    assert built.read_text().split()[0] == "install"
    assert built.read_text().split()[-1] == f"helm.sh/helm/v3/cmd/helm@v{HELM}"
