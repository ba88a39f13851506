"""Pods that a StatefulSet would wait for in vain, and rollouts and images that were begun with before."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from fairlead.contracts.environments.explain import explain
from fairlead.core import outcome
from fairlead.core.reason import Reason
from tests.contracts.environments.decide.specs import MANUALLY, NEXT, OLD, a_spec
from tests.contracts.environments.decide.world import World, promoted

NEWER = "materialize/environmentd:v27.0.0"
STUCK = {
    "observedGeneration": 1,
    "replicas": 1,
    "currentReplicas": 1,
    "updatedReplicas": 0,
    "currentRevision": "a",
    "updateRevision": "b",
}
"""The pod is of the template before, not ready, and not about to go."""


def overwritten(**status: Any) -> tuple[World, str]:
    """N is of the newest rollout, and its StatefulSet says this about its pod."""
    world = promoted()
    world.starts_as = "Initializing"
    world.edit(environmentdImageRef=NEXT)
    world.play()
    world.pods_start = False
    world.statefulset(2).status = STUCK | status
    return world, world.statefulset(2).uid


def test_a_pod_of_the_template_before_that_never_gets_ready_is_not_waited_for() -> None:
    world, uid = overwritten()

    world.play()

    assert world.statefulset(2).uid != uid
    world.pods_start, world.starts_as = True, "ReadyToPromote"
    world.controllers()
    world.play()
    assert world.is_promoted


ORDINARY = {
    "is ready": {"readyReplicas": 1},
    "is terminating": {"currentReplicas": 0},
    "is of the newest template": {"currentReplicas": 0, "updatedReplicas": 1},
    "is of the only template": {"updateRevision": "a"},
    "is spoken of by a status of the spec before": {"observedGeneration": 0},
    "is not there": {"replicas": 0, "currentReplicas": 0},
}


@pytest.mark.parametrize("status", ORDINARY.values(), ids=ORDINARY)
def test_a_pod_is_waited_for_that(status: dict[str, object]) -> None:
    world, uid = overwritten(**status)

    world.play()
    world.wait(300)

    assert world.statefulset(2).uid == uid


def test_a_pod_of_a_template_in_between_is_waited_for_no_longer_than_it_may_terminate() -> None:
    world, uid = overwritten(currentReplicas=0)
    world.play()
    assert world.statefulset(2).uid == uid

    world.wait(600)

    assert world.statefulset(2).uid != uid
    again = world.statefulset(2).uid
    world.wait(600)
    assert world.statefulset(2).uid == again


# Rollouts that were begun by an operator without hashes.


def inherited(reason: str = "ReadyToPromote", *, broken: bool = False) -> World:
    """Two days ago; its conversion filled R in, and L is absent."""
    world = promoted()
    world.starts_as = "Initializing" if reason == "Applying" else "ReadyToPromote"
    world.edit(environmentdImageRef=NEXT, rolloutStrategy=MANUALLY)
    world.play()
    assert world.condition["reason"] == reason
    del world.own.status["lastCompletedRolloutHash"]
    del world.statefulset(2).body["metadata"]["annotations"]["materialize.cloud/rollout-hash"]
    if broken:
        world.statefulset(2).status |= {"readyReplicas": 0}
    world.restart()
    world.now += timedelta(days=2)
    return world


@pytest.mark.parametrize("broken", [False, True])
@pytest.mark.parametrize("reason", ["Applying", "ReadyToPromote"])
def test_a_rollout_that_another_operator_began_long_ago_is_continued(reason: str, broken: bool) -> None:
    world = inherited(reason, broken=broken)

    world.play()

    assert world.condition["reason"] == reason
    assert world.condition["lastTransitionTime"] == "2026-03-03T12:00:00Z"
    assert [*world.generations] == [1, 2]
    assert world.statefulset(2).body["metadata"]["annotations"]["materialize.cloud/rollout-hash"] == world.hash
    writes = len(world.writes)
    world.play()
    assert len(world.writes) == writes


def test_it_is_given_up_when_it_takes_too_long_from_then_on() -> None:
    world = inherited()
    world.play()

    world.wait(86_399)
    assert world.condition["reason"] == "ReadyToPromote"
    world.wait(1)

    assert world.condition["reason"] == "RolloutTimeout"


def test_its_time_does_not_run_before_it_can_be_taken_up() -> None:
    world = inherited()
    world.statefulset(2).terminating = True

    decision = world.step()

    assert decision.verdict.reason is Reason.OBJECTS_GOING
    assert world.condition["reason"] == "ReadyToPromote"


# Images before anything has run.


def test_an_image_that_never_ran_may_be_replaced_by_any() -> None:
    world = World(a_spec(environmentdImageRef=NEWER))
    world.pods_start = False
    world.play()
    assert world.condition["reason"] == "Applying"

    world.edit(environmentdImageRef=OLD)
    world.play()
    assert world.condition["reason"] == "Applying"
    world.pods_start = True
    world.controllers()
    world.play()

    assert world.is_promoted
    assert world.status["lastCompletedRolloutEnvironmentdImageRef"] == OLD


def test_an_image_that_was_corrected_is_the_one_that_later_ones_are_compared_with() -> None:
    world = World(a_spec(environmentdImageRef=NEWER))
    world.pods_start = False
    world.play()
    world.edit(environmentdImageRef=OLD)
    world.starts_as, world.pods_start = "Initializing", True
    world.play()
    world.controllers()
    world.play()

    world.edit(environmentdExtraArgs=["--x"])
    world.play()

    assert world.condition["reason"] == "Applying"


def test_an_image_that_has_run_is_not_lowered_although_it_never_led() -> None:
    world = World(a_spec(environmentdImageRef=NEWER))
    world.starts_as = "Initializing"
    world.play()

    world.edit(environmentdImageRef=OLD)
    decision = world.play()

    assert decision.verdict.reason is Reason.UPGRADE_REFUSED
    assert world.image(1) == NEWER


# A rollout that nothing serves beside.


def alone(**fields: Any) -> World:
    """A rollout with a downtime has taken the serving generation away, and is changed to one that waits."""
    world = promoted()
    world.starts_as, world.skips = "Initializing", 400
    world.edit(environmentdImageRef=NEXT, rolloutStrategy="ImmediatelyPromoteCausingDowntime")
    world.play()
    assert [*world.generations] == [2]
    world.edit(rolloutStrategy="WaitUntilReady", **fields)
    world.play()
    return world


@pytest.mark.parametrize("timeout", [None, "10s"])
def test_it_is_not_given_up_for_then_nothing_would_be_left(timeout: str | None) -> None:
    world = alone(rolloutRequestTimeout=timeout)

    for _ in range(3):
        world.wait(90_000)

    assert [*world.generations] == [2]
    assert world.says[1] == "Applying"
    world.states[2] = "ReadyToPromote"
    world.play()
    assert world.is_promoted


def test_that_nothing_serves_is_told_beside_what_it_waits_for() -> None:
    world = alone()

    decision = world.play()
    document = explain(world.seen(), decision, world.now)
    catching_up, down = document.blocked_by

    assert [lane.phase for lane in document.stands.lanes] == ["Gone", "Applying"]
    assert catching_up.reason == "LeaderInitializing"
    said = "generation 1 is gone, and nothing serves before generation 2 takes over"
    assert down.text == f"mz{world.id}-environmentd-1-0 does not exist: {said}"


def test_that_the_serving_pod_is_down_is_told_while_a_rollout_waits_for_approval() -> None:
    world = promoted()
    world.edit(environmentdImageRef=NEXT, rolloutStrategy=MANUALLY)
    world.play()
    world.pods_start = False
    world.statefulset(1).status["readyReplicas"] = 0

    decision = world.play()
    document = explain(world.seen(), decision, world.now)

    assert document.outcome == outcome.GATED
    assert [block.reason for block in document.blocked_by] == ["AwaitingPromotion", "PodsNotReady"]
    assert "generation 1 does not serve without it" in document.blocked_by[1].text
