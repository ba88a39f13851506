"""Comparisons of the embedded cluster with a real one run whenever they could come out otherwise than recorded."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tests import __main__ as runner
from tests import fidelity
from tests.__main__ import COLLECTION, Comparisons, Run
from tests.fidelity import ROOT, digest, imported, is_recorded, reached, record
from tests.jobs import Ended
from tests.outcome import Count
from tests.shards import Case

COMPARED = Case("tests/e2e/test_words.py::test_it[real]", real=True, compares=True)
USUAL = Case("tests/e2e/test_zones.py::test_it[real]", real=True)
EMBEDDED = Case("tests/e2e/test_words.py::test_it[sim]", real=False)
CASES = [COMPARED, USUAL, EMBEDDED]

FILES = {
    "kubesim/__init__.py": "",
    "kubesim/server.py": "def answer():\n    from kubeloop.objects import pods\n",
    "kubesim/words.json": "{}",
    "kubeloop/__init__.py": "",
    "kubeloop/objects/__init__.py": "",
    "kubeloop/objects/pods.py": "from kubeloop import names\n",
    "kubeloop/names.py": "",
    "kubeloop/election.py": "",
    "fairlead/zones.py": "from kubesim import server\n",
    "tests/conftest.py": "from tests import planes\n",
    "tests/planes.py": "",
    "tests/e2e/test_words.py": "from tests.e2e import words\n",
    "tests/e2e/words.py": "import kubesim.server\n",
    "tests/e2e/answers.json": "{}",
    "tests/e2e/test_zones.py": "import fairlead.zones\n",
    "requirements.lock": "",
}
DECIDE = (
    "kubesim/server.py",
    "kubesim/words.json",
    "kubeloop/objects/pods.py",
    "kubeloop/names.py",
    "tests/planes.py",
    "tests/e2e/test_words.py",
    "tests/e2e/words.py",
    "tests/e2e/answers.json",
    "requirements.lock",
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("name", DECIDE)
def test_whatever_decides_how_they_come_out_changes_the_digest(name: str, tree: Path) -> None:
    before = digest(CASES, tree)

    (tree / name).write_text(f"{FILES[name]}\n")

    assert digest(CASES, tree) != before


@pytest.mark.parametrize("name", ["kubesim/fresh.py", "kubesim/data/fresh.json", "tests/e2e/test_more.py"])
def test_what_is_added_changes_the_digest(name: str, tree: Path) -> None:
    before = digest(CASES, tree)

    (tree / name).parent.mkdir(exist_ok=True)
    (tree / name).write_text("")

    assert digest([*CASES, Case("tests/e2e/test_more.py::test_it", real=True, compares="more" in name)], tree) != before


def test_the_same_text_in_another_file_is_another_digest(tree: Path) -> None:
    before = digest(CASES, tree)

    (tree / "kubesim/server.py").rename(tree / "kubesim/moved.py")

    assert digest(CASES, tree) != before


@pytest.mark.parametrize("name", ["fairlead/zones.py", "tests/e2e/test_zones.py", "kubeloop/election.py"])
def test_what_they_do_not_use_leaves_the_digest_as_it_is(name: str, tree: Path) -> None:
    before = digest(CASES, tree)

    (tree / name).write_text("changed = True\n")

    assert digest(CASES, tree) == before


def test_nothing_is_recorded_where_there_is_no_record(tmp_path: Path) -> None:
    file = tmp_path / "fidelity.txt"

    assert not is_recorded("abc", file)
    record("abc", file)
    assert is_recorded("abc", file)
    assert not is_recorded("abd", file)


Started = Callable[[type[Run], list[Case]], tuple[Run, list[str]]]


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Started:
    """A run that has collected these tests, and the tests that it goes on with."""
    monkeypatch.setattr(fidelity, "RECORD", tmp_path / "fidelity.txt")
    monkeypatch.setattr(fidelity, "digest", lambda tests: f"{sum(test.compares for test in tests)} compared")
    monkeypatch.setattr(fidelity, "is_recorded", lambda found: is_recorded(found, tmp_path / "fidelity.txt"))
    monkeypatch.setattr(fidelity, "record", lambda found: record(found, tmp_path / "fidelity.txt"))

    def collected(kind: type[Run], tests: list[Case]) -> tuple[Run, list[str]]:
        run = kind(tmp_path)
        (tmp_path / "tests.json").write_bytes(msgspec.json.encode(tests))
        first = next(job for job in run.first_jobs() if job.name == COLLECTION)
        jobs = list(run.ended(Ended(first, 0, 1.0, 1.0, "")))
        picked = [path for job in jobs for path in re.findall(r"--pick-tests=(\S+)", " ".join(map(str, job.command)))]
        return run, [name for path in picked for name in msgspec.json.decode(Path(path).read_bytes())]

    return collected


def test_both_sides_of_a_comparison_are_told_as_one(tmp_path: Path) -> None:
    words, told = tmp_path / "test_words.py", tmp_path / "told.json"
    words.write_text(
        "import pytest\n"
        "@pytest.mark.fidelity\n"
        "@pytest.mark.parametrize('place', [1, pytest.param(2, marks=pytest.mark.real(controllers=True))])\n"
        "def test_words(place): pass\n"
        "def test_other(): pass\n"
    )

    # In a process of its own: the plugin is imported before any other.
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tests.picking",
        "--collect-only",
        f"--tell-tests={told}",
        str(words),
    ]
    subprocess.run([*command, f"--rootdir={tmp_path}", "-c", str(ROOT / "pyproject.toml")], check=True, cwd=ROOT)

    found = msgspec.json.decode(told.read_bytes(), type=list[Case])
    assert [(case.real, case.compares) for case in found] == [(False, True), (True, True), (False, False)]


def test_a_run_leaves_out_what_is_recorded_and_nothing_else(started: Started) -> None:
    fidelity.record("1 compared")

    _, names = started(Run, CASES)

    assert sorted(names) == sorted([USUAL.name, EMBEDDED.name])


def test_a_run_compares_where_nothing_is_recorded_or_something_else_is(started: Started) -> None:
    _, without = started(Run, CASES)
    fidelity.record("2 compared")
    _, other = started(Run, CASES)

    assert sorted(without) == sorted(other) == sorted(test.name for test in CASES)


OUTCOMES = {
    "all passed": (Count(passed=1), True),
    "one failed": (Count(failed=1), False),
    "one was skipped, as without a control plane": (Count(skipped=1), False),
    "none was run": (Count(), False),
}


@pytest.mark.parametrize(("outcome", "recorded"), OUTCOMES.values(), ids=OUTCOMES.keys())
def test_only_what_has_passed_is_recorded(outcome: Count, recorded: bool, started: Started) -> None:
    run, names = started(Comparisons, CASES)
    assert isinstance(run, Comparisons)

    run.total = outcome
    run.record()

    assert names == [COMPARED.name]
    assert fidelity.is_recorded("1 compared") is recorded


def test_what_changed_while_it_was_compared_is_not_recorded(
    started: Started, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run, _ = started(Comparisons, CASES)
    assert isinstance(run, Comparisons)
    run.total = Count(passed=1)
    monkeypatch.setattr(fidelity, "digest", lambda _: "changed")

    run.record()

    assert not fidelity.is_recorded("1 compared")
    assert not fidelity.is_recorded("changed")
    assert "run them again" in capsys.readouterr().out


OPERATOR = (
    "fairlead/contracts",
    "fairlead/core/act.py",
    "fairlead/core/ask.py",
    "fairlead/core/decision.py",
    "fairlead/core/explain.py",
    "fairlead/cli",
    "fairlead/engine/driver",
    "fairlead/engine/process.py",
)
ON_REAL = re.compile(r"@everywhere|pytest\.mark\.real\b")
NOT_COMPARISONS = {
    "tests/cli/test_up_versions.py",  # the operator is in the process that it starts
    "tests/e2e/test_clusters.py",  # of the tests' own ground
    "tests/e2e/test_events.py",  # of the runtime, as the next but one
    "tests/e2e/test_history.py",  # of the tests' own record
    "tests/e2e/test_records.py",
    "tests/e2e/test_service_proxy.py",  # of the tests' own ground
    "tests/image/test_contents.py",
    "tests/kubesim/controllers/test_clone_traces.py",  # marked `timing`, as the next three: in soak alone
    "tests/kubesim/controllers/test_deployment_traces.py",
    "tests/kubesim/controllers/test_recorded_traces.py",
    "tests/kubesim/controllers/test_traces.py",
    "tests/plane/test_launch.py",
    "tests/tools/test_answers.py",  # that what is recorded of a real cluster is what it says
    "tests/tools/test_bootstrap.py",
    "tests/tools/test_copies.py",
    "tests/tools/test_exchanges.py",
    "tests/tools/test_schemas.py",
}


def importing(files: set[Path], wanted: Callable[[Path], bool]) -> set[Path]:
    """Those of the files that import one that is wanted, or are one."""
    imports = {file: set(imported(file)) for file in files}
    found = set(filter(wanted, files))
    while more := {file for file in files - found if imports[file] & found}:
        found |= more
    return found


def _name(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def test_comparisons_are_all_real_tests_that_know_nothing_of_an_operator() -> None:
    """A test of the operator is in every run; what no operator is in is decided by the files of the digest alone."""
    tests = {file: file.read_text() for file in (ROOT / "tests").glob("*/**/test_*.py")}
    real = {file for file, text in tests.items() if ON_REAL.search(text)}
    operated = importing(reached(real), lambda file: _name(file).startswith(OPERATOR))
    marked = {_name(file) for file, text in tests.items() if "pytestmark = pytest.mark.fidelity" in text}
    without_operator = {_name(file) for file in real - operated}

    assert marked == without_operator - NOT_COMPARISONS
    assert len(marked) > 25


def test_soak_and_a_command_of_its_own_record() -> None:
    makefile = (ROOT / "Makefile").read_text()

    for target in ("fidelity", "soak"):
        (recipe,) = re.findall(rf"^{target}:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
        assert f"python -m tests {runner.COMPARE}" in recipe
