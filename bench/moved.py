"""What the measurements of plans found, held against their budgets, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from msgspec import Struct

from bench.audit import Written
from bench.pair_cases import Case
from bench.pairs import Verdict
from bench.rollout import Load
from bench.table import QUIET_SHARE, Check, cores, machine, markdown

ALONE_FACTOR = 1.15
"""One pair against the ideal operator, and against the bare scaler."""
IDEAL_FACTOR = 1.2
"""Many pairs against the ideal operator."""
WRITES_PER_BATCH = 8.0
"""Of one pair, with the nine that a rollout takes once: they weigh less the more batches it has."""
DEAD_FACTOR = 1.1
"""Rollouts beside dead hooks against as many without such neighbours."""


class Phase(Struct, frozen=True):
    """From the first rollout that is created to the last one that is over."""

    seconds: float
    finished: bool
    load: Load
    written: Written

    @property
    def least(self) -> float:
        """Seconds that this machine needs at least for the CPU that all parts of the measurement took."""
        return (self.load.machine - self.load.others) / cores()


class Rolled(Struct, frozen=True):
    """One subject on one case."""

    subject: str
    title: str
    phase: Phase
    megabytes: float
    verdict: Verdict


class Compared(Struct, frozen=True):
    """A case under all subjects; fairlead is held against the ideal, and one pair against the bare scaler as well.

    A subject that was measured several times counts with its mean.
    """

    case: Case
    bare: Sequence[Rolled]
    ideal: Sequence[Rolled]
    ours: Sequence[Rolled]
    upstream: Sequence[Rolled] = ()

    @property
    def all(self) -> list[Rolled]:
        return [*self.bare, *self.ideal, *self.ours, *self.upstream]

    def writes_per_batch(self, writes: float) -> float:
        return writes / (self.case.pairs * self.case.batches)


class Rest(Struct, frozen=True):
    """A new process that finds rollouts which are over and rollouts that wait at a gate."""

    over: int
    at_gates: int
    start: float
    """Seconds from its start to its first step in a rollout that waited for it."""
    disturbed: int
    """Rollouts at rest or at a gate that changed meanwhile."""
    seconds: int
    written: Written
    """In so many seconds, Events among it."""
    cpu: float
    megabytes: float


class Beside(Struct, frozen=True):
    """Sound rollouts alone, and as many beside others whose hooks never answer."""

    case: Case
    dead: int
    alone: Phase
    beside: Phase
    moved: int
    """Dead ones that went on without their hook's answer."""

    @property
    def factor(self) -> float:
        return self.beside.seconds / self.alone.seconds


class Figures(Struct, frozen=True):
    """None: it was asked for, and could not be measured."""

    compared: Sequence[Compared] = ()
    beside: Sequence[Beside | None] = ()
    rest: Sequence[Rest | None] = ()


def checks(figures: Figures) -> list[Check]:
    found = [check for each in figures.compared for check in _compared(each)]
    for rest in figures.rest:
        found += [_missing("c")] if rest is None else _rested(rest)
    for beside in figures.beside:
        found += [_missing("d")] if beside is None else _beside(beside)
    return found


def _missing(key: str) -> Check:
    return Check(f"({key}) measured", "no", "yes", ok=False)


def _compared(each: Compared) -> list[Check]:
    name, is_one = f"({each.case.key})", each.case.pairs == 1
    bare, ideal, ours = each.bare, each.ideal, each.ours
    if not (bare and ideal and ours):
        return [_missing(each.case.key)]
    done = all(one.phase.finished for one in each.all if one not in each.upstream)
    broken = tuple(sum(one.verdict.violations for one in runs) for runs in (bare, ideal, ours))
    found = [
        Check(f"{name} finished", "yes" if done else "no", "yes", done),
        _factor(f"{name} time against the ideal", ours, ideal, ALONE_FACTOR if is_one else IDEAL_FACTOR),
        Check(
            f"{name} violations by the bare one, the ideal and us",
            "{}, {} and {}".format(*broken),
            "0, 0 and 0",
            not any(broken),
        ),
    ]
    if is_one:
        most, writes = WRITES_PER_BATCH, each.writes_per_batch(fmean(one.phase.written.writes for one in ours))
        found.append(_factor(f"{name} time against the bare scaler", ours, bare, ALONE_FACTOR))
        found.append(Check(f"{name} writes per batch", f"{writes:.1f}", f"≤ {most:.0f}", writes <= most))
    return found


def _factor(what: str, ours: Sequence[Rolled], other: Sequence[Rolled], most: float) -> Check:
    factor = _seconds(ours) / _seconds(other)
    return Check(what, f"{factor:.2f}", f"≤ {most:.2f}", factor <= most)


def _seconds(runs: Sequence[Rolled]) -> float:
    return fmean(one.phase.seconds for one in runs)


def _rested(rest: Rest) -> list[Check]:
    count = rest.written.writes + rest.written.events
    return [
        Check(f"(c) writes in {rest.seconds} s of idling", str(count), "0", count == 0),
        Check("(c) rollouts that the start changed", str(rest.disturbed), "0", rest.disturbed == 0),
    ]


def _beside(each: Beside) -> list[Check]:
    done = each.alone.finished and each.beside.finished
    return [
        Check("(d) finished", "yes" if done else "no", "yes", done),
        Check(
            "(d) time beside dead hooks against alone",
            f"{each.factor:.2f}",
            f"≤ {DEAD_FACTOR:.2f}",
            each.factor <= DEAD_FACTOR,
        ),
        Check("(d) rollouts that went on without their hook", str(each.moved), "0", each.moved == 0),
    ]


def report(figures: Figures, peer: bool) -> str:
    """The whole text."""
    parts = [machine(), *(_section(each, peer) for each in figures.compared)]
    parts += [_rest_section(each) for each in figures.rest if each is not None]
    parts += [_beside_section(each) for each in figures.beside if each is not None]
    rows = [(check.what, check.figure, check.budget, check.word) for check in checks(figures)]
    parts.append("### Budgets\n\n" + markdown(("what", "figure", "budget", ""), rows))
    return "\n\n".join(parts)


def _section(each: Compared, peer: bool) -> str:
    case = each.case
    lead = f"### ({case.key}) {case.title}\n\nBound: `batches * pod time = {case.bound:.1f} s`."
    head = (
        "",
        "time",
        "/ bound",
        "/ bare",
        "/ ideal",
        "least for all CPU",
        "writes",
        "per batch",
        "conflicts",
        "Events",
        "CPU",
        "memory",
    )
    judged = ("I-1", "I-2", "I-4", "CPU of control plane / kubelet / others")
    rows = [_row(each, rolled) for rolled in each.all]
    if case.pairs == 1 and not each.upstream:
        word = "did not run" if peer else "not given"
        rows.append(("upstream operator", word, *[""] * (len(head) + len(judged) - 2)))
    parts = (lead, markdown((*head, *judged), rows), _writes(each.all))
    return "\n\n".join((*parts, *_noise([(rolled.title, rolled.phase) for rolled in each.all])))


def _row(each: Compared, rolled: Rolled) -> tuple[str, ...]:
    phase, verdict = rolled.phase, rolled.verdict
    load, written = phase.load, phase.written
    return (
        rolled.title,
        _time(phase),
        f"{phase.seconds / each.case.bound:.2f}",
        *(f"{phase.seconds / _seconds(runs):.2f}" if runs else "" for runs in (each.bare, each.ideal)),
        f"{phase.least:.1f} s",
        str(written.writes),
        f"{each.writes_per_batch(written.writes):.1f}",
        str(written.conflicts),
        str(written.events),
        f"{load.subject:.2f} s",
        f"{rolled.megabytes:.0f} MB",
        *(str(count) for count in (verdict.sums, verdict.turns, verdict.outages)),
        f"{load.plane:.1f} / {load.kubelet:.1f} / {load.others:.1f} s",
    )


def _time(phase: Phase) -> str:
    return f"{phase.seconds:.1f} s" if phase.finished else f"not finished in {phase.seconds:.0f} s"


def _writes(all_of_them: Sequence[Rolled]) -> str:
    lines = []
    for each in all_of_them:
        kinds = ", ".join(f"{count} {what}" for what, count in each.phase.written.by_kind.items())
        lines.append(f"- Writes of {each.title}: {kinds}.")
    return "\n".join(lines)


def _rest_section(rest: Rest) -> str:
    head = ("over", "at gates", "start to first step", "changed by the start", "writes", "Events", "CPU", "peak memory")
    counts = (rest.over, rest.at_gates)
    row = (
        *map(str, counts),
        f"{rest.start:.1f} s",
        *map(str, (rest.disturbed, rest.written.writes, rest.written.events)),
        f"{rest.cpu:.2f} s",
        f"{rest.megabytes:.0f} MB",
    )
    return f"### (c) a new process with rollouts at rest, {rest.seconds} s of idling\n\n" + markdown(head, [row])


def _beside_section(each: Beside) -> str:
    lead = f"### (d) {each.case.title}, alone and beside {each.dead} whose hooks never answer"
    phases = [("alone", each.alone), ("beside", each.beside)]
    rows = [
        (
            what,
            _time(phase),
            f"{phase.least:.1f} s",
            str(phase.written.writes),
            f"{phase.load.subject:.2f} s",
            f"{phase.load.others:.1f} s",
        )
        for what, phase in phases
    ]
    table = markdown(("", "time", "least for all CPU", "writes", "CPU", "CPU of others"), rows)
    return "\n\n".join((lead, table, *_noise(phases)))


def _noise(phases: Sequence[tuple[str, Phase]]) -> list[str]:
    """A warning when somebody else was at work, which no budget knows of."""
    shares = [(title, phase.load.others / (phase.seconds * cores())) for title, phase in phases]
    if max((share for _, share in shares), default=0.0) <= QUIET_SHARE:
        return []
    said = ", ".join(f"{share:.0%} with {title}" for title, share in shares)
    return [f"**Not a quiet machine**: programs outside of the measurement took {said} of its CPU."]
