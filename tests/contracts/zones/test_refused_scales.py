"""A scale that is refused, slow or undone holds up nothing else, whatever the pace (P1, E-13, E-16, E-24)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import msgspec
import pytest

from fairlead.contracts.zones.kinds import LEADER, MIRROR_KIND, MIRROR_NAME
from fairlead.contracts.zones.kinds import MIRROR_API_VERSION as API_VERSION
from kubeloop import clock
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.request import Request, Response, Stream, Transport
from tests.contracts.zones.test_scaling import TEMPLATES, a_template, a_zone, replicas
from tests.engine.world import World, play

REASONS = {400: "BadRequest", 403: "Forbidden", 429: "TooManyRequests", 500: "InternalError"}


class Gatekeeper:
    """Admission of scales of `zone-b`: `seconds` long, then answered with `status`, or carried out for 0."""

    def __init__(self, inner: Transport, seconds: float = 0.0, status: int = 0, retry_after: str = "") -> None:
        self.tries: list[float] = []
        self._inner = inner
        self._seconds = seconds
        self._status = status
        self._headers = {"retry-after": retry_after} if retry_after else {}

    async def send(self, request: Request) -> Response:
        if request.method != "PATCH" or not request.path.endswith("/statefulsets/zone-b"):
            return await self._inner.send(request)
        self.tries.append(clock.monotonic())
        await asyncio.sleep(self._seconds)
        if not self._status:
            return await self._inner.send(request)
        told = {"kind": "Status", "reason": REASONS[self._status], "code": self._status, "message": "not now"}
        return Response(self._status, msgspec.json.encode(told), self._headers)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._inner.stream(request)


async def leader_and_follower(world: World) -> None:
    await a_zone(world, "zone-a", 2)
    await a_zone(world, "zone-b", 3, **{LEADER: "zone-a"})


@pytest.mark.parametrize("interval", [None, 5.0, 10.0, 30.0])
@pytest.mark.parametrize(
    ("status", "seconds"), [(403, 0.0), (400, 5.1), (400, 10.5), (500, 0.0), (500, 5.0), (500, 10.5)]
)
def test_pods_roll_however_long_a_refusal_takes(interval: float | None, status: int, seconds: float) -> None:
    async def scenario(world: World) -> None:
        await leader_and_follower(world)
        keeper = Gatekeeper(world.wire, seconds, status)
        async with world.operating(keeper, interval=interval):
            await world.roll("zone-a")
            await world.until(lambda: world.deleted() == ["zone-a-0", "zone-a-1"], within=300)
            assert replicas(world, "zone-b") == 3
            assert {keys["reason"] for keys in world.log.of("scaling impossible")} == {"ScalingRefused"}

            tries = len(keeper.tries)
            await asyncio.sleep(600)

        assert 5 <= len(keeper.tries) - tries <= 60

    play(scenario)


def test_a_server_that_asks_to_come_back_later_is_left_alone_by_the_whole_group() -> None:
    async def scenario(world: World) -> None:
        await leader_and_follower(world)
        keeper = Gatekeeper(world.wire, 0.0, 429, retry_after="30")
        async with world.operating(keeper):
            await world.until(lambda: len(keeper.tries) == 1)
            await world.roll("zone-a")
            await asyncio.sleep(keeper.tries[0] + 29 - clock.monotonic())

            assert world.deleted() == []
            await world.until(lambda: world.deleted() == ["zone-a-0", "zone-a-1"], within=120)

    play(scenario)


@pytest.mark.parametrize("lease", [None, "fairlead-operator"])
def test_a_scale_may_take_as_long_as_pods_take_to_prepare(lease: str | None) -> None:
    async def scenario(world: World) -> None:
        await leader_and_follower(world)
        keeper = Gatekeeper(world.wire, 9.0)
        async with world.operating(keeper, lease=lease):
            await world.until(lambda: replicas(world, "zone-b") == 2, within=60)

        assert len(keeper.tries) == 1

    play(scenario)


def reverting(world: World, to: int) -> Callable[[], None]:
    """Whoever sets the replicas of `zone-b` back as soon as they have changed."""

    def revert() -> None:
        if replicas(world, "zone-b") != to:
            body = msgspec.json.encode({"spec": {"replicas": to}})
            merge = "application/merge-patch+json"
            world.cluster.verbs.patch(STATEFULSETS, "test", "zone-b", merge, body, user="other")

    return revert


def test_replicas_that_somebody_sets_back_are_written_at_a_bounded_pace_and_pods_roll() -> None:
    async def scenario(world: World) -> None:
        await leader_and_follower(world)
        keeper = Gatekeeper(world.wire)
        revert = reverting(world, 3)
        async with world.operating(keeper):
            await world.roll("zone-a")
            for _ in range(600):
                await asyncio.sleep(0.1)
                revert()

        assert 3 <= len(keeper.tries) <= 8
        assert world.deleted() == ["zone-a-0", "zone-a-1"]
        assert "ScalingUndone" in {keys["reason"] for keys in world.log.of("scaling impossible")}

    play(scenario)


def test_a_leader_and_a_reference_that_disagree_take_turns_at_a_bounded_pace() -> None:
    """E-16: each is right when its turn comes, so neither may starve the pods."""

    async def scenario(world: World) -> None:
        await a_template(world, 4)
        reference = {MIRROR_NAME: "rt", MIRROR_KIND: "ReplicaTemplate", API_VERSION: TEMPLATES.api_version}
        await a_zone(world, "zone-a", 2)
        await a_zone(world, "zone-b", 3, **{LEADER: "zone-a"}, **reference)
        keeper = Gatekeeper(world.wire)
        async with world.operating(keeper):
            await asyncio.sleep(60)

        assert 4 <= len(keeper.tries) <= 16

    play(scenario)
