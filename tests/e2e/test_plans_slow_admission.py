"""Admission webhooks of others that are slow, under a Lease: plans roll on, and their safeties hold.

Only in virtual time: each write takes seconds.
"""

from __future__ import annotations

from functools import partial

import pytest

from fairlead.contracts.plans.kinds import APPLICATIONS, LEASE
from kubeloop.objects.core import LEASES
from tests.e2e.app_rollout_play import begin as begin_application
from tests.e2e.app_rollout_play import with_app_rollouts
from tests.e2e.clusters import Site
from tests.e2e.meddling import Reviewed
from tests.e2e.plan_play import NEW, a_pair, batches, begin
from tests.e2e.plans import with_traits

SECONDS = 6.0
"""Longer than a write may take at first, and than what a lease lasts beyond its last renewal."""


async def leads_throughout(site: Site) -> bool:
    """The one that came after the first operator."""
    lease = await site.get(LEASES, LEASE)
    return lease is not None and lease["spec"]["leaseTransitions"] == 1


def slow(plural: str) -> partial[Reviewed]:
    return partial(Reviewed, plural=plural, seconds=SECONDS)


@pytest.mark.parametrize("plural", ["deployments", "rollouttraits"])
@with_traits(on=("sim",))
async def test_a_pair_is_rolled_where_admission_is_slow(site: Site, plural: str) -> None:
    play = await begin(site)
    target, source = await a_pair(site, 3)
    await play.kill()
    play.start(slow(plural))
    await play.roll(batches(1, 2), target, source)

    await play.ends(within=900)

    assert (play.size("d1"), play.size("d2")) == (0, 3)
    assert play.sizes_of("d2") == [0, 1, 3]
    assert play.sizes_of("d1") == [3, 2, 0]
    assert min(play.sums()) >= 3
    assert await leads_throughout(site)


@pytest.mark.parametrize("plural", ["deployments", "rollouttraits"])
@with_traits(on=("sim",))
async def test_a_rollout_that_is_deleted_goes_back_where_admission_is_slow(site: Site, plural: str) -> None:
    play = await begin(site)
    target, source = await a_pair(site, 3)
    await play.roll(batches(1, 2, batchPartition=0, revertOnDelete=True), target, source)
    await play.until(lambda: play.at() == ("rollingInBatches", "batchReady", 0))
    await play.kill()

    play.start(slow(plural))
    await play.delete()
    await play.until(lambda: not play.trait(), within=900)

    assert play.sizes_of("d1") == [3, 2, 3]
    assert play.sizes_of("d2") == [0, 1, 0]
    assert await leads_throughout(site)


@pytest.mark.parametrize("plural", ["deployments", "components", "approllouts", APPLICATIONS.plural])
@with_app_rollouts(on=("sim",))
async def test_an_app_rollout_is_made_and_rolled_where_admission_is_slow(site: Site, plural: str) -> None:
    play = await begin_application(site)
    await play.kill()
    play.start(slow(plural))

    await play.revise(NEW, "shop-v2")
    await play.upgrade("shop-v2", "shop-v1", **batches(1, 1))
    await play.until(lambda: play.deployments() == {"web-v1": 0, "web-v2": 2}, within=900)
    await play.ends(within=900)

    assert min(play.sums()[1:]) >= 2
    assert await leads_throughout(site)
