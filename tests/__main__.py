"""`python -m tests`: lint and every test; the last line counts them: `N passed, N failed, N skipped`.

Each lint command counts as one test. Tests run in shards, each in a process of its own, so that all cores are busy and
even a test that brings the interpreter down is counted. What a shard prints is shown when it has ended, unless all of
it passed. With arguments, which go to pytest, there is one process and lint is left out.

What others show on the real control plane too is left to `python -m tests --again`, which CI runs before all the rest
(`tests/again.py`).

`python -m tests --fidelity` runs only the comparisons of the embedded cluster with a real one, and records that they
passed; without a change they are left out of other runs from then on.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from tests import again, fidelity
from tests.jobs import Ended, Job, show, work_off
from tests.outcome import Count, read
from tests.shards import Case, Shard, shards

ROOT = Path(__file__).parent.parent
LINT = (
    ("python", "-m", "tools.type_check"),
    ("python", "-m", "tools.duplicates"),
    ("lint-imports",),
    ("ruff", "check", "."),
    ("ruff", "format", "--check", "."),
)
COLLECTION = "collection of all tests"
COMPARE = "--fidelity"
AGAIN = "--again"


def tests(arguments: Sequence[str]) -> Count:
    """Runs pytest, whose output is shown as it comes."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        code = show(_pytest(report, arguments))
        count, problem = counted(report, code)
        if problem:
            _say(problem)
        return count


def everything() -> Count:
    """Lint and all tests, side by side."""
    return _worked_off(Run).total


def left_out() -> Count:
    """What a run of everything leaves out on the real control plane."""
    return _worked_off(Again).total


def comparisons() -> Count:
    """All comparisons of the embedded cluster with a real one; that they passed is recorded."""
    run = _worked_off(Comparisons)
    run.record()
    return run.total


R = TypeVar("R", bound="Run")


def _worked_off(kind: type[R]) -> R:
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        run = kind(Path(folder))
        work_off(run.first_jobs(), run.ended, ROOT)
    _say(f"{time.monotonic() - started:.0f} s, {run.cpu_seconds:.0f} s of CPU")
    return run


class Run:
    """Lint commands and the collection of all tests, then the shards that follow from it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._shards: dict[str, tuple[Shard, Path]] = {}
        """By name, each with its report."""
        self.total = Count()
        self.cpu_seconds = 0.0

    def first_jobs(self) -> list[Job]:
        return [
            self.collection(),
            *(Job(" ".join(command), _lint(command), seconds=100.0) for command in LINT),
        ]

    def collection(self) -> Job:
        collect = ("--collect-only", "-q", "-q", f"--tell-tests={self._told}")
        return Job(COLLECTION, _picking(collect), seconds=1000.0)

    def chosen(self, told: Sequence[Case]) -> Sequence[Case]:
        """All tests but those whose outcome is known, or that others show as well."""
        repeated = self._again(told)
        if repeated:
            _say(f"left out {len(repeated)} tests that show on the real control plane what others show: `make again`")
            told = [test for test in told if test not in repeated]
        if not fidelity.is_recorded(fidelity.digest(told)):
            return told
        chosen = [test for test in told if not test.compares]
        if len(chosen) < len(told):
            _say(
                f"left out {len(told) - len(chosen)} comparisons of the embedded cluster with a real one: "
                "they have passed as they are, as tests/fidelity.txt records"
            )
        return chosen

    def _again(self, told: Sequence[Case]) -> Sequence[Case]:
        found, unknown = again.found(told)
        for entry in unknown:
            self.total = self.total.plus(Count(failed=1))
            _say(f"tests/again.py names {entry}, and no such test runs, or none on the real control plane")
        return found

    @property
    def _told(self) -> Path:
        return self._folder / "tests.json"

    def ended(self, ended: Ended) -> Iterable[Job]:
        """Shows and counts what has ended; answers with what can run now."""
        self.cpu_seconds += ended.cpu_seconds
        name = ended.job.name
        if name == COLLECTION:
            return self._collected(ended)
        if name in self._shards:
            shard, report = self._shards[name]
            self._count(ended, *counted(report, ended.code, len(shard.tests)))
        else:
            self._count(ended, Count(passed=1) if ended.code == 0 else Count(failed=1))
        return ()

    def _collected(self, ended: Ended) -> Iterable[Job]:
        """Files that cannot be imported fail here, and the others run nevertheless."""
        told = msgspec.json.decode(self._told.read_bytes(), type=list[Case]) if self._told.exists() else []
        self._count(ended, Count(failed=0 if ended.code == 0 and told else 1), "" if told else "there are no tests")
        return [self._job(shard, number) for number, shard in enumerate(shards(self.chosen(told)))]

    def _job(self, shard: Shard, number: int) -> Job:
        report, picked = self._folder / f"{number}.xml", self._folder / f"{number}.json"
        picked.write_bytes(msgspec.json.encode([test.name for test in shard.tests]))
        self._shards[shard.name] = (shard, report)
        command = _picking((f"--pick-tests={picked}", f"--junitxml={report}", "-rfEs", *shard.files))
        return Job(shard.name, command, shard.seconds, waits=shard.real)

    def _count(self, ended: Ended, count: Count, problem: str = "") -> None:
        self.total = self.total.plus(count)
        word = "FAILED" if count.failed else "ok    "
        spent = f"{ended.seconds:.0f} s, {ended.cpu_seconds:.0f} s of CPU"
        _say(f"{word} {ended.job.name}: {count} ({spent})")
        if count.failed or count.skipped:
            _say(ended.output)
        if problem:
            _say(problem)


class Again(Run):
    """Only what shows on the real control plane once more what others show there."""

    def first_jobs(self) -> list[Job]:
        return [self.collection()]

    def chosen(self, told: Sequence[Case]) -> Sequence[Case]:
        return self._again(told)


class Comparisons(Run):
    """Only what compares the embedded cluster with a real one."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._tests: tuple[Case, ...] = ()
        self._digest = ""
        """Of what was compared, as it was at the beginning."""

    def first_jobs(self) -> list[Job]:
        return [self.collection()]

    def chosen(self, told: Sequence[Case]) -> Sequence[Case]:
        self._tests = tuple(test for test in told if test.compares)
        self._digest = fidelity.digest(self._tests)
        return self._tests

    def record(self) -> None:
        """Only that all of them passed, and only of what is still there."""
        if self.total == Count(passed=len(self._tests)) and self._tests:
            if fidelity.digest(self._tests) == self._digest:
                fidelity.record(self._digest)
                return
            _say("files changed meanwhile: run them again to have their outcome recorded")


def counted(report: Path, code: int, expected: int = 1) -> tuple[Count, str]:
    """The tests of a report, and what is wrong with it; fewer than expected are a failure."""
    count = read(report)
    if count.all >= expected and (count.failed or code == 0):
        return count, ""
    # A crash leaves no report, whatever the code; an interrupted or empty run has nobody to blame.
    problem = f"pytest ended with code {code} and told the outcome of {count.all} tests of {expected}, "
    return count.plus(Count(failed=1)), problem + "which counts as one failed"


def _pytest(report: Path, arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "pytest", f"--junitxml={report}", "-rfEs", *arguments]


def _picking(arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "pytest", "-p", "tests.picking", *arguments]


def _lint(command: Sequence[str]) -> list[str]:
    return [str(Path(sys.executable).with_name(command[0])), *command[1:]]


def main(arguments: Sequence[str]) -> int:
    match list(arguments):
        case []:
            total = everything()
        case [word] if word == AGAIN:
            total = left_out()
        case [word] if word == COMPARE:
            total = comparisons()
        case _:
            total = tests(arguments)
    _say(str(total))
    return 1 if total.failed else 0


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
