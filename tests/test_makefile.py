"""What `make run` and `make test` would do, by what is installed already."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).parent.parent / "Makefile"
INPUTS = ("requirements.lock", "pyproject.toml")
LEAST, ALL = "Setting up what running needs", "Setting up everything"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The Makefile, what it depends on, and an empty environment."""
    shutil.copy(MAKEFILE, tmp_path)
    (tmp_path / ".venv").mkdir()
    for name in INPUTS:
        _dated(tmp_path / name, 100)
    return tmp_path


def _dated(path: Path, seconds: int) -> None:
    path.touch()
    os.utime(path, (seconds, seconds))


def _would(folder: Path, *words: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        ["make", "-n", *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=30, check=True
    ).stdout


def test_run_says_first_what_it_does_and_installs_what_running_needs(checkout: Path) -> None:
    would = _would(checkout, "run")

    assert would.startswith(f'echo "{LEAST}')
    assert "pip install" in would
    assert "pip sync" not in would
    assert ALL not in would
    assert would.splitlines()[-1].endswith("fairlead up --demo zones")


def test_run_passes_options_on(checkout: Path) -> None:
    _dated(checkout / ".venv/.runs", 200)

    assert _would(checkout, "run", "ARGS=--demo environments") == ".venv/bin/fairlead up --demo environments\n"


@pytest.mark.parametrize(
    ("marks", "changed", "run_installs", "test_installs"),
    [
        ((), 100, True, True),
        ((".runs",), 100, False, True),
        ((".runs", ".ready"), 100, False, False),
        ((".runs", ".ready"), 300, True, True),
    ],
    ids=["nothing", "what running needs", "everything", "everything, and the lock file is newer"],
)
def test_what_is_installed_already_is_not_installed_again(
    checkout: Path, marks: tuple[str, ...], changed: int, run_installs: bool, test_installs: bool
) -> None:
    for mark in marks:
        _dated(checkout / ".venv" / mark, 200)
    _dated(checkout / "requirements.lock", changed)

    assert (LEAST in _would(checkout, "run")) == run_installs
    assert (ALL in _would(checkout, "test")) == test_installs


def test_what_tests_need_contains_what_running_needs(checkout: Path) -> None:
    assert "touch .venv/.runs .venv/.ready" in _would(checkout, "test")


@pytest.mark.parametrize("words", [[], ["PYTHON=python3"]], ids=["found", "given"])
def test_a_machine_without_a_python_that_will_do_is_told_what_to_do(words: list[str], checkout: Path) -> None:
    shells = checkout / "bin" / "python3"
    shells.parent.mkdir()
    shells.write_text("#!/bin/sh\necho no Python >&2; exit 1\n")
    shells.chmod(0o755)
    path = f"{shells.parent}{os.pathsep}{os.environ['PATH']}"

    ended = subprocess.run(
        ["make", "setup", *words],
        cwd=checkout,
        env={"PATH": path},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert ended.returncode != 0
    assert "fairlead needs Python 3.11 or newer: run make with PYTHON=/path/to/python3.11\n" in ended.stderr
