"""A rollout that another release of its operator was in the middle of, whose claims have no guard."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairlead.contracts.plans.kinds import FAILED, ROLLING, ROLLOUT_TRAITS
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH, patch
from tests.e2e.clusters import Site
from tests.e2e.plan_play import Play, a_pair, batches, begin
from tests.e2e.plans import with_traits
from tests.e2e.zones import change

ROLLED = {"rolloutTargetSize": 5, "targetGeneration": "web-v2", "upgradedReplicas": 2, "upgradedReadyReplicas": 2}
BADLY = batches(9, 1)


async def _left_in_batch_0(play: Play, state: str, **more: Any) -> None:
    """By an operator that is gone: two pods of five are new, and both workloads belong to the rollout alone."""
    site = play.site
    target, source = await a_pair(site)
    await play.kill()
    trait = await play.roll(batches(2, 3), target, source)
    owner = {"apiVersion": ROLLOUT_TRAITS.api_version, "kind": ROLLOUT_TRAITS.kind, "name": "r", "controller": True}
    for name, size in (("d1", 3), ("d2", 2)):
        claim = {**owner, "uid": trait["metadata"]["uid"], "blockOwnerDeletion": True}
        taken = {"metadata": {"ownerReferences": [claim]}, "spec": {"replicas": size, "paused": False}}
        await change(site, DEPLOYMENTS, name, taken)
    status = {"rollingState": state, "batchRollingState": "batchVerifying", "currentBatch": 0, **ROLLED, **more}
    body = msgspec.json.encode({"status": status})
    await site.client.call(patch(Ref(ROLLOUT_TRAITS, site.namespace, "r"), MERGE_PATCH, body, subresource="status"))
    await play.until(lambda: play.ready("d1") == 3 and play.ready("d2") == 2)


@pytest.mark.parametrize("state", [ROLLING, FAILED])
@with_traits(long=True)
async def test_no_workload_goes_with_the_rollout(site: Site, state: str) -> None:
    """Deleted once it has failed here, or had failed there before it was released: the garbage collector finds
    workloads that belong to nobody."""
    play = await begin(site)
    await _left_in_batch_0(play, state)
    if state == ROLLING:
        await play.plan(BADLY)
    play.start()
    await play.ends(FAILED)
    await play.at_rest()

    await play.delete(propagation="Background")
    await play.until(lambda: not play.trait())
    await play.at_rest()

    assert (play.size("d1"), play.size("d2")) == (3, 2)
    assert play.owners("d1") == play.owners("d2") == []


@with_traits(on=("sim",))
async def test_it_goes_on_from_where_it_stands(site: Site) -> None:
    play = await begin(site)
    await _left_in_batch_0(play, ROLLING)

    play.start()
    await play.ends()

    assert play.sizes_of("d2")[-2:] == [2, 5]
    assert play.sizes_of("d1")[-2:] == [3, 0]
