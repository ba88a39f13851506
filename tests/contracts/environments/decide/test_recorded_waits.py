"""What a look cannot ask is told from what the operator has recorded."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest
from msgspec import structs

from fairlead.cli.selection import is_blocked, is_complete, named, several
from fairlead.contracts.environments.decide import decide
from fairlead.contracts.environments.decide.recorded_waits import Dated, retold
from fairlead.contracts.environments.decide.seen import Snapshot
from fairlead.contracts.environments.explain import explain
from fairlead.core.ask import Answer, Ask, Bad, Need, Question, Read, ReadSecret
from fairlead.core.decision import Decision
from fairlead.core.explain import Explain
from kubeloop.objects.core import Pod, PodMeta, PodStatus
from kubeloop.objects.meta import Condition
from kubeloop.store import Store
from tests.builders import EARLIER, NOW
from tests.contracts.environments.decide.specs import NEXT
from tests.contracts.environments.decide.world import World, promoted

WRITTEN = NOW - timedelta(minutes=7)


def looked_at(world: World, *pods: Pod) -> Explain:
    """As somebody sees it who calls nobody; the operator wrote the status seven minutes ago."""
    seen, decision = decided(world)
    shown = explain(seen, decision, world.now)
    fields = [{"manager": "m", "time": EARLIER}, {"subresource": "status", "time": WRITTEN}]
    tree = world.own.tree
    tree["metadata"] = tree["metadata"] | {"managedFields": fields}
    environment = msgspec.convert(tree | {"status": tree["status"] or None}, Dated)
    store: Store[Pod] = Store()
    for pod in pods:
        store.put(pod)
    return retold(shown, environment, store.get)


def decided(world: World) -> tuple[Snapshot, Decision]:
    known: dict[Question, Answer] = {}
    while True:
        seen = structs.replace(world.seen(known), applied=None)
        outcome = decide(seen, world.now)
        if isinstance(outcome, Decision):
            return seen, outcome
        assert isinstance(outcome, Need)
        for question in outcome.stages[0]:
            assert isinstance(question, Ask)
            known[question] = world._answer(question) if isinstance(question.to, Read | ReadSecret) else Bad("not-sent")


def a_pod(world: World, generation: int, *, ready: bool) -> Pod:
    condition = Condition("Ready", "True" if ready else "False", EARLIER)
    meta = PodMeta(name=f"mz{world.id}-environmentd-{generation}-0", namespace="e", uid="p", resource_version="1")
    return Pod(meta, PodStatus(conditions=(condition,)))


def applying(**fields: object) -> World:
    world = promoted()
    world.starts_as = "Initializing"
    world.edit(environmentdImageRef=NEXT, **fields)
    world.play()
    return world


def test_a_pod_that_is_ready_is_catching_up_since_it_is_ready() -> None:
    world = applying()

    (block,) = looked_at(world, a_pod(world, 2, ready=True)).blocked_by

    assert block.reason == "LeaderInitializing"
    assert block.clears == "environmentd has caught up, or is told to skip that"
    assert (block.since, block.since_exact) == (EARLIER, True)


def test_without_the_pod_nobody_knows_since_when() -> None:
    (block,) = looked_at(applying()).blocked_by

    assert block.since is None


def test_a_pod_that_is_not_ready_is_waited_for_since_it_is_not() -> None:
    world = promoted()
    world.pods_start = False
    world.edit(environmentdImageRef=NEXT)
    world.play()
    world.statefulset(2).status = {"observedGeneration": 1, "replicas": 1}

    shown = looked_at(world, a_pod(world, 2, ready=False))

    assert (shown.blocked_by[0].reason, shown.blocked_by[0].since) == ("PodsNotReady", EARLIER)
    assert shown.stands.lanes[1].waits[0].since_exact


def test_approval_is_waited_for_since_the_operator_said_so() -> None:
    world = promoted()
    world.edit(environmentdImageRef=NEXT, rolloutStrategy="ManuallyPromote")
    world.play()

    shown = looked_at(world)

    assert shown.blocked_by[0].reason == "AwaitingPromotion"
    assert (shown.blocked_by[0].since, shown.blocked_by[0].since_exact) == (WRITTEN, True)
    assert is_blocked(shown)
    assert shown.outcome == "gated"


def promoting() -> World:
    world = promoted()
    world.takes_over = False
    world.edit(environmentdImageRef=NEXT)
    world.play()
    return world


def test_a_promotion_waits_for_the_new_leader_since_it_was_begun() -> None:
    shown = looked_at(promoting())

    assert [block.reason for block in shown.blocked_by] == ["NotYetLeader"]
    assert "the operator has told it to take over" in shown.blocked_by[0].text
    assert shown.blocked_by[0].since == WRITTEN
    assert not is_blocked(shown)


def test_once_the_service_has_moved_the_old_generation_is_waited_for() -> None:
    world = promoting()
    service = next(thing for ref, thing in world.things.items() if ref.name == f"mz{world.id}-environmentd")
    world.heard_leading.add(2)
    service.body["spec"]["selector"] = {"materialize.cloud/name": f"mz{world.id}-environmentd-2"}

    shown = looked_at(world)

    assert [lane.phase for lane in shown.stands.lanes] == ["Retiring", "Promoting"]
    assert shown.blocked_by[0].reason == "ObjectsGoing"
    assert shown.blocked_by[0].object == f"statefulset/mz{world.id}-environmentd-1"


def failed() -> World:
    world = promoted()
    world.refuses = lambda write: Bad("failed", "no room", 500) if write.refusable else None
    world.edit(environmentdImageRef=NEXT)
    world.play()
    assert world.says[1] == "FailedDeploy"
    return world


def test_what_was_refused_is_told_in_the_words_of_the_condition() -> None:
    world = failed()

    shown = looked_at(world)

    block = shown.blocked_by[0]
    assert (block.reason, block.since_exact) == ("GenerationRefused", True)
    assert block.text == "Failed to apply changes for generation 2: no room"
    assert is_blocked(shown)
    assert shown.outcome == "failed"


def test_a_failure_of_what_is_no_longer_wanted_is_not_told() -> None:
    world = failed()
    world.refuses = lambda _: None
    shown = explain(world.seen(), world.play(), world.now)
    world.edit(podLabels={"a": "b"})
    tree = world.own.tree

    told = retold(shown, msgspec.convert(tree, Dated), lambda *_: None)

    assert told.blocked_by == shown.blocked_by


def test_a_spec_that_nobody_has_taken_up_is_neither_complete_nor_blocked() -> None:
    world = promoted()
    before = explain(world.seen(), world.play(), world.now)
    decision = world.step()
    world.edit(environmentdImageRef=NEXT)

    shown = explain(world.seen(), decision, world.now)

    assert is_complete(before)
    assert (shown.stands.phase, shown.stands.done) == ("Changed", 0)
    assert not is_complete(shown)
    assert not is_blocked(shown)


def test_a_secret_that_is_missing_is_for_people() -> None:
    world = promoted()
    world.secret = None
    world.edit(environmentdImageRef=NEXT)

    shown = looked_at(world)

    assert shown.blocked_by[0].reason == "SecretMissing"
    assert is_blocked(shown)
    assert shown.outcome == "blocked"


@pytest.mark.parametrize(("name", "parts"), [("m", 2), ("environments/m", 1), ("zones/m", 1), ("plans/m", 0)])
def test_rollouts_of_one_name_are_told_apart_by_their_part(name: str, parts: int) -> None:
    environment = looked_at(promoted())
    group = structs.replace(environment, part="zones")

    found = named([environment, group], name)

    assert len(found) == parts
    assert several([environment, group], "m") == "m names several rollouts: choose environments/m or zones/m"
