"""What conversion came to: figures, budgets, tables."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from msgspec import Struct

from bench.admitted import Latencies, latencies_of
from bench.lists import BYTES
from bench.pulse import Beat, Result
from bench.rollout import Load
from bench.table import QUIET_SHARE, Check, cores, machine, markdown

SECONDS = 1.0
"""For one review of all objects, from the first byte sent to the last one received."""
PULSE_MILLISECONDS = 100.0
"""That anything else may wait while a large review is converted: a tenth of the time-out of a probe."""
MEGABYTES = 512 * 1.024**2
"""The memory that the chart gives to the operator's pod, in which its worker lives too."""


class Stretch(Struct, frozen=True):
    """From when to when, on the monotonic clock."""

    began: float
    ended: float

    @property
    def seconds(self) -> float:
        return self.ended - self.began


class Round(Struct, frozen=True):
    """Everything once, one after the other; in seconds but for the stretches."""

    newer: Stretch
    older: Stretch
    one: float
    """A review of a single object."""
    msgspec: float
    """To read and write the body of the review to the new version, without a look at what is in it."""
    json: float
    """The same by the standard library."""


class Small(Struct, frozen=True):
    """Many at once, as often as they are answered."""

    what: str
    connections: int
    count: int
    seconds: float
    latencies: Latencies
    wrong: int
    subject: float
    """CPU seconds of the operator."""
    generator: float

    @property
    def rate(self) -> float:
        return self.count / self.seconds


class Memory(Struct, frozen=True):
    """Peaks in MB."""

    before: float
    """Of the operator when it had converted nothing."""
    operator: float
    worker: float


class Figures(Struct, frozen=True):
    count: int
    """Objects of a large review."""
    first: float
    """Seconds of the first large review, for which the process that converts it is started."""
    rounds: Sequence[Round]
    at_rest: Latencies
    """Of the pulse while nothing was asked."""
    meanwhile: Latencies
    """Of the pulse while a large review was under way."""
    beats: int
    """How many those were."""
    wrong: int
    """Objects that were not converted rightly, and beats without an answer."""
    small: Sequence[Small]
    memory: Memory
    load: Load
    """Over the rounds; `bench` is what the client and the yardsticks took, and `kubelet` the pulse."""
    worker: float
    """The part of the subject's CPU that the process for large reviews took."""
    seconds: float
    """That the rounds took."""

    @property
    def newer(self) -> float:
        return statistics.median(each.newer.seconds for each in self.rounds)

    @property
    def older(self) -> float:
        return statistics.median(each.older.seconds for each in self.rounds)

    @property
    def yardsticks(self) -> tuple[float, float]:
        """By msgspec and by the standard library."""
        found = [(each.msgspec, each.json) for each in self.rounds]
        quick, slow = zip(*found, strict=True)
        return statistics.median(quick), statistics.median(slow)

    @property
    def cpu_of_review(self) -> tuple[float, float]:
        """Seconds of the operator's process, which answers the pulse as well, and of its worker."""
        reviews = 2 * len(self.rounds)
        return (self.load.subject - self.worker) / reviews, self.worker / reviews

    @property
    def one(self) -> float:
        return statistics.median(each.one for each in self.rounds)


def within(beats: Iterable[Beat], stretches: Sequence[Stretch]) -> list[Beat]:
    """Those that were under way while one of the stretches lasted."""
    return [beat for beat in beats if any(beat.asked < each.ended and beat.answered > each.began for each in stretches)]


def small_of(what: str, connections: int, result: Result, subject: float) -> Small:
    """From the first request to the last answer."""
    begun = min((beat.asked for beat in result.beats), default=0.0)
    ended = max((beat.answered for beat in result.beats), default=1.0)
    found = latencies_of(result.beats)
    return Small(what, connections, len(result.beats), ended - begun, found, result.wrong, subject, result.cpu)


def checks(figures: Figures) -> list[Check]:
    """Every budget that these figures can be held against."""
    budget, pulse = f"≤ {SECONDS:g} s", figures.meanwhile.most
    memory = figures.memory.operator + figures.memory.worker
    wrong = figures.wrong + sum(each.wrong for each in figures.small)
    return [
        Check("review to v1alpha2", f"{figures.newer:.2f} s", budget, figures.newer <= SECONDS),
        Check("review to v1alpha1", f"{figures.older:.2f} s", budget, figures.older <= SECONDS),
        Check("longest pulse meanwhile", f"{pulse:.0f} ms", f"≤ {PULSE_MILLISECONDS:.0f} ms", _is_free(figures)),
        Check("memory of operator and worker", f"{memory:.0f} MB", f"≤ {MEGABYTES:.0f} MB", memory <= MEGABYTES),
        Check("wrong or lost", str(wrong), "0", wrong == 0),
    ]


def _is_free(figures: Figures) -> bool:
    """A pulse that was never felt proves nothing."""
    return figures.beats > 0 and figures.meanwhile.most <= PULSE_MILLISECONDS


def report(figures: Figures) -> str:
    """The whole text."""
    rows = [(check.what, check.figure, check.budget, check.word) for check in checks(figures)]
    parts = [machine(), _large(figures), _pulse(figures), _small(figures), *_noise(figures)]
    parts.append("### Budgets of conversion\n\n" + markdown(("what", "figure", "budget", ""), rows))
    return "\n\n".join(parts)


def _large(figures: Figures) -> str:
    quick, slow = figures.yardsticks
    own, worker = figures.cpu_of_review
    head = (
        f"### Conversion: one review of {figures.count} objects of {BYTES} bytes, medians of {len(figures.rounds)}\n\n"
        f"Peak memory: operator {figures.memory.operator:.0f} MB ({figures.memory.before:.0f} MB before the first "
        f"review), worker {figures.memory.worker:.0f} MB. The first review, which starts the worker, took "
        f"{figures.first:.2f} s. CPU of a review: operator {own:.2f} s, worker {worker:.2f} s."
    )
    timed = (
        ("to v1alpha2, with hashes", figures.newer),
        ("to v1alpha1", figures.older),
        ("one object alone", figures.one),
        ("read and written by msgspec", quick),
        ("read and written by the standard library", slow),
    )
    rows = [
        (what, f"{seconds * 1000:.1f} ms", f"{seconds / quick:.2f}", f"{seconds / slow:.2f}") for what, seconds in timed
    ]
    return f"{head}\n\n" + markdown(("", "time", "time / msgspec", "time / standard library"), rows)


def _pulse(figures: Figures) -> str:
    rows = [
        ("nothing asked", "", str(figures.at_rest)),
        ("a large review under way", str(figures.beats), str(figures.meanwhile)),
    ]
    return markdown(("`/healthz` while", "requests", "p50 / p90 / p99 / max"), rows)


def _small(figures: Figures) -> str:
    head = ("at once, as often as answered", "connections", "answers per second", "p50 / p90 / p99 / max", "wrong")
    rows = [
        (
            each.what,
            str(each.connections),
            f"{each.rate:.0f}",
            str(each.latencies),
            str(each.wrong),
            f"{each.subject / each.count * 1e6 if each.count else 0:.0f} µs",
            f"{each.generator:.1f} s",
        )
        for each in figures.small
    ]
    return markdown((*head, "CPU per answer", "CPU of generator"), rows)


def _noise(figures: Figures) -> list[str]:
    share = figures.load.others / (figures.seconds * cores())
    if share <= QUIET_SHARE:
        return []
    return [f"**Not a quiet machine**: programs outside of the measurement took {share:.0%} of its CPU."]
