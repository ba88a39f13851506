"""How OpenKruise's manager is built, and where its module is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.plane.kruise import KRUISE, find, source


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Go command that a test writes; nothing is in the cache."""
    monkeypatch.delenv("FAIRLEAD_KRUISE", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "go"
    path.touch(mode=0o700)
    return path


def test_it_is_built_from_a_copy_of_its_module(go: Path, tmp_path: Path) -> None:
    (tmp_path / "module").mkdir()
    (tmp_path / "module" / "main.go").write_text("package main")
    go.write_text(
        "#!/bin/sh\n"
        f'case $1 in mod) /bin/echo $4 > {tmp_path}/asked; printf \'{{"Dir": "{tmp_path}/module"}}\';;\n'
        '*) /bin/cp main.go ../kruise; /bin/echo "$@" >> ../kruise; /bin/chmod +x ../kruise;; esac\n'
    )

    built = find(lambda _line: None)

    assert (built.name, KRUISE in built.parent.name) == ("kruise", True)
    assert (tmp_path / "asked").read_text() == f"github.com/openkruise/kruise@v{KRUISE}\n"
    assert built.read_text().startswith("package main")
    assert built.read_text().split()[-1] == "."


def test_its_module_is_where_go_says(go: Path) -> None:
    go.write_text('#!/bin/sh\nprintf \'{"Dir": "/modules/%s"}\' "$4"\n')

    assert source() == Path(f"/modules/github.com/openkruise/kruise@v{KRUISE}")
