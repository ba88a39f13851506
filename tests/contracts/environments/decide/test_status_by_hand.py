"""A status that somebody has written, or restored from an older backup: nothing that users reach goes."""

from __future__ import annotations

from copy import deepcopy
from datetime import timedelta

import msgspec
import pytest

from fairlead.contracts.environments.explain import explain
from fairlead.contracts.environments.kinds import NAME
from fairlead.core import outcome
from fairlead.core.ask import Answer, Bad, Good, Read
from fairlead.core.decision import Decision
from fairlead.core.reason import Reason
from kubeloop.objects.meta import Ref
from tests.contracts.environments.decide.specs import IMMEDIATELY, NEXT
from tests.contracts.environments.decide.things import Thing, Tree
from tests.contracts.environments.decide.world import World, promoted


def serving(generation: int) -> World:
    """A world at rest whose status is not taken for the truth."""
    world = promoted()
    for number in range(2, generation + 1):
        world.edit(environmentdExtraArgs=[f"--{number}"])
        world.play()
    assert world.is_promoted
    assert [*world.generations] == [generation]
    world.is_meddled_with = True
    return world


def say_active(world: World, generation: int) -> None:
    world.own.status["activeGeneration"] = generation
    world.own.version = world.own.version + 1000


def uids(world: World) -> dict[Ref, str]:
    return {ref: thing.uid for ref, thing in world.things.items()}


def blocked(decision: Decision) -> str:
    assert decision.verdict.reason is Reason.STATUS_CONTRADICTED
    (event,) = decision.tell
    assert event.warning
    return event.text


EDITS: dict[str, dict[str, object]] = {
    "nothing else": {},
    "another spec": {"environmentdImageRef": NEXT},
    "another spec and a downtime": {"environmentdImageRef": NEXT, "rolloutStrategy": IMMEDIATELY},
}


@pytest.mark.parametrize("edits", EDITS.values(), ids=EDITS)
@pytest.mark.parametrize("named", [0, 1, 2, 4, 7])
def test_what_serves_stays_as_it_is_and_nothing_comes_beside_it(named: int, edits: dict[str, object]) -> None:
    world = serving(3)
    before, template = uids(world), deepcopy(world.statefulset(3).body)

    say_active(world, named)
    if edits:
        world.edit(**edits)
    decision = world.play()
    world.wait(4000)

    assert uids(world) == before
    assert world.statefulset(3).body == template
    said = blocked(decision)
    assert "generation 3" in said
    assert f"activeGeneration is {named}" in said

    say_active(world, 3)
    world.play()

    assert world.is_promoted
    assert world.status["activeGeneration"] == (4 if edits else 3)


def test_a_promotion_goes_to_no_other_generation_than_it_was_begun_for() -> None:
    world = serving(3)
    world.takes_over = False
    world.edit(environmentdImageRef=NEXT)
    world.play()
    assert world.is_promoting

    say_active(world, 8)
    blocked(world.play())

    assert [*world.generations] == [3, 4]
    say_active(world, 3)
    world.takes_over = True
    world.play()
    assert world.is_promoted
    assert [*world.generations] == [4]


def test_it_is_looked_at_again_soon_and_people_are_told_what_to_do() -> None:
    world = serving(3)
    say_active(world, 2)

    decision = world.play()

    assert decision.verdict.again is not None
    assert decision.verdict.again - world.now <= timedelta(seconds=9)
    document = explain(world.seen(), decision, world.now)
    (block,) = document.blocked_by
    assert document.outcome == outcome.BLOCKED
    assert "kubectl" in " ".join(block.advice)
    assert '"activeGeneration":3' in " ".join(block.advice)
    assert [(lane.name, lane.phase, lane.done) for lane in document.stands.lanes] == [("generation 3", "Serving", 1)]


def test_caches_of_different_moments_are_no_contradiction() -> None:
    """Of a leader that has just taken over: its cache of Services is behind that of environments, or before it."""
    world = serving(3)
    newer = world.own.tree | {"metadata": world.own.tree["metadata"] | {"resourceVersion": "999999"}}
    service = next(thing for ref, thing in world.things.items() if ref.name == f"mz{world.id}-environmentd")
    name = f"service/mz{world.id}-environmentd"
    live: dict[str, Answer] = {"materialize/m": Good(msgspec.json.encode(newer))}

    say_active(world, 2)
    world.answers = lambda ask: live.get(str(ask.to.ref)) if isinstance(ask.to, Read) else None
    assert world.step().verdict.reason is Reason.CACHE_BEHIND

    for answer in (Good(msgspec.json.encode(led_to(service, world, 2))), Bad("absent", "not found", 404)):
        live = {name: answer}
        assert world.step().verdict.reason is Reason.CACHE_BEHIND

    live = {name: Bad("not-sent"), "materialize/m": Bad("not-sent")}
    assert world.step().verdict.reason is Reason.STATUS_CONTRADICTED
    assert world.generations.keys() == {3}


def led_to(service: Thing, world: World, generation: int) -> Tree:
    tree = deepcopy(service.tree)
    tree["spec"]["selector"] = {NAME: f"mz{world.id}-environmentd-{generation}"}
    return tree


def test_a_service_that_leads_to_nobody_is_no_contradiction() -> None:
    world = serving(1)
    world.edit(environmentdImageRef=NEXT, rolloutStrategy=IMMEDIATELY)

    world.play()

    assert world.is_promoted
    assert world.status["activeGeneration"] == 2


# What is left of it.


def with_a_stray(generation: int) -> World:
    """A generation that somebody had made, and that belongs to no rollout."""
    world = serving(1)
    for ref, thing in [*world.things.items()]:
        if ref.name.endswith("-1"):
            name = f"{ref.name[:-1]}{generation}"
            body = deepcopy(thing.body)
            body["metadata"]["name"] = name
            world.put(Ref(ref.resource, ref.namespace, name), body)
    assert [*world.generations] == [1, generation]
    return world


@pytest.mark.parametrize("generation", [3, 12])
def test_a_generation_of_no_rollout_goes_when_the_active_one_is_heard_to_lead(generation: int) -> None:
    world = with_a_stray(generation)
    served = {ref: thing.uid for ref, thing in world.things.items() if not ref.name.endswith(f"-{generation}")}

    world.look_again() if world.last and world.last.verdict.again else world.play()

    assert uids(world) == served
    assert world.is_promoted


def test_it_stays_until_then_and_people_are_told() -> None:
    world = with_a_stray(3)
    world.states[1] = "broken"

    decision = world.play()

    assert [*world.generations] == [1, 3]
    assert decision.verdict.reason is Reason.NOT_YET_LEADER
    (block, *_) = explain(world.seen(), decision, world.now).blocked_by
    assert "generation 3" in block.text
    world.states[1] = "IsLeader"
    world.look_again()
    assert [*world.generations] == [1]


def test_what_belongs_to_somebody_else_stays() -> None:
    world = with_a_stray(3)
    for ref, thing in world.things.items():
        if ref.name.endswith("-3"):
            thing.body["metadata"]["ownerReferences"] = []
    before = uids(world)

    decision = world.play()

    assert decision.verdict.reason is Reason.COMPLETE
    assert uids(world) == before


def test_while_the_listeners_of_the_active_one_cannot_be_read_it_stays() -> None:
    world = with_a_stray(3)
    world.answers = lambda ask: Bad("failed", "busy", 500) if "listeners-1" in str(ask) else None

    decision = world.play()

    assert decision.verdict.reason is Reason.READ_FAILED
    assert [*world.generations] == [1, 3]


def test_the_largest_number_that_can_be_told_has_one_after_it() -> None:
    world = World()
    world.annotate("materialize.cloud/last-known-active-generation", "9" * 18)

    world.play()

    assert world.is_promoted
    assert world.status["activeGeneration"] == 10**18
