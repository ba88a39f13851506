"""Code that was compared is compared again when it is another, and only then."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.duplicates import KEPT, PACKAGES, ROOT, digest, once

TEXT = "".join(f"    first = second.third(fourth, {number})\n" for number in range(10))
TWICE = f"def one(second, fourth):\n{TEXT}    return first\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in (*(f"{package}/code.py" for package in PACKAGES), "pyproject.toml", "requirements.lock"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    return tmp_path


@pytest.mark.parametrize(
    "name", ["kubeloop/code.py", "kubesim/more.py", "fairlead/code.py", "pyproject.toml", "requirements.lock"]
)
def test_whatever_may_hold_lines_twice_is_another_state(name: str, tree: Path) -> None:
    before = digest(tree)

    (tree / name).write_text("pass\n")

    assert digest(tree) != before


def test_files_beside_the_code_change_nothing(tree: Path) -> None:
    before = digest(tree)

    (tree / "kubesim/words.json").write_text("{}")

    assert digest(tree) == before


def test_a_state_without_duplicates_is_looked_at_once(tmp_path: Path) -> None:
    codes = [1, 0, 7]

    assert [once(lambda: "state", lambda: codes.pop(0), tmp_path / "known") for _ in range(4)] == [1, 0, 0, 0]
    assert once(lambda: "other", lambda: codes.pop(0), tmp_path / "known") == 7


def test_what_changed_meanwhile_is_looked_at_again(tmp_path: Path) -> None:
    states = ["before", "after"]

    assert once(lambda: states.pop(0), lambda: 0, tmp_path / "known") == 0
    assert not (tmp_path / "known").exists()


def test_only_the_last_states_are_remembered(tmp_path: Path) -> None:
    for number in range(KEPT + 2):
        once(lambda number=number: str(number), lambda: 0, tmp_path)  # type: ignore[misc]
        os.utime(tmp_path / str(number), (number, number))
    once(lambda: "last", lambda: 0, tmp_path)

    assert {each.name for each in tmp_path.iterdir()} == {*(str(number) for number in range(3, KEPT + 2)), "last"}


def test_it_tells_where_lines_stand_twice(tmp_path: Path) -> None:
    """With the settings of this repository."""
    for name in ("first.py", "second.py"):
        (tmp_path / name).write_text(TWICE)

    done = subprocess.run(
        [Path(sys.executable).with_name("pylint"), f"--rcfile={ROOT / 'pyproject.toml'}", *tmp_path.iterdir()],
        check=False,
        text=True,
        capture_output=True,
        cwd=tmp_path,
    )

    assert done.returncode != 0
    assert "Similar lines in 2 files" in done.stdout
