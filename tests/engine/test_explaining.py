"""The operator's word: what it tells of its rollouts to whoever asks, and when it has nothing to tell."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import aiohttp
import msgspec
import pytest

from fairlead.core.explain import Explain, OperatorReport, Undecided
from fairlead.engine.explain_endpoint import PATH, handling, silent
from fairlead.engine.manager import Manager
from fairlead.engine.metrics import Metrics
from fairlead.engine.serving.cluster_label import ClusterLabel
from fairlead.engine.serving.probes import probes
from kubeloop import clock, request
from kubeloop.calls import Call
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import LEASES
from kubeloop.objects.meta import Ref
from kubeloop.request import Request
from kubesim.faults import Fault
from tests.contracts.zones.test_ignored_annotations import Prometheus, check, define, rolled, zones
from tests.engine.world import Log, World, play


async def told(manager: Manager, *namespaces: str) -> dict[str, Explain]:
    """By name, as it arrives at who has asked."""
    call = Call(method="GET", url=f"{PATH}?{'&'.join(f'namespace={each}' for each in namespaces)}")
    reply = await handling(lambda wanted: manager.report("fairlead", wanted))(call)
    report = msgspec.json.decode(reply.body, type=OperatorReport)
    assert (reply.status, report.leads) == (200, True)
    return {one.rollout: one for one in report.items}


def test_what_prometheus_answered_is_in_the_operators_word_with_its_next_look() -> None:
    async def scenario(world: World) -> None:
        await define(world)
        await zones(world, check="health")
        await check(world)
        Prometheus(world).success = "0"
        async with world.operating() as manager:
            await world.roll("zone-a", "zone-b")
            await world.until(lambda: rolled(world, "a"))
            await asyncio.sleep(5)

            shown = (await told(manager))["group"]

            (block,) = shown.blocked_by
            assert (shown.stands.phase, block.reason) == ("Blocked", "HealthCheckFailing")
            assert shown.again is not None
            assert timedelta(0) <= shown.again - clock.now() < timedelta(minutes=2)
            assert shown.source
            assert shown.source.by == "operator"
            assert shown.source.observed == {"statefulset/zone-a": 2, "statefulset/zone-b": 2}
            assert block.since is not None

            await asyncio.sleep(40)
            (later,) = (await told(manager))["group"].blocked_by
            assert later.since == block.since

    play(scenario)


@pytest.mark.parametrize("jump", [-10_800.0, 10_800.0])
def test_waits_are_as_old_as_they_are_when_the_time_of_day_is_set(jump: float) -> None:
    """Three hours back or forward, in the middle of one that has lasted for a minute."""

    async def scenario(world: World) -> None:
        await define(world)
        await zones(world, check="health")
        await check(world)
        Prometheus(world).success = "0"
        async with world.operating() as manager:
            await world.roll("zone-a", "zone-b")
            await world.until(lambda: rolled(world, "a"))
            await asyncio.sleep(60)
            asyncio.get_running_loop().jump(jump)  # type: ignore[attr-defined]
            await asyncio.sleep(40)

            shown = (await told(manager))["group"]

            (block,) = shown.blocked_by
            assert block.since is not None
            assert timedelta(seconds=95) < clock.now() - block.since < timedelta(seconds=110)
            assert shown.source
            assert shown.source.decided_at is not None
            assert shown.source.decided_at <= clock.now()

    play(scenario)


def test_a_read_that_fails_is_told_with_its_beginning_and_the_next_try() -> None:
    async def scenario(world: World) -> None:
        await zones(world)
        async with world.operating() as manager:
            assert (await told(manager))["group"].blocked_by == ()

            def refused(asked: Request) -> Fault | None:
                is_live = asked.method == "GET" and asked.path.endswith("/zone-a")
                return Fault("status", status=500) if is_live else None

            world.fault = refused
            begun = clock.now()
            await world.roll("zone-a")
            await asyncio.sleep(60)

            failing = (await told(manager))["group"]
            first = failing.blocked_by[0]
            assert first.reason == "ReadFailed"
            assert first.since is not None
            assert timedelta(0) <= first.since - begun < timedelta(seconds=5)
            assert failing.again is not None

            world.fault = lambda _: None
            await world.until(lambda: rolled(world, "a"))
            await asyncio.sleep(5)
            assert (await told(manager))["group"].blocked_by == ()

    play(scenario)


def test_a_write_that_fails_again_and_again_is_told_until_it_succeeds() -> None:
    async def scenario(world: World) -> None:
        await zones(world)
        async with world.operating() as manager:
            world.fault = lambda asked: Fault("status", status=500) if asked.method == "DELETE" else None
            await world.roll("zone-a")
            await asyncio.sleep(60)

            first = (await told(manager))["group"].blocked_by[0]
            assert (first.reason, first.kind, first.object) == ("PassFailed", "failed", "test/group")
            assert first.text.startswith("the last pass failed: delete pods/zone-a-0 in namespace test: ")

            world.fault = lambda _: None
            await world.until(lambda: rolled(world, "a"))
            await asyncio.sleep(5)
            assert (await told(manager))["group"].blocked_by == ()

    play(scenario)


def test_only_the_namespaces_asked_for_are_told_and_what_is_gone_is_forgotten() -> None:
    async def scenario(world: World) -> None:
        await world.zone("zone-a", "one")
        await world.zone("zone-b", "two", namespace="other")
        async with world.operating(namespaces=()) as manager:
            assert sorted(await told(manager)) == ["one", "two"]
            assert list(await told(manager, "other")) == ["two"]
            assert list(await told(manager, "nowhere")) == []

            await world.client.call(request.delete(Ref(STATEFULSETS, "other", "zone-b")))
            await asyncio.sleep(5)
            assert list(await told(manager)) == ["one"]

    play(scenario)


def test_a_replica_that_does_not_lead_says_so_and_tells_nothing() -> None:
    async def scenario(world: World) -> None:
        await world.zone("zone-a", "one")
        held = {"holderIdentity": "other", "leaseDurationSeconds": 3600, "renewTime": "2026-03-01T12:00:00.000000Z"}
        await world.create(LEASES, "test", {"metadata": {"name": "fairlead"}, "spec": held})
        manager = await world.operator(lease="fairlead")
        task = asyncio.create_task(manager.run())
        await asyncio.sleep(30)

        report = await manager.report("fairlead", ())

        assert (report.leads, report.items) == (False, ())
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    play(scenario)


def test_a_rollout_whose_first_round_is_not_over_is_told_as_undecided() -> None:
    async def scenario(world: World) -> None:
        await world.zone("zone-a", "one")
        await world.roll("zone-a")
        await asyncio.sleep(2)
        world.fault = lambda asked: Fault("delay", 20.0) if asked.path.endswith("/zone-a") else None
        manager = await world.operator()
        task = asyncio.create_task(manager.run())
        await manager.leading.wait()
        await asyncio.sleep(1)

        report = await manager.report("fairlead", ("test",))

        assert report.items == ()
        assert report.undecided == (Undecided("zones", "test", "one", "group"),)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    play(scenario)


def test_it_is_served_over_http_beside_the_probes_without_a_cluster_label_and_for_get_alone() -> None:
    asked: list[list[str]] = []

    async def report(namespaces: Sequence[str]) -> OperatorReport:
        asked.append(list(namespaces))
        return silent("rollout-operator")

    async def scenario() -> list[tuple[int, bytes]]:
        answers = []
        served = probes(0, Metrics(), lambda: None, Log().logger(), ClusterLabel("here"), more={PATH: handling(report)})
        async with served as port, aiohttp.ClientSession() as session:
            for method in ("GET", "POST"):
                url = f"http://127.0.0.1:{port}{PATH}?namespace=a&namespace=b"
                async with session.request(method, url) as answer:
                    answers.append((answer.status, await answer.read()))
        return answers

    (first, second) = asyncio.run(scenario())

    assert first[0] == 200
    assert msgspec.json.decode(first[1], type=OperatorReport) == silent("rollout-operator")
    assert second == (405, b"only GET is answered here\n")
    assert asked == [["a", "b"]]
