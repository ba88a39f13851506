"""What became of the objects of a review, counted where they are converted: another process tells it in bulk."""

from __future__ import annotations

from bisect import bisect_left

from msgspec import Struct, field

SECONDS = (0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 1.0)
BYTES = (0.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0)


class Spread(Struct):
    """How many values lie where: a histogram that can be added to another."""

    bounds: tuple[float, ...]
    counts: list[int] = []
    """One for each bound, and one for what lies above the last."""
    total: float = 0.0

    def __post_init__(self) -> None:
        if not self.counts:
            self.counts = [0] * (len(self.bounds) + 1)

    def add(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def join(self, other: Spread) -> None:
        self.counts = [one + more for one, more in zip(self.counts, other.counts, strict=True)]
        self.total += other.total


class Tally(Struct):
    """Of the objects that came in one version of one kind."""

    name: str
    """Of the rule."""
    source: str
    """The version, without its group."""
    good: int = 0
    bad: int = 0
    seconds: Spread = field(default_factory=lambda: Spread(SECONDS))
    carried: Spread = field(default_factory=lambda: Spread(BYTES))
    discarded: int = 0
