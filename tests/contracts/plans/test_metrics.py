"""The series of plans: where rollouts stand, what was written, who was called, and what goes with its object."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from fairlead.contracts.plans.decide import trait_pass
from fairlead.contracts.plans.metrics import PlanMetrics
from fairlead.core.ask import Answers
from fairlead.core.decision import Decision, Move
from fairlead.engine.controller import RolloutKey
from fairlead.engine.metrics import Metrics
from kubeloop.calls import Call
from tests.contracts.plans.decide.cluster import Cluster, a_pair

KEY = RolloutKey(("ns", "r"))
NAMED = {"kind": "RolloutTrait", "namespace": "ns", "name": "r"}


class Told:
    """A controller whose passes over one rollout are measured."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        metrics = Metrics()
        self.plans = metrics.of(PlanMetrics)
        self.series = self.plans.of("RolloutTrait")
        self.registry: CollectorRegistry = metrics.registry

    def look(self) -> Decision:
        """One pass; nothing is written."""
        seen = self.cluster.seen(Answers({}))
        decision = trait_pass.decide(seen, self.cluster.now)
        assert isinstance(decision, Decision)
        self.series.decided(KEY, seen, decision, self.cluster.now)
        return decision

    def run(self, until: str) -> None:
        for _ in range(100):
            decision = self.look()
            if self.cluster.state == until:
                return
            self.cluster.run()
            self.cluster.settle()
            writes = decision.verdict.writes if isinstance(decision.verdict, Move) else ()
            self.series.wrote(KEY, (*writes, *decision.reports))
        raise AssertionError(self.cluster.status)

    def value(self, family: str, /, **labels: Any) -> float | None:
        return self.registry.get_sample_value(f"fairlead_plan_{family}", labels)

    def transitions(self) -> dict[tuple[str, str, str], float]:
        """Those that there were."""
        return {each: count for each, count in self.counted().items() if count}

    def counted(self) -> dict[tuple[str, str, str], float]:
        found = [each for family in self.registry.collect() for each in family.samples]
        named = [each for each in found if each.name == "fairlead_plan_transitions_total"]
        return {(each.labels["from"], each.labels["to"], each.labels["event"]): each.value for each in named}


def test_where_a_rollout_stands_is_told_while_it_is_there() -> None:
    told = Told(a_pair())
    told.cluster.play_to("batchVerifying", 1)
    told.cluster.status |= {"trafficWeight": 60, "metrics": [{"name": "errors", "value": "0.5"}]}

    told.look()

    assert told.value("rollouts", kind="RolloutTrait", rolling_state="rollingInBatches") == 1
    assert told.value("current_batch", **NAMED) == 1
    sizes = [told.value("replicas", **NAMED, which=which) for which in ("target", "upgraded", "ready")]
    assert sizes == [5, 3, 1]
    assert told.value("traffic_weight", **NAMED) == 60
    assert told.value("metric_value", **NAMED, metric="errors") == 0.5
    told.series.vanished(KEY)
    assert told.value("rollouts", kind="RolloutTrait", rolling_state="rollingInBatches") is None
    assert told.value("current_batch", **NAMED) is None
    assert told.value("metric_value", **NAMED, metric="errors") is None


def test_a_replica_that_no_longer_leads_tells_of_no_rollout() -> None:
    told = Told(a_pair())
    told.look()
    assert told.value("current_batch", **NAMED) == 0

    told.plans.leads(False)

    assert told.value("current_batch", **NAMED) is None


def test_transitions_are_counted_with_their_events() -> None:
    told = Told(a_pair())

    told.run("rolloutSucceed")

    assert told.transitions() == {
        ("verifyingSpec", "initializing", "RollingSpecVerifiedEvent"): 1,
        ("initializing", "batchInitializing", "RollingInitializedEvent"): 1,
        ("batchInitializing", "batchInRolling", "InitializedOneBatchEvent"): 3,
        ("batchInRolling", "batchVerifying", "RolloutOneBatchEvent"): 3,
        ("batchVerifying", "batchFinalizing", "OneBatchAvailable"): 3,
        ("batchFinalizing", "batchReady", "FinishedOneBatchEvent"): 2,
        ("batchReady", "batchInitializing", "BatchRolloutApprovedEvent"): 2,
        ("batchFinalizing", "finalising", "AllBatchFinishedEvent"): 1,
        ("finalising", "rolloutSucceed", "RollingFinalizedEvent"): 1,
    }


def test_a_failure_has_an_event_of_its_own() -> None:
    told = Told(a_pair())
    told.cluster.play_to("batchVerifying", 1)
    told.cluster.ask("abort@2026-03-01T12:00:00Z")

    told.run("rolloutFailed")

    assert told.transitions() == {
        ("batchVerifying", "rolloutFailing", "RollingFailedEvent"): 1,
        ("rolloutFailing", "rolloutFailed", "RollingFinalizedEvent"): 1,
    }


def test_failures_and_calls_of_hooks_are_told_before_there_are_any() -> None:
    """Prometheus sees no increase of a series that begins with its first count."""
    told = Told(a_pair())
    before, hooks = told.counted(), told.value("hook_requests_total", type="pre-batch-rollout", outcome="refused")
    told.cluster.play_to("batchVerifying", 1)
    told.cluster.ask("abort@2026-03-01T12:00:00Z")

    told.run("rolloutFailed")

    failures = {each: count for each, count in told.counted().items() if each[1] == "rolloutFailed"}
    assert sum(failures.values()) == 1
    assert failures.keys() <= before.keys()
    assert {*before.values(), hooks} == {0}


def test_what_was_not_written_is_not_counted() -> None:
    told = Told(a_pair())
    told.cluster.play_to("batchVerifying", 1)
    told.look()

    told.series.wrote(KEY, ())

    assert told.transitions() == {}


def call(body: object, url: str = "http://h/x") -> Call:
    return Call(method="POST", url=url, body=msgspec.json.encode(body))


def hook(phase: str, url: str = "http://h/x", **fields: Any) -> Call:
    return call({"name": "r", "namespace": "ns", "phase": phase, **fields}, url)


@pytest.mark.parametrize(
    ("phase", "kind"),
    [
        ("initializing", "initialize-rollout"),
        ("batchInitializing", "pre-batch-rollout"),
        ("batchFinalizing", "post-batch-rollout"),
        ("finalising", "finalize-rollout"),
        ("RolloutDeletingState", "finalize-rollout"),
    ],
)
def test_calls_of_hooks_are_counted_by_their_type(phase: str, kind: str) -> None:
    told = Told(a_pair())

    assert told.plans.counts(hook(phase, metadata={"a": "b"}), 200, 0.2)

    assert told.value("hook_requests_total", type=kind, outcome="accepted") == 1
    assert told.value("hook_seconds_count") == 1


@pytest.mark.parametrize(
    ("url", "status", "outcome"),
    [
        ("http://h/x", 202, "accepted"),
        ("http://h/x", 204, "refused"),
        ("http://h/x", 503, "failed"),
        ("http://h/x", None, "unreachable"),
        ("http://h/own", 418, "accepted"),
        ("http://h/own", 200, "refused"),
    ],
)
def test_what_a_hook_accepts_tells_how_it_went(url: str, status: int | None, outcome: str) -> None:
    webhook = {"type": "pre-batch-rollout", "name": "own", "url": "http://h/own", "expectedStatus": [418]}
    told = Told(a_pair({"rolloutBatches": [{"replicas": 1, "batchRolloutWebhooks": [webhook]}, {}]}))
    told.look()

    told.plans.counts(hook("batchInitializing", url), status, 0.2)

    assert told.value("hook_requests_total", type="pre-batch-rollout", outcome=outcome) == 1


@pytest.mark.parametrize(
    "other",
    [
        call({}),
        call([]),
        Call(method="GET", url="http://p/api/v1/query?query=1"),
        hook("batchInitializing", severity="x"),
    ],
)
def test_other_calls_are_not_those_of_hooks(other: Call) -> None:
    assert not Told(a_pair()).plans.counts(other, 200, 0.1)
