"""A replica that stands by sees pods go; what it makes of them when it leads (section 3.9 point 6)."""

from __future__ import annotations

import asyncio

from fairlead.engine.manager import Manager
from kubeloop.objects.core import PODS
from kubesim.pods.behaviour import PENDING
from tests.contracts.leaderworker.decide.sets import a_set
from tests.e2e.clusters import Site
from tests.e2e.history import Tree
from tests.e2e.leaderworker_play import FIRST, Noted, Play, a_pod, begin
from tests.e2e.leaderworker_rules import judged
from tests.e2e.leaderworkers import Operator, with_sets
from tests.e2e.test_leaderworker_14_to_18 import annotate, phase, recreations

WORKERS = ("a-0-1", "a-0-2", "a-0-3")


async def two_replicas(site: Site) -> tuple[Play, Operator]:
    """The one that leads, and the one that stands by."""
    play = await begin(site)
    judged(play, budget=False)
    await leads(site, play.operator)
    other = Operator(site, identity="lws-2")
    site.start(other(Noted(site.ground.transport("admin"), play.sent)))
    return play, other


async def leads(site: Site, operator: Operator) -> Manager:
    await site.until(lambda: operator.manager is not None and operator.manager.leading.is_set(), every=0.1)
    assert operator.manager is not None
    return operator.manager


async def begin_group(play: Play) -> None:
    """With workers that are pending until they are let go."""
    pending: Tree = {**a_pod(), "metadata": {"annotations": {PENDING: "true"}}}
    template = {
        "size": 4,
        "restartPolicy": "RecreateGroupAfterStart",
        "leaderTemplate": a_pod(),
        "workerTemplate": pending,
    }
    await play.create(a_set(replicas=1, template=template))
    await play.until(lambda: len(play.group(0)) == 4)


async def start_workers(site: Site, *names: str) -> None:
    for name in names:
        await annotate(site, name, {PENDING: None})
    await site.until(lambda: all(phase(site, name) == "Running" for name in names))


@with_sets(on=("sim",))
async def test_a_group_that_was_left_alone_is_not_recreated_by_whoever_leads_next(site: Site) -> None:
    """It had not started when a worker of it went; now it has."""
    play, other = await two_replicas(site)
    await begin_group(play)
    await start_workers(site, "a-0-1")
    before = play.uids(0)
    await play.delete(PODS, "a-0-1")
    await play.until(lambda: len(play.group(0)) == 4 and len(before & play.uids(0)) == 3)
    await start_workers(site, *WORKERS)
    await play.until(lambda: play.is_whole(0, FIRST, 4))
    await asyncio.sleep(60)
    whole = play.uids(0)

    await play.kill()
    await leads(site, other)
    await asyncio.sleep(60)

    assert recreations(play) == []
    assert play.uids(0) == whole


@with_sets(on=("sim",))
async def test_a_worker_that_went_while_nobody_led_recreates_its_group(site: Site) -> None:
    play, other = await two_replicas(site)
    await begin_group(play)
    await start_workers(site, *WORKERS)
    await play.until(lambda: play.is_whole(0, FIRST, 4))
    await asyncio.sleep(60)
    before = play.uids(0)

    await play.kill()
    await play.delete(PODS, "a-0-1")
    await leads(site, other)

    await play.until(lambda: recreations(play) == ["a-0"] and not before & play.uids(0))
