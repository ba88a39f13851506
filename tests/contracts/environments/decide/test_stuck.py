"""The pod of the next generation that does not become ready says why, and when waiting makes no sense any more."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from fairlead.cli.selection import is_blocked
from fairlead.contracts.environments.decide.standing import standing_of
from fairlead.contracts.environments.decide.stuck import pod_question
from fairlead.contracts.environments.explain import explain
from fairlead.core.ask import Answer, Ask, Bad, Good, Http, Read
from fairlead.core.decision import Decision, Hold
from fairlead.core.explain import Explain
from fairlead.core.progress_deadline import PROGRESS_DEADLINE
from fairlead.core.reason import Reason
from kubeloop.objects.core import PODS
from tests.builders import NOW
from tests.contracts.environments.decide.pods import CREATING, IMAGE_BACK_OFF, a_loop, a_tree
from tests.contracts.environments.decide.specs import NEXT
from tests.contracts.environments.decide.world import World, promoted


def rolling(pod: Answer | None, world: World | None = None) -> World:
    """A rollout whose pod does not become ready; `pod` is what is answered to who reads it."""
    world = promoted() if world is None else world
    world.pods_start = False
    world.answers = lambda question: pod if is_of_pod(question) else None
    world.edit(environmentdImageRef=NEXT)
    world.play()
    coming = world.statefulset(standing_of(world.seen()).target)
    coming.status = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1}
    world._touched(coming)
    return world


def is_of_pod(question: Ask) -> bool:
    return isinstance(question.to, Read) and question.to.ref.resource == PODS


def a_pod(state: dict[str, Any], generation: int = 2, **status: Any) -> Good:
    return Good(msgspec.json.encode(a_tree(f"mzx-environmentd-{generation}-0", "environmentd", NEXT, state, **status)))


def crashing(restarts: int, generation: int = 2) -> Good:
    return a_pod(generation=generation, **a_loop(restarts))


def waits(decision: Decision) -> tuple[Reason, str]:
    assert isinstance(decision.verdict, Hold)
    ((_, detail),) = decision.verdict.details
    return decision.verdict.reason, detail


def shown(world: World, pod: Good) -> Explain:
    """The operator's document about a rollout whose pod is like this."""
    decision = world.play()
    assert isinstance(decision.verdict, Hold)
    question = pod_question(standing_of(world.seen()), decision.verdict.details[0][0])
    return explain(world.seen({question: pod}), decision, world.now)


def test_an_image_that_cannot_be_pulled_blocks_the_rollout_at_once() -> None:
    pod = a_pod(IMAGE_BACK_OFF)
    world = rolling(pod)

    decision = world.play()

    assert waits(decision) == (Reason.POD_STUCK, "container environmentd is in ImagePullBackOff")
    (tell,) = decision.tell
    assert (tell.warning, tell.reason, tell.repeated) == (True, "RolloutBlocked", False)
    name = f"mz{world.id}-environmentd-2-0"
    assert tell.text == f"pod/{name} does not become ready: container environmentd is in ImagePullBackOff"
    document = shown(world, pod)
    (block,) = document.blocked_by
    assert (block.kind, block.reason, block.object) == ("blocked", "PodStuck", f"pod/{name}")
    assert block.text == f"{name} does not become ready: container environmentd is in ImagePullBackOff (image {NEXT})"
    assert (block.since, block.since_exact) == (NOW, True)
    assert world.says[1] == "Applying"  # the condition is the contract's


def test_a_blocked_rollout_shows_it_in_its_phase_and_has_nothing_next() -> None:
    pod = crashing(4)
    document = shown(rolling(pod), pod)

    assert (document.stands.phase, document.next) == ("Blocked", ())
    serving, coming = document.stands.lanes
    assert (serving.phase, coming.phase) == ("Serving", "Blocked")
    assert [(cell.state, cell.restarts) for cell in coming.cells] == [("stuck", 4)]
    assert coming.waits == document.blocked_by
    assert is_blocked(document)


def test_what_helps_is_to_look_first_and_then_to_go_back() -> None:
    pod = crashing(4)
    (block,) = shown(rolling(pod), pod).blocked_by

    assert block.text.endswith("is in CrashLoopBackOff (4 restarts, last ended with exit code 3)")
    assert block.advice == (
        "kubectl -n e logs mzx-environmentd-2-0 -c environmentd --previous",
        "kubectl -n e describe pod mzx-environmentd-2-0",
        "go back to generation 1: fairlead abort m -n e",
    )


def test_where_nothing_served_before_the_spec_is_to_be_corrected() -> None:
    pod = crashing(4, generation=1)
    (block,) = shown(rolling(pod, World()), pod).blocked_by

    assert block.advice[-1] == "correct the spec: kubectl -n e edit materialize m"
    assert not any("abort" in advice for advice in block.advice)


def test_a_pod_that_does_not_go_is_not_helped_by_going_back() -> None:
    tree = msgspec.json.decode(a_pod({"running": {}}).value)
    tree["metadata"] |= {"deletionTimestamp": NOW.isoformat(), "deletionGracePeriodSeconds": 30}
    pod = Good(msgspec.json.encode(tree))
    world = rolling(pod)
    world.now = NOW + timedelta(minutes=20)

    (block,) = shown(world, pod).blocked_by

    assert block.advice[0].startswith("kubectl -n e describe pod")
    assert not any("abort" in advice for advice in block.advice)


def test_another_restart_is_the_same_trouble() -> None:
    first, later = rolling(crashing(3)).play(), rolling(crashing(9)).play()

    assert first.tell == later.tell
    assert first.verdict == later.verdict


def test_what_may_still_come_is_waited_for_until_a_deadline() -> None:
    world = rolling(a_pod(CREATING))

    assert waits(world.play()) == (Reason.PODS_NOT_READY, "container environmentd waits with ContainerCreating")
    document = shown(world, a_pod(CREATING))
    assert (document.stands.phase, document.blocked_by[0].advice) == ("Applying", ())
    assert document.next == ("promote generation 2 when it is ready",)
    assert not is_blocked(document)

    world.now = NOW + timedelta(minutes=20)
    assert waits(world.play())[0] is Reason.POD_STUCK

    world.annotate(PROGRESS_DEADLINE, "1h")
    assert waits(world.play())[0] is Reason.PODS_NOT_READY


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        (Bad("refused", "forbidden", 403), "it is not ready; allow the operator to get pods to see why"),
        (Bad("absent", "not found", 404), "it is not ready"),
        (Good(b"<html>"), "it is not ready"),
    ],
    ids=["not permitted", "gone", "not a pod"],
)
def test_a_pod_that_cannot_be_read_is_waited_for(answer: Answer, detail: str) -> None:
    assert waits(rolling(answer).play()) == (Reason.PODS_NOT_READY, detail)


def promoting(pod: Answer) -> World:
    """A promotion whose pod is restarted and does not come back."""
    world = promoted()
    world.takes_over = False
    world.edit(environmentdImageRef=NEXT)
    world.play()
    assert world.is_promoting
    world.pods_start = False
    world.answers = lambda question: pod if is_of_pod(question) else None
    coming = world.statefulset(2)
    coming.status = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1}
    world._touched(coming)
    return world


def test_a_promotion_whose_pod_is_stuck_is_blocked_and_cannot_be_taken_back() -> None:
    pod = crashing(4)
    world = promoting(pod)

    decision = world.play()

    assert waits(decision) == (Reason.POD_STUCK, "container environmentd is in CrashLoopBackOff")
    assert [(tell.reason, tell.repeated) for tell in decision.tell] == [("RolloutBlocked", False)]
    assert world.says[1] == "Promoting"
    document = shown(world, pod)
    assert is_blocked(document)
    (block,) = document.blocked_by
    assert block.advice[-1] == (
        "it cannot be taken back; correct the spec, and have it made again from that:"
        " kubectl -n e delete statefulset mzx-environmentd-2"
    )


def test_a_promotion_that_may_not_read_its_pod_says_so() -> None:
    decision = promoting(Bad("refused", "forbidden", 403)).play()

    assert waits(decision)[0] is Reason.PODS_NOT_READY
    assert "allow the operator to get pods" in waits(decision)[1]


def test_what_is_corrected_and_deleted_is_promoted_as_it_is_wanted_then() -> None:
    world = promoting(crashing(4))
    world.play()

    world.edit(environmentdExtraArgs=["--mended"])
    world.remove(f"statefulset/mz{world.id}-environmentd-2")
    world.pods_start = world.takes_over = True
    world.play()

    assert world.is_promoted


UNSENT = {
    "that cannot be signed in to": Bad("sign-in", "POST https://m/api/login: no connection"),
    "that a command does not call": Bad("not-sent"),
}


@pytest.mark.parametrize("answer", UNSENT.values(), ids=UNSENT)
def test_a_promotion_tells_of_its_pod_before_environmentd(answer: Bad) -> None:
    pod = crashing(4)
    world = promoting(pod)
    world.answers = lambda question: pod if is_of_pod(question) else answer if isinstance(question.to, Http) else None

    assert waits(world.play())[0] is Reason.POD_STUCK
