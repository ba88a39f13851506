"""The judge itself: what it excuses, and what it never does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubeloop.request import delete
from tests.chaos.judge import Asked
from tests.chaos.world import NAMESPACE, World, play
from tests.chaos.zone_plans import Setting, ZonePlan

ME, ANOTHER = "operator-x", "operator-y"
ZONES = Setting((ZonePlan("g", "zone-a", 3, budget="2"), ZonePlan("g", "zone-b", 3)))


def breaches(scenario: Callable[[World], None]) -> list[str]:
    """Invariants that made-up operators break in a group with a new template, of which they were told all so far."""
    found: list[str] = []

    async def main(world: World) -> None:
        await begin(world)
        scenario(world)
        found.extend(breach.partition(" ")[0] for breach in world.judge.breaches)
        world.judge.breaches.clear()

    play(ZONES, main)
    return found


async def begin(world: World) -> None:
    for operator in (ME, ANOTHER):
        world.judge.begins(operator)
    world.deploy_all(2)
    await asyncio.sleep(1)
    tell_all(world, ME)
    tell_all(world, ANOTHER)


def tell_all(world: World, operator: str = ME) -> None:
    for plural in ("pods", "statefulsets"):
        world.judge.told(operator, plural, world.cluster.store.revision)


def deletes(world: World, name: str, operator: str = ME) -> Asked | None:
    """Asked for and carried out."""
    pod = world.judge.truth.pods[NAMESPACE, name]
    asked = world.judge.asks(operator, delete(Ref(PODS, NAMESPACE, name, pod.metadata.uid)))
    world.cluster.verbs.delete(PODS, NAMESPACE, name, user=operator)
    return asked


def test_a_deletion_in_a_healthy_group_is_right() -> None:
    def scenario(world: World) -> None:
        deletes(world, "zone-a-0")

    assert breaches(scenario) == []


def test_what_others_did_counts_only_once_it_was_told() -> None:
    def untold(world: World) -> None:
        world.kill_pod("zone-b-0")
        deletes(world, "zone-a-0")

    def told(world: World) -> None:
        world.kill_pod("zone-b-0")
        tell_all(world)
        deletes(world, "zone-a-0")

    assert breaches(untold) == []
    assert breaches(told) == ["S1"]


def test_what_operators_did_counts_at_once() -> None:
    def two_zones(world: World) -> None:
        deletes(world, "zone-a-0")
        deletes(world, "zone-b-0")

    def beyond_the_budget(world: World) -> None:
        for ordinal in range(3):
            deletes(world, f"zone-a-{ordinal}")

    def twice(world: World) -> None:
        deletes(world, "zone-a-0")
        deletes(world, "zone-a-0")

    assert breaches(two_zones) == ["S2"]
    assert breaches(beyond_the_budget) == ["S3"]
    assert breaches(twice) == ["S6"]


def test_what_another_operator_did_counts_at_once() -> None:
    def scenario(world: World) -> None:
        deletes(world, "zone-a-0")
        deletes(world, "zone-b-0", ANOTHER)

    assert breaches(scenario) == ["S2"]


def test_writes_of_one_step_are_one_decision() -> None:
    """The second of them may be sent although something was told in between; one of a later step may not."""

    def disturbed(world: World, asked: Asked | None) -> None:
        world.kill_pod("zone-b-0")
        tell_all(world)
        world.judge.answered(asked)

    def same_step(world: World) -> None:
        disturbed(world, deletes(world, "zone-a-0"))
        deletes(world, "zone-a-1")

    def later_step(world: World) -> None:
        disturbed(world, deletes(world, "zone-a-0"))
        asyncio.get_running_loop().steps += 1  # type: ignore[attr-defined]
        deletes(world, "zone-a-1")

    assert breaches(same_step) == []
    assert breaches(later_step) == ["S5", "S1"]


def test_a_zone_that_was_read_counts_for_writes_to_it() -> None:
    """Its pause is not in the view that watches give."""

    def scenario(world: World) -> None:
        world.annotate("zone-a", "grafana.com/rollout-paused", "true")
        world.judge.read(ME, world.cluster.store.table(STATEFULSETS).live[NAMESPACE, "zone-a"].body)
        deletes(world, "zone-a-0")

    assert breaches(scenario) == ["B-9"]


def test_a_pod_that_took_the_place_of_the_one_that_was_seen_is_not_deleted() -> None:
    found: list[str] = []

    async def replaced(world: World) -> None:
        await begin(world)
        world.kill_pod("zone-a-0", grace=0)
        await asyncio.sleep(5)
        deletes(world, "zone-a-0")
        found.extend(breach.partition(" ")[0] for breach in world.judge.breaches)
        world.judge.breaches.clear()

    play(ZONES, replaced)

    assert found == ["H-2"]
