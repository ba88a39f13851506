"""Figures as Markdown, and what the budgets say of them."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from bench.cases import POD_TIME, Case
from bench.rollout import Figures
from bench.startup import Startup
from bench.subjects import OURS

BOUND_FACTOR = 1.10
"""One group against the bound."""
IDEAL_FACTOR = 1.2
"""Many groups against the ideal deleter, because there the machine is the limit."""
MEGABYTES = 80.0
CPU_SECONDS = 6.0
EVENTS_PER_ZONE = 4
"""Other writes than deletions and records of a finished zone, the most that a rollout may take."""
HELP_MILLISECONDS = 150.0
QUIET_SHARE = 0.1
"""Of the machine's CPU that others may take before times say more of them than of us."""


class Check(Struct, frozen=True):
    """A figure that has a budget."""

    what: str
    figure: str
    budget: str
    ok: bool

    @property
    def word(self) -> str:
        return "ok" if self.ok else "**over**"


class Result(Struct, frozen=True):
    """All subjects on one case."""

    case: Case
    figures: Sequence[Figures]

    def of(self, name: str) -> Figures | None:
        return next((each for each in self.figures if each.subject.name == name), None)


def checks(results: Iterable[Result], startup: Startup) -> list[Check]:
    """Every budget that these results can be held against."""
    found = [check for result in results for check in _checks_of(result)]
    milliseconds = f"{startup.help:.0f} ms (Python alone {startup.python:.0f} ms)"
    help_ok = startup.help <= HELP_MILLISECONDS
    return [*found, Check("`fairlead --help`", milliseconds, f"≤ {HELP_MILLISECONDS:.0f} ms", help_ok)]


def _checks_of(result: Result) -> list[Check]:
    case, ideal = result.case, result.of("ideal")
    ours = [figures for subject in OURS if (figures := result.of(subject.name)) is not None]
    name = f"({case.key})"
    if ideal is None or len(ours) < len(OURS):
        return [Check(f"{name} measured", "no", "ideal and fairlead under both names", ok=False)]
    found = [check for each in ours for check in _checks_of_one(case, each, ideal)]
    count = ideal.verdict.violations
    found.append(Check(f"{name} violations by {ideal.subject.title}", str(count), "0", count == 0))
    return found


def _checks_of_one(case: Case, ours: Figures, ideal: Figures) -> list[Check]:
    title, name = ours.subject.title, f"({case.key})"
    found = [Check(f"{name} {title} finished", _yes(ours.finished), "yes", ours.finished and ideal.finished)]
    if case.groups == 1:
        factor = ours.seconds / case.bound
        found.append(_at_most(f"{name} time of {title} against the bound", f"{factor:.2f}", factor, BOUND_FACTOR))
    else:
        factor = ours.seconds / ideal.seconds
        found.append(_at_most(f"{name} time of {title} against the ideal", f"{factor:.2f}", factor, IDEAL_FACTOR))
        cpu = ours.load.subject
        found.append(Check(f"{name} CPU of {title}", f"{cpu:.2f} s", f"≤ {CPU_SECONDS:.0f} s", cpu <= CPU_SECONDS))
        events, most = ours.requests.writes - ours.verdict.deletions - case.all_sets, EVENTS_PER_ZONE * case.all_sets
        found.append(Check(f"{name} Events of {title}", str(events), f"≤ {most}", events <= most))
    count, memory = ours.verdict.violations, ours.megabytes
    found.append(Check(f"{name} violations by {title}", str(count), "0", count == 0))
    found.append(Check(f"{name} memory of {title}", f"{memory:.0f} MB", f"≤ {MEGABYTES:.0f} MB", memory <= MEGABYTES))
    if ours.idle is not None:
        idle = ours.idle
        found.append(Check(f"{name} writes in {idle.seconds} s of idling", str(idle.writes), "0", idle.writes == 0))
    return found


def _at_most(what: str, figure: str, factor: float, most: float) -> Check:
    return Check(what, figure, f"≤ {most:.2f}", factor <= most)


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


def report(results: Sequence[Result], startup: Startup, peer: bool) -> str:
    """The whole text."""
    parts = [machine(), *(_section(result, peer) for result in results)]
    parts += [_idling(each) for result in results for each in result.figures if each.idle is not None]
    rows = [(check.what, check.figure, check.budget, check.word) for check in checks(results, startup)]
    parts.append("### Budgets\n\n" + markdown(("what", "figure", "budget", ""), rows))
    return "\n\n".join(parts)


def machine() -> str:
    """What kind of machine this is, without its name."""
    words = Path("/proc/meminfo").read_text().split()
    gigabytes = int(words[words.index("MemTotal:") + 1]) * 1024 / 1e9
    kernel = f"{platform.system()} {platform.release().split('-')[0]} {platform.machine()}"
    return f"Machine: {cores()} cores, {gigabytes:.0f} GB of memory, {kernel}, Python {platform.python_version()}."


def cores() -> int:
    return len(os.sched_getaffinity(0))


def _section(result: Result, peer: bool) -> str:
    case = result.case
    lead = (
        f"### ({case.key}) {case.title}\n\n"
        f"Bound: `zones * waves * pod time = {case.zones} * {case.waves} * {POD_TIME:.1f} s = {case.bound:.1f} s`."
    )
    columns = ("", "time", "time / bound", "time / ideal", "CPU", "peak memory", "writes", "lease writes", "reads")
    judged = ("deletions", "over budget", "two zones", "needless", "CPU of control plane / kubelet / others")
    rows = [_row(case, each, result.of("ideal")) for each in result.figures]
    if result.of("upstream") is None:
        word = "did not run" if peer else "not given"
        rows.append(("upstream operator", word, *[""] * (len(columns) + len(judged) - 2)))
    return "\n\n".join((lead, markdown((*columns, *judged), rows), *_noise(result)))


def _noise(result: Result) -> list[str]:
    """A warning when somebody else was at work, which no budget knows of."""
    shares = [each.load.others / (each.seconds * cores()) for each in result.figures]
    if max(shares, default=0.0) <= QUIET_SHARE:
        return []
    said = ", ".join(
        f"{share:.0%} with {each.subject.title}" for each, share in zip(result.figures, shares, strict=True)
    )
    return [f"**Not a quiet machine**: programs outside of the measurement took {said} of its CPU."]


def _row(case: Case, each: Figures, ideal: Figures | None) -> tuple[str, ...]:
    load, requests, verdict = each.load, each.requests, each.verdict
    return (
        each.subject.title,
        f"{each.seconds:.1f} s" if each.finished else f"not finished in {each.seconds:.0f} s",
        f"{each.seconds / case.bound:.2f}",
        f"{each.seconds / ideal.seconds:.2f}" if ideal is not None else "",
        f"{load.subject:.2f} s",
        f"{each.megabytes:.0f} MB",
        *(str(count) for count in (requests.writes, requests.leases, requests.reads)),
        *(str(count) for count in (verdict.deletions, verdict.over_budget, verdict.two_zones, verdict.needless)),
        f"{load.plane:.1f} / {load.kubelet:.1f} / {load.others:.1f} s",
    )


def _idling(each: Figures) -> str:
    idle = each.idle
    assert idle is not None
    changes = ", ".join(f"{count} of {kind}" for kind, count in idle.changes.items())
    requests = idle.requests
    return (
        f"Idle for {idle.seconds} s with {each.subject.title} running, after it had written its last event about the "
        f"rollout {idle.calm_after:.0f} s after its end: changed resource versions: {changes}; "
        f"requests of the operator: {requests.writes} writes, {requests.leases} renewals of its lease, "
        f"{requests.reads} reads. A lease that is held is renewed, by the contract of leader election."
    )


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; columns after the first are aligned to the right."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
