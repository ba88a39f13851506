"""Disruption budgets and the whole operator in virtual time: rollouts and evictions count together, stamps are kept."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from fairlead.contracts.zones.configuration_kinds import ZPDBS
from fairlead.contracts.zones.install.definitions import definitions as zone_kinds
from fairlead.contracts.zones.kinds import READY_TIME
from fairlead.engine.manager import Manager
from fairlead.engine.options import OperatorOptions
from fairlead.engine.process import assemble
from kubeloop import request
from kubeloop.calls import Call
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.records import Outdated
from kubeloop.request import Request
from kubesim.faults import Fault, Faulty
from tests.engine.world import World, a_statefulset, play
from tests.operator_parts import ZONES as PART

DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
ZONES = ("zone-a", "zone-b")


async def define(world: World) -> None:
    """The custom resource is served."""
    (tree,) = [each for each in zone_kinds() if each["spec"]["names"]["plural"] == ZPDBS.plural]
    await world.create(DEFINITIONS, "", tree)
    await asyncio.sleep(1)


async def budget(world: World, *, name: str = "budget", **spec: object) -> None:
    tree = {
        "apiVersion": ZPDBS.api_version,
        "kind": ZPDBS.kind,
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": "x"}}, **spec},
    }
    await world.create(ZPDBS, "test", tree)


async def zones(world: World, *names: str, max_unavailable: str = "1") -> None:
    for name in names or ZONES:
        tree = a_statefulset(name, "one")
        tree["metadata"]["labels"]["app"] = "x"
        tree["metadata"]["annotations"] = {"rollout-max-unavailable": max_unavailable}
        tree["spec"]["template"]["metadata"]["labels"] = {"name": name, "app": "x"}
        await world.create(STATEFULSETS, "test", tree)
    await world.until(lambda: all(world.ready("test", name) == 3 for name in names or ZONES))


async def evict(manager: Manager, pod: str) -> dict[str, Any]:
    review = {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "review",
            "name": pod,
            "namespace": "test",
            "operation": "CREATE",
            "subResource": "eviction",
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "object": {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}},
        },
    }
    call = Call(
        method="POST",
        url="/admission/pod-eviction",
        headers=(("Content-Type", "application/json"),),
        body=msgspec.json.encode(review),
    )
    reply = await manager.webhooks.handler(call)
    response: dict[str, Any] = msgspec.json.decode(reply.body)["response"]
    return response


async def delete(world: World, pod: str) -> None:
    await world.client.call(request.delete(Ref(PODS, "test", pod)))


def stamp(world: World, pod: str) -> str | None:
    annotations: dict[str, str] = world.cluster.get(PODS, "test", pod)["metadata"].get("annotations", {})
    return annotations.get(READY_TIME)


def pods_of(*names: str) -> list[str]:
    return [f"{name}-{ordinal}" for name in names for ordinal in range(3)]


def patches(world: World) -> list[Request]:
    return [each for each in world.requests if each.method == "PATCH" and "/pods/" in each.path]


@pytest.mark.parametrize("status", [404, 403])
def test_without_budgets_in_the_cluster_pods_roll_and_later_ones_are_taken_up(status: int) -> None:
    async def scenario(world: World) -> None:
        await zones(world, max_unavailable="2")

        def refuse(request: Request) -> Fault | None:
            return Fault("status", status=status) if ZPDBS.plural in request.path else None

        world.fault = refuse
        async with world.operating() as manager:
            await world.roll("zone-a")
            await world.until(lambda: world.is_rolled("test", "zone-a"))
            assert manager.ready.is_set()
            without = [keys["resource"] for keys in world.log.of("carrying on without")]
            assert without.count("zoneawarepoddisruptionbudgets") == 1
            world.requests.clear()
            await asyncio.sleep(300)
            asked = [each for each in world.requests if ZPDBS.plural in each.path]
            assert 10 <= len(asked) <= 20

            await define(world)
            await budget(world, maxUnavailable=0)
            world.fault = lambda _: None
            await asyncio.sleep(35)

            assert (await evict(manager, "zone-a-0"))["status"]["code"] == 403

    play(scenario)


def test_budgets_that_nothing_brings_up_to_date_let_nothing_go() -> None:
    """The API server sheds watches and lists of them, and somebody makes them stricter."""

    async def scenario(world: World) -> None:
        await define(world)
        await budget(world, maxUnavailable=2)
        await zones(world, max_unavailable="2")

        def refuse(request: Request) -> Fault | None:
            is_read = request.method == "GET" and ZPDBS.plural in request.path
            return Fault("status", 1, 429) if is_read else None

        through = Faulty(world.wire, f"watch {ZPDBS.plural} #1: break 10s")
        async with world.operating(through) as manager:
            world.fault = refuse
            await asyncio.sleep(60)
            await world.change(ZPDBS, "test", "budget", {"spec": {"maxUnavailable": 0}})
            assert (await evict(manager, "zone-a-0"))["status"]["code"] == 429
            await world.roll("zone-a")
            await asyncio.sleep(60)
            assert world.deleted() == []

            world.fault = lambda _: None
            await world.until(lambda: world.is_rolled("test", "zone-a"))
            assert (await evict(manager, "zone-a-0"))["status"]["code"] == 403

    play(scenario)


def test_a_rollout_keeps_to_the_budget_and_ends() -> None:
    async def scenario(world: World) -> None:
        await define(world)
        await budget(world, maxUnavailable=1)
        await zones(world, max_unavailable="3")
        async with world.operating():
            await world.roll(*ZONES)
            await world.until(lambda: world.deletes)
            await asyncio.sleep(0.05)
            assert world.deleted() == ["zone-a-0"]

            await world.until(lambda: all(world.is_rolled("test", name) for name in ZONES), within=1000)

            assert world.deleted() == pods_of(*ZONES)

    play(scenario)


def test_a_budget_of_zero_stops_evictions_and_not_the_rollout() -> None:
    async def scenario(world: World) -> None:
        await define(world)
        await budget(world, maxUnavailable=0)
        await zones(world, max_unavailable="2")
        async with world.operating() as manager:
            denied = await evict(manager, "zone-a-0")
            assert (denied["allowed"], denied["status"]["code"]) == (False, 403)
            await world.roll("zone-a")
            await world.until(lambda: world.is_rolled("test", "zone-a"), within=1000)

            assert world.deleted()[:2] == ["zone-a-0", "zone-a-1"]

    play(scenario)


def test_an_eviction_elsewhere_holds_the_rollout_until_its_pod_is_back() -> None:
    async def scenario(world: World) -> None:
        await define(world)
        await budget(world, maxUnavailable=1)
        await zones(world)
        async with world.operating() as manager:
            assert (await evict(manager, "zone-b-0"))["allowed"]
            await world.roll("zone-a")
            await asyncio.sleep(60)
            assert world.deleted() == []
            (held,) = world.log.of("disruption budget reached")
            assert "1 pod not ready in zone-b" in held["waiting_for"]

            await delete(world, "zone-b-0")
            await world.until(lambda: world.is_rolled("test", "zone-a"), within=30)

    play(scenario)


def test_an_eviction_that_came_to_nothing_holds_the_rollout_for_two_minutes() -> None:
    async def scenario(world: World) -> None:
        await define(world)
        await budget(world, maxUnavailable=1)
        await zones(world)
        async with world.operating() as manager:
            await evict(manager, "zone-b-0")
            await world.roll("zone-a")
            await asyncio.sleep(119)
            assert world.deleted() == []

            await asyncio.sleep(2)

            assert world.deleted()[0] == "zone-a-0"

    play(scenario)


def test_what_the_rollout_deletes_keeps_evictions_away() -> None:
    async def scenario(world: World) -> None:
        await define(world)
        await budget(world, maxUnavailable=1)
        await zones(world)
        async with world.operating() as manager:
            await world.roll("zone-a")
            await world.until(lambda: world.deletes)

            denied = await evict(manager, "zone-b-0")

            assert denied["status"] == {"message": "1 pod not ready in zone-a", "code": 429}
            assert b'zpdb_eviction_requests_total{reason="denied",status="429"} 1.0' in world.metrics.exposition()

    play(scenario)


def test_evictions_at_once_are_all_allowed_as_far_as_the_budget_goes() -> None:
    """Z7: they are judged one after another, the fourth finds the budget used up."""

    async def scenario(world: World) -> None:
        await define(world)
        await budget(world, maxUnavailable=3)
        for name in ZONES:
            tree = a_statefulset(name, "one")
            tree["metadata"]["labels"]["app"] = "x"
            tree["spec"]["template"]["metadata"]["labels"] = {"name": name, "app": "x"}
            tree["spec"]["replicas"] = 8
            await world.create(STATEFULSETS, "test", tree)
        await world.until(lambda: all(world.ready("test", name) == 8 for name in ZONES))
        async with world.operating() as manager:
            world.fault = lambda each: Fault("delay", seconds=0.005) if each.method == "GET" else None

            verdicts = await asyncio.gather(*(evict(manager, f"zone-a-{ordinal}") for ordinal in range(8)))

            assert sum(verdict["allowed"] for verdict in verdicts) == 3
            told = {verdict["status"]["message"] for verdict in verdicts if not verdict["allowed"]}
            assert told == {"3 pods not ready in zone-a"}
            assert b"outpaced" not in world.metrics.exposition()

    play(scenario)


def test_an_eviction_that_others_outpace_is_denied_in_the_words_of_the_contract() -> None:
    async def scenario(world: World) -> None:
        await define(world)
        await budget(world, maxUnavailable=3)
        await zones(world)
        async with world.operating() as manager:
            records = manager.webhooks.routes["/admission/pod-eviction"]._outside.records  # type: ignore[attr-defined]

            async def outdated(*_: object) -> str:
                raise Outdated("changed")

            records.swap = outdated
            denied = await evict(manager, "zone-a-0")

            assert denied["status"]["code"] == 429
            assert denied["status"]["message"].startswith("1 pod unknown in zone-a: ")
            assert b'zpdb_eviction_requests_total{reason="denied",status="429"} 1.0' in world.metrics.exposition()

    play(scenario)


def test_a_rollout_that_a_budget_denies_goes_on_at_once_when_the_budget_goes() -> None:
    async def scenario(world: World) -> None:
        await define(world)
        await budget(world, maxUnavailable=1)
        await zones(world, "zone-a")
        async with world.operating():
            await world.roll("zone-a")
            await asyncio.sleep(33)
            assert world.deleted() == []
            (blocked,) = world.log.of("rollout blocked by a disruption budget")
            assert "fewer than 2 StatefulSets" in blocked["waiting_for"]

            await world.client.call(request.delete(Ref(ZPDBS, "test", "budget")))
            await asyncio.sleep(1)

            assert world.deleted() == ["zone-a-0"]

    play(scenario)


def test_an_eviction_of_an_unrelated_pod_costs_no_call() -> None:
    async def scenario(world: World) -> None:
        await define(world)
        await budget(world, selector={"matchLabels": {"app": "other"}})
        await zones(world)
        async with world.operating() as manager:
            world.requests.clear()

            assert (await evict(manager, "zone-a-0"))["allowed"]

            assert world.requests == []

    play(scenario)


def test_pods_in_scope_are_stamped_once_whether_or_not_they_belong_to_a_group() -> None:
    async def scenario(world: World) -> None:
        await define(world)
        await zones(world)
        lone = a_statefulset("lone", "one")
        lone["metadata"]["labels"] = {"app": "x"}
        lone["spec"]["template"]["metadata"]["labels"] = {"name": "lone", "app": "x"}
        await world.create(STATEFULSETS, "test", lone)
        await world.zone("outside", "two")
        async with world.operating():
            assert patches(world) == []

            await budget(world)
            await asyncio.sleep(10)

            assert all(stamp(world, pod) for pod in pods_of("zone-a", "zone-b", "lone"))
            assert not any(stamp(world, pod) for pod in pods_of("outside"))
            assert len(patches(world)) == 9
            await asyncio.sleep(1000)
            assert len(patches(world)) == 9

    play(scenario)


def test_a_pod_that_was_replaced_is_stamped_with_its_own_time() -> None:
    async def scenario(world: World) -> None:
        await define(world)
        await budget(world)
        await zones(world)
        async with world.operating():
            before = stamp(world, "zone-a-0")
            await asyncio.sleep(60)
            await delete(world, "zone-a-0")
            await asyncio.sleep(20)

            after = stamp(world, "zone-a-0")

            assert before is not None
            assert after is not None
            assert before < after

    play(scenario)


def test_a_stamp_that_cannot_be_written_is_logged_and_tried_again_later() -> None:
    async def scenario(world: World) -> None:
        await define(world)
        await budget(world)
        await zones(world)
        world.fault = lambda each: Fault("status", status=403) if each.method == "PATCH" else None
        async with world.operating() as manager:
            await asyncio.sleep(300)
            assert 6 < len(patches(world)) <= 6 * 8
            assert not {keys["outcome"] for keys in world.log.of("ready-time written")} & {"ok"}
            assert not world.log.of("reconcile failed")
            await world.roll("zone-a")
            await world.until(lambda: world.is_rolled("test", "zone-a"), within=1000)
            assert manager.ready.is_set()

            world.fault = lambda _: None
            await asyncio.sleep(310)

            assert all(stamp(world, pod) for pod in pods_of(*ZONES))

    play(scenario)


def test_a_delay_between_zones_spaces_the_rollout_of_a_partition() -> None:
    async def scenario(world: World) -> None:
        await define(world)
        await zones(world)
        await budget(world, podNamePartitionRegex=".*-([0-9]+)", crossZoneEvictionDelay="1m")
        async with world.operating():
            await asyncio.sleep(100)
            await world.roll(*ZONES)
            await world.until(lambda: all(world.is_rolled("test", name) for name in ZONES), within=2000)

            at = {name: when for when, name in world.deletes}
            assert all(at[f"zone-b-{number}"] - at[f"zone-a-{number}"] > 60 for number in range(3))

    play(scenario)


def test_what_is_observed_of_budgets_is_counted_and_an_invalid_one_leaves_the_last_in_force() -> None:
    async def scenario(world: World) -> None:
        await define(world)
        await budget(world, maxUnavailable=0)
        await zones(world)
        async with world.operating() as manager:
            both = {"spec": {"maxUnavailable": 1, "maxUnavailablePercentage": 5}}
            await world.change(ZPDBS, "test", "budget", both)
            await asyncio.sleep(1)
            assert (await evict(manager, "zone-a-0"))["status"]["code"] == 403
            (told,) = world.log.of("disruption budget invalid")
            assert told["error"].startswith("spec.maxUnavailable: ")

            await world.change(ZPDBS, "test", "budget", {"spec": {"maxUnavailablePercentage": None}})
            await asyncio.sleep(1)
            assert (await evict(manager, "zone-a-0"))["allowed"]

            await world.client.call(request.delete(Ref(ZPDBS, "test", "budget")))
            await asyncio.sleep(1)
            assert (await evict(manager, "zone-b-0"))["allowed"]

            for result, count in (("updated", 2), ("invalid", 1), ("deleted", 1)):
                series = f'zpdb_configurations_observed_total{{result="{result}"}} {count}.0'
                assert series in world.metrics.exposition().decode()

    play(scenario)


def test_two_budgets_for_a_pod_fail_the_pass_until_one_goes() -> None:
    async def scenario(world: World) -> None:
        await define(world)
        await budget(world, name="one")
        await budget(world, name="two")
        await zones(world)
        async with world.operating():
            await world.roll("zone-a")
            await asyncio.sleep(10)
            assert world.deleted() == []
            assert 'reconciles_failed_total{rollout_group="one"} 0.0' not in world.metrics.exposition().decode()

            await world.client.call(request.delete(Ref(ZPDBS, "test", "two")))
            await world.until(lambda: world.is_rolled("test", "zone-a"), within=1000)

    play(scenario)


def test_two_replicas_let_one_zone_go() -> None:
    async def scenario(world: World) -> None:
        await define(world)
        await budget(world, maxUnavailable=1)
        await zones(world)
        options = OperatorOptions(
            process="fairlead", identity="other", namespaces=("test",), parts=(PART,), lease="operator"
        )
        async with world.operating(lease="operator") as leader:
            standby = await assemble(options, "default", world.wire, world.metrics, world.log.logger())
            task = asyncio.create_task(standby.run())
            await standby.ready.wait()
            await asyncio.sleep(1)

            verdicts = await asyncio.gather(evict(leader, "zone-a-0"), evict(standby, "zone-b-0"))
            later = await asyncio.gather(evict(standby, "zone-a-1"), evict(leader, "zone-b-1"))

            assert not standby.leading.is_set()
            assert sorted(verdict["allowed"] for verdict in verdicts) == [False, True]
            assert [verdict["allowed"] for verdict in later] == [False, False]
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    for seed in range(5):
        play(scenario, seed=seed)
