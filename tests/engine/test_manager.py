"""The engine around the rounds: pace, leadership, namespaces that do not hold up one another, and what it says."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from msgspec import structs

from fairlead.contracts import contract
from fairlead.contracts.zones.settings import Settings
from fairlead.core.act import EventNote
from fairlead.engine.controller import Telling
from fairlead.engine.manager import RESYNC, Pace
from fairlead.engine.options import PartOptions
from kubeloop import request
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import CONFIGMAPS, EVENTS, NAMESPACES
from kubeloop.objects.meta import Ref
from kubeloop.request import Request, Response
from kubesim.faults import Fault
from tests.engine.world import World, play


@pytest.mark.parametrize("interval", [0.0, 1e-9, -1.0])
def test_whatever_the_interval_a_group_that_fails_leaves_time_to_others(interval: float) -> None:
    """Ten seconds pass, in which a back-off of 0.1 seconds allows a hundred passes."""

    async def scenario(world: World) -> None:
        await world.zone("zone-a", "failing", strategy="RollingUpdate")
        async with world.operating(interval=interval):
            before = failures(world, "failing")
            await asyncio.sleep(10)

            assert 90 <= failures(world, "failing") - before <= 101

    play(scenario)


def failures(world: World, group: str) -> float:
    name = "rollout_operator_group_reconciles_failed_total"
    value = world.metrics.registry.get_sample_value(name, {"rollout_group": group})
    assert value is not None
    return value


@pytest.mark.parametrize(
    ("options", "times"),
    [({"resync": 300.0}, 12), ({"resync": 900.0}, 4), ({}, 0)],
    ids=["every five minutes", "every quarter of an hour", "unless it is asked for"],
)
def test_in_virtual_time_everything_is_listed_as_often_as_is_asked_for(options: dict[str, Any], times: int) -> None:
    """An hour passes in which nothing happens."""

    async def scenario(world: World) -> None:
        await world.zone("zone-a", "group")
        async with world.operating(**options):
            before = len(world.requests)
            await asyncio.sleep(3600)

            lists = [each for each in world.requests[before:] if "watch" not in dict(each.query)]
            assert sum(each.path.endswith("/statefulsets") for each in lists) == times

    play(scenario)


def test_in_real_time_everything_is_looked_at_every_five_minutes_unless_said_otherwise() -> None:
    async def seconds(pace: Pace) -> float | None:
        return pace.resync_seconds

    assert asyncio.run(seconds(Pace())) == RESYNC == 300.0
    assert asyncio.run(seconds(Pace(resync=60.0))) == 60.0


def test_a_failed_round_is_tried_again_after_the_interval() -> None:
    """zones rule 7."""

    async def scenario(world: World) -> None:
        await world.zone("zone-a", "failing", strategy="RollingUpdate")
        async with world.operating(interval=2.0):
            before = failures(world, "failing")
            await asyncio.sleep(20)

            assert failures(world, "failing") - before == 10

    play(scenario)


def refuse_pods_of(namespace: str, world: World) -> None:
    """As after a role was changed: open watches end, and neither list nor watch is allowed any more."""
    path = f"/api/v1/namespaces/{namespace}/pods"
    world.fault = lambda request: Fault("status", status=403) if request.path == path else None
    world.cluster.disconnect()


def test_a_namespace_whose_pods_cannot_be_read_does_not_hold_up_another() -> None:
    """More groups wait for the lists of the one than there are workers."""

    async def scenario(world: World) -> None:
        for number in range(10):
            await world.zone(f"zone-{number}", f"group-{number}")
        await world.zone("free", "group", namespace="other")
        async with world.operating(namespaces=("test", "other")):
            refuse_pods_of("test", world)
            await world.roll(*(f"zone-{number}" for number in range(10)))
            await asyncio.sleep(60)

            await world.roll("free", namespace="other")

            await world.until(lambda: world.is_rolled("other", "free"), within=10)

    play(scenario)


def test_a_new_leader_acts_where_it_has_listed_since_and_only_there() -> None:
    async def scenario(world: World) -> None:
        await world.zone("held", "group")
        await world.zone("free", "group", namespace="other")
        world.fault = lambda request: Fault("status", status=500) if "/leases" in request.path else None
        manager = await world.operator(namespaces=("test", "other"), lease="fairlead")
        task = asyncio.create_task(manager.run())
        await manager.ready.wait()
        await asyncio.sleep(5)
        await world.roll("held")
        await world.roll("free", namespace="other")
        await asyncio.sleep(5)

        refuse_pods_of("test", world)
        await manager.leading.wait()
        await world.until(lambda: world.is_rolled("other", "free"), within=20)
        await asyncio.sleep(60)
        assert {name.partition("-")[0] for name in world.deleted()} == {"free"}

        world.fault = lambda _: None
        await world.until(lambda: world.is_rolled("test", "held"))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    play(scenario)


@pytest.mark.parametrize(
    ("options", "seconds"),
    [
        ({}, 30.0),
        ({"client_timeout": 2.0}, 2.0),
        ({"lease": "fairlead"}, 4.0),
    ],
    ids=["half a minute", "no more than any call", "so few that it is over before the lease can change hands"],
)
def test_the_time_that_a_write_has(options: dict[str, Any], seconds: float) -> None:
    async def scenario(world: World) -> None:
        await world.zone("zone-a", "group")
        async with world.operating(**options):
            await world.roll("zone-a")
            await world.until(lambda: world.is_rolled("test", "zone-a"))

        writes = [sent for sent in world.requests if sent.method != "GET" and "/leases" not in sent.path]
        about = [sent for sent in writes if "/events" not in sent.path]
        assert {sent.method for sent in about} == {"DELETE", "PUT"}
        assert {sent.timeout for sent in about} == {seconds}

    play(scenario)


def test_a_watch_that_fails_is_said_once_and_so_is_its_return() -> None:
    async def scenario(world: World) -> None:
        await world.zone("zone-a", "group")
        async with world.operating():
            refuse_pods_of("test", world)
            await asyncio.sleep(1800)

            failed = world.log.of("watch failed")
            assert {(keys["resource"], keys["namespace"]) for keys in failed} == {("pods", "test")}
            assert len(failed) == len({keys["error"] for keys in failed}) <= 2
            assert not world.log.of("watch restored")

            world.fault = lambda _: None
            await asyncio.sleep(120)
            assert world.log.of("watch restored") == [{"resource": "pods", "namespace": "test"}]

    play(scenario)


def test_an_object_that_cannot_be_read_is_said_once() -> None:
    async def scenario(world: World) -> None:
        await world.zone("zone-a", "group")
        async with world.operating(through=Garbled(world)):
            await asyncio.sleep(1800)

        (said,) = world.log.of("object cannot be read")
        assert (said["resource"], said["object"]) == ("statefulsets", "test/zone-a")

    play(scenario)


class Garbled:
    """Lists StatefulSets with a number where their labels should be."""

    def __init__(self, world: World) -> None:
        self.stream = world.wire.stream
        self._send = world.wire.send

    async def send(self, request: Request) -> Response:
        answer = await self._send(request)
        if not request.path.endswith("/statefulsets"):
            return answer
        listed = msgspec.json.decode(answer.body)
        for item in listed["items"]:
            item["metadata"]["labels"] = 7
        return Response(answer.status, msgspec.json.encode(listed), answer.headers)


def test_a_lost_lease_is_stood_for_again_where_that_is_wanted() -> None:
    rejoining = PartOptions(structs.replace(contract("zones"), rejoins=True), Settings())

    async def scenario(world: World) -> None:
        await world.zone("zone-a", "group")
        manager = await world.operator(lease="fairlead", parts=(rejoining,))
        task = asyncio.create_task(manager.run())
        await manager.leading.wait()
        group = {"part": "zones", "namespace": "test", "rollout": "group", "reason": ""}
        await world.until(lambda: world.metrics.registry.get_sample_value("fairlead_rollout_blocked", group) == 0)

        world.fault = lambda request: Fault("status", status=500) if "/leases" in request.path else None
        await world.until(lambda: not manager.leading.is_set(), within=30)
        assert world.metrics.registry.get_sample_value("fairlead_rollout_blocked", group) is None
        await world.roll("zone-a")
        await asyncio.sleep(30)
        assert world.deleted() == []

        world.fault = lambda _: None
        await world.until(lambda: world.is_rolled("test", "zone-a"))
        assert manager.leading.is_set()
        assert len(world.log.of("lease lost")) == 1
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    play(scenario)


@pytest.mark.parametrize("lease", [None, "fairlead"])
def test_an_operator_that_ends_in_order_tells_of_all_that_it_did(lease: str | None) -> None:
    """Of a pod deleted in its last moment, too, and while it still holds its Lease."""

    async def scenario(world: World) -> None:
        await world.zone("a", "group")
        manager = await world.operator(lease=lease)
        running = asyncio.create_task(manager.run())
        await manager.leading.wait()
        await world.roll("a")
        await world.until(lambda: len(world.deletes) == 2)

        manager.stop()
        await running

        names = set(world.deleted())
        events = (await world.client.list(EVENTS, dict, namespace="test")).items
        notes = [event["note"] for event in events if event["reason"] == "PodTerminated"]
        assert {name for name in names if any(name in note for note in notes)} == names

    play(scenario)


def test_a_process_that_acts_says_so() -> None:
    async def scenario(world: World) -> None:
        def leader() -> float | None:
            return world.metrics.registry.get_sample_value("fairlead_leader", {"part": "zones"})

        async with world.operating():
            assert leader() == 1

        assert leader() == 0

    play(scenario)


def test_events_that_cannot_be_written_are_counted() -> None:
    async def scenario(world: World) -> None:
        def dropped() -> float | None:
            return world.metrics.registry.get_sample_value("fairlead_events_dropped_total")

        await world.zone("zone-a", "failing", strategy="RollingUpdate")
        world.fault = lambda request: Fault("status", status=403) if "/events" in request.path else None
        async with world.operating():
            await asyncio.sleep(60)

            assert (dropped() or 0) > 0
            (said,) = world.log.of("an Event was refused")
            assert said["help"].startswith("allow create and patch of events, in events.k8s.io or core; ")

    play(scenario)


def test_a_namespace_that_is_going_is_no_lack_of_a_right() -> None:
    async def scenario(world: World) -> None:
        pin = {"metadata": {"name": "pin", "namespace": "test", "finalizers": ["example.com/pin"]}}
        await world.create(CONFIGMAPS, "test", {"apiVersion": "v1", "kind": "ConfigMap", **pin})
        manager = await world.operator()
        await world.client.call(request.delete(Ref(NAMESPACES, "", "test")))
        await asyncio.sleep(1)

        manager._notes.tell(Telling(), EventNote(Ref(STATEFULSETS, "test", "zone-a"), True, "Odd", "told too late"))
        await manager._notes.flush()

        (said,) = world.log.of("an Event was refused")
        assert "being terminated" in said["error"]
        assert said["help"] == "nothing waits for Events"

    play(scenario)
