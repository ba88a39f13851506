"""How kubectl is built, in both of its releases."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.plane.kubectl import RELEASES, find

GO = """#!/bin/sh
/bin/echo "$@" >> words
while [ "$1" != -o ]; do
    shift || exit 0
    [ $# = 0 ] && exit 0
done
/bin/cat words main.go > "$2"
/bin/chmod +x "$2"
"""


@pytest.mark.parametrize("release", RELEASES)
def test_build_takes_the_modules_of_the_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: str) -> None:
    go = tmp_path / "go"
    go.write_text(GO)
    go.chmod(0o700)
    monkeypatch.delenv("FAIRLEAD_KUBECTL", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    built = find(lambda _line: None, release=release)

    sibling = "v0." + release.partition(".")[2]
    got, _, made = built.read_text().partition("\n")
    assert got == f"get k8s.io/kubectl@{sibling} k8s.io/client-go@{sibling} k8s.io/component-base@{sibling}"
    assert f"gitVersion=v{release}" in made
    assert "NewDefaultKubectlCommand" in made
    assert release in str(built)
