"""Which Python `make setup` takes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools import interpreter
from tools.interpreter import Found, ask, choose, compared

SHELLS = Found("/shell/python3", (3, 12, 1), seconds=1.0)
OTHER = Found("/usr/bin/python3", (3, 11, 2), seconds=0.8)


@pytest.mark.parametrize(
    ("shells", "others", "taken", "why"),
    [
        (SHELLS, [], SHELLS, "there is no other"),
        (SHELLS, [OTHER._replace(seconds=0.95)], SHELLS, "no other is clearly faster"),
        (SHELLS, [OTHER], OTHER, "takes 80 % of the CPU of /shell/python3 (3.12.1)"),
        (
            SHELLS,
            [OTHER, OTHER._replace(path="/b", seconds=0.78)],
            OTHER,
            "takes 80 % of the CPU of /shell/python3 (3.12.1)",
        ),
        (SHELLS, [OTHER._replace(version=(3, 10, 9))], SHELLS, "there is no other"),
        (SHELLS, [OTHER._replace(version=(3, 99, 0))], SHELLS, "there is no other"),
        (SHELLS, [OTHER._replace(missing=("ssl",), seconds=0.0)], SHELLS, "there is no other"),
        (SHELLS._replace(version=(3, 99, 0)), [], SHELLS._replace(version=(3, 99, 0)), "there is no other"),
        (SHELLS._replace(version=(3, 9, 1)), [OTHER], OTHER, "/shell/python3 (3.9.1) is too old"),
        (SHELLS._replace(missing=("ssl", "zlib")), [OTHER], OTHER, "/shell/python3 (3.12.1) lacks ssl, zlib"),
        (None, [OTHER], OTHER, "the shell has no python3"),
        (
            None,
            [OTHER, OTHER._replace(path="/b", seconds=0.5)],
            OTHER._replace(path="/b", seconds=0.5),
            "the shell has no python3",
        ),
        (SHELLS._replace(version=(3, 9, 1)), [OTHER._replace(missing=("ssl",))], None, ""),
        (None, [], None, ""),
    ],
    ids=[
        "the only one",
        "one that is as fast",
        "a faster one",
        "the first of two that are as fast",
        "one too old",
        "one too new",
        "one that lacks a module",
        "a shell's that is newer than all tested",
        "a shell's too old",
        "a shell's that lacks modules",
        "none in the shell",
        "none in the shell and the faster of two",
        "none that will do",
        "none at all",
    ],
)
def test_the_shells_python_is_taken_unless_another_is_clearly_better(
    shells: Found | None, others: list[Found], taken: Found | None, why: str
) -> None:
    assert choose(shells, others) == (taken, why)


def test_a_python_tells_of_itself() -> None:
    found = ask(sys.executable)

    assert found is not None
    assert (found.path, found.version, found.missing, found.lack) == (sys.executable, sys.version_info[:3], (), "")
    assert found.seconds > 0


def test_what_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "NEEDED", ("ssl", "no_such_module"))

    found = ask(sys.executable)

    assert found is not None
    assert found.lack == "lacks no_such_module"


@pytest.mark.parametrize("script", ["exit 127", "echo no JSON", "echo '[]'"])
def test_what_is_no_python_is_passed_over(script: str, tmp_path: Path) -> None:
    assert ask(str(_program(tmp_path / "python3", script))) is None
    assert ask(str(tmp_path / "missing")) is None


def test_the_faster_python_of_the_path_is_printed_and_the_reason_told(tmp_path: Path) -> None:
    told = _run(
        _program(tmp_path / "a/python3", f"""echo '["{tmp_path}/a/python3", [3, 11, 9], [], 9]'"""),
        _program(tmp_path / "b/python3.12", f"""echo '["{tmp_path}/b/python3.12", [3, 12, 9], [], 0.000001]'"""),
    )

    assert told.stdout == f"{tmp_path}/b/python3.12\n"
    assert told.stderr == (
        f"  Python: {tmp_path}/b/python3.12 (3.12.9); takes 0 % of the CPU of {tmp_path}/a/python3 (3.11.9)\n"
    )


def _run(*programs: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(str(program.parent) for program in programs)
    return subprocess.run(
        [sys.executable, interpreter.__file__],
        env={**os.environ, "PATH": f"{path}{os.pathsep}/bin"},
        capture_output=True,
        text=True,
        check=True,
    )


def _program(path: Path, script: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_who_is_asked_in_a_slow_moment_is_compared_with_others_of_that_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second is faster by a fifth; the machine takes twice as long for the one question and the next."""
    slowness = iter([2, 2, 1, 1, 1, 2, 2, 2, 1, 1, 2, 2, 1, 1])
    seconds = {"/first": 1.0, "/second": 0.8}

    def ask_slowly(path: str) -> Found:
        return Found(path, (3, 11, 2), seconds=seconds[path] * next(slowness))

    monkeypatch.setattr(interpreter, "ask", ask_slowly)

    found = compared([Found("/first", (3, 11, 2)), Found("/second", (3, 11, 2))])

    assert [each.seconds for each in found] == [1.0, 0.8]


def test_what_cannot_be_taken_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "ask", lambda path: Found(path, (3, 11, 2), seconds=3.0))
    old = Found("/old", (3, 9, 1), seconds=0.1)

    assert compared([old, SHELLS]) == [old, SHELLS._replace(seconds=1.0)]
    assert compared([old]) == [old]
