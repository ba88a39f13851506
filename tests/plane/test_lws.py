"""How upstream's manager of LeaderWorkerSets is built, and where its module is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.plane.lws import LWS, find, source


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Go command that a test writes; nothing is in the cache."""
    monkeypatch.delenv("FAIRLEAD_LWS", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "go"
    path.touch(mode=0o700)
    return path


@pytest.mark.parametrize("release", [LWS, "0.5.1"])
def test_release_is_built_from_a_copy_of_its_module(go: Path, tmp_path: Path, release: str) -> None:
    (tmp_path / "module").mkdir()
    (tmp_path / "module" / "main.go").write_text("package main")
    go.write_text(
        "#!/bin/sh\n"
        f'case $1 in mod) /bin/echo $4 > {tmp_path}/asked; printf \'{{"Dir": "{tmp_path}/module"}}\';;\n'
        '*) /bin/cp main.go ../lws; /bin/echo "$@" >> ../lws; /bin/chmod +x ../lws;; esac\n'
    )

    built = find(lambda _line: None, release=release)

    assert (built.name, release in built.parent.name) == ("lws", True)
    assert (tmp_path / "asked").read_text() == f"sigs.k8s.io/lws@v{release}\n"
    assert built.read_text().startswith("package main")
    assert built.read_text().split()[-1] == "./cmd"


def test_module_of_any_release_is_where_go_says(go: Path) -> None:
    go.write_text('#!/bin/sh\nprintf \'{"Dir": "/modules/%s"}\' "$4"\n')

    assert source("0.5.0") == Path("/modules/sigs.k8s.io/lws@v0.5.0")
