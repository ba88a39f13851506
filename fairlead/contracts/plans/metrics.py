"""The metrics of plans (section 2.13): where each rollout stands, its transitions, its hooks and its notices.

Series about a rollout are made from what its last pass saw and go with it. A transition counts once its status is
written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from math import isfinite

import msgspec
from msgspec import Struct
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from fairlead.contracts.plans.decide import states
from fairlead.contracts.plans.decide.hooks import ACCEPTED
from fairlead.contracts.plans.decide.seen import TraitSeen
from fairlead.contracts.plans.decide.transitions import event_between, place_in
from fairlead.contracts.plans.kinds import (
    ABANDONED,
    BATCH_FINALIZING,
    BATCH_INITIALIZING,
    BATCH_STATES,
    DELETING,
    FAILED,
    FAILING,
    FINALISING,
    FINALIZE_HOOK,
    INITIALIZE_HOOK,
    INITIALIZING,
    POST_BATCH_HOOK,
    PRE_BATCH_HOOK,
    ROLLING,
    STATES,
    TERMINAL,
    RolloutPlan,
    RolloutStatus,
)
from fairlead.core.act import AnyWrite, Does
from fairlead.core.decision import Decision, Move
from fairlead.engine.controller import Nobody, RolloutKey
from fairlead.engine.metrics import Metrics
from kubeloop.calls import Call
from kubeloop.unreadable import UNREADABLE

HOOK_BUCKETS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
OF_PHASE = {
    INITIALIZING: INITIALIZE_HOOK,
    BATCH_INITIALIZING: PRE_BATCH_HOOK,
    BATCH_FINALIZING: POST_BATCH_HOOK,
    **dict.fromkeys((FINALISING, FAILING, ABANDONED, DELETING), FINALIZE_HOOK),
}
"""The type of a hook by the phase that its body tells."""
ACCEPTS, REFUSES, FAILS, UNREACHABLE = "accepted", "refused", "failed", "unreachable"
"""What becomes of a call of a hook."""
_MAY_FAIL = tuple(each for each in (*STATES, *BATCH_STATES) if each not in (ROLLING, *TERMINAL))
_HOOK_FIELDS = frozenset({"name", "namespace", "phase", "metadata"})


class PlanProgress(Struct, frozen=True):
    """One rollout after a pass."""

    status: RolloutStatus
    plan: RolloutPlan


class _Standings(Collector):
    def __init__(self) -> None:
        self.standings: dict[tuple[str, RolloutKey], PlanProgress] = {}
        """By kind and name."""

    def collect(self) -> Iterator[Metric]:
        labels = ("kind", "namespace", "name")
        count = GaugeMetricFamily(
            "fairlead_plan_rollouts", "Rollouts with a plan by the state they are in.", labels=("kind", "rolling_state")
        )
        batch = GaugeMetricFamily("fairlead_plan_current_batch", "Batch in work, counted from 0.", labels=labels)
        pods = GaugeMetricFamily(
            "fairlead_plan_replicas",
            "Pods that a rollout goes to, has upgraded and has ready.",
            labels=(*labels, "which"),
        )
        weight = GaugeMetricFamily(
            "fairlead_plan_traffic_weight", "Share of traffic of the target in percent.", labels=labels
        )
        value = GaugeMetricFamily(
            "fairlead_plan_metric_value", "Last value of a canary metric.", labels=(*labels, "metric")
        )
        found = Counter((kind, each.status.rolling_state) for (kind, _), each in self.standings.items())
        for (kind, state), number in found.items():
            count.add_metric((kind, state), number)
        for (kind, key), each in self.standings.items():
            named, status = (kind, *key), each.status
            batch.add_metric(named, status.current_batch)
            sizes = (status.rollout_target_size, status.upgraded_replicas, status.upgraded_ready_replicas)
            for which, size in zip(("target", "upgraded", "ready"), sizes, strict=True):
                pods.add_metric((*named, which), max(0, size))
            if status.traffic_weight is not None:
                weight.add_metric(named, status.traffic_weight)
            for name, measured in _values(status):
                value.add_metric((*named, name), measured)
        yield from (count, batch, pods, weight, value)


def _values(status: RolloutStatus) -> Iterator[tuple[str, float]]:
    """Those that are numbers, each name once."""
    for name, text in {each.name: each.value for each in status.metrics}.items():
        try:
            found = float(text)
        except ValueError:
            continue
        if isfinite(found):
            yield name, found


class PlanMetrics:
    """Of all rollouts with a plan, whichever controller sees to them."""

    def __init__(self, metrics: Metrics) -> None:
        families = metrics.families
        self.transitions = families.counter(
            "fairlead_plan_transitions", "Transitions of rollouts between states.", "kind", "from", "to", "event"
        )
        self.hooks = families.counter("fairlead_plan_hook_requests", "Calls of hooks.", "type", "outcome")
        self.hook_seconds = families.histogram(
            "fairlead_plan_hook_seconds", "How long hooks took to answer.", buckets=HOOK_BUCKETS
        )
        self.notifications = families.counter(
            "fairlead_plan_notifications", "Notices that were sent to chats and webhooks.", "provider", "outcome"
        )
        self.standings = _Standings()
        metrics.registry.register(self.standings)
        for type_ in set(OF_PHASE.values()):
            for outcome in (ACCEPTS, REFUSES, FAILS, UNREACHABLE):
                self.hooks.labels(type_, outcome)

    def of(self, kind: str) -> PlanSeries:
        """What a controller of this kind tells; failures from 0 on, so that Prometheus sees the first one."""
        for state in _MAY_FAIL:
            self.transitions.labels(kind, state, FAILED, event_between(state, FAILED))
        return PlanSeries(self, kind)

    def leads(self, leading: bool) -> None:
        """What other replicas see to is not told of here."""
        if not leading:
            self.standings.standings.clear()

    def counts(self, call: Call, status: int | None, seconds: float) -> bool:
        """Whether the call was one of a hook."""
        kind = _hook_type(call)
        if kind is None:
            return False
        self.hooks.labels(kind, self._outcome(call.url, status)).inc()
        self.hook_seconds.observe(seconds)
        return True

    def _outcome(self, url: str, status: int | None) -> str:
        if status is None:
            return UNREACHABLE
        if status in self._accepted(url):
            return ACCEPTS
        return FAILS if status >= 500 else REFUSES

    def _accepted(self, url: str) -> set[int]:
        """What the hooks at this address accept, of all rollouts that are known."""
        plans = (each.plan for each in self.standings.standings.values())
        found = [
            hook.expected_status or ACCEPTED
            for plan in plans
            for hooks in (
                plan.rollout_webhooks,
                *(batch.batch_rollout_webhooks for batch in plan.rollout_batches or ()),
            )
            for hook in hooks
            if hook.url == url
        ]
        return {code for codes in found or (ACCEPTED,) for code in codes}


def _hook_type(call: Call) -> str | None:
    """None for a call of another kind: bodies of hooks say their phase, and nothing else than what hooks say."""
    try:
        body = msgspec.json.decode(call.body, type=dict[str, object])
    except UNREADABLE:
        return None
    return OF_PHASE.get(str(body.get("phase"))) if body.keys() <= _HOOK_FIELDS else None


class PlanSeries(Nobody):
    """Of the rollouts of one kind; told of their passes."""

    def __init__(self, metrics: PlanMetrics, kind: str) -> None:
        self._metrics = metrics
        self._kind = kind
        self._moving: dict[RolloutKey, tuple[str, str, str]] = {}
        """From, to and event of a transition that the status is about to tell."""

    def decided(self, key: RolloutKey, seen: TraitSeen, decision: Decision, _now: datetime) -> None:
        status = states.known(seen.rollout.read_status)
        plan = seen.rollout.read_spec[0].rollout_plan
        self._metrics.standings.standings[self._kind, key] = PlanProgress(status, plan)
        self._moving.pop(key, None)
        writes = (*(decision.verdict.writes if isinstance(decision.verdict, Move) else ()), *decision.reports)
        told = next((each.change_to for each in writes if each.does is Does.REPORT_STATUS), "")
        before, after = states.place(status), place_in(told)
        if before and after and before != after:
            self._moving[key] = before, after, event_between(before, told)

    def wrote(self, key: RolloutKey, writes: tuple[AnyWrite, ...]) -> None:
        if any(each.does is Does.REPORT_STATUS for each in writes) and key in self._moving:
            self._metrics.transitions.labels(self._kind, *self._moving.pop(key)).inc()

    def vanished(self, key: RolloutKey) -> None:
        self._metrics.standings.standings.pop((self._kind, key), None)
        self._moving.pop(key, None)
