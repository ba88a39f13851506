"""What one script of kubectl's own suite said on one cluster, and both clusters side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

LINES = 8
"""How much of a failed check's output is shown."""


class Check(Struct, frozen=True):
    """One check of a script, or a command of it that failed."""

    passed: bool
    place: str
    what: str
    said: str = ""


class Outcome(Struct, frozen=True):
    """All checks of one script on one cluster, in their order."""

    checks: tuple[Check, ...]

    @property
    def passed(self) -> int:
        return sum(check.passed for check in self.checks)

    @property
    def failed(self) -> int:
        return len(self.checks) - self.passed


Results = Mapping[str, Mapping[str, Outcome]]
"""Outcomes by script, then by cluster."""


def outcome(records: bytes, note: str = "") -> Outcome:
    """Reads the driver's records; a function without an end, because it left or was stopped, is a failure of its own.

    `note` says why the script was stopped, if it was.
    """
    parts = records.decode(errors="replace").split("\0")[:-1]
    checks: list[Check] = []
    open_function = ""
    for verdict, place, what, said in zip(*(parts[at::4] for at in range(4)), strict=True):
        if verdict == "started":
            checks += _unended(open_function, "")
            open_function = what
        elif verdict == "ended":
            open_function = ""
        else:
            checks.append(Check(verdict == "passed", place, what, said))
    checks += _unended(open_function, note)
    return Outcome(tuple(checks))


def _unended(function: str, note: str) -> Iterable[Check]:
    return [Check(False, function, note or "the function left before its end")] if function else []


def only_on(cluster: str, outcomes: Mapping[str, Outcome]) -> list[Check]:
    """The checks that failed on this cluster at places where no other cluster failed as often."""
    others = [outcome for name, outcome in outcomes.items() if name != cluster]
    left = Counter[tuple[str, str]]()
    for other in others:
        left |= Counter(_key(check) for check in other.checks if not check.passed)
    found = []
    for check in outcomes[cluster].checks:
        if check.passed:
            continue
        if left[_key(check)] > 0:
            left[_key(check)] -= 1
        else:
            found.append(check)
    return found


def _key(check: Check) -> tuple[str, str]:
    return check.place, check.what


def table(results: Results, clusters: Sequence[str]) -> str:
    """Markdown: passed and failed checks of every script on every cluster, and their sums."""
    heads = [f"{name}: {word}" for name in clusters for word in ("passed", "failed")]
    lines = [f"| script | {' | '.join(heads)} | sim only |", f"| --- |{' ---: |' * (len(heads) + 1)}"]
    sums = Counter[str]()
    for script, outcomes in results.items():
        cells = {f"{name}: passed": outcomes[name].passed for name in clusters}
        cells |= {f"{name}: failed": outcomes[name].failed for name in clusters}
        cells["sim only"] = len(only_on("sim", outcomes)) if {"sim", "real"} <= outcomes.keys() else 0
        sums.update(cells)
        lines.append(_row(script, cells, heads))
    return "\n".join([*lines, _row("**all**", sums, heads)])


def _row(script: str, cells: Mapping[str, int], heads: Sequence[str]) -> str:
    return f"| {script} | {' | '.join(str(cells[head]) for head in heads)} | {cells['sim only']} |"


def failures(title: str, checks: Sequence[Check]) -> str:
    """Markdown: each failed check with the first lines of what it said."""
    if not checks:
        return ""
    lines = [f"### {title}", ""]
    for check in checks:
        said = [line for line in check.said.splitlines() if line.strip()]
        lines += [f"- `{check.place}` {check.what}", *(f"      {line[:200]}" for line in said[:LINES])]
    return "\n".join(lines) + "\n"
