"""Section 3.6: when a generation is asked, and when what it says is enough."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fairlead.core.decision import Hold
from fairlead.core.reason import Reason
from tests.contracts.environments.decide.specs import NEXT
from tests.contracts.environments.decide.world import promoted

NOT_READY = {
    "no pod": {"replicas": 0, "readyReplicas": 0},
    "a pod that is not ready": {"readyReplicas": 0},
    "a status of the spec before": {"observedGeneration": 0},
    "a pod of the template before": {"currentRevision": "a", "updateRevision": "b", "updatedReplicas": 0},
}


@pytest.mark.parametrize("status", NOT_READY.values(), ids=NOT_READY)
def test_a_generation_is_not_asked_while_it_has(status: dict[str, object]) -> None:
    world = promoted()
    world.pods_start = False
    world.edit(environmentdImageRef=NEXT)
    world.play()
    world.calls.clear()
    world.start_pod(2)
    world.statefulset(2).status |= status

    decision = world.play()

    assert world.calls == []
    assert world.condition["reason"] == "Applying"
    assert isinstance(decision.verdict, Hold)
    assert decision.verdict.again is not None
    assert timedelta(seconds=5) <= decision.verdict.again - world.now <= timedelta(seconds=9)


READY = {
    "both revisions are the same": {"currentRevision": "a", "updateRevision": "a", "updatedReplicas": 0},
    "the pod is of the newer one": {"currentRevision": "a", "updateRevision": "b", "updatedReplicas": 1},
    "there are no revisions": {"currentRevision": "", "updateRevision": "b", "updatedReplicas": 0},
}


@pytest.mark.parametrize("status", READY.values(), ids=READY)
def test_a_generation_is_asked_when(status: dict[str, object]) -> None:
    world = promoted()
    world.pods_start = False
    world.edit(environmentdImageRef=NEXT)
    world.play()
    world.start_pod(2)
    world.statefulset(2).status |= status

    world.play()

    assert world.is_promoted


SILENT = {"Initializing": Reason.LEADER_INITIALIZING, "broken": Reason.LEADER_SILENT, "Strange": Reason.LEADER_SILENT}


@pytest.mark.parametrize(("state", "reason"), SILENT.items())
def test_environmentd_that_is_not_ready_is_asked_again_soon(state: str, reason: Reason) -> None:
    world = promoted()
    world.starts_as = state
    world.edit(environmentdImageRef=NEXT)

    decision = world.play()

    assert decision.verdict.reason is reason
    assert world.says[1] == "Applying"
    writes = len(world.writes)
    world.look_again()
    assert len(world.writes) == writes
    world.states[2] = "ReadyToPromote"
    world.look_again()
    assert world.is_promoted


@pytest.mark.parametrize("state", ["Promoting", "IsLeader"])
def test_environmentd_that_is_further_already_is_ready(state: str) -> None:
    world = promoted()
    world.starts_as = state
    world.edit(environmentdImageRef=NEXT)

    world.play()

    assert world.is_promoted
