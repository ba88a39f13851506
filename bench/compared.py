"""What both managers of LeaderWorkerSets came to: figures, budgets as ratios, tables."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from msgspec import Struct

from bench.audit import Written
from bench.managers import OURS, UPSTREAM
from bench.rollout import Load
from bench.table import QUIET_SHARE, Check, cores, machine, markdown

MEGABYTES = 80.0
MAX_UNAVAILABLE = "MaxUnavailableStatefulSet"
TITLES = {OURS: "fairlead", UPSTREAM: "upstream"}


class Case(Struct, frozen=True):
    """Sets that are alike; `rolls` they are measured with a new image, else while they come up."""

    key: str
    sets: int
    replicas: int
    size: int
    unavailable: int
    rolls: bool
    gates: tuple[str, ...] = ()
    rests: int = 0
    """Seconds that a new process then idles."""
    load: int = 0
    """Seconds that pods then ask for admission."""

    @property
    def title(self) -> str:
        many = f"{self.sets} sets of " if self.sets > 1 else ""
        what = f"{many}{self.replicas} groups of {self.size} pods"
        ending = f"new image, {self.unavailable} groups down at most" if self.rolls else "from nothing to Available"
        return ", ".join((what, ending, *(f"with {gate}" for gate in self.gates)))


class Budget(Struct, frozen=True):
    """The most that ours may have of what upstream's has."""

    writes: float
    seconds: float
    cpu: float | None = None
    events: float = 1.0


class Phase(Struct, frozen=True):
    """From the first request to the last set complete."""

    seconds: float
    finished: bool
    load: Load
    written: Written

    @property
    def least(self) -> float:
        """Seconds that this machine needs at least for the CPU that all parts of the measurement took."""
        return (self.load.machine - self.load.others) / cores()


class Rest(Struct, frozen=True):
    """A new process that finds everything done: its start and its idling."""

    seconds: int
    written: Written
    cpu: float


class Admitted(Struct, frozen=True):
    pods: int
    median: float
    """Milliseconds."""
    p99: float
    cpu: float
    wrong: int
    """Refused, answered wrongly, or not answered in time."""


class Figures(Struct, frozen=True):
    subject: str
    phase: Phase
    megabytes: float
    down: int
    """The most groups of a set that were down at once since it was complete."""
    rest: Rest | None = None
    admitted: Admitted | None = None


class Result(Struct, frozen=True):
    """Both subjects on one case, as often as it was measured."""

    case: Case
    figures: Sequence[Figures]

    def of(self, subject: str) -> list[Figures]:
        return [each for each in self.figures if each.subject == subject]

    def middle(self, subject: str, what: Callable[[Figures], float]) -> float:
        return statistics.median(what(each) for each in self.of(subject))


BUDGETS = {
    "A": Budget(writes=0.35, seconds=1.02, cpu=1.0),
    "A+": Budget(writes=0.35, seconds=1.02, cpu=1.0),
    "B": Budget(writes=0.85, seconds=1.0),
}


def checks(results: Sequence[Result]) -> list[Check]:
    return [check for result in results for check in _checks_of(result)]


def _checks_of(result: Result) -> list[Check]:
    case, name = result.case, f"({result.case.key})"
    ours, theirs = result.of(OURS), result.of(UPSTREAM)
    if not ours or not theirs:
        return [Check(f"{name} measured", "no", "fairlead and upstream", ok=False)]
    done = all(each.phase.finished for each in (*ours, *theirs))
    found = [Check(f"{name} finished", "yes" if done else "no", "yes", done)]
    budget = BUDGETS.get(case.key)
    if budget is not None:
        found += _ratios(result, budget)
    down = max(each.down for each in ours)
    found.append(Check(f"{name} groups down at once", str(down), f"≤ {case.unavailable}", down <= case.unavailable))
    memory = max(each.megabytes for each in ours)
    if case.rolls:
        found.append(Check(f"{name} memory", f"{memory:.0f} MB", f"≤ {MEGABYTES:.0f} MB", memory <= MEGABYTES))
    found += [check for each in ours if each.rest is not None for check in [_rest(each.rest)]]
    found += [check for each in ours if each.admitted is not None for check in [_admitted(each.admitted)]]
    return found


def _ratios(result: Result, budget: Budget) -> list[Check]:
    wanted: list[tuple[str, float | None, Callable[[Figures], float], str]] = [
        ("writes", budget.writes, lambda each: each.phase.written.writes, "{:.0f}"),
        ("Events", budget.events, lambda each: each.phase.written.events, "{:.0f}"),
        ("time", budget.seconds, lambda each: each.phase.seconds, "{:.1f} s"),
        ("CPU", budget.cpu, lambda each: each.phase.load.subject, "{:.2f} s"),
    ]
    return [_ratio(result, what, most, of, form) for what, most, of, form in wanted if most is not None]


def _ratio(result: Result, what: str, most: float, of: Callable[[Figures], float], form: str) -> Check:
    ours, theirs = result.middle(OURS, of), result.middle(UPSTREAM, of)
    factor = ours / theirs if theirs else float("inf")
    figure = f"{factor:.2f} ({form.format(ours)} against {form.format(theirs)})"
    return Check(f"({result.case.key}) {what} against upstream", figure, f"≤ {most:.2f}", factor <= most)


def _rest(rest: Rest) -> Check:
    count = rest.written.writes + rest.written.events
    return Check(f"(C) writes of a start and {rest.seconds} s of idling", str(count), "0", count == 0)


def _admitted(admitted: Admitted) -> Check:
    return Check("(D) pods not admitted", str(admitted.wrong), "0", admitted.wrong == 0)


def report(results: Sequence[Result]) -> str:
    """The whole text."""
    parts = [machine(), *(_section(result) for result in results)]
    rows = [(check.what, check.figure, check.budget, check.word) for check in checks(results)]
    parts.append("### Budgets\n\n" + markdown(("what", "figure", "budget", ""), rows))
    return "\n\n".join(parts)


def _section(result: Result) -> str:
    head = ("", "time", "least time for all CPU", "writes", "conflicts", "Events", "CPU", "peak memory")
    judged = ("groups down", "CPU of control plane / kubelet / others")
    rows = [_row(each) for each in result.figures]
    parts = [f"### ({result.case.key}) {result.case.title}", markdown((*head, *judged), rows), _writes(result)]
    return "\n\n".join(filter(None, (*parts, _rests(result), _loads(result), _noise(result))))


def _row(each: Figures) -> tuple[str, ...]:
    phase = each.phase
    load, written = phase.load, phase.written
    return (
        TITLES[each.subject],
        f"{phase.seconds:.1f} s" if phase.finished else f"not finished in {phase.seconds:.0f} s",
        f"{phase.least:.1f} s",
        str(written.writes),
        str(written.conflicts),
        str(written.events),
        f"{load.subject:.2f} s",
        f"{each.megabytes:.0f} MB",
        str(each.down),
        f"{load.plane:.1f} / {load.kubelet:.1f} / {load.others:.1f} s",
    )


def _writes(result: Result) -> str:
    lines = []
    for each in result.figures:
        kinds = ", ".join(f"{count} {what}" for what, count in each.phase.written.by_kind.items())
        lines.append(f"- Writes of {TITLES[each.subject]}: {kinds}.")
    return "\n".join(lines)


def _rests(result: Result) -> str:
    rows = [
        (TITLES[each.subject], str(rest.written.writes), str(rest.written.events), f"{rest.cpu:.2f} s")
        for each in result.figures
        if (rest := each.rest) is not None
    ]
    if not rows:
        return ""
    lead = f"### (C) start with these at rest, and {result.case.rests} s of idling"
    return lead + "\n\n" + markdown(("", "writes", "Events", "CPU"), rows)


def _loads(result: Result) -> str:
    rows = [
        (
            TITLES[each.subject],
            str(admitted.pods),
            f"{admitted.median:.1f} ms",
            f"{admitted.p99:.1f} ms",
            f"{admitted.cpu:.2f} s",
            str(admitted.wrong),
        )
        for each in result.figures
        if (admitted := each.admitted) is not None
    ]
    if not rows:
        return ""
    lead = f"### (D) pods admitted at a fixed rate for {result.case.load} s, both webhooks each"
    return lead + "\n\n" + markdown(("", "pods", "median", "p99", "CPU", "not admitted"), rows)


def _noise(result: Result) -> str:
    """A warning when somebody else was at work, which no budget knows of."""
    shares = [each.phase.load.others / (each.phase.seconds * cores()) for each in result.figures]
    if max(shares, default=0.0) <= QUIET_SHARE:
        return ""
    said = ", ".join(
        f"{share:.0%} with {TITLES[each.subject]}" for each, share in zip(result.figures, shares, strict=True)
    )
    return f"**Not a quiet machine**: programs outside of the measurement took {said} of its CPU."
