"""Two who write the same: somebody who undoes what is written, and ourselves when we come back to an earlier wish."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fairlead.contracts.environments.kinds import BALANCERS
from fairlead.contracts.environments.settings import Settings
from fairlead.core.act import Apply, Create
from fairlead.core.ask import Good
from fairlead.core.decision import Decision
from fairlead.core.reason import Reason
from kubeloop.objects.meta import Ref
from tests.contracts.environments.decide.specs import IMMEDIATELY, NEXT, OLD
from tests.contracts.environments.decide.world import NAME_OF_IT, NAMESPACE, World, promoted

BALANCER = Ref(BALANCERS, NAMESPACE, NAME_OF_IT)


def fought(world: World, name: str, rounds: int = 6) -> tuple[int, Decision]:
    """How often an object is made that somebody deletes as soon as it is there."""
    made = len(world.writes)
    for _ in range(rounds):
        world.remove(name)
        decision = world.step()
    writes = world.writes[made:]
    return sum(isinstance(write, Apply | Create) and name.partition("/")[2] in str(write) for write in writes), decision


def test_what_somebody_deletes_again_of_the_serving_generation_is_left_for_a_while() -> None:
    world = promoted()

    times, decision = fought(world, f"configmap/mz{world.id}-listeners-1")

    assert times == 1
    assert decision.verdict.reason is Reason.OBJECT_UNDONE
    assert decision.verdict.again == world.now + timedelta(seconds=10)
    world.wait(11)
    assert "ConfigMap" in world.generations[1]


def test_what_somebody_deletes_again_of_the_next_generation_is_left_for_a_while() -> None:
    world = promoted()
    world.starts_as = "Initializing"
    world.edit(environmentdImageRef=NEXT)
    world.play()
    world.now += timedelta(seconds=20)

    times, decision = fought(world, f"configmap/mz{world.id}-listeners-2")

    assert times == 1
    assert decision.verdict.reason is Reason.OBJECT_UNDONE


def test_what_somebody_deletes_again_while_it_is_promoted_is_left_for_a_while() -> None:
    world = promoted()
    world.takes_over = False
    world.edit(environmentdImageRef=NEXT)
    world.play()
    world.now += timedelta(seconds=20)

    times, decision = fought(world, f"configmap/mz{world.id}-listeners-2")

    assert times == 1
    assert decision.verdict.reason is Reason.OBJECT_UNDONE
    world.takes_over = True
    world.wait(11)
    assert world.is_promoted


def test_a_shared_object_that_somebody_deletes_again_is_told_beside_the_rest() -> None:
    world = promoted()

    times, decision = fought(world, "role/m")

    assert times == 1
    assert [aside.reason for aside in decision.asides] == [Reason.OBJECT_UNDONE]
    assert decision.verdict.again == world.now + timedelta(seconds=10)


def test_a_companion_that_somebody_deletes_again_is_told_beside_the_rest() -> None:
    world = promoted(settings=Settings(create_balancers=True))
    world.remove("balancer/m")
    (write,) = world.step().reports
    world.remove("balancer/m")
    world.tried[write] = (Good(), world.now)

    decision = world.step()

    assert BALANCER not in world.things
    assert [aside.reason for aside in decision.asides] == [Reason.OBJECT_UNDONE]
    assert decision.verdict.again == world.now + timedelta(seconds=10)
    world.wait(11)
    assert BALANCER in world.things


FLIPS = {
    "the spec": lambda world, value: world.edit(environmentdExtraArgs=[value]),
    "the annotation": lambda world, value: world.annotate("materialize.cloud/force-rollout", value),
}


@pytest.mark.parametrize("what", FLIPS)
def test_a_wish_that_goes_to_and_fro_is_followed_each_time(what: str) -> None:
    world = promoted()
    world.starts_as = "Initializing"
    for value in ("--b", "--c", "--b", "--c"):
        FLIPS[what](world, value)
        world.now += timedelta(seconds=1)
        decision = world.play()
        assert decision.verdict.reason is Reason.LEADER_INITIALIZING
        annotations = world.statefulset(2).body["metadata"]["annotations"]
        assert annotations["materialize.cloud/rollout-hash"] == world.hash


def test_a_rollout_that_is_taken_back_and_begun_again_is_made_again_at_once() -> None:
    world = promoted()
    world.starts_as = "Initializing"
    for _ in range(3):
        world.edit(environmentdImageRef=NEXT)
        assert world.play().verdict.reason is Reason.LEADER_INITIALIZING
        world.edit(environmentdImageRef=OLD)
        assert world.play().verdict.reason is Reason.COMPLETE


def test_what_we_delete_ourselves_is_made_again_at_once() -> None:
    world = promoted()
    world.starts_as, world.skips = "Initializing", 400
    world.edit(environmentdImageRef=NEXT, rolloutStrategy=IMMEDIATELY)
    world.play()
    uid = world.statefulset(2).uid
    world.pods_start = False
    world.statefulset(2).status = {
        "observedGeneration": 1,
        "replicas": 1,
        "currentReplicas": 1,
        "currentRevision": "a",
        "updateRevision": "b",
    }

    decision = world.play()

    assert world.statefulset(2).uid != uid
    assert decision.verdict.reason is Reason.STATUS_STALE
