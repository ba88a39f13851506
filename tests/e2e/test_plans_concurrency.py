"""How many rollouts with a plan are worked on at once is what the operator is told (section 2.13)."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager

import pytest

from fairlead.contracts.plans.applications.controllers import PLANNED
from fairlead.contracts.plans.kinds import ROLLOUT_TRAITS, VERIFYING
from fairlead.contracts.plans.settings import PlanSettings
from kubeloop.request import Request, Response, Stream, Transport, place_of
from tests.e2e.clusters import Site
from tests.e2e.installing import define
from tests.e2e.plan_play import FOLLOWED, Play, reference
from tests.e2e.plans import definitions, with_traits


class Slow:
    """Every write of a rollout takes a second; `most` is how many were under way at once."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._open = 0
        self.most = 0

    async def send(self, request: Request) -> Response:
        if request.verb != "patch" or place_of(request.path).plural != ROLLOUT_TRAITS.plural:
            return await self._transport.send(request)
        self._open += 1
        self.most = max(self.most, self._open)
        try:
            await asyncio.sleep(1)
            return await self._transport.send(request)
        finally:
            self._open -= 1

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._transport.stream(request)


@with_traits(controllers=False, on=("sim",))
async def test_every_kind_of_rollouts_keeps_to_what_the_operator_is_told(site: Site) -> None:
    """How many are worked on at once, and how long a pass may ask (R-26)."""
    await define(site, *definitions())
    play = Play(site, PlanSettings(concurrent=3, registers_kinds=False))
    play.start()
    await play.until(lambda: play.operator.manager is not None, every=0.1)

    manager = play.operator.manager
    assert manager is not None
    kinds = {each.kind.lower() for each in (ROLLOUT_TRAITS, *PLANNED)}
    lanes = [each for each in manager._lanes if each.controller.noun in kinds]
    assert len(lanes) == len(kinds)
    assert all(each.controller.workers == 3 and each.controller.asks_within is not None for each in lanes)


@pytest.mark.parametrize("concurrent", [1, 3, 6])
@with_traits(controllers=False, on=("sim",))
async def test_so_many_rollouts_are_worked_on_at_once(site: Site, concurrent: int) -> None:
    await define(site, *definitions())
    for each in FOLLOWED:
        await site.history.follow(each)
    play = Play(site, PlanSettings(concurrent=concurrent, registers_kinds=False))
    names = [f"r{number}" for number in range(8)]
    for name in names:
        await play.roll({}, reference("missing"), reference("d1"), name=name)
    slow: list[Slow] = []

    def slowed(transport: Transport) -> Transport:
        slow.append(Slow(transport))
        return slow[-1]

    play.start(slowed)
    await play.until(lambda: all(play.state(name) == VERIFYING for name in names), within=120)

    assert slow[0].most == concurrent
