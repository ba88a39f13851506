"""What is left to `make again`: which tests those are, and that nobody leaves them out for good."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests import again
from tests.__main__ import AGAIN, ROOT, Again, Run
from tests.again import REPEATED, Repeated, names_of
from tests.outcome import Count
from tests.shards import Case

FILE = "tests/e2e/test_it.py"
SIM, REAL, ROW, OTHER_ROW = (
    f"{FILE}::{name}" for name in ("test_a[sim]", "test_a[real]", "test_b[x-real]", "test_b[y-real]")
)
CASES = [Case(SIM, real=False), *(Case(name, real=True) for name in (REAL, ROW, OTHER_ROW))]


def repeated(entry: str) -> Repeated:
    file, _, test = entry.partition("::")
    return Repeated("others", {}, {file: (test,) if test else ()})


@pytest.mark.parametrize(
    ("entry", "names"),
    [
        (FILE, {REAL, ROW, OTHER_ROW}),
        (f"{FILE}::test_a", {REAL}),
        (f"{FILE}::test_b", {ROW, OTHER_ROW}),
        (ROW, {ROW}),
    ],
    ids=["file", "test", "several rows", "row"],
)
def test_a_run_leaves_out_what_is_repeated_and_the_other_command_runs_it(
    entry: str, names: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(again, "REPEATED", (repeated(entry),))

    assert {case.name for case in Again(tmp_path).chosen(CASES)} == names
    assert {case.name for case in Run(tmp_path).chosen(CASES)} == {case.name for case in CASES} - names


@pytest.mark.parametrize("entry", [f"{FILE}::test_c", SIM, f"{FILE}::test_"])
def test_what_names_no_test_on_the_real_control_plane_fails_the_run(
    entry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(again, "REPEATED", (repeated(entry), Repeated("others", {}, {"tests/not/collected.py": ()})))
    run = Run(tmp_path)

    assert list(run.chosen(CASES)) == CASES
    assert run.total == Count(failed=1)
    assert entry in capsys.readouterr().out


@pytest.mark.parametrize("guard", [f"{FILE}::test_c", ROW, f"{FILE}::test_a[other]"])
def test_a_guard_that_does_not_run_fails_the_run(
    guard: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that is left out itself guards nothing."""
    guards = {FILE: (guard.partition("::")[2], "test_a[sim]", "test_b"), "tests/not/collected.py": ("test_d",)}
    monkeypatch.setattr(again, "REPEATED", (Repeated("others", guards, {FILE: ("test_b[x-real]",)}),))
    run = Run(tmp_path)

    assert ROW not in {case.name for case in run.chosen(CASES)}
    assert run.total == Count(failed=1)
    assert guard in capsys.readouterr().out


def test_every_entry_is_there_and_stands_once() -> None:
    """That rows are there only a run can know, which has collected them."""
    entries = [name for each in REPEATED for name in names_of(each.tests)]

    assert len(entries) == len(set(entries))
    for entry in [*entries, *(guard for each in REPEATED for guard in names_of(each.guards))]:
        file, _, test = entry.partition("::")
        tree = ast.parse((ROOT / file).read_text())
        functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        assert not test or test.partition("[")[0] in functions, entry


def test_ci_runs_both() -> None:
    makefile = (ROOT / "Makefile").read_text()
    (recipe,) = re.findall(r"^again:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    commands = re.findall(r"^make (\w+) \|\| code=1$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)

    assert f"python -m tests {AGAIN}" in recipe
    assert commands == ["again", "test"], "the last line counts the tests that everybody runs"
