"""How kubectl is built, in both of its releases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fairlead.plane.kubectl import RELEASES, find

GO = """#!/bin/sh
if [ "$1" = mod ]; then
    /bin/echo '{module}'
    exit 0
fi
while [ "$1" != -o ]; do shift; done
/bin/cat go.mod > "$2"
/bin/echo "$3" >> "$2"
/bin/chmod +x "$2"
"""


@pytest.mark.parametrize("release", RELEASES)
def test_build_takes_the_sibling_modules_of_the_same_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: str
) -> None:
    module = tmp_path / "module"
    module.mkdir()
    (module / "go.mod").write_text("replace k8s.io/api => ./staging/src/k8s.io/api\n")
    go = tmp_path / "go"
    go.write_text(GO.replace("{module}", json.dumps({"Dir": str(module)})))
    go.chmod(0o700)
    monkeypatch.delenv("FAIRLEAD_KUBECTL", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    built = find(lambda _line: None, release=release)

    sibling = "v0." + release.partition(".")[2]
    assert built.read_text().split("\n")[:2] == [f"replace k8s.io/api => k8s.io/api {sibling}", "./cmd/kubectl"]
    assert release in str(built)
