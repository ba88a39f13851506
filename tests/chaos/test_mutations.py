"""The judge objects when a safety is taken away: each schedule is fine with it and broken without it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from msgspec import structs

from fairlead.contracts.zones.decide.groups import Zone
from fairlead.engine.manager import Manager
from kubeloop import request
from kubeloop.election import Election
from kubeloop.ledger import Ledger
from kubeloop.objects.meta import Ref
from kubeloop.request import Request
from kubesim.faults import Fault
from kubesim.pods.behaviour import HOLD
from tests.chaos.judge import Broken
from tests.chaos.steps import MEANS
from tests.chaos.world import Process, Scenario, World, play
from tests.chaos.zone_plans import Setting, ZonePlan, three_zones

Take = Callable[[pytest.MonkeyPatch], None]


def without_the_ledger(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Ledger, "pending", lambda *_: ())


def without_memory_of_lost_answers(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Ledger, "unknown", lambda *_: None)


def without_the_uid_of_pods(patch: pytest.MonkeyPatch) -> None:
    real = request.delete

    def delete(ref: Ref, *, resource_version: str = "", propagation: str = "") -> Request:
        return real(structs.replace(ref, uid=""), resource_version=resource_version, propagation=propagation)

    patch.setattr(request, "delete", delete)


def with_status_alone(patch: pytest.MonkeyPatch) -> None:
    def unready(zone: Zone) -> int:
        return zone.statefulset.status.replicas - zone.statefulset.status.ready_replicas

    patch.setattr(Zone, "not_ready", property(unready))
    patch.setattr(Zone, "is_ready", property(lambda zone: not unready(zone)))


def without_a_look_before_leading(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Manager, "_lead_afresh", Manager._lead)


def without_the_gate(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Election, "gate", lambda _: None)


async def pod_watch_stands_still(world: World) -> None:
    """StatefulSets go on to be seen, so there is every reason to look again and nothing new to see of pods."""
    world.start()
    await asyncio.sleep(1)
    _process(world).wire.faulty.freeze("pods")
    world.deploy_all(2)
    await asyncio.sleep(5)
    world.heal()
    await world.finish()


async def answer_is_lost_and_watch_is_late(world: World) -> None:
    world.start()
    await asyncio.sleep(1)
    _process(world).wire.plan.fail(MEANS["delete"], 1, Fault("lost-answer"))
    world.deploy_all(2)
    await world.finish()


async def pod_is_replaced_unseen(world: World) -> None:
    world.start()
    await asyncio.sleep(1)
    _process(world).wire.faulty.freeze("pods")
    world.kill_pod("ingester-zone-a-0")
    await asyncio.sleep(5)
    world.deploy_all(2)
    await asyncio.sleep(5)
    world.heal()
    await world.finish()


async def plain_rollout(world: World) -> None:
    world.deploy_all(2)
    world.start()
    await world.finish()


async def follower_has_an_old_view(world: World) -> None:
    """The leader dies after its deletion in zone a; what its follower saw last is a pod of zone b that was not ready.

    By that view zone b would be first, and has room for another pod.
    """
    world.start()
    await asyncio.sleep(1)
    leader = world.leader()
    (follower,) = [replica for replica in world.replicas if replica is not leader]
    world.misbehave("zone-b-1", HOLD)
    await asyncio.sleep(1)
    assert follower.process is not None
    follower.process.wire.faulty.freeze("pods")
    world.misbehave("zone-b-1", None)
    await asyncio.sleep(5)
    world.deploy_all(2)
    assert await world.until(lambda: bool(world.judge.deletions), 10.0, every=0.001)
    assert leader is not None
    leader.kill()
    await asyncio.sleep(0.05)
    follower.process.wire.faulty.freeze("statefulsets")
    await asyncio.sleep(40)
    world.heal()
    await world.finish()


async def leader_sleeps_in_a_batch(world: World) -> None:
    """The leader stands still after the first of its deletions; woken when another leads, it has two more in hand."""
    world.start()
    await asyncio.sleep(1)
    sleeper = world.leader()
    assert sleeper is not None
    assert sleeper.process is not None
    sleeper.process.wire.plan.fail(MEANS["delete"], 1, Fault("delay", 1.0))
    world.deploy_all(2)
    await asyncio.sleep(0.5)
    sleeper.stop()
    assert await world.until(lambda: world.leader() not in (None, sleeper), 60.0)
    sleeper.go_on()
    await world.finish()


def _process(world: World) -> Process:
    process = world.replicas[0].process
    assert process is not None
    return process


ONE_BEHIND = Setting(
    (ZonePlan("g", "zone-a", 3), ZonePlan("g", "zone-b", 3, budget="2")), leased=True, operators=2, ready_after=2.0
)
SLOW = structs.replace(ONE_BEHIND, ready_after=30.0)

CASES: dict[str, tuple[Take, Scenario, Setting, str]] = {
    "own deletions are remembered": (without_the_ledger, pod_watch_stands_still, three_zones(), "S6"),
    "lost answers are remembered": (
        without_memory_of_lost_answers,
        answer_is_lost_and_watch_is_late,
        three_zones(lag=2.0),
        "S6",
    ),
    "a deletion is bound to one pod": (without_the_uid_of_pods, pod_is_replaced_unseen, three_zones(), "H-2"),
    "pods are looked at, not status alone": (with_status_alone, plain_rollout, three_zones(), "S3"),
    "a new leader looks before it acts": (
        without_a_look_before_leading,
        follower_has_an_old_view,
        SLOW,
        "S2",
    ),
    "a former leader does not write": (
        without_the_gate,
        leader_sleeps_in_a_batch,
        Setting((ZonePlan("g", "zone-a", 3, budget="3"),), leased=True, operators=2),
        "lease",
    ),
}


SEEDS = 20


@pytest.mark.parametrize("case", CASES)
def test_without_the_safety_an_invariant_breaks(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one of a few orders of what is simultaneous."""
    take, scenario, setting, invariant = CASES[case]
    play(setting, scenario)

    take(monkeypatch)

    with pytest.raises(Broken, match=f"^{invariant} broken"):
        play_in_many_orders(setting, scenario)


def play_in_many_orders(setting: Setting, scenario: Scenario) -> None:
    for seed in range(SEEDS):
        play(structs.replace(setting, seed=seed), scenario)
