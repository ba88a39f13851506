"""Acceptance scenarios 10 to 12: workloads whose pods are updated in place: CloneSets, StatefulSets and DaemonSets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import msgspec
import pytest

from fairlead.contracts.plans.kinds import BATCH_VERIFYING, CLONE_SETS, DAEMON_SETS, FAILED, ORIGINAL, ROLLING
from kubeloop.objects.apps import REVISION_LABEL, STATEFULSETS
from kubeloop.objects.core import NODES, PODS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import MERGE_PATCH, delete, patch
from kubesim.pods.behaviour import HOLD
from kubesim.standins.cloneset_definition import DEFINITION
from tests.e2e.clone_sets import run_clone_sets
from tests.e2e.clusters import Site, everywhere, long
from tests.e2e.history import Tree
from tests.e2e.plan_play import NEW, OLD, Play, batches, begin, pods_of, reference
from tests.e2e.plans import definitions, with_traits
from tests.e2e.rollouts import is_ready
from tests.e2e.zones import change

with_clone_sets = partial(everywhere, definitions=lambda: (*definitions(), DEFINITION), on=("sim", "real", "kruise"))


def partitions(play: Play, name: str, resource: Resource, *path: str) -> list[int]:
    """Each time that it changed."""
    found: list[int] = []
    for event in play.site.history.of(resource, "ADDED", "MODIFIED"):
        value: Any = event.object["spec"].get("updateStrategy", {})
        for step in path:
            value = value.get(step, {})
        number = value if isinstance(value, int) else 0
        if event.name == name and (not found or found[-1] != number):
            found.append(number)
    return found


async def clones(play: Play) -> Tree:
    """`c` with five pods, all of them available."""
    site = play.site
    await run_clone_sets(site)
    await site.history.follow(CLONE_SETS)
    await site.create(CLONE_SETS, {"metadata": {"name": "c"}, "spec": {"replicas": 5, **pods_of("c", OLD)}})
    await play.until(lambda: play.object(CLONE_SETS, "c").get("status", {}).get("updatedAvailableReplicas") == 5)
    return reference("c", CLONE_SETS)


async def clone_set(play: Play, **strategy: Any) -> Tree:
    """The same with a template that none of them has yet where the strategy lets none have it."""
    target, site = await clones(play), play.site
    spec = {"updateStrategy": strategy, **pods_of("c", NEW)}
    changed = await change(site, CLONE_SETS, "c", {"spec": spec})
    generation = changed["metadata"]["generation"]
    await play.until(lambda: play.object(CLONE_SETS, "c")["status"].get("observedGeneration") == generation)
    return target


@pytest.mark.parametrize("strategy", [{"paused": True}, long({"partition": 5})], ids=["paused", "partition"])
@with_clone_sets()
async def test_scenario_10_clone_set(site: Site, strategy: Tree) -> None:
    """A frozen set is claimed, its partition falls batch by batch, and in the end it is free and unfrozen."""
    play = await begin(site)
    target = await clone_set(play, **strategy)
    await play.roll(batches("10%", "40%", "50%"), target)
    await play.until(lambda: "RolloutTrait" in play.owners("c", CLONE_SETS))

    await play.ends()

    found = play.object(CLONE_SETS, "c")
    assert partitions(play, "c", CLONE_SETS, "partition")[-4:] == [5, 4, 2, 0]
    assert found["spec"]["updateStrategy"].get("paused", False) is False
    assert found["status"]["updatedReadyReplicas"] == 5
    assert play.owners("c", CLONE_SETS) == []
    assert ORIGINAL not in found["metadata"].get("annotations", {})


@with_clone_sets(on=("sim", "kruise"))
async def test_scenario_10_a_clone_set_that_is_updating_is_refused(site: Site) -> None:
    play = await begin(site, ready_after=5.0)
    target = await clone_set(play, partition=0)

    await play.roll(batches("10%", "40%", "50%"), target)
    await play.ends(FAILED)

    assert "in the middle of updating" in play.condition("RolloutSpecVerifying")["message"]
    assert play.owners("c", CLONE_SETS) == []


@with_clone_sets()
async def test_a_clone_set_whose_rollout_is_deleted_midway_stays_as_it_is(site: Site) -> None:
    """The partition is what it was, and the set is paused and free."""
    play = await begin(site)
    target = await clone_set(play, paused=True)
    await play.roll(batches(2, 3, lastBatchToRollout=0), target)
    await play.until(lambda: play.at() == (ROLLING, "batchReady", 0))

    await play.delete()
    await play.until(lambda: not play.trait())
    await site.history.caught_up()

    found = play.object(CLONE_SETS, "c")
    strategy = found["spec"]["updateStrategy"]
    assert (strategy["partition"], strategy["paused"]) == (3, True)
    assert found["status"]["updatedReadyReplicas"] == 2
    assert play.owners("c", CLONE_SETS) == []


@pytest.mark.parametrize(
    ("size", "sizes"), [(8, [5, 7, 8]), pytest.param(2, [5, 3, 2], marks=pytest.mark.long)], ids=["up", "down"]
)
@with_clone_sets()
async def test_a_clone_set_is_scaled_in_batches(site: Site, size: int, sizes: list[int]) -> None:
    """R-25, with the sizes as its controller tells them."""
    play = await begin(site)
    target = await clones(play)

    await play.roll(batches(2, 1, targetSize=size), target)
    await play.ends()

    assert play.sizes_of("c", CLONE_SETS) == sizes
    await play.until(lambda: play.ready("c", CLONE_SETS) == size)
    assert play.owners("c", CLONE_SETS) == []


@with_traits(on=("sim",))
async def test_a_clone_set_where_none_are_served_is_refused_and_other_kinds_go_on(site: Site) -> None:
    play = await begin(site)

    await play.roll(batches(1), reference("c", CLONE_SETS))
    await play.ends(FAILED)

    assert play.condition("RolloutSpecVerifying")["message"] == "the workload kind `CloneSet` is not supported"
    assert await play.tells("Unsupported workload")


async def stateful_set(play: Play, *, hold: bool = False) -> Tree:
    """`s` with four ready pods, frozen, and a template that none of them has yet."""
    site = play.site
    frozen = {"type": "RollingUpdate", "rollingUpdate": {"partition": 4}}
    spec = {"replicas": 4, "serviceName": "s", "podManagementPolicy": "Parallel", "updateStrategy": frozen}
    await site.create(STATEFULSETS, {"metadata": {"name": "s"}, "spec": {**spec, **pods_of("s", OLD)}})
    await play.until(lambda: play.ready("s", STATEFULSETS) == 4)
    new = pods_of("s", NEW)["template"]
    if hold:
        new["metadata"]["annotations"] = {HOLD: "true"}
    changed = await change(site, STATEFULSETS, "s", {"spec": {"template": new}})
    generation = changed["metadata"]["generation"]
    await play.until(lambda: play.object(STATEFULSETS, "s")["status"].get("observedGeneration") == generation)
    return reference("s", STATEFULSETS)


@with_traits()
async def test_scenario_11_stateful_set(site: Site) -> None:
    """The partition goes 4, 3, 0, so that ordinals become new from the top."""
    play = await begin(site)
    target = await stateful_set(play)

    await play.roll(batches(1, 3), target)
    await play.ends()

    assert partitions(play, "s", STATEFULSETS, "rollingUpdate", "partition") == [4, 3, 0]
    assert play.status()["upgradedReadyReplicas"] == 4
    assert play.owners("s", STATEFULSETS) == []


@with_traits(long=True)
async def test_scenario_11_old_pods_that_are_ready_do_not_count(site: Site) -> None:
    """Three old pods are ready and the new one is not: the batch is not available."""
    play = await begin(site)
    target = await stateful_set(play, hold=True)

    await play.roll(batches(1, 3), target)
    await play.until(lambda: play.at() == (ROLLING, BATCH_VERIFYING, 0) and play.ready("s", STATEFULSETS) == 3)
    await play.until(lambda: len(play.pods("s")) == 4)
    await play.until(lambda: play.condition("BatchVerifying").get("status") == "False")
    await play.stays(10)

    assert play.at() == (ROLLING, BATCH_VERIFYING, 0)
    await play.release(*(each for each in play.pods("s") if not is_ready(each)))
    await play.until(lambda: play.at()[2] == 1)


@asynccontextmanager
async def nodes(site: Site, count: int) -> AsyncIterator[list[str]]:
    """So many for the pods of `n`, while the context lasts."""
    names = [f"{site.namespace}-{number}" for number in range(count)]
    for name in names:
        await site.create(NODES, {"metadata": {"name": name, "labels": {"for": site.namespace}}})
    try:
        yield names
    finally:
        for name in names:
            await site.client.call(delete(Ref(NODES, "", name)))


async def daemon_set(play: Play) -> Tree:
    """`n` with a ready pod on each of four nodes, and a template that none of them has yet."""
    site = play.site
    await site.history.follow(DAEMON_SETS)
    old = pods_of("n", OLD)
    old["template"]["spec"] |= {"nodeSelector": {"for": site.namespace}, "tolerations": [{"operator": "Exists"}]}
    strategy = {"type": "OnDelete"}
    await site.create(DAEMON_SETS, {"metadata": {"name": "n"}, "spec": {"updateStrategy": strategy, **old}})
    await play.until(lambda: play.object(DAEMON_SETS, "n").get("status", {}).get("numberReady") == 4)
    changed = await change(
        site,
        DAEMON_SETS,
        "n",
        {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": NEW}]}}}},
    )
    generation = changed["metadata"]["generation"]
    await play.until(lambda: play.object(DAEMON_SETS, "n")["status"].get("observedGeneration") == generation)
    return reference("n", DAEMON_SETS)


@with_traits()
async def test_scenario_12_daemon_set(site: Site) -> None:
    """One pod is deleted in the first batch, the others in the second, and the update strategy is what it was."""
    async with nodes(site, 4) as names:
        await _daemon_set_rolls(await begin(site, nodes=names))


async def _daemon_set_rolls(play: Play) -> None:
    target = await daemon_set(play)
    before = {each["metadata"]["uid"] for each in play.pods("n")}

    await play.roll(batches(1, 3, lastBatchToRollout=0), target)
    await play.until(lambda: play.at() == (ROLLING, "batchReady", 0))
    left = {each["metadata"]["uid"] for each in play.pods("n")} & before
    assert len(left) == 3
    await play.plan({"lastBatchToRollout": 1})
    await play.ends()

    pods = play.pods("n")
    assert len(pods) == 4
    assert len({each["metadata"]["labels"][REVISION_LABEL] for each in pods}) == 1
    assert not {each["metadata"]["uid"] for each in pods} & before
    assert play.object(DAEMON_SETS, "n")["spec"]["updateStrategy"]["type"] == "OnDelete"
    deleted = [each for each in play.writes(PODS.plural, "delete") if each.status < 300]
    assert len(deleted) == 4


@pytest.mark.parametrize("batch_state", ["batchVerifying", "batchReady"])
@with_traits(long=True)
async def test_a_daemon_set_goes_on_when_a_new_pod_goes_with_its_node(site: Site, batch_state: str) -> None:
    """The batch would wait for as many new pods as it once brought, and nobody brings it another."""
    async with nodes(site, 4) as names:
        play = await begin(site, nodes=names, ready_after=2.0)
        target = await daemon_set(play)
        before = {each["metadata"]["uid"] for each in play.pods("n")}
        await play.roll(batches(2, 2, lastBatchToRollout=0), target)
        await play.until(lambda: play.at() == (ROLLING, batch_state, 0) and len(_since(play, before)) == 2)

        await _leave(play, _since(play, before)[0]["spec"]["nodeName"])
        await play.until(lambda: play.at() == (ROLLING, "batchReady", 0))
        await play.plan({"lastBatchToRollout": 1})
        await play.ends()

        assert len(_since(play, before)) == len(play.pods("n")) == 3
        status = play.status()
        assert (status["rolloutTargetSize"], status["upgradedReplicas"], status["effectiveBatches"]) == (3, 3, [1, 2])


def _since(play: Play, before: set[str]) -> list[Tree]:
    return [each for each in play.pods("n") if each["metadata"]["uid"] not in before and "nodeName" in each["spec"]]


async def _leave(play: Play, node: str) -> None:
    """The DaemonSet no longer wants a pod there."""
    body = msgspec.json.encode({"metadata": {"labels": {"for": None}}})
    await play.site.client.call(patch(Ref(NODES, "", node), MERGE_PATCH, body))
    await play.until(lambda: play.object(DAEMON_SETS, "n")["status"].get("desiredNumberScheduled") == 3)
