"""Workloads that are being deleted, and that a finalizer keeps, while a rollout has them."""

from __future__ import annotations

import asyncio

from fairlead.cli.documents_of import explain_all
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.meta import Ref
from kubeloop.request import delete
from tests.e2e.clusters import Site
from tests.e2e.plan_play import Play, a_pair, batches, begin
from tests.e2e.plans import with_traits
from tests.e2e.zones import change


async def going(play: Play, name: str) -> None:
    """Deleted, and kept by somebody."""
    await change(play.site, DEPLOYMENTS, name, {"metadata": {"finalizers": ["example.test/kept"]}})
    await play.site.client.call(delete(Ref(DEPLOYMENTS, play.site.namespace, name), propagation="Background"))


async def at_the_gate(site: Site) -> Play:
    play = await begin(site)
    target, source = await a_pair(site, 4)
    await play.roll(batches(2, 2, batchPartition=0), target, source)
    await play.until(lambda: play.at()[1] == "batchReady")
    return play


@with_traits(on=("sim",))
async def test_no_more_pods_move_to_a_target_that_is_being_deleted(site: Site) -> None:
    play = await at_the_gate(site)
    await going(play, "d2")

    await play.plan({"batchPartition": None})
    await asyncio.sleep(30)
    await site.history.caught_up()
    (shown,) = await explain_all(site.client, [site.namespace])

    assert (play.size("d1"), play.size("d2")) == (2, 2)
    said = play.condition("BatchReady")
    assert (said["status"], said["message"]) == ("False", "the Deployment d2 is being deleted")
    assert shown.blocked_by[0].advice == (
        "see whose finalizers keep it: kubectl get deployment d2 -n test -o jsonpath='{.metadata.finalizers}'",
    )


@with_traits(on=("sim",))
async def test_pods_go_on_to_move_from_a_source_that_is_being_deleted(site: Site) -> None:
    play = await at_the_gate(site)
    await going(play, "d1")

    await play.plan({"batchPartition": None})
    await asyncio.sleep(30)
    await site.history.caught_up()

    assert play.ready("d2") == 4
    assert play.condition("BatchVerifying")["message"] == (
        "the sources have 2 pods, and go to 0; the Deployment d1 is being deleted"
    )


@with_traits(on=("sim",))
async def test_a_rollout_does_not_begin_with_a_target_that_is_being_deleted(site: Site) -> None:
    play = await begin(site)
    target, source = await a_pair(site, 4)
    await going(play, "d2")

    await play.roll(batches(2, 2), target, source)
    await asyncio.sleep(30)
    await site.history.caught_up()

    assert play.condition("RolloutSpecVerifying")["message"] == "the Deployment d2 is being deleted"
    assert (play.size("d1"), play.size("d2")) == (4, 0)
    assert play.owners("d1") == []
