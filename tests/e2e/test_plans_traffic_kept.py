"""Nothing is lost: 200 requests a second go on while a routed rollout rolls, is turned round, or goes back.

Who counts is the gateway that sends them: a request that no ready pod can answer is lost. In virtual time, with pods
that take a while; the same gateway loses requests where nobody moves traffic, so it would notice.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from fairlead.contracts.plans.kinds import FAILED, ROLLOUT_TRAITS
from kubesim.standins.gateway_counts import REQUESTS
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.plan_play import batches
from tests.e2e.plan_routes import Shop, a_shop

PER_SECOND = 200
SLOW: dict[str, Any] = {"ready_after": 2.0, "gone_after": 0.5}
in_virtual_time = partial(everywhere, on=("sim",))


@asynccontextmanager
async def sending(site: Site, provider: str = "gatewayapi") -> AsyncIterator[tuple[Shop, Tree, Tree]]:
    """Requests all the time; afterwards none of them is lost, and there were many."""
    shop, target, source = await a_shop(site, provider, **SLOW)
    task = site.start(shop.keep_sending(PER_SECOND))
    yield shop, target, source
    await site.stop(task)
    assert shop.gateway.failures == []
    assert shop.gateway.counts.total() > PER_SECOND


def _batch(shop: Shop, state: str, batch: int) -> bool:
    """Whether it has come so far; the state may be over already."""
    stored = [event.object.get("status", {}) for event in shop.site.history.of(ROLLOUT_TRAITS, "MODIFIED")]
    return any((each.get("batchRollingState"), each.get("currentBatch")) == (state, batch) for each in stored)


@pytest.mark.parametrize("provider", ["gatewayapi", "istio", "smi"])
@pytest.mark.parametrize("strategy", ["IncreaseFirst", "DecreaseFirst"])
@in_virtual_time()
async def test_a_rollout_loses_nothing(site: Site, provider: str, strategy: str) -> None:
    async with sending(site, provider) as (shop, target, source):
        plan = batches(1, 2, 2, rolloutStrategy=strategy, trafficRouting=shop.routing)
        await shop.play.roll(plan, target, source)
        await shop.play.ends()

        assert shop.weights() == {"shop-v2": 100}
        assert (shop.play.size("d1"), shop.play.size("d2")) == (0, 5)


@pytest.mark.parametrize("moment", [("batchInRolling", 1), ("batchVerifying", 1), ("batchInRolling", 2)], ids=str)
@in_virtual_time()
async def test_a_rollout_that_is_turned_round_loses_nothing(site: Site, moment: tuple[str, int]) -> None:
    async with sending(site) as (shop, target, source):
        await shop.play.roll(batches(1, 2, 2, trafficRouting=shop.routing), target, source)
        await shop.play.until(lambda: _batch(shop, *moment))

        await shop.turn_round()
        await shop.play.until(lambda: "rolloutAbandoned" in shop.play.states())
        await shop.play.ends()

        assert shop.weights() == {"shop-v1": 100}
        assert (shop.play.size("d1"), shop.play.size("d2")) == (5, 0)


@pytest.mark.parametrize(
    ("strategy", "moment"),
    [
        ("IncreaseFirst", ("batchInRolling", 1)),
        ("IncreaseFirst", ("batchFinalizing", 1)),
        ("IncreaseFirst", ("batchVerifying", 2)),
        ("DecreaseFirst", ("batchInRolling", 1)),
        ("DecreaseFirst", ("batchFinalizing", 1)),
    ],
    ids=str,
)
@in_virtual_time()
async def test_a_rollout_that_is_deleted_and_goes_back_loses_nothing(
    site: Site, moment: tuple[str, int], strategy: str
) -> None:
    async with sending(site) as (shop, target, source):
        plan = batches(1, 2, 2, rolloutStrategy=strategy, revertOnDelete=True, trafficRouting=shop.routing)
        await shop.play.roll(plan, target, source)
        await shop.play.until(lambda: _batch(shop, *moment))

        await shop.play.delete()
        await shop.play.until(lambda: not shop.play.trait())
        await site.history.caught_up()

        assert shop.weights() == {"shop-v1": 100, "shop-v2": 0}
        assert (shop.play.size("d1"), shop.play.size("d2")) == (5, 0)


@in_virtual_time()
async def test_a_rollout_that_fails_and_goes_back_loses_nothing(site: Site) -> None:
    async with sending(site) as (shop, target, source):
        plan = batches(1, 2, 2, onFailure="revert", trafficRouting=shop.routing)
        await shop.play.roll(plan, target, source)
        await shop.play.until(lambda: _batch(shop, "batchVerifying", 1))

        await shop.play.hold(*shop.play.pods("d2")[:1])
        await shop.play.plan({"progressDeadlineSeconds": 5})
        await shop.play.ends(FAILED)

        assert shop.weights() == {"shop-v1": 100, "shop-v2": 0}


@in_virtual_time()
async def test_without_its_traffic_the_same_rollout_loses_requests(site: Site) -> None:
    shop, target, source = await a_shop(site, **SLOW)
    task = site.start(shop.keep_sending(PER_SECOND))

    await shop.play.roll(batches(1, 2, 2), target, source)
    await shop.play.ends()
    await site.stop(task)

    assert {each.failure for each in shop.gateway.failures} == {"no pod of the Service shop-v1 is ready"}
    assert REQUESTS in shop.gateway.counts.exposition()
