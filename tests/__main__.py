"""`python -m tests`: lint and every test; the last line counts them: `N passed, N failed, N skipped`.

Each lint command counts as one test. With arguments, which go to pytest, lint is left out.
Tests run in processes of their own, so that even one that brings the interpreter down is counted. Those on the real
control plane mostly wait for it, so they run beside the others, in two halves; what they print is shown at the end.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

ROOT = Path(__file__).parent.parent
LINT = (
    ("ruff", "check", "."),
    ("ruff", "format", "--check", "."),
    ("mypy",),
    ("lint-imports",),
    ("pylint", "fairlead"),
)


BESIDE = tuple(
    ("-m", "real", "-k", which)
    for which in ("test_zones or test_environment", "not test_zones and not test_environment")
)
"""Each with control planes of its own; together they are all tests on one."""


class Count(NamedTuple):
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def plus(self, other: Count) -> Count:
        return Count(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def lint() -> Count:
    """Only what a failing command says is shown."""
    total = Count()
    for command in LINT:
        started = time.monotonic()
        program = Path(sys.executable).with_name(command[0])
        done = subprocess.run(
            [program, *command[1:]], check=False, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        fine = done.returncode == 0
        _say(f"{'ok    ' if fine else 'FAILED'} {' '.join(command)} ({time.monotonic() - started:.1f} s)")
        if not fine:
            _say(done.stdout.rstrip())
        total = total.plus(Count(passed=1) if fine else Count(failed=1))
    return total


def tests(arguments: Sequence[str]) -> Count:
    """Runs pytest, whose output is shown as it comes."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        return _counted(report, subprocess.run(_pytest(report, arguments), check=False).returncode)


def tests_side_by_side(arguments: Sequence[str]) -> Count:
    """All tests: those on the real control plane, in halves, beside the others."""
    with tempfile.TemporaryDirectory() as folder:
        halves = [_Beside(Path(folder) / str(number), (*half, *arguments)) for number, half in enumerate(BESIDE)]
        try:
            total = tests(("-m", "not real", *arguments))
        except BaseException:
            for half in halves:
                half.process.terminate()
            raise
        finally:
            codes = [half.process.wait() for half in halves]
        for half, code in zip(halves, codes, strict=True):
            _say("On the real control plane:")
            _say(half.output.read_text(errors="replace").rstrip())
            total = total.plus(_counted(half.report, code))
        return total


class _Beside:
    """Tests that run in the background, their output kept."""

    def __init__(self, folder: Path, arguments: Sequence[str]) -> None:
        folder.mkdir()
        self.report, self.output = folder / "report.xml", folder / "output.txt"
        with self.output.open("wb") as stream:
            command = _pytest(self.report, arguments)
            self.process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT)


def _pytest(report: Path, arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "pytest", f"--junitxml={report}", "-rfEs", *arguments]


def _counted(report: Path, code: int) -> Count:
    count = read(report)
    if count.failed or (code == 0 and count.passed + count.skipped):
        return count
    # A crash leaves no report, whatever the code; an interrupted or empty run has nobody to blame.
    _say(f"pytest ended with code {code} and names no failed test; that counts as one")
    return count.plus(Count(failed=1))


def read(report: Path) -> Count:
    """Counts the tests of a JUnit report, errors as failures, each test once even if its clean-up failed too."""
    try:
        cases = list(ET.parse(report).iter("testcase"))  # noqa: S314  our own file
    except (OSError, ET.ParseError):
        return Count()
    outcomes: dict[tuple[str, str], set[str]] = {}
    for case in cases:
        name = (case.get("classname", ""), case.get("name", ""))
        outcomes.setdefault(name, set()).update(child.tag for child in case)
    failed = sum(1 for tags in outcomes.values() if tags & {"failure", "error"})
    skipped = sum(1 for tags in outcomes.values() if "skipped" in tags and not tags & {"failure", "error"})
    return Count(len(outcomes) - failed - skipped, failed, skipped)


def main(arguments: Sequence[str]) -> int:
    total = tests(arguments) if arguments else lint().plus(tests_side_by_side(()))
    _say(str(total))
    return 1 if total.failed else 0


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
