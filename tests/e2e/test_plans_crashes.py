"""An operator that dies before or after each of its writes leaves nothing half done: every kind, and going back."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import pytest

from fairlead.contracts.plans.kinds import CLONE_SETS, DAEMON_SETS, ORIGINAL, SUCCEEDED
from kubeloop.objects.apps import REVISION_LABEL, STATEFULSETS
from tests.e2e.clusters import Site, everywhere
from tests.e2e.mortals import lives_until
from tests.e2e.plan_play import Play, a_pair, batches, begin
from tests.e2e.plan_routes import a_shop, with_routes
from tests.e2e.plans import with_traits
from tests.e2e.receivers import receiving
from tests.e2e.test_plans_10_to_12 import (
    clone_set,
    daemon_set,
    nodes,
    partitions,
    stateful_set,
    with_clone_sets,
)

dying = pytest.mark.parametrize("before", [False, True], ids=["after", "before"])


async def _ready(site: Site, **kubelet: Any) -> Play:
    """The kinds are there, and nobody is at work."""
    play = await begin(site, **kubelet)
    await play.kill()
    return play


@with_traits(on=("sim",))
async def test_a_pair(site: Site) -> None:
    """Sizes go the one way that they go without a crash, so I-1 and I-2 hold; after each write is scenario 24."""
    play = await _ready(site)
    target, source = await a_pair(site)
    await play.roll(batches("10%", "40%", "50%"), target, source)

    assert await lives_until(play, SUCCEEDED, before=True) > 10

    assert play.sums() == [5, 6, 5, 7, 5, 7, 5]
    assert play.owners("d1") == play.owners("d2") == []


@dying
@with_routes(on=("sim",))
async def test_a_routed_pair_with_hooks(site: Site, before: bool) -> None:
    """Calls whose outcome nobody stored are made again, in their order, and no request is lost on the way."""
    shop, target, source = await a_shop(site)
    await shop.play.kill()
    play = Play(site)  # its operators call hooks, and no Prometheus
    async with receiving(site) as receiver:
        hooks = [
            {"type": kind, "name": kind, "url": receiver.url} for kind in ("pre-batch-rollout", "post-batch-rollout")
        ]
        batch = {"batchRolloutWebhooks": hooks}
        plan = {"rolloutBatches": [{"replicas": 2, **batch}, batch], "trafficRouting": shop.routing}
        sending = site.start(shop.keep_sending(50))
        await play.roll(plan, target, source)

        await lives_until(play, SUCCEEDED, before=before)
        await site.stop(sending)

    phases = [each["phase"] for each in receiver.bodies]
    assert [phase for phase, _ in groupby(phases)] == ["batchInitializing", "batchFinalizing"] * 2
    assert shop.weights() == {"shop-v2": 100}
    assert shop.gateway.failures == []
    assert play.sizes_of("d1") == [5, 3, 0]
    assert play.sizes_of("d2") == [0, 2, 5]


@dying
@with_traits(on=("sim",))
async def test_a_pair_that_goes_back(site: Site, before: bool) -> None:
    """It is deleted at a gate: the old pods are there again before the new ones go, and it goes back once."""
    play = await begin(site)
    target, source = await a_pair(site)
    await play.roll(batches(2, 3, lastBatchToRollout=0, revertOnDelete=True), target, source)
    await play.until(lambda: play.at()[1] == "batchReady")
    await play.kill()
    await play.delete()

    await lives_until(play, before=before)

    assert play.sizes_of("d1") == [5, 3, 5]
    assert play.sizes_of("d2") == [0, 2, 0]
    assert min(play.sums()) >= 5
    assert play.owners("d1") == play.owners("d2") == []


@dying
@with_clone_sets(on=("sim",))
async def test_a_clone_set(site: Site, before: bool) -> None:
    play = await _ready(site)
    await play.roll(batches("10%", "40%", "50%"), await clone_set(play, paused=True))

    await lives_until(play, SUCCEEDED, before=before)

    assert partitions(play, "c", CLONE_SETS, "partition")[-4:] == [5, 4, 2, 0]
    assert play.owners("c", CLONE_SETS) == []
    assert ORIGINAL not in play.object(CLONE_SETS, "c")["metadata"].get("annotations", {})


@dying
@with_traits(on=("sim",))
async def test_a_stateful_set(site: Site, before: bool) -> None:
    play = await _ready(site)
    await play.roll(batches(1, 3), await stateful_set(play))

    await lives_until(play, SUCCEEDED, before=before)

    assert partitions(play, "s", STATEFULSETS, "rollingUpdate", "partition") == [4, 3, 0]
    assert play.owners("s", STATEFULSETS) == []


@dying
@everywhere(on=("sim",))
async def test_a_daemon_set(site: Site, before: bool) -> None:
    """Every old pod is deleted once, and no new one ever."""
    async with nodes(site, 4) as names:
        play = await _ready(site, nodes=names)
        target = await daemon_set(play)
        old = {each["metadata"]["uid"] for each in play.pods("n")}
        await play.roll(batches(1, 3), target)

        await lives_until(play, SUCCEEDED, before=before)

        pods = play.pods("n")
        assert len(pods) == 4
        assert not {each["metadata"]["uid"] for each in pods} & old
        assert len({each["metadata"]["labels"][REVISION_LABEL] for each in pods}) == 1
        made = [each for each in site.history.events if each.resource.plural == "pods" and each.type == "ADDED"]
        assert len(made) == 8
        assert play.owners("n", DAEMON_SETS) == []
