"""A Balancer or a Console whose pods do not become ready says why."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from fairlead.cli.selection import is_blocked, is_complete
from fairlead.contracts.environments.explain import explain
from fairlead.contracts.environments.kinds import BALANCERS, CONSOLES, CompanionStatus
from fairlead.contracts.environments.settings import Settings
from fairlead.core.ask import Answer, Bad, Good, Listing
from fairlead.core.decision import Hold
from fairlead.core.reason import Reason
from kubeloop.objects.meta import Ref
from tests.builders import NOW
from tests.contracts.environments.decide.balancing import IDENTIFIED, a_deployment, of
from tests.contracts.environments.decide.pods import CREATING, IMAGE_BACK_OFF, a_loop, a_tree, listed
from tests.contracts.environments.decide.specs import NEXT, a_ready_condition
from tests.contracts.environments.decide.test_companions import a_condition
from tests.contracts.environments.decide.world import World, promoted

BOTH = Settings(create_balancers=True, create_console=True)
IMAGE = "materialize/balancerd:v26.0.0"
UNREADY = structs.replace(IDENTIFIED, status=CompanionStatus(resource_id="abc", conditions=(a_condition("False"),)))
READY = structs.replace(IDENTIFIED, status=CompanionStatus(resource_id="abc", conditions=(a_condition("True"),)))


def a_balancerd(name: str, state: dict[str, Any], **status: Any) -> dict[str, Any]:
    return a_tree(f"mzabc-balancerd-{name}", "balancerd", IMAGE, state, **status)


STUCK = listed(a_balancerd("b", IMAGE_BACK_OFF), a_balancerd("a", IMAGE_BACK_OFF))
COMING = listed(a_balancerd("a", CREATING))


def held(pods: Answer, **deployment: object) -> Hold:
    verdict = of(UNREADY, pods, deployment=a_deployment(available=False, **deployment)).verdict
    assert isinstance(verdict, Hold)
    return verdict


def test_a_balancer_names_the_pod_that_is_stuck_and_tells_it_once() -> None:
    decision = of(UNREADY, STUCK, deployment=a_deployment(available=False))

    assert isinstance(decision.verdict, Hold)
    assert decision.verdict.reason is Reason.POD_STUCK
    cause = "container balancerd is in ImagePullBackOff"
    assert decision.verdict.details == (("pod/mzabc-balancerd-a", cause),)
    (tell,) = decision.tell
    assert (tell.about.name, tell.reason, tell.repeated) == ("b", "RolloutBlocked", False)
    assert tell.text == f"pod/mzabc-balancerd-a does not become ready: {cause}"


@pytest.mark.parametrize(
    "answer",
    [COMING, listed(), Bad("refused", "forbidden", 403), Bad("timeout"), Good(b"<html>")],
    ids=["a pod that comes", "no pod", "not permitted", "no answer", "no list"],
)
def test_without_a_stuck_pod_a_balancer_counts_those_that_are_available(answer: Answer) -> None:
    verdict = held(answer, available_replicas=0)

    assert verdict.reason is Reason.DEPLOYMENT_NOT_READY
    assert verdict.details == (("deployment/mzabc-balancerd", "0 of 2 pods are available"),)


def test_pods_that_nobody_watches_are_looked_at_again_soon() -> None:
    for answer in (STUCK, COMING):
        again = held(answer).again
        assert again is not None
        assert timedelta(seconds=5) <= again - NOW <= timedelta(seconds=9)


def test_a_new_template_that_does_not_come_up_is_told_while_the_earlier_one_serves() -> None:
    rolling = a_deployment(updated_replicas=1, replicas=3)

    stuck, coming = of(READY, STUCK, deployment=rolling), of(READY, COMING, deployment=rolling)

    assert (stuck.verdict.reason, coming.verdict.reason) == (Reason.POD_STUCK, Reason.COMPLETE)


def test_nobody_lists_pods_of_what_is_ready() -> None:
    assert of(READY, STUCK, deployment=a_deployment()).verdict.reason is Reason.COMPLETE
    world = promoted(settings=BOTH)
    world.things[Ref(CONSOLES, "e", "m")].status = {"resourceId": world.id, "conditions": [a_ready_condition()]}
    world.play()
    assert not any(isinstance(ask.to, Listing) for ask in world.asked)


def unready(*companions: Ref, pods: Answer) -> World:
    world = promoted(settings=BOTH)
    for ref in companions:
        world.things[ref].status = {"resourceId": world.id, "conditions": [a_ready_condition("False")]}
    world.answers = lambda question: pods if isinstance(question.to, Listing) else None
    return world


@pytest.mark.parametrize("resource", [BALANCERS, CONSOLES], ids=lambda each: each.kind)
def test_an_environment_says_which_pod_of_its_companion_is_stuck_and_what_shows_more(resource: Any) -> None:
    pods = listed(a_tree("mzx-pod", "main", IMAGE, **a_loop(4)))
    world = unready(Ref(resource, "e", "m"), pods=pods)

    decision = world.play()

    first = explain(world.seen(), decision, world.now).blocked_by[0]
    cause = "pod mzx-pod: container main is in CrashLoopBackOff"
    assert first.text == f"{resource.kind} m is not available: {cause}"
    assert first.object == f"{resource.kind.lower()}/m"
    assert first.advice[0] == "kubectl -n e logs mzx-pod -c main --previous"


def test_a_companion_keeps_no_environment_from_being_complete_and_no_rollout_from_going_on() -> None:
    pods = listed(a_tree("mzx-pod", "main", IMAGE, IMAGE_BACK_OFF))
    world = unready(Ref(BALANCERS, "e", "m"), pods=pods)
    decision = world.play()

    assert is_complete(explain(world.seen(), decision, world.now))
    world.starts_as = "Initializing"
    world.edit(environmentdImageRef=NEXT)
    decision = world.play()
    document = explain(world.seen(), decision, world.now)
    assert not is_blocked(document)
    assert document.blocked_by[0].reason == "LeaderInitializing"
    assert document.blocked_by[1].reason == "DeploymentNotReady"


def test_an_environment_whose_companion_cannot_be_looked_at_says_what_it_knows() -> None:
    world = unready(Ref(BALANCERS, "e", "m"), pods=Bad("refused", "forbidden", 403))

    decision = world.play()

    assert [aside.reason for aside in decision.asides] == [Reason.BALANCER_NOT_READY]
