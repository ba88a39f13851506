"""What became of tests: counted from the JUnit reports that pytest writes."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET


class Count(NamedTuple):
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    @property
    def all(self) -> int:
        return sum(self)

    def plus(self, other: Count) -> Count:
        return Count(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


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
