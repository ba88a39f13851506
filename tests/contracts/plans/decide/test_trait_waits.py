"""Waits that every batch has are stored once the batch is five seconds old (R-3)."""

from __future__ import annotations

from datetime import timedelta

from fairlead.core.decision import Hold
from fairlead.core.reason import Reason
from tests.contracts.plans.decide.cluster import Cluster, a_pair

MOMENT = timedelta(milliseconds=100)


def rolling(**plan: object) -> Cluster:
    """Its first batch has just begun, and the target has its size and no pod that is ready."""
    cluster = a_pair(dict(plan))
    for _ in range(40):
        if cluster.size("d2"):
            break
        cluster.run()
        cluster.settle(ready=False)
        cluster.now += MOMENT
    assert (cluster.rollout.batch_rolling_state, cluster.size("d2")) == ("batchInRolling", 1)
    return cluster


def test_a_batch_that_is_soon_over_takes_seven_writes() -> None:
    """Two sizes and five transitions, however late controllers see a size and pods are ready."""
    cluster = a_pair()
    while (cluster.rollout.current_batch, cluster.rollout.batch_rolling_state) != (1, "batchInitializing"):
        cluster.run()
        cluster.settle()
    before, number = len(cluster.history), 0

    while cluster.rollout.current_batch == 1:
        cluster.run()
        cluster.now += MOMENT
        number += 1
        if number % 3:
            cluster.settle(ready=number % 3 == 2)

    assert len(cluster.history) - before == 7


def test_a_young_wait_is_decided_and_not_stored() -> None:
    cluster = rolling()
    before = len(cluster.history)

    decision = cluster.run()

    assert isinstance(decision.verdict, Hold)
    assert decision.verdict.reason is Reason.PODS_NOT_READY
    assert len(cluster.history) == before


def test_it_is_looked_at_when_it_is_to_be_stored_and_then_stored() -> None:
    cluster = rolling()
    decision = cluster.run()
    assert isinstance(decision.verdict, Hold)
    start = cluster.rollout.batch_start_time
    assert start is not None
    assert decision.verdict.again == start + timedelta(seconds=5)

    cluster.now = decision.verdict.again
    cluster.run()

    assert cluster.condition("RolloutInProgress") == ("False", "0 of 1 pods of the Deployment d2 are ready")


def test_a_clock_that_went_back_hides_no_wait() -> None:
    cluster = rolling()
    cluster.now -= timedelta(hours=1)

    cluster.run()

    assert cluster.condition("RolloutInProgress")[0] == "False"


def test_a_deadline_that_is_as_short_has_a_cause_to_tell() -> None:
    cluster = rolling(progressDeadlineSeconds=4)

    cluster.run()

    assert cluster.condition("RolloutInProgress") == ("False", "0 of 1 pods of the Deployment d2 are ready")
