"""Which rollouts are blocked, as a metric: for every rollout of every part what its last pass came to.

A series has the reason, one of a fixed list of words, so that an alert can say it; without one the rollout goes on or
waits for something that comes by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TypeVar

from msgspec import structs
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from fairlead.core.decision import Decision
from fairlead.core.reason import Reason
from fairlead.engine.controller import Controller, RolloutKey, Watcher

S = TypeVar("S")

NAME = "fairlead_rollout_blocked"
LABELS = ("part", "namespace", "rollout", "reason")


class BlockedCollector(Collector):
    def __init__(self) -> None:
        self._reasons: dict[tuple[str, RolloutKey], str] = {}
        """By part and rollout: why it is blocked; empty where it is not."""

    def passed(self, part: str, key: RolloutKey, reason: Reason) -> None:
        """A pass over the rollout has been decided."""
        self._reasons[part, key] = reason.word if reason.blocks else ""

    def vanished(self, part: str, key: RolloutKey) -> None:
        self._reasons.pop((part, key), None)

    def clear(self) -> None:
        """Another replica decides from now on; what was decided here last may have become wrong."""
        self._reasons.clear()

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(NAME, "Whether a rollout cannot go on until somebody acts.", labels=LABELS)
        for (part, key), reason in self._reasons.items():
            family.add_metric((part, *key, reason), int(bool(reason)))
        yield family


def telling_blocked(controller: Controller[S], blocked: BlockedCollector) -> Controller[S]:
    """The controller with its rollouts told of; rounds that are no rollout's are left as they are."""
    if controller.explain is None:
        return controller
    name, also = controller.name, controller.observe

    def observe(key: RolloutKey, seen: S, decision: Decision, now: datetime) -> None:
        blocked.passed(name, key, decision.verdict.reason)
        if also is not None:
            also(key, seen, decision, now)

    return structs.replace(controller, observe=observe, watcher=_Watching(name, blocked, controller.watcher))


class _Watching:
    """Tells that a rollout has vanished, beside what the controller's own watcher does."""

    def __init__(self, name: str, blocked: BlockedCollector, watcher: Watcher) -> None:
        self.started = watcher.started
        self.ended = watcher.ended
        self._name = name
        self._blocked = blocked
        self._watcher = watcher

    def vanished(self, key: RolloutKey) -> None:
        self._blocked.vanished(self._name, key)
        self._watcher.vanished(key)
