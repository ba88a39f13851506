"""Acceptance scenario 30: upstream's manager and ours take each other's place, as real processes.

Judged from all that the API server told of the namespace: nothing is replaced, restarted or changed that the rollout
does not demand, and what is stored of certificates stays as it is.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from pathlib import Path
from random import Random

import msgspec
import pytest

from bench.managers import OURS, UPSTREAM
from fairlead.contracts.leaderworker.kinds import LEADER_WORKER_SETS
from kubeloop.objects.apps import CONTROLLER_REVISIONS, STATEFULSETS
from kubeloop.objects.core import PODS
from kubesim.pods.behaviour import HANG_TERMINATING
from tests.contracts.leaderworker.decide.sets import a_set
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.leaderworker_play import FIRST, SECOND, Play, key_of, owner_of
from tests.e2e.leaderworker_rules import judged
from tests.e2e.managers import turns
from tests.e2e.zones import change

SETS = ("rest", "middle", "surge", "held", "again")


@everywhere(on=("real",))
async def test_ours_takes_upstreams_place_and_gives_it_back(site: Site, tmp_path: Path) -> None:
    """Scenario 30: at rest, in the middle of a rollout, with a surge, at a partition, and during a recreation."""
    await exchanged_twice(site, tmp_path, UPSTREAM, OURS, UPSTREAM)


@pytest.mark.timing
@pytest.mark.parametrize("hands", [(UPSTREAM, OURS, UPSTREAM), (OURS, UPSTREAM, OURS)], ids="-".join)
@everywhere(on=("served", "real"))
async def test_managers_are_exchanged_in_any_order(site: Site, hands: tuple[str, str, str], tmp_path: Path) -> None:
    """Scenario 30, also on the embedded cluster."""
    await exchanged_twice(site, tmp_path, *hands)


@pytest.mark.timing
@pytest.mark.parametrize("seed", range(3))
@everywhere(on=("served", "real"))
async def test_managers_are_exchanged_at_any_moment(site: Site, seed: int, tmp_path: Path) -> None:
    """Scenario 30: whoever is killed in the middle of whatever, the rules hold, and each pod is replaced once."""
    chance = Random(seed)
    async with turns(site, tmp_path) as exchanged:
        play, work = exchanged.play, {"maxUnavailable": 1, "maxSurge": chance.randrange(2)}
        judged(play)
        async with exchanged.at_work(chance.choice((UPSTREAM, OURS))):
            await play.create(a_set(replicas=4, update=work))
            await play.available()
            await play.give_image(SECOND)
        for hand in chance.choices((UPSTREAM, OURS), k=4):
            async with exchanged.at_work(hand) as process:
                await asyncio.sleep(chance.uniform(0.0, 1.0))
                process.process.kill()
        async with exchanged.at_work(chance.choice((UPSTREAM, OURS))):
            await play.until(lambda: is_through(play, "a"))
        await site.history.caught_up()
    assert {count for name, count in replaced(play).items() if name != "a-4"} == {2}
    assert_templates_stay(play)
    assert recorded(play) == {"a": 2}


async def exchanged_twice(site: Site, folder: Path, *hands: str) -> None:
    """Every set is in its state at both exchanges, and comes to its end after them."""
    async with turns(site, folder) as exchanged:
        play = exchanged.play

        async with exchanged.at_work(hands[0]):
            await made(play)
            await left_in_the_middle(play)
            trust = await exchanged.trust()
        async with exchanged.at_work(hands[1]):
            await works(play, "second")
            await gone_on(play)
            assert await exchanged.trust() == trust
        async with exchanged.at_work(hands[2]):
            await works(play, "third")
            await brought_to_an_end(play)
            assert await exchanged.trust() == trust

        await site.history.caught_up()
    assert replaced(play) == {
        **{f"{name}-{index}": 1 for name in ("rest", "second", "third") for index in range(2)},
        **{f"{name}-{index}": 2 for name in ("middle", "surge", "held") for index in range(3)},
        "surge-3": 1,
        **{f"{name}-{index}": 2 for name in ("again", "new") for index in range(2)},
    }
    assert restarts(play) == {0}
    assert_templates_stay(play)
    assert recorded(play) == {
        "again": 1,
        "held": 2,
        "middle": 2,
        "new": 2,
        "rest": 1,
        "second": 1,
        "surge": 2,
        "third": 1,
    }


async def made(play: Play) -> None:
    for tree in (
        a_set("rest"),
        a_set("middle", replicas=3),
        a_set("surge", replicas=3, update={"maxUnavailable": 0, "maxSurge": 1}),
        a_set("held", replicas=3, update={"partition": 2}),
        a_set("again"),
    ):
        await play.create(tree)
    for name in SETS:
        await play.available(name)


async def left_in_the_middle(play: Play) -> None:
    for name in ("middle", "surge"):
        await play.give_image(SECOND, hold=True, name=name)
    await play.give_image(SECOND, name="held")
    await play.at_numbers("2/3", "middle")
    await play.at_group(2, SECOND, name="middle")
    await play.at_numbers("3/4", "surge")
    await play.at_group(3, SECOND, name="surge")
    await play.until(lambda: play.is_whole(2, SECOND, name="held") and play.is_available("held"))
    await lose_a_worker(play, 0)


async def gone_on(play: Play) -> None:
    await play.release(2, name="middle")
    await play.at_numbers("1/3", "middle")
    await play.at_group(1, SECOND, name="middle")
    await play.release(3, name="surge")
    await play.at_numbers("2/4", "surge")
    await play.at_group(2, SECOND, name="surge")
    await come_back(play, 0)
    await lose_a_worker(play, 1)
    await play.create(a_set("new"))
    await play.available("new")
    await play.give_image(SECOND, hold=True, name="new")
    await play.at_numbers("1/2", "new")
    await play.at_group(1, SECOND, name="new")
    assert play.numbers("held") == "2/3"


async def brought_to_an_end(play: Play) -> None:
    strategy = {"rollingUpdateConfiguration": {"partition": 0}}
    await play.change({"spec": {"rolloutStrategy": strategy}}, "held")
    for name, indexes in (("middle", (1, 0)), ("surge", (2, 1, 0)), ("new", (1, 0))):
        for index in indexes:
            await play.at_group(index, SECOND, name=name)
            await play.release(index, name=name)
    await come_back(play, 1)
    for name in (*SETS, "new"):
        await play.until(lambda name=name: is_through(play, name))


def is_through(play: Play, name: str) -> bool:
    wanted = play.tree(name)["spec"]["replicas"]
    return play.is_available(name) and play.numbers(name) == f"0/{wanted}" and len(set(play.keys(name))) == 1


async def works(play: Play, name: str) -> None:
    """A set that is made now shows that the manager has begun; all sets were there before it."""
    await play.create(a_set(name))
    await play.available(name)


async def lose_a_worker(play: Play, index: int) -> None:
    """The group is being recreated: its leader cannot terminate yet."""
    leader = f"again-{index}"
    await change(play.site, PODS, leader, {"metadata": {"annotations": {HANG_TERMINATING: "true"}}})
    await play.delete(PODS, f"{leader}-1")
    await play.until(lambda: "deletionTimestamp" in play.site.history.objects(PODS)[leader]["metadata"])


async def come_back(play: Play, index: int) -> None:
    await change(play.site, PODS, f"again-{index}", {"metadata": {"annotations": {HANG_TERMINATING: None}}})
    await play.until(lambda: play.is_whole(index, FIRST, name="again"))


def replaced(play: Play) -> dict[str, int]:
    """How many pods each leader's name has had; those of workers are as many, but where one was lost."""
    uids: dict[str, set[str]] = defaultdict(set)
    for event in play.site.history.of(PODS):
        uids[event.name].add(event.object["metadata"]["uid"])
    for name, found in uids.items():
        leader = name.rpartition("-")[0]
        if leader in uids and not name.startswith("again"):
            assert len(found) == len(uids[leader]), name
    return {name: len(found) for name, found in uids.items() if name.rpartition("-")[0] not in uids}


def restarts(play: Play) -> set[int]:
    statuses = (event.object["status"].get("containerStatuses", ()) for event in play.site.history.of(PODS))
    return {each["restartCount"] for found in statuses for each in found}


def assert_templates_stay(play: Play) -> None:
    """One template for each key of a StatefulSet; those of workers and of sets at rest are never written again."""
    templates: dict[tuple[str, str], set[bytes]] = defaultdict(set)
    for event in play.site.history.of(STATEFULSETS):
        tree = event.object
        found = msgspec.json.encode(tree["spec"]["template"], order="sorted")
        templates[tree["metadata"]["uid"], key_of(tree)].add(found)
        is_left_alone = owner_of(tree).get("kind") == "Pod" or event.name in ("rest", "again")
        if is_left_alone and "deletionTimestamp" not in tree["metadata"]:
            assert tree["metadata"]["generation"] == 1, event.name
    assert {len(found) for found in templates.values()} == {1}


def recorded(play: Play) -> dict[str, int]:
    """How many keys each set has ever had; upstream sometimes records one twice, and keeps both."""
    found: dict[str, set[str]] = defaultdict(set)
    for event in play.site.history.of(CONTROLLER_REVISIONS, "ADDED"):
        owner: Tree = owner_of(event.object)
        if owner.get("kind") == LEADER_WORKER_SETS.kind:
            found[owner["name"]].add(key_of(event.object))
    return {name: len(keys) for name, keys in found.items()}
