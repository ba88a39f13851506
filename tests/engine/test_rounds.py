"""Rounds start when what was written before is seen, wait for nobody in a worker, and leave nothing behind."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager

import pytest
from msgspec import structs

from fairlead.contracts.zones import gather as gathering
from fairlead.contracts.zones.kinds import ZONE_SOAK
from fairlead.core.ask import Answers
from fairlead.engine.controller import RolloutKey
from fairlead.engine.manager import CATCH_UP_SECONDS, Manager
from kubeloop import clock, request
from kubeloop.errors import TransportError
from kubeloop.ledger import SETTLE
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubeloop.request import Request, Response, Stream, Transport
from kubesim.faults import Fault, Faulty
from tests.builders import a_pod, a_zone, pods_of, seen
from tests.engine.world import World, play, touch_a_pod


def first_delete(fault: Fault, world: World) -> None:
    """The first deletion meets with the fault, the others are carried out."""
    world.fault = lambda request: fault if request.method == "DELETE" and len(world.deletes) == 1 else None


def test_a_zone_that_moves_to_another_group_takes_what_is_not_seen_of_it_along() -> None:
    """The pod watch is late, so that the caches show nothing of the deletion in zone a."""

    async def scenario(world: World) -> None:
        await world.zone("zone-a", "one")
        await world.zone("zone-b", "two")
        async with world.operating():
            world.wire.freeze("pods")
            await world.roll("zone-a")
            await world.until(lambda: world.deletes)

            await world.regroup("zone-a", "two")
            await world.roll("zone-b")
            await asyncio.sleep(3)

            assert world.deleted() == ["zone-a-0"]
            world.wire.thaw("pods")
            await world.until(lambda: world.is_rolled("test", "zone-a") and world.is_rolled("test", "zone-b"))

    play(scenario, gone_after=5.0)


def test_a_deletion_on_its_way_holds_up_the_group_that_its_zone_has_moved_to() -> None:
    async def scenario(world: World) -> None:
        await world.zone("zone-a", "one")
        await world.zone("zone-b", "two")
        first_delete(Fault("delay", 3.0), world)
        async with world.operating():
            await world.roll("zone-a")
            await world.until(lambda: world.deletes)

            await world.regroup("zone-a", "two")
            await world.roll("zone-b")
            await asyncio.sleep(2.9)
            assert world.deleted() == ["zone-a-0"]

            await world.until(lambda: world.is_rolled("test", "zone-a") and world.is_rolled("test", "zone-b"))

    play(scenario)


def test_a_round_that_was_overtaken_while_it_asked_begins_anew() -> None:
    """Group two gets zone a while its round asks about zone b, and group one's deletion in zone a is on its way."""

    async def scenario(world: World) -> None:
        await world.zone("zone-a", "one")
        await world.zone("zone-b", "two")

        def slow(request: Request) -> Fault | None:
            if request.method == "GET" and request.path.endswith("/zone-b"):
                return Fault("delay", 2.0)
            return Fault("delay", 4.0) if request.method == "DELETE" and len(world.deletes) == 1 else None

        world.fault = slow
        async with world.operating() as manager:
            asked = len(world.requests)
            await world.roll("zone-b")
            await world.until(lambda: any(sent.path.endswith("/zone-b") for sent in world.requests[asked:]))
            await world.roll("zone-a")
            await world.until(lambda: world.deletes)
            await world.regroup("zone-a", "two")
            await asyncio.sleep(3)

            assert world.deleted() == ["zone-a-0"]
            assert not world.log.of("reconcile failed")
            await world.until(lambda: world.is_rolled("test", "zone-b"))
            assert manager.ready.is_set()

    play(scenario)


def test_a_lost_answer_is_not_settled_by_a_list_that_begins_before_the_server_is_done_with_it() -> None:
    """The server carries the deletion out two seconds later; a list in between shows a world without it."""

    async def scenario(world: World) -> None:
        await world.zone("zone-a", "one")
        late = Late(world.wire)
        async with world.operating(through=late):
            await world.roll("zone-a")
            await world.until(lambda: late.deletes)

            world.cluster.compact()
            world.cluster.disconnect()
            await asyncio.sleep(0.1)
            await touch_a_pod(world, "zone-a-2")
            await world.until(lambda: len(late.deletes) > 1)

            (first, _), (second, name) = late.deletes
            assert second - first >= SETTLE
            assert name == "zone-a-1"

    play(scenario)


class Late:
    """Loses the answer to the first deletion at once; it is carried out two seconds later."""

    def __init__(self, transport: Transport) -> None:
        self.deletes: list[tuple[float, str]] = []
        self._transport = transport
        self._later: list[asyncio.Task[None]] = []

    async def send(self, request: Request) -> Response:
        if request.method == "DELETE":
            self.deletes.append((clock.monotonic(), request.path.rsplit("/", 1)[1]))
            if len(self.deletes) == 1:
                self._later.append(asyncio.create_task(self._carry_out(request)))
                raise TransportError("connection reset")
        return await self._transport.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._transport.stream(request)

    async def close(self) -> None:
        await asyncio.gather(*self._later)

    async def _carry_out(self, request: Request) -> None:
        await asyncio.sleep(2)
        await self._transport.send(request)


def test_an_own_write_that_no_watch_shows_is_looked_for_by_a_list_although_nothing_wakes_the_group() -> None:
    """zones H-19."""

    async def scenario(world: World) -> None:
        await world.zone("zone-a", "one")
        async with world.operating():
            world.wire.freeze("pods")
            await world.roll("zone-a")
            await world.until(lambda: world.deletes)
            world.wire.freeze("statefulsets")
            before = len(world.requests)

            await asyncio.sleep(CATCH_UP_SECONDS + 1)

            assert "/api/v1/namespaces/test/pods" in [sent.path for sent in world.requests[before:]]

    play(scenario)


@pytest.mark.parametrize(("asked", "held"), [(30, 30), (600, 60)], ids=["as long as it asks", "a minute at most"])
def test_a_server_that_asks_to_be_spared_a_rollout_is_left_alone_whatever_wakes_it(asked: int, held: int) -> None:
    async def scenario(world: World) -> None:
        await world.zone("zone-a", "one")
        await world.zone("zone-b", "two")
        first_delete(Fault("status", asked, 429), world)
        async with world.operating():
            await world.roll("zone-a")
            await world.until(lambda: world.deletes)
            await world.roll("zone-b")

            for _ in range(20):
                await asyncio.sleep(1)
                await touch_a_pod(world, "zone-a-1")
            assert [name for name in world.deleted() if "zone-a" in name] == ["zone-a-0"]
            assert world.is_rolled("test", "zone-b"), "others are served"

            await world.until(lambda: world.is_rolled("test", "zone-a"))
            first, second = [at for at, name in world.deletes if name == "zone-a-0"]
            assert second - first == pytest.approx(held, abs=0.1)

    play(scenario)


def test_groups_that_come_and_go_leave_nothing_behind() -> None:
    async def scenario(world: World) -> None:
        async with world.operating() as manager:
            for number in range(5):
                name = f"zone-{number}"
                await world.zone(name, f"group-{number}", strategy="RollingUpdate" if number == 3 else "OnDelete")
                world.wire.freeze("pods")
                await world.roll(name)
                await asyncio.sleep(0.1)
                await world.client.call(request.delete(Ref(STATEFULSETS, "test", name)))
                await asyncio.sleep(0.1)
                world.wire.thaw("pods")
            await asyncio.sleep(120)

            assert len(world.deletes) == 4
            assert remembered(manager) == 0
            assert b"rollout_group=" not in world.metrics.exposition()

    play(scenario)


def remembered(manager: Manager) -> int:
    rounds, queue = manager._lanes[0].rounds, manager._lanes[0].queue
    return (
        len(rounds._said)
        + len(rounds._wrote)
        + len(rounds._held)
        + len(rounds._ledger._expected)
        + len(queue._failures)
        + len(queue._delayed)
    )


def test_what_was_seen_is_named_by_the_versions_of_its_objects() -> None:
    zone = a_zone("a", version="7")
    before = seen(zone, pods_of(zone))

    named = list(gathering.versions(before))

    assert named[0] == f"{zone.metadata.uid}@7"
    assert len(named) == 4
    assert list(gathering.versions(seen(zone, a_pod(zone, 0)))) == named[:2]


def test_every_effect_of_a_round_has_the_digest_of_what_it_saw() -> None:
    async def scenario(world: World) -> None:
        await world.zone("zone-a", "one")
        async with world.operating():
            await world.roll("zone-a")
            await world.until(lambda: world.is_rolled("test", "zone-a"))

        digests = [keys["seen_digest"] for keys in world.log.of("pod terminated")]
        assert len(set(digests)) == len(digests) == 3

    play(scenario)


def test_a_round_that_asks_nothing_gathers_once() -> None:
    async def scenario(world: World) -> None:
        await world.zone("zone-a", "one")
        async with world.operating() as manager:
            gathered: list[RolloutKey] = []
            rounds, real = manager._lanes[0].rounds, manager._controllers[0].gather

            def gather(key: RolloutKey, answers: Answers) -> object:
                gathered.append(key)
                return real(key, answers)

            rounds._controller = structs.replace(rounds._controller, gather=gather)
            await rounds.run(RolloutKey(("test", "one")))

            assert gathered == [("test", "one")]

    play(scenario)


@pytest.mark.parametrize("code", [429, 403, 404], ids=["shed", "forbidden", "not served"])
def test_a_rollout_is_not_decided_by_a_cache_that_nothing_brings_up_to_date(code: int) -> None:
    """The API server refuses watches and lists, and takes writes: what happened meanwhile is not known."""

    async def scenario(world: World) -> None:
        await world.zone("zone-a", "one")
        await world.zone("zone-b", "one")
        for name in ("zone-a", "zone-b"):
            await world.change(STATEFULSETS, "test", name, {"metadata": {"annotations": {ZONE_SOAK: "5m"}}})
        through = Faulty(world.wire, ["watch pods #1: break 60s", "watch statefulsets #1: break 60s"])
        async with world.operating(through):

            def refuse(request: Request) -> Fault | None:
                is_read = request.method == "GET" and request.path.endswith(("/pods", "/statefulsets"))
                return Fault("status", 1, code) if is_read else None

            await world.roll("zone-a", "zone-b")
            await world.until(lambda: world.is_rolled("test", "zone-a"))
            rolled = world.deleted()
            await asyncio.sleep(10)
            world.fault = refuse
            await asyncio.sleep(90)
            held = {"metadata": {"annotations": {"fairlead.dev/sim-hold": "true"}}}
            await world.change(PODS, "test", "zone-a-1", held)
            await asyncio.sleep(400)
            assert world.deleted() == rolled, "whether zone a has been ready for so long is not known"

            world.fault = lambda _: None
            await asyncio.sleep(60)
            assert world.deleted() == rolled, "it is not ready"

            await world.change(PODS, "test", "zone-a-1", {"metadata": {"annotations": {"fairlead.dev/sim-hold": None}}})
            await world.until(lambda: world.is_rolled("test", "zone-b"), within=500)

    play(scenario)
