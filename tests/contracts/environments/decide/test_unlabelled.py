"""Objects that lost the label by which the caches find them are still there, and are treated so."""

from __future__ import annotations

import pytest

from fairlead.contracts.environments.kinds import RESOURCE_ID
from fairlead.core.act import Create, Delete
from fairlead.core.ask import Ask, Bad, Read
from fairlead.core.reason import Reason
from tests.contracts.environments.decide.specs import IMMEDIATELY, NEXT, OLD
from tests.contracts.environments.decide.world import World, promoted

FOUR = ["ConfigMap", "Service", "Service", "StatefulSet"]
NAMES = {
    "statefulset": "statefulset/{}-environmentd-{}",
    "service": "service/{}-environmentd-{}",
    "pubsub": "service/{}-persist-pubsub-{}",
    "listeners": "configmap/{}-listeners-{}",
}
each_kind = pytest.mark.parametrize("kind", NAMES)


def name_of(world: World, kind: str, generation: int) -> str:
    return NAMES[kind].format(f"mz{world.id}", generation)


def reads(world: World, since: int = 0) -> list[str]:
    """Live reads of anything but the Secret, which every pass reads."""
    asked = [ask.to.ref for ask in world.asked[since:] if isinstance(ask, Ask) and isinstance(ask.to, Read)]
    return [str(ref) for ref in asked]


def test_nothing_is_read_past_the_caches_at_rest() -> None:
    world = promoted()
    world.play()
    asked = len(world.asked)

    world.restart()
    world.play()
    world.wait(3600)

    assert reads(world, asked) == []


@each_kind
def test_what_serves_is_not_made_twice(kind: str) -> None:
    world = promoted()
    world.unlabel(name_of(world, kind, 1))
    writes, asked = len(world.writes), len(world.asked)

    decision = world.play()

    assert decision.verdict.reason is Reason.COMPLETE
    assert len(world.writes) == writes
    assert {*reads(world, asked)} == {name_of(world, kind, 1)}, "only what is not seen is read"


@each_kind
def test_what_is_replaced_goes_all_the_same(kind: str) -> None:
    world = promoted()
    thing = world.unlabel(name_of(world, kind, 1))

    world.edit(environmentdImageRef=NEXT)
    world.play()

    assert world.is_promoted
    assert world.generations == {2: FOUR}
    assert thing.uid in [write.ref.uid for write in world.writes if isinstance(write, Delete)]


@each_kind
def test_a_promotion_goes_on_with_what_is_there(kind: str) -> None:
    world = promoted()
    world.takes_over = False
    world.edit(environmentdImageRef=NEXT)
    world.play()
    assert world.says[1] == "Promoting"
    uids = {thing.uid for thing in world.things.values()}
    world.unlabel(name_of(world, kind, 2))
    assert world.play().verdict.reason is Reason.NOT_YET_LEADER

    world.takes_over = True
    world.look_again()

    assert world.is_promoted
    assert world.generations == {2: FOUR}
    assert {thing.uid for ref, thing in world.things.items() if ref.name.endswith("-2")} <= uids
    assert not any(isinstance(write, Create) for write in world.writes)


@each_kind
def test_a_rollout_that_is_taken_back_leaves_nothing_behind(kind: str) -> None:
    world = promoted()
    world.starts_as = "Initializing"
    world.edit(environmentdImageRef=NEXT)
    world.play()
    world.unlabel(name_of(world, kind, 2))

    world.edit(environmentdImageRef=OLD)
    world.play()

    assert world.generations == {1: FOUR}
    assert world.says == ("True", "Applied", "No changes found from generation 1")


@each_kind
def test_a_rollout_that_takes_too_long_leaves_nothing_behind(kind: str) -> None:
    world = promoted()
    world.starts_as = "Initializing"
    world.edit(environmentdImageRef=NEXT, rolloutRequestTimeout="1h")
    world.play()
    world.unlabel(name_of(world, kind, 2))

    world.wait(3600)

    assert world.says[1] == "RolloutTimeout"
    assert world.generations == {1: FOUR}
    asked = len(world.asked)
    world.play()
    assert reads(world, asked) == []


@each_kind
def test_with_a_downtime_it_is_gone_before_the_next_generation_is_there(kind: str) -> None:
    world = promoted()
    world.unlabel(name_of(world, kind, 1))
    world.edit(environmentdImageRef=NEXT, rolloutStrategy=IMMEDIATELY)
    together = []

    for _ in range(40):
        world.step()
        together.append(len(world.generations))
        world.controllers()

    assert max(together) == 1
    assert world.is_promoted


def test_what_is_already_going_is_awaited() -> None:
    world = promoted()
    world.unlabel(name_of(world, "statefulset", 1)).terminating = True

    decision = world.step()

    assert decision.verdict.reason is Reason.OBJECTS_GOING
    world.controllers()
    world.play()
    assert world.generations == {1: FOUR}
    assert world.statefulset(1).body["metadata"]["labels"][RESOURCE_ID] == world.id


def test_somebody_elses_object_of_the_name_is_in_the_way_and_is_not_touched() -> None:
    world = promoted()
    thing = world.unlabel(name_of(world, "listeners", 1))
    thing.body["metadata"]["ownerReferences"] = []
    writes = len(world.writes)

    decision = world.play()

    assert decision.verdict.reason is Reason.OBJECT_REFUSED
    assert "delete it" in decision.tell[0].text
    assert len(world.writes) == writes


def test_somebody_elses_object_of_the_name_does_not_go_with_a_generation() -> None:
    world = promoted()
    world.starts_as = "Initializing"
    world.edit(environmentdImageRef=NEXT)
    world.play()
    world.unlabel(name_of(world, "listeners", 2)).body["metadata"]["ownerReferences"] = []

    world.edit(environmentdImageRef=OLD)
    world.play()

    assert world.says[1] == "Applied"
    assert world.generations == {1: FOUR, 2: ["ConfigMap"]}


def test_a_read_that_fails_is_an_error_and_nothing_counts_as_gone() -> None:
    world = promoted()
    world.edit(environmentdImageRef=NEXT)
    while not world.is_promoting:
        world.step()
        world.controllers()
    gone = name_of(world, "listeners", 1)
    world.answers = lambda ask: (
        Bad("timeout", "no answer") if isinstance(ask.to, Read) and str(ask.to.ref) == gone else None
    )

    decision = world.play()

    assert decision.verdict.reason is Reason.READ_FAILED
    assert world.status["activeGeneration"] == 1
    world.answers = lambda _: None
    world.play()
    assert world.is_promoted
