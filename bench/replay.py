"""Judges a rollout from outside: replays what happened to pods and counts what must not have happened.

All pods of a cluster share one order of resource versions, the order in which the store committed their changes, so
the state at each deletion is known exactly, whatever any watcher saw at that moment.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from msgspec import Struct

from bench.cases import Zone


class Event(Struct, frozen=True):
    """What one change left of a pod."""

    version: int
    zone: str
    pod: str
    uid: str
    revision: str
    ready: bool
    terminating: bool
    gone: bool = False
    at: float = 0.0
    """When an observer heard of it, on the monotonic clock; the order of changes is that of their versions."""


class Verdict(Struct, frozen=True):
    """Deletions that were asked for, and how many of them broke a promise."""

    deletions: int = 0
    over_budget: int = 0
    """With the deletion, more pods of the zone were out than its budget allows."""
    two_zones: int = 0
    """Another zone of the group was not fully ready."""
    needless: int = 0
    """The pod had the wanted revision already."""

    @property
    def violations(self) -> int:
        return self.over_budget + self.two_zones + self.needless


def judge(events: Iterable[Event], zones: Iterable[Zone], wanted: Mapping[str, str]) -> Verdict:
    """Replays the events in the order of their versions; `wanted` has the revision each zone was rolled to.

    A pod is out while it is missing, not ready or terminating. The deletion of a pod is the event that first shows it
    terminating, or gone without that.
    """
    by_name = {zone.name: zone for zone in zones}
    out = {zone.name: set(zone.pod_names) for zone in by_name.values()}
    group: dict[str, list[str]] = defaultdict(list)
    for zone in by_name.values():
        group[zone.group].append(zone.name)
    dying: set[str] = set()
    deletions = over_budget = two_zones = needless = 0
    for event in sorted(events, key=lambda event: event.version):
        zone = by_name[event.zone]
        if (event.terminating or event.gone) and event.uid not in dying:
            dying.add(event.uid)
            deletions += 1
            over_budget += len(out[zone.name] | {event.pod}) > zone.budget
            two_zones += any(out[other] for other in group[zone.group] if other != zone.name)
            needless += event.revision == wanted.get(zone.name)
        if event.ready and not event.gone:
            out[zone.name].discard(event.pod)
        else:
            out[zone.name].add(event.pod)
    return Verdict(deletions, over_budget, two_zones, needless)
