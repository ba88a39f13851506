"""Random walks: people, crashes, refusals and slow pods in any order; what must hold is asserted by the world itself.

After each walk the disturbances end, and the environment must come to what its spec says.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as some

from fairlead.core.act import AnyWrite
from fairlead.core.ask import Bad
from fairlead.core.decision import Hold
from fairlead.core.reason import Reason
from kubeloop.objects.apps import STATEFULSETS
from tests.contracts.environments.decide.specs import IMMEDIATELY, NEXT, OLD
from tests.contracts.environments.decide.world import Crashed, World

LAST = "materialize/environmentd:v26.2.0"
Act = Callable[[World], None]


def edits(**fields: object) -> Act:
    return lambda world: world.edit(**fields)


def forces(world: World) -> None:
    world.edit(forcePromote=world.hash)


def states(state: str) -> Act:
    def act(world: World) -> None:
        world.starts_as = state
        if world.own.status and world.status["activeGeneration"] + 1 in world.states:
            world.states[world.status["activeGeneration"] + 1] = state

    return act


def sets(**fields: object) -> Act:
    def act(world: World) -> None:
        for name, value in fields.items():
            setattr(world, name, value)

    return act


def refuses(kind: str, code: int) -> Act:
    def refused(write: AnyWrite) -> Bad | None:
        name = getattr(write, "resource", None) or getattr(write, "ref").resource  # noqa: B009
        return Bad("failed", f"no {kind}", code) if write.refusable and name.kind == kind else None

    return lambda world: setattr(world, "refuses", refused)


def breaks_pods(world: World) -> None:
    world.pods_start = False
    for ref, thing in world.things.items():
        if ref.resource == STATEFULSETS:
            thing.status = thing.status | {"readyReplicas": 0}


def loses(number: int) -> Act:
    """Somebody deletes an object by hand."""

    def act(world: World) -> None:
        names = sorted(str(ref) for ref in world.things)
        if names:
            world.remove(names[number % len(names)])

    return act


def passes(seconds: float) -> Act:
    def act(world: World) -> None:
        world.now += timedelta(seconds=seconds)

    return act


def dies(after: int) -> Act:
    return sets(dies_after=after)


ACTS: dict[str, Act] = {
    "next image": edits(environmentdImageRef=NEXT),
    "last image": edits(environmentdImageRef=LAST),
    "first image": edits(environmentdImageRef=OLD),
    "argument": edits(environmentdExtraArgs=["--x"]),
    "no argument": edits(environmentdExtraArgs=None),
    "waits": edits(rolloutStrategy="WaitUntilReady"),
    "manual": edits(rolloutStrategy="ManuallyPromote"),
    "downtime": edits(rolloutStrategy=IMMEDIATELY),
    "not hashed": edits(balancerdReplicas=5),
    "short": edits(rolloutRequestTimeout="20s"),
    "forced": forces,
    "unforced": edits(forcePromote=None),
    "annotated": lambda world: world.annotate("materialize.cloud/force-rollout", str(world.rounds)),
    "initializing": states("Initializing"),
    "caught up": states("ReadyToPromote"),
    "broken": states("broken"),
    "slow to lead": sets(takes_over=False),
    "quick to lead": sets(takes_over=True),
    "cannot skip": sets(skips=404),
    "skips too early": sets(skips=400),
    "skips badly": sets(skips=500),
    "skips": sets(skips=204),
    "pods break": breaks_pods,
    "pods start": sets(pods_start=True),
    "immutable": refuses("StatefulSet", 422),
    "no services": refuses("Service", 403),
    "no roles": refuses("Role", 403),
    "all allowed": sets(refuses=lambda _: None),
    "restart": World.restart,
    "no secret": sets(secret=None),
    "secret": lambda world: setattr(world, "secret", World().secret),
    "controllers": World.controllers,
    "7 seconds": passes(7),
    "30 seconds": passes(30),
    **{f"dies after {after}": dies(after) for after in (0, 1, 2, 5)},
    **{f"loses {number}": loses(number) for number in (0, 3, 5, 7)},
}


def walk(world: World, names: list[tuple[str, int]]) -> None:
    for name, rounds in names:
        ACTS[name](world)
        for _ in range(rounds):
            try:
                world.step()
            except Crashed:
                world.restart()
            if rounds % 2:
                world.controllers()


def calm(world: World) -> None:
    """Nobody disturbs any more, and what is wanted may be had."""
    for name in ("all allowed", "secret", "caught up", "quick to lead", "skips", "pods start", "restart"):
        ACTS[name](world)
    world.edit(environmentdImageRef=LAST, rolloutStrategy="WaitUntilReady", rolloutRequestTimeout=None)
    world.annotate("materialize.cloud/force-rollout", "the end")
    for _ in range(20):
        if world.play(most=200).verdict.reason is Reason.COMPLETE:
            return
        world.now += timedelta(seconds=11)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(some.lists(some.tuples(some.sampled_from(sorted(ACTS)), some.integers(0, 5)), max_size=25))
@example([("no argument", 5), ("argument", 5), ("slow to lead", 4), ("no argument", 3), ("loses 5", 3)])
@example([("restart", 5), ("controllers", 5), ("downtime", 5), ("argument", 3), ("no argument", 5)])
def test_any_walk_keeps_what_must_hold_and_ends_where_the_spec_says(names: list[tuple[str, int]]) -> None:
    world = World()
    walk(world, names)

    calm(world)

    assert world.is_promoted
    assert [*world.generations] == [world.status["activeGeneration"]]
    assert world.generations[world.status["activeGeneration"]] == ["ConfigMap", "Service", "Service", "StatefulSet"]
    assert world.image(world.status["activeGeneration"]) == LAST

    before = {*world.things}
    ACTS["loses 3"](world)
    ACTS["loses 7"](world)
    world.play()

    assert {*world.things} == before, "what is lost of what serves comes back"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(some.lists(some.tuples(some.sampled_from(sorted(ACTS)), some.integers(0, 5)), max_size=15))
def test_a_cause_that_stays_makes_a_status_that_stays(names: list[tuple[str, int]]) -> None:
    """L7: whatever the world is stuck in, looking again writes nothing."""
    world = World()
    walk(world, names)
    world.dies_after = None
    world.play(most=200)
    world.wait(3600 * 30)
    version, writes = world.own.version, len(world.writes)

    for _ in range(3):
        decision = world.wait(3600)

    assert isinstance(decision.verdict, Hold)
    assert world.own.version == version
    assert [write.does for write in world.writes[writes:]] == []


@pytest.mark.parametrize("survives", range(14))
def test_a_crash_after_any_effect_of_a_whole_rollout_ends_the_same(survives: int) -> None:
    """L6."""
    world, calm_world = World(), World()
    for each in (world, calm_world):
        each.play()
        each.edit(environmentdImageRef=NEXT, rolloutStrategy=IMMEDIATELY)
    calm_world.play()
    world.dies_after = survives
    with pytest.raises(Crashed):
        world.play()
    world.restart()
    world.play()

    assert world.is_promoted
    assert world.status == calm_world.status
    assert {ref: thing.body for ref, thing in world.things.items()} == {
        ref: thing.body for ref, thing in calm_world.things.items()
    }
