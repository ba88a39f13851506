"""Where a program of a pinned release is looked for, and how it is built."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from fairlead.plane.build import Unavailable, cache
from fairlead.plane.tool import Tool


def build(work: Path) -> None:
    executable(work / "crane")
    (work / "rest").mkdir()


CRANE = Tool(name="Crane", version="1.2.3", minutes=2, target="crane", build=build)


@pytest.fixture(autouse=True)
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No Go, no program, an empty cache."""
    monkeypatch.delenv("FAIRLEAD_CRANE", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_program_that_is_named_wins_over_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = executable(tmp_path / "named" / "crane")
    executable(cached())
    monkeypatch.setenv("FAIRLEAD_CRANE", str(named))

    assert CRANE.find(silence) == named


def test_name_without_a_program_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable(cached())
    monkeypatch.setenv("FAIRLEAD_CRANE", str(tmp_path / "nothing"))

    with pytest.raises(Unavailable, match=r"FAIRLEAD_CRANE=.*correct or unset it"):
        CRANE.find(silence)


def test_cache_is_used_and_one_of_any_release_on_path_is_not(tmp_path: Path) -> None:
    executable(tmp_path / "bin" / "crane")
    ours = executable(cached())

    assert CRANE.find(silence) == ours


@pytest.mark.parametrize("may_build", [True, False])
def test_without_go_one_sentence_says_what_would_help(may_build: bool) -> None:
    with pytest.raises(Unavailable, match="install Go, or set FAIRLEAD_CRANE"):
        CRANE.find(silence, build=may_build)


def test_nothing_is_built_when_that_is_not_wanted(tmp_path: Path) -> None:
    executable(tmp_path / "bin" / "go")

    with pytest.raises(Unavailable, match="make crane"):
        CRANE.find(silence, build=False)
    assert not cached().parent.exists()


def test_what_is_built_leaves_only_the_program(tmp_path: Path) -> None:
    said: list[str] = []
    executable(tmp_path / "bin" / "go")

    built = CRANE.find(said.append)

    assert built == cached()
    assert sorted(path.name for path in cache().iterdir()) == [cached().parent.name, "crane.lock"]
    assert len(said) == 2


def cached() -> Path:
    return cache() / f"crane-1.2.3-{platform.machine()}" / "crane"


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o700)
    return path


def silence(_line: str) -> None:
    pass
