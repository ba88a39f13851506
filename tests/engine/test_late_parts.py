"""A part that has something to do before its rounds holds up nobody else, and may give the lease back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec import structs

from fairlead.contracts import CONTRACTS, contract
from fairlead.engine.contract import Room
from fairlead.engine.options import PartOptions
from fairlead.engine.part import GivesBack, Part, PartContext
from kubeloop import clock
from tests.engine.test_toy_contract import box, colour
from tests.engine.world import World, play
from tests.operator_parts import ZONES
from tests.toy import part as toy
from tests.toy.kinds import definitions

BEFORE: list[Callable[[], Awaitable[None]]] = []


def late_part(context: PartContext, settings: Any) -> Part:
    return structs.replace(toy.part(context, settings), before_rounds=tuple(BEFORE))


def late(task: Callable[[], Awaitable[None]]) -> PartOptions:
    """Boxes, which have this to do before their rounds."""
    BEFORE[:] = [task]
    return PartOptions(structs.replace(contract("toy"), part=Room(__name__, "late_part"), registers=True), None)


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CONTRACTS, "toy", "tests.toy.contract")


def test_others_work_while_a_part_has_not_begun_and_its_kinds_are_not_there() -> None:
    async def scenario(world: World) -> None:
        may_begin = asyncio.Event()

        async def register() -> None:
            await may_begin.wait()
            await world.define(*definitions())

        await world.zone("zone-a", "group")
        async with world.operating(parts=(ZONES, late(register))):
            await world.roll("zone-a")
            await world.until(lambda: world.is_rolled("test", "zone-a"))

            may_begin.set()
            await asyncio.sleep(5)
            await box(world, "one", colour="red")
            await world.until(lambda: colour(world, "one") == "red")

    play(scenario)


def test_a_lease_that_is_given_back_is_stood_for_again_after_the_time() -> None:
    async def scenario(world: World) -> None:
        tries: list[float] = []

        async def register() -> None:
            tries.append(clock.monotonic())
            if len(tries) == 1:
                raise GivesBack(60.0, "the others are behind")
            await world.define(*definitions())

        manager = await world.operator(parts=(ZONES, late(register)), lease="fairlead")
        running = asyncio.create_task(manager.run())
        await world.until(lambda: len(tries) == 2)
        await box_is_painted(world)

        assert 60 <= tries[1] - tries[0] < 70
        assert world.log.of("lease given back") == [{"error": "the others are behind", "again_in": 60.0}]
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    play(scenario)


async def box_is_painted(world: World) -> None:
    await asyncio.sleep(5)
    await box(world, "one", colour="red")
    await world.until(lambda: colour(world, "one") == "red")


def test_a_process_that_is_told_to_stop_does_not_wait_for_a_part_that_has_not_begun() -> None:
    async def scenario(world: World) -> None:
        never = asyncio.Event()

        async def register() -> None:
            await never.wait()

        manager = await world.operator(parts=(ZONES, late(register)))
        running = asyncio.create_task(manager.run())
        await manager.leading.wait()
        await asyncio.sleep(5)
        since = clock.monotonic()
        manager.stop()
        await running

        assert clock.monotonic() - since < 1

    play(scenario)
