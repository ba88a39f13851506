"""What admission under load came to: figures, budgets, tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from bench.cases import Case
from bench.handled import LIMIT, Handled, together
from bench.load import CONNECTIONS, Order, Result
from bench.replay import Event, Verdict
from bench.reviews import EVICTION, NO_DOWNSCALE, Kind, Sample, absences, fault
from bench.rollout import Load
from bench.subjects import Subject
from bench.table import QUIET_SHARE, Check, machine, markdown

SHARE = 0.99
"""Of the requests that must be handled within the limit."""
RATE_KEPT = 0.98
"""Of the offered rate that must be answered: less means that a queue grows."""
_ROUTES = {"no-downscale": NO_DOWNSCALE, "pod-eviction": EVICTION}


class Timed(Protocol):
    """Whatever took a while."""

    @property
    def seconds(self) -> float: ...


class Latencies(Struct, frozen=True):
    """Milliseconds."""

    median: float = 0.0
    ninety: float = 0.0
    ninety_nine: float = 0.0
    most: float = 0.0

    def __str__(self) -> str:
        return f"{self.median:.1f} / {self.ninety:.1f} / {self.ninety_nine:.1f} / {self.most:.0f} ms"


class Admitted(Struct, frozen=True):
    """One stretch of load."""

    seconds: int
    offered: float
    """Requests per second."""
    achieved: float
    """Answers per second."""
    latencies: Latencies
    """From outside."""
    kinds: Mapping[Kind, tuple[int, Latencies]]
    """By kind: how many were answered, and how fast."""
    handlers: Mapping[str, Handled]
    """By the last part of the path."""
    lost: int
    wrong: int
    faults: tuple[str, ...]
    """The commonest things that were lost or wrong."""
    evicted: int
    load: Load
    generator: float
    """CPU seconds of whoever asked."""

    @property
    def others(self) -> float:
        """CPU seconds of programs that have no part in the measurement."""
        return max(0.0, self.load.others - self.generator)

    @property
    def together(self) -> Handled:
        return together(self.handlers.values())


class Rolled(Struct, frozen=True):
    """One rollout of the case."""

    seconds: float
    finished: bool


class Figures(Struct, frozen=True):
    """What one subject did."""

    subject: Subject
    calm: Admitted
    busy: Admitted
    alone: Rolled
    loaded: Rolled
    megabytes: float
    rollouts: Verdict
    """Of both rollouts together."""
    budgets: Verdict
    """Of the groups with a disruption budget, whose pods were rolled and evicted."""


def judged(
    result: Result, order: Order, routes: Mapping[str, Handled], load: Load, events: Iterable[Event]
) -> Admitted:
    """Every answer held against what was right at its time."""
    absent = absences(events, result.ended)
    answers = [sample for sample in result.samples if not sample.lost]
    lost = [sample for sample in result.samples if sample.lost]
    faults = [f"{sample.kind}: {why}" for sample in answers if (why := fault(sample, absent))]
    counted = Counter(faults + [f"{sample.kind}: lost: {sample.text}" for sample in lost])
    missing = order.count - len(result.samples)
    spent = max(result.ended - result.began, order.seconds)
    return Admitted(
        order.seconds,
        order.rate,
        len(answers) / spent,
        latencies_of(answers),
        {kind: _of_kind(answers, kind) for kind in Kind},
        {name: routes.get(_route(path), Handled()) for name, path in _ROUTES.items()},
        len(lost) + missing,
        len(faults),
        tuple(f"{count} x {text}" for text, count in counted.most_common(5)),
        result.evicted,
        load,
        result.cpu,
    )


def latencies_of(samples: Iterable[Timed]) -> Latencies:
    """By the nearest rank: of 100 the 50th, the 90th, the 99th and the last."""
    times = sorted(1000 * sample.seconds for sample in samples)
    if not times:
        return Latencies()
    return Latencies(*(times[max(0, -(-len(times) * rank // 100) - 1)] for rank in (50, 90, 99, 100)))


def _of_kind(samples: Iterable[Sample], kind: Kind) -> tuple[int, Latencies]:
    chosen = [sample for sample in samples if sample.kind is kind]
    return len(chosen), latencies_of(chosen)


def _route(path: str) -> str:
    return path.strip("/").replace("/", "_").replace("-", "_")


def checks(figures: Iterable[Figures]) -> list[Check]:
    """The budgets of fairlead."""
    ours = next((each for each in figures if each.subject.name == "fairlead"), None)
    if ours is None:
        return [Check("admission measured", "no", "fairlead", ok=False)]
    found = [*_load_checks("admission alone", ours.calm), *_load_checks("admission during a rollout", ours.busy)]
    finished = ours.alone.finished and ours.loaded.finished
    broken = ours.rollouts.violations
    disturbed = ours.budgets.two_zones + ours.budgets.over_budget
    return [
        *found,
        Check("both rollouts finished", "yes" if finished else "no", "yes", finished),
        Check("violations by the rollouts", str(broken), "0", broken == 0),
        Check("violations of disruption budgets", str(disturbed), "0", disturbed == 0),
    ]


def _load_checks(name: str, load: Admitted) -> list[Check]:
    share, bound = load.together.share, 1000 * LIMIT
    least = RATE_KEPT * load.offered
    return [
        Check(f"{name}: handled within {bound:.0f} ms", f"{share:.2%}", f"≥ {SHARE:.0%}", share >= SHARE),
        Check(f"{name}: answers per second", f"{load.achieved:.0f}", f"≥ {least:.0f}", load.achieved >= least),
        Check(f"{name}: lost or wrong", f"{load.lost} or {load.wrong}", "0", load.lost + load.wrong == 0),
    ]


def report(case: Case, figures: Sequence[Figures], peer: bool) -> str:
    """The whole text."""
    titles = [each.subject.title for each in figures]
    missing = [] if "upstream operator" in titles else ["did not run" if peer else "not given"]
    first = figures[0].calm if figures else None
    lead = "" if first is None else f"{first.offered:.0f} requests per second for {first.seconds} s"
    parts = [
        machine(),
        f"### Admission: {lead} on {CONNECTIONS} connections, beside {case.title}",
        _load_table(figures, missing),
        _noise(figures),
        _kind_table(figures),
        _rollout_table(figures, missing),
        *(_faults(each) for each in figures),
        "### Budgets of admission\n\n" + markdown(("what", "figure", "budget", ""), _rows(checks(figures))),
    ]
    return "\n\n".join(part for part in parts if part)


def _rows(found: Iterable[Check]) -> list[tuple[str, ...]]:
    return [(check.what, check.figure, check.budget, check.word) for check in found]


def _stretches(figures: Iterable[Figures]) -> list[tuple[str, Admitted]]:
    named = [((each.calm, "alone"), (each.busy, "during a rollout"), each.subject.title) for each in figures]
    return [(f"{title}, {when}", load) for *pairs, title in named for load, when in pairs]


def _load_table(figures: Sequence[Figures], missing: Iterable[str]) -> str:
    within = f"handled within {1000 * LIMIT:.0f} ms"
    columns = ("", "answers per second", "from outside: p50 / p90 / p99 / max", within, "no-downscale", "pod-eviction")
    more = ("mean at the handler", "lost", "wrong", "CPU", "CPU of generator / control plane / others")
    rows = [(name, *_load_row(load)) for name, load in _stretches(figures)]
    rows += [("upstream operator", word, *[""] * (len(columns) + len(more) - 2)) for word in missing]
    return markdown((*columns, *more), rows)


def _noise(figures: Sequence[Figures]) -> str:
    """A warning when somebody else was at work: latencies then say more of them than of us."""
    shares = [(name, load.others / load.load.machine) for name, load in _stretches(figures) if load.load.machine]
    if max((share for _, share in shares), default=0.0) <= QUIET_SHARE:
        return ""
    said = "; ".join(f"{share:.0%} with {name}" for name, share in shares)
    return f"**Not a quiet machine**: of the CPU that was used, programs outside of the measurement took {said}."


def _load_row(load: Admitted) -> tuple[str, ...]:
    return (
        f"{load.achieved:.0f}",
        str(load.latencies),
        f"{load.together.share:.2%}",
        *(f"{load.handlers[name].share:.2%}" for name in _ROUTES),
        f"{1000 * load.together.mean:.1f} ms",
        str(load.lost),
        str(load.wrong),
        f"{load.load.subject:.1f} s",
        f"{load.generator:.1f} / {load.load.plane:.1f} / {load.others:.1f} s",
    )


def _kind_table(figures: Sequence[Figures]) -> str:
    stretches = _stretches(figures)
    rows = [(str(kind), *(f"{load.kinds[kind][0]}: {load.kinds[kind][1]}" for _, load in stretches)) for kind in Kind]
    head = ("answers: p50 / p90 / p99 / max from outside", *(name for name, _ in stretches))
    return markdown(head, rows) if stretches else ""


def _rollout_table(figures: Sequence[Figures], missing: Iterable[str]) -> str:
    columns = ("", "rollout alone", "under load", "ratio", "peak memory", "violations by rollouts")
    more = ("evictions carried out", "deletions within budgets", "two zones", "over budget")
    rows = [(each.subject.title, *_rollout_row(each)) for each in figures]
    rows += [("upstream operator", word, *[""] * (len(columns) + len(more) - 2)) for word in missing]
    return markdown((*columns, *more), rows)


def _rollout_row(each: Figures) -> tuple[str, ...]:
    budgets = each.budgets
    return (
        *(_time(rolled) for rolled in (each.alone, each.loaded)),
        f"{each.loaded.seconds / each.alone.seconds:.2f}",
        f"{each.megabytes:.0f} MB",
        str(each.rollouts.violations),
        str(each.calm.evicted + each.busy.evicted),
        *(str(count) for count in (budgets.deletions, budgets.two_zones, budgets.over_budget)),
    )


def _time(rolled: Rolled) -> str:
    return f"{rolled.seconds:.1f} s" if rolled.finished else f"not finished in {rolled.seconds:.0f} s"


def _faults(each: Figures) -> str:
    said = [*each.calm.faults, *each.busy.faults]
    return f"Lost or wrong with {each.subject.title}: {'; '.join(said)}." if said else ""
