"""Where Prometheus is looked for."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from fairlead.plane.build import Unavailable, cache
from fairlead.plane.prometheus import PROMETHEUS, find


@pytest.fixture(autouse=True)
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No Go, no Prometheus, an empty cache."""
    monkeypatch.delenv("FAIRLEAD_PROMETHEUS", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_program_that_is_named_wins_over_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = executable(tmp_path / "named" / "prometheus")
    executable(cached())
    monkeypatch.setenv("FAIRLEAD_PROMETHEUS", str(named))

    assert find(silence) == named


def test_name_without_a_program_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable(cached())
    monkeypatch.setenv("FAIRLEAD_PROMETHEUS", str(tmp_path / "nothing"))

    with pytest.raises(Unavailable, match=r"FAIRLEAD_PROMETHEUS=.*correct or unset it"):
        find(silence)


def test_cache_is_used_and_a_prometheus_of_any_release_on_path_is_not(tmp_path: Path) -> None:
    executable(tmp_path / "bin" / "prometheus")
    ours = executable(cached())

    assert find(silence) == ours


@pytest.mark.parametrize("may_build", [True, False])
def test_without_go_one_sentence_says_what_would_help(may_build: bool) -> None:
    with pytest.raises(Unavailable, match="install Go, or set FAIRLEAD_PROMETHEUS"):
        find(silence, build=may_build)


def test_nothing_is_built_when_that_is_not_wanted(tmp_path: Path) -> None:
    executable(tmp_path / "bin" / "go")

    with pytest.raises(Unavailable, match="make prometheus"):
        find(silence, build=False)
    assert not cached().parent.exists()


def test_build_asks_go_for_the_pinned_release_and_leaves_only_the_program(tmp_path: Path) -> None:
    said: list[str] = []
    go = executable(tmp_path / "bin" / "go")
    go.write_text('#!/bin/sh\n/bin/echo "$@" >> prometheus\n/bin/chmod +x prometheus\n')

    built = find(said.append)

    assert built == cached()
    got, made = built.read_text().splitlines()
    assert got == f"get github.com/prometheus/prometheus/cmd/prometheus@v{PROMETHEUS}"
    assert made.split()[0] == "build"
    assert sorted(path.name for path in cache().iterdir()) == [cached().parent.name, "prometheus.lock"]
    assert len(said) == 2


def cached() -> Path:
    return cache() / f"prometheus-{PROMETHEUS}-{platform.machine()}" / "prometheus"


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o700)
    return path


def silence(_line: str) -> None:
    pass
