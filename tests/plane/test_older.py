"""How the API server of an older release is built."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.plane.build import Unavailable
from fairlead.plane.older import OLDER, UNUSED, find

GO = """#!/bin/sh
case "$1 $2" in
"mod download") printf '{{"Dir": "{module}"}}' ;;
"mod edit") /bin/echo "$3" >> {edited} ;;
*) while [ "$1" != "-o" ]; do shift; done; /bin/cp go.mod "$2"; /bin/echo "$3" >> "$2"; /bin/chmod +x "$2" ;;
esac
"""


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Go command that a test writes; nothing is in the cache."""
    monkeypatch.delenv("FAIRLEAD_KUBE_APISERVER", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "go"
    path.touch(mode=0o700)
    return path


def test_only_the_api_server_is_built_with_the_modules_that_it_is_made_of(go: Path, tmp_path: Path) -> None:
    module, edited = tmp_path / "module", tmp_path / "edited"
    module.mkdir()
    (module / "go.mod").write_text("replace k8s.io/api => ./staging/src/k8s.io/api\n")
    go.write_text(GO.format(module=module, edited=edited))

    built = find(lambda _line: None)

    assert (built.name, OLDER in built.parent.name) == ("kube-apiserver", True)
    assert built.read_text().splitlines() == [
        f"replace k8s.io/api => k8s.io/api v0.{OLDER.partition('.')[2]}",
        "./cmd/kube-apiserver",
    ]
    assert edited.read_text().splitlines() == [f"-droprequire={each}" for each in UNUSED]


def test_a_sentence_says_how_it_is_built(go: Path) -> None:
    with pytest.raises(Unavailable, match="make older-plane"):
        find(lambda _line: None, build=False)
