"""How long an operator's own histogram says that its handlers took, by route; the metric is part of the contract."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from msgspec import Struct

METRIC = "rollout_operator_request_duration_seconds"
LIMIT = 0.01
"""Seconds; a bound of the histogram, so what is within it is counted and not guessed."""
_SERIES = re.compile(rf"^{METRIC}_(?P<what>bucket|count|sum)\{{(?P<labels>[^}}]*)\}} (?P<value>\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Handled(Struct, frozen=True):
    """Requests of one route, all methods and status codes together."""

    count: int = 0
    within: int = 0
    """Those that took no longer than LIMIT."""
    seconds: float = 0.0
    """Of all together."""

    @property
    def share(self) -> float:
        return self.within / self.count if self.count else 0.0

    @property
    def mean(self) -> float:
        return self.seconds / self.count if self.count else 0.0

    def since(self, before: Handled) -> Handled:
        return Handled(self.count - before.count, self.within - before.within, self.seconds - before.seconds)


def handled(page: str) -> dict[str, Handled]:
    """By route, from a page of metrics."""
    found: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for series in _SERIES.finditer(page):
        labels = dict(_LABEL.findall(series["labels"]))
        if series["what"] != "bucket" or float(labels["le"]) == LIMIT:
            found[labels["route"]][series["what"]] += float(series["value"])
    return {
        route: Handled(int(each["count"]), int(each["bucket"]), each["sum"]) for route, each in sorted(found.items())
    }


def since(after: Mapping[str, Handled], before: Mapping[str, Handled]) -> dict[str, Handled]:
    """What was handled between two pages."""
    return {route: each.since(before.get(route, Handled())) for route, each in after.items()}


def together(routes: Iterable[Handled]) -> Handled:
    count, within, seconds = 0, 0, 0.0
    for each in routes:
        count, within, seconds = count + each.count, within + each.within, seconds + each.seconds
    return Handled(count, within, seconds)
