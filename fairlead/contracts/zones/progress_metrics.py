"""How far each zone of each group is, and what its health check says, as metrics.

They show the last pass over a group and go away with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from fairlead.contracts.zones.decide.groups import Group, Zone, group_of
from fairlead.contracts.zones.decide.healthchecks.healthcheck import JudgedHealth, referred
from fairlead.contracts.zones.decide.rollout.zone_order import zone_order_of
from fairlead.contracts.zones.decide.seen import Snapshot
from fairlead.core.reason import Reason
from fairlead.engine.controller import RolloutKey

LABELS = ("namespace", "rollout_group", "zone")
HEALTH = "rollout_operator_health_check_"


class ZoneProgress(Struct, frozen=True):
    """One zone after a pass."""

    zone: str
    outdated: int
    updated: int
    not_ready: int
    """Not ready, not for `minReadySeconds`, or missing; counted among the outdated or the updated as well."""
    is_held: bool = False
    """By its health check."""
    is_misconfigured: bool = False
    judged: JudgedHealth | None = None


def standings_of(seen: Snapshot, now: datetime) -> tuple[ZoneProgress, ...]:
    group = group_of(seen, now)
    starts = {start.zone.name: start for start in zone_order_of(group).starts} if seen.checks else {}
    made = []
    for zone in group.zones:
        start = starts.get(zone.name)
        is_held = start is not None and start.reason is Reason.HEALTH_CHECK_FAILING
        made.append(_standing(zone, group, is_held, None if start is None else start.judged))
    return tuple(made)


def _standing(zone: Zone, group: Group, is_held: bool, judged: JudgedHealth | None) -> ZoneProgress:
    return ZoneProgress(
        zone.name,
        outdated=len(zone.outdated),
        updated=len(zone.pods) - len(zone.outdated),
        not_ready=zone.unready + zone.missing,
        is_held=is_held,
        is_misconfigured=isinstance(referred(zone, group), str),
        judged=judged,
    )


class Progress(Collector):
    """What the last pass over each group showed, and counts of what its health checks came to."""

    def __init__(self) -> None:
        self._standings: dict[RolloutKey, tuple[ZoneProgress, ...]] = {}
        self._evaluations: dict[RolloutKey, dict[tuple[str, str], int]] = {}
        """By zone and result."""
        self._misconfigured: dict[RolloutKey, dict[str, int]] = {}
        """How often a zone came to name a check that cannot be used."""
        self._counted: dict[RolloutKey, dict[str, datetime]] = {}
        """Until when the judgement about a zone that was last counted holds: passes share one for a while."""

    def passed(self, key: RolloutKey, standings: tuple[ZoneProgress, ...]) -> None:
        """A pass over the group has been decided."""
        before = {each.zone: each for each in self._standings.get(key, ())}
        self._standings[key] = standings
        for each in standings:
            earlier = before.get(each.zone)
            if each.is_misconfigured and not (earlier is not None and earlier.is_misconfigured):
                counts = self._misconfigured.setdefault(key, {})
                counts[each.zone] = counts.get(each.zone, 0) + 1
            if each.judged is not None:
                self._count(key, each.zone, each.judged)

    def vanished(self, key: RolloutKey) -> None:
        for held in (self._standings, self._evaluations, self._misconfigured, self._counted):
            held.pop(key, None)

    def clear(self) -> None:
        """Another replica decides from now on: what zones were last seen at is not told any more, counts stay."""
        self._standings.clear()

    def _count(self, key: RolloutKey, zone: str, judged: JudgedHealth) -> None:
        counted = self._counted.setdefault(key, {})
        if counted.get(zone) == judged.until:
            return
        counted[zone] = judged.until
        evaluations = self._evaluations.setdefault(key, {})
        for finding in judged.findings:
            series = (zone, finding.result.value)
            evaluations[series] = evaluations.get(series, 0) + 1

    def collect(self) -> Iterator[Metric]:
        pods = GaugeMetricFamily("fairlead_zone_pods", "Pods of a zone by state.", labels=(*LABELS, "state"))
        held = GaugeMetricFamily(f"{HEALTH}blocked", "Whether a zone is held by its health check.", labels=LABELS)
        wrong = GaugeMetricFamily(
            f"{HEALTH}misconfigured", "Whether a zone names a health check that cannot be used.", labels=LABELS
        )
        for key, standings in self._standings.items():
            for each in standings:
                where = (*key, each.zone)
                for state in ("outdated", "updated", "not_ready"):
                    pods.add_metric((*where, state), getattr(each, state))
                held.add_metric(where, int(each.is_held))
                wrong.add_metric(where, int(each.is_misconfigured))
        yield from (pods, held, wrong)
        yield self._counts_of_evaluations()
        yield self._counts_of_mistakes()

    def _counts_of_evaluations(self) -> Metric:
        family = CounterMetricFamily(
            f"{HEALTH}evaluations", "Checks made before the start of a zone.", labels=(*LABELS, "result")
        )
        for key, counts in self._evaluations.items():
            for (zone, result), count in counts.items():
                family.add_metric((*key, zone, result), count)
        return family

    def _counts_of_mistakes(self) -> Metric:
        family = CounterMetricFamily(
            f"{HEALTH}misconfigured", "Times a zone came to name a health check that cannot be used.", labels=LABELS
        )
        for key, counts in self._misconfigured.items():
            for zone, count in counts.items():
                family.add_metric((*key, zone), count)
        return family
