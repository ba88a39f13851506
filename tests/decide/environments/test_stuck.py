"""The pod of the next generation that does not become ready says why, and when waiting makes no sense any more."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from fairlead.api.core import PODS
from fairlead.decide.ask import Answer, Ask, Bad, Good, Read
from fairlead.decide.decision import Decision, Hold
from fairlead.decide.environments.explain import explain
from fairlead.decide.progress_deadline import PROGRESS_DEADLINE
from fairlead.decide.reason import Reason
from tests.builders import NOW
from tests.decide.environments.world import NEXT, World, promoted

IMAGE_BACK_OFF: dict[str, Any] = {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off 5m0s pulling"}}
CREATING: dict[str, Any] = {"waiting": {"reason": "ContainerCreating"}}


def rolling(pod: Answer | None) -> World:
    """A rollout whose pod does not become ready; `pod` is what is answered to who reads it."""
    world = promoted()
    world.pods_start = False
    world.answers = lambda question: pod if is_of_pod(question) else None
    world.edit(environmentdImageRef=NEXT)
    world.play()
    world.statefulset(2).status = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1}
    world._touched(world.statefulset(2))
    return world


def is_of_pod(question: Ask) -> bool:
    return isinstance(question.to, Read) and question.to.ref.resource == PODS


def a_pod(state: dict[str, Any], **status: Any) -> Good:
    name = "mzx-environmentd-2-0"
    container = {"name": "environmentd", "image": NEXT, "ready": False, "restartCount": 3, "state": state, **status}
    metadata = {"name": name, "namespace": "e", "uid": "u", "resourceVersion": "1"}
    metadata["creationTimestamp"] = NOW.isoformat()
    spec = {"containers": [{"name": "environmentd", "image": NEXT}]}
    tree = {"metadata": metadata, "spec": spec, "status": {"phase": "Pending", "containerStatuses": [container]}}
    return Good(msgspec.json.encode(tree))


def waits(decision: Decision) -> tuple[Reason, str]:
    assert isinstance(decision.verdict, Hold)
    ((_, detail),) = decision.verdict.details
    return decision.verdict.reason, detail


def test_an_image_that_cannot_be_pulled_blocks_the_rollout_at_once() -> None:
    world = rolling(a_pod(IMAGE_BACK_OFF))

    decision = world.play()

    reason, detail = waits(decision)
    assert reason is Reason.POD_STUCK
    assert detail == (
        f"container environmentd is in ImagePullBackOff (image {NEXT}); "
        "see `kubectl -n e logs mzx-environmentd-2-0 -c environmentd --previous`"
    )
    (tell,) = decision.tell
    assert (tell.warning, tell.reason, tell.repeated) == (True, "RolloutBlocked", False)
    assert "ImagePullBackOff" in tell.text
    (block,) = explain(world.seen(), decision, world.now).blocked_by
    assert (block.kind, block.reason) == ("blocked", "PodStuck")
    assert world.says[1] == "Applying"  # the condition is the contract's


def test_another_restart_is_the_same_trouble() -> None:
    first = rolling(a_pod(IMAGE_BACK_OFF)).play()
    later = rolling(a_pod(IMAGE_BACK_OFF, restartCount=9)).play()

    assert first.tell == later.tell


def test_what_may_still_come_is_waited_for_until_a_deadline() -> None:
    world = rolling(a_pod(CREATING))

    assert waits(world.play()) == (Reason.PODS_NOT_READY, "container environmentd waits with ContainerCreating")

    world.now = NOW + timedelta(minutes=20)
    assert waits(world.play())[0] is Reason.POD_STUCK

    world.annotate(PROGRESS_DEADLINE, "1h")
    assert waits(world.play())[0] is Reason.PODS_NOT_READY


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        (Bad("refused", "forbidden", 403), "it is not ready; grant the operator to get pods, and it says why"),
        (Bad("absent", "not found", 404), "it is not ready"),
        (Good(b"<html>"), "it is not ready"),
    ],
    ids=["not permitted", "gone", "not a pod"],
)
def test_a_pod_that_cannot_be_read_is_waited_for(answer: Answer, detail: str) -> None:
    assert waits(rolling(answer).play()) == (Reason.PODS_NOT_READY, detail)
