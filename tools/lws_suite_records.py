"""What a run of Go specs reported, and several runs in one table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

LINES = 12
"""How much of a failure is shown."""
PASSED, SKIPPED, PENDING = "passed", "skipped", "pending"


class _Place(Struct, frozen=True, rename="pascal"):
    file_name: str = ""
    line_number: int = 0


class _Failure(Struct, frozen=True, rename="pascal"):
    message: str = ""
    location: _Place = _Place()


class _SpecReport(Struct, frozen=True, rename="pascal"):
    state: str
    leaf_node_type: str = ""
    leaf_node_text: str = ""
    container_hierarchy_texts: list[str] | None = None
    run_time: int = 0
    """Nanoseconds."""
    failure: _Failure = _Failure()


class _Report(Struct, frozen=True, rename="pascal"):
    spec_reports: list[_SpecReport] | None = None
    special_suite_failure_reasons: list[str] | None = None


class Spec(Struct, frozen=True):
    """One spec, or a part of the set-up that failed."""

    name: str
    passed: bool
    seconds: float = 0.0
    said: str = ""
    """Of a failure: where, and what."""


def read(path: Path) -> tuple[Spec, ...]:
    """The specs that ran, in their order; what was filtered out is left out."""
    try:
        reports = msgspec.json.decode(path.read_bytes(), type=list[_Report])
    except FileNotFoundError:
        return (Spec("the suite", False, said="it ended without a report"),)
    found: list[Spec] = []
    for report in reports:
        found += [Spec("the suite", False, said=each) for each in report.special_suite_failure_reasons or ()]
        for each in report.spec_reports or ():
            is_spec = each.leaf_node_type == "It"
            if each.state in (SKIPPED, PENDING) or (not is_spec and each.state == PASSED):
                continue
            found.append(_spec(each))
    return tuple(found)


def _spec(report: _SpecReport) -> Spec:
    words = [*(report.container_hierarchy_texts or ()), report.leaf_node_text or report.leaf_node_type]
    place = report.failure.location
    said = f"{Path(place.file_name).name}:{place.line_number} {report.failure.message}" if place.file_name else ""
    return Spec(" / ".join(words), report.state == PASSED, report.run_time / 1e9, said)


Results = Mapping[str, tuple[Spec, ...]]
"""By the name of the suite."""


def failed(specs: tuple[Spec, ...], known: tuple[str, ...]) -> list[Spec]:
    """Those that failed and are not known to."""
    return [each for each in specs if not each.passed and not each.name.endswith(known)]


def table(results: Results, known: tuple[str, ...]) -> str:
    """Markdown: specs that passed, that are known not to, and that failed, with the seconds they took."""
    lines = ["| suite | passed | known not to pass | failed | seconds |", "| --- | ---: | ---: | ---: | ---: |"]
    for name, specs in results.items():
        passed, wrong = sum(each.passed for each in specs), len(failed(specs, known))
        seconds = sum(each.seconds for each in specs)
        lines.append(f"| {name} | {passed} | {len(specs) - passed - wrong} | {wrong} | {seconds:.0f} |")
    return "\n".join(lines)


def failures(results: Results, known: tuple[str, ...]) -> str:
    """Each spec that failed, with the first lines of what it said."""
    lines = []
    for name, specs in results.items():
        for each in failed(specs, known):
            said = [line for line in each.said.splitlines() if line.strip()]
            lines += [f"- {name}: {each.name}", *(f"      {line[:240]}" for line in said[:LINES])]
    return "\n".join(lines)
