"""What rollouts of environments came to: figures, budgets, tables."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from msgspec import Struct

from bench.estate import BOUND, Estate
from bench.ground import Requests
from bench.idle import Idle
from bench.promotions import Verdict
from bench.rollout import Load
from bench.table import QUIET_SHARE, Check, cores, machine, markdown

PARALLEL = 0.5
"""Of the time that the environments would take one after the other, which many at once may take."""
MANY = 10
"""Of fewer at once, one that waits a little longer than the others decides."""
IDLE_CPU = 0.01
"""Of one core. Every five minutes everything is listed and looked at again, which may fall into the time."""
MEGABYTES = 150.0


class Phase(Struct, frozen=True):
    """One stretch of work, from the first change to the last environment promoted."""

    what: str
    environments: int
    seconds: float
    finished: bool
    load: Load
    requests: Requests

    @property
    def each(self) -> float:
        """CPU seconds of the operator for one environment."""
        return self.load.subject / self.environments

    @property
    def least(self) -> float:
        """Seconds that this machine needs at least for the CPU that all parts of the measurement took."""
        return (self.load.machine - self.load.others) / cores()


class Rest(Struct, frozen=True):
    """The operator with nothing to do."""

    idle: Idle
    cpu: float
    """Seconds of it."""
    megabytes: float


class Figures(Struct, frozen=True):
    estate: Estate
    created: Phase
    rest: Rest
    alone: Sequence[Phase]
    at_once: Phase
    megabytes: float
    """Peak."""
    verdict: Verdict

    @property
    def phases(self) -> tuple[Phase, ...]:
        return (self.created, *self.alone, self.at_once)

    @property
    def one(self) -> float:
        """Seconds that one environment takes by itself."""
        return statistics.median(each.seconds for each in self.alone)

    @property
    def times_one(self) -> float:
        return self.at_once.seconds / self.one

    @property
    def share(self) -> float:
        """Of the time that as many would take one after the other."""
        return self.times_one / self.at_once.environments


def checks(figures: Figures) -> list[Check]:
    """Every budget that these figures can be held against."""
    finished = all(each.finished for each in figures.phases)
    rest, verdict = figures.rest, figures.verdict
    cpu, seconds = rest.cpu, rest.idle.seconds
    share, memory, violations = figures.share, figures.megabytes, verdict.violations
    judged = verdict.promotions > 0 and verdict.removals > 0
    found = [
        Check("all promoted", "yes" if finished else "no", "yes", finished),
        Check(f"writes in {seconds} s of idling", str(rest.idle.writes), "0", rest.idle.writes == 0),
        Check("CPU while idle", f"{cpu / seconds:.2%}", f"≤ {IDLE_CPU:.0%} of a core", cpu <= IDLE_CPU * seconds),
        Check("peak memory", f"{memory:.0f} MB", f"≤ {MEGABYTES:.0f} MB", memory <= MEGABYTES),
        Check("violations", str(violations), "0", judged and violations == 0),
    ]
    if figures.at_once.environments < MANY:
        return found
    what = "at once / one after the other"
    return [*found, Check(what, f"{share:.2f}", f"≤ {PARALLEL:.2f}", share <= PARALLEL)]


def report(figures: Figures) -> str:
    """The whole text."""
    estate = figures.estate
    head = (
        f"### Environments: {estate.environments}, of which {estate.alone} are changed alone and {estate.at_once} at "
        f"once\n\nBound of one: `pod ready + pod gone = {BOUND:.1f} s`."
    )
    rows = [(check.what, check.figure, check.budget, check.word) for check in checks(figures)]
    budgets = "### Budgets of environments\n\n" + markdown(("what", "figure", "budget", ""), rows)
    return "\n\n".join(
        (machine(), head, _phases(figures), *_noise(figures), _idling(figures), _judged(figures), budgets)
    )


def _phases(figures: Figures) -> str:
    head = (
        "",
        "time",
        "time / one alone",
        "time / least of this machine",
        "CPU",
        "CPU per environment",
        "writes",
        "lease writes",
        "reads",
    )
    return markdown(
        (*head, "CPU of control plane / kubelet / others"), [_row(figures, each) for each in figures.phases]
    )


def _row(figures: Figures, phase: Phase) -> tuple[str, ...]:
    load, requests = phase.load, phase.requests
    return (
        phase.what,
        f"{phase.seconds:.1f} s" if phase.finished else f"not finished in {phase.seconds:.0f} s",
        f"{phase.seconds / figures.one:.1f}",
        f"{phase.seconds / phase.least:.1f}" if phase.least else "",
        f"{load.subject:.2f} s",
        f"{phase.each * 1000:.0f} ms",
        *(str(count) for count in (requests.writes, requests.leases, requests.reads)),
        f"{load.plane:.1f} / {load.kubelet:.1f} / {load.others:.1f} s",
    )


def _idling(figures: Figures) -> str:
    idle, rest = figures.rest.idle, figures.rest
    changes = ", ".join(f"{count} of {kind}" for kind, count in idle.changes.items())
    requests = idle.requests
    return (
        f"Idle for {idle.seconds} s with {figures.estate.environments} environments, {idle.calm_after:.0f} s after the "
        f"last of them was promoted: changed resource versions: {changes}; requests of the operator: "
        f"{requests.writes} writes, {requests.leases} renewals of its lease, {requests.reads} reads; "
        f"CPU {rest.cpu:.2f} s, memory {rest.megabytes:.0f} MB. "
        "A lease that is held is renewed, by the contract of leader election."
    )


def _judged(figures: Figures) -> str:
    verdict = figures.verdict
    names = Verdict.__struct_fields__
    return markdown(("", *names), [("counted", *(str(getattr(verdict, name)) for name in names))])


def _noise(figures: Figures) -> list[str]:
    """A warning when somebody else was at work, which no budget knows of."""
    shares = [(each.load.others / (each.seconds * cores()), each.what) for each in figures.phases if each.seconds]
    if max(share for share, _ in shares) <= QUIET_SHARE:
        return []
    said = ", ".join(f"{share:.0%} ({what})" for share, what in shares)
    return [f"**Not a quiet machine**: programs outside of the measurement took {said} of its CPU."]
