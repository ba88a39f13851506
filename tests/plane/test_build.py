"""Where the control plane's programs are looked for."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from fairlead.plane import build
from fairlead.plane.build import ETCD, KUBERNETES, PROGRAMS, Unavailable, find
from tests.planes import Planes


@pytest.fixture(autouse=True)
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No Go, no programs on PATH, an empty cache."""
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_assets_folder_wins_over_path_and_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assets = executables(tmp_path / "assets", PROGRAMS)
    executables(tmp_path / "bin", PROGRAMS)
    executables(cached(), PROGRAMS)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))

    assert find(silence) == assets


@pytest.mark.parametrize("missing", PROGRAMS)
def test_incomplete_assets_folder_is_an_error_even_if_others_are_complete(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who names a folder means it; silently taking other programs would test another release."""
    assets = executables(tmp_path / "assets", [program for program in PROGRAMS if program != missing])
    executables(tmp_path / "bin", PROGRAMS)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))

    with pytest.raises(Unavailable, match=r"KUBEBUILDER_ASSETS=.*correct or unset it"):
        find(silence)


def test_file_that_cannot_be_executed_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assets = executables(tmp_path / "assets", PROGRAMS)
    (assets / "etcd").chmod(0o600)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))

    with pytest.raises(Unavailable):
        find(silence)


def test_programs_on_path_win_over_the_cache(tmp_path: Path) -> None:
    on_path = executables(tmp_path / "bin", PROGRAMS)
    executables(cached(), PROGRAMS)

    assert find(silence) == on_path


def test_one_program_on_path_is_not_mixed_with_the_cache(tmp_path: Path) -> None:
    executables(tmp_path / "bin", ["etcd"])
    ready = executables(cached(), PROGRAMS)

    assert find(silence) == ready


def test_programs_in_different_folders_of_path_are_not_mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = executables(tmp_path / "first", ["etcd"])
    second = executables(tmp_path / "second", PROGRAMS)
    monkeypatch.setenv("PATH", f"{first}:{second}")
    ready = executables(cached(), PROGRAMS)

    assert find(silence) == ready


def test_cache_is_of_one_release() -> None:
    ready = executables(cached(), PROGRAMS)

    assert find(silence) == ready
    assert KUBERNETES in ready.name
    assert ETCD in ready.name


@pytest.mark.parametrize("may_build", [True, False])
def test_without_go_and_programs_one_sentence_says_what_would_help(may_build: bool) -> None:
    with pytest.raises(Unavailable, match=r"^Go is not installed.*install Go, or set KUBEBUILDER_ASSETS") as problem:
        find(silence, build=may_build)

    assert "\n" not in str(problem.value)


def test_tests_of_the_real_control_plane_are_skipped_with_that_sentence() -> None:
    with pytest.raises(pytest.skip.Exception, match=r"^Go is not installed"):
        Planes().get(controllers=True)


def test_nothing_is_built_unasked(tmp_path: Path) -> None:
    executables(tmp_path / "bin", ["go"])

    with pytest.raises(Unavailable, match="run `make control-plane` to build it"):
        find(silence, build=False)


def test_failing_go_is_quoted_and_leaves_no_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go = executables(tmp_path / "bin", ["go"]) / "go"
    go.write_text("#!/bin/sh\necho the proxy is asleep >&2\nexit 7\n")

    with pytest.raises(Unavailable, match="the proxy is asleep"):
        find(silence)

    assert not cached().exists()


def test_command_line_prints_the_folder_alone(capsys: pytest.CaptureFixture[str]) -> None:
    ready = executables(cached(), PROGRAMS)

    code = build.printed(find)

    assert code == 0
    assert capsys.readouterr().out == f"{ready}\n"


def test_command_line_fails_with_the_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    code = build.printed(find)

    shown = capsys.readouterr()
    assert code == 1
    assert shown.out == ""
    assert shown.err.startswith("Go is not installed")


def executables(folder: Path, names: Iterable[str]) -> Path:
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o700)
    return folder


def cached() -> Path:
    return build._folder()


def silence(_line: str) -> None:
    pass
