"""The DaemonSet controller at work: failed pods, nodes that change, revisions and their names, whose pods are whose."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kubeloop.objects.apps import REVISION_LABEL
from kubesim.kinds.registry import CONTROLLER_REVISIONS, DAEMON_SETS, NODES, PODS
from kubesim.store.versions import Tree
from tests.kubesim.controllers.world import World, play, with_image


def a_node(world: World, name: str, **spec: Any) -> None:
    """Ready, so that it has lost the taint of new nodes."""
    world.create(NODES, {"metadata": {"name": name}})
    world.verbs.update(NODES, "", name, {"metadata": {"name": name}, "spec": spec}, user="tester")


def a_set(world: World, *nodes: str, **spec: Any) -> None:
    """On nodes of these names; its pods go at once."""
    for name in nodes:
        a_node(world, name)
    template = {
        "metadata": {"labels": {"app": "da"}},
        "spec": {"containers": [{"name": "c", "image": "i:1"}], "terminationGracePeriodSeconds": 0},
    }
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}
    whole = {"selector": {"matchLabels": {"app": "da"}}, "template": template, "updateStrategy": rolling} | spec
    world.create(DAEMON_SETS, {"metadata": {"name": "da"}, "spec": whole})


def status(world: World) -> Tree:
    found: Tree = world.verbs.read(DAEMON_SETS, "default", "da")["status"]
    return found


def places(world: World) -> list[str]:
    """The nodes that pods were made for."""
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    affinities = [pod["spec"]["affinity"]["nodeAffinity"][required] for pod in world.pods().values()]
    return sorted(each["nodeSelectorTerms"][0]["matchFields"][0]["values"][0] for each in affinities)


def fail_all(world: World) -> None:
    for name in world.pods():
        world.patch(PODS, name, {"status": {"phase": "Failed"}}, "status")


def test_a_set_that_is_gone_makes_no_pods() -> None:
    """News of a pod may come before that of the set which went first."""

    async def scenario(world: World) -> None:
        a_set(world, "x")
        await world.settle()
        world.delete(DAEMON_SETS, "da")
        await world.settle(5)

        assert len(world.made()) == 1

    for seed in range(40):
        play(scenario, seed=seed)


@pytest.mark.parametrize("seed", range(5))
def test_an_update_never_leaves_more_nodes_alone_than_it_may(seed: int) -> None:
    async def scenario(world: World) -> None:
        a_set(world, "x", "y", "z")
        await world.settle()
        world.make_ready(*world.pods())
        await world.settle()
        world.patch(DAEMON_SETS, "da", with_image("i:2"))
        for _ in range(40):
            await asyncio.sleep(0.05)
            ready = [pod for pod in world.pods().values() if pod["status"].get("conditions")]
            assert len(ready) >= 2
            world.make_ready(*(name for name, pod in world.pods().items() if pod not in ready))

        assert status(world)["updatedNumberScheduled"] == status(world)["numberAvailable"] == 3
        assert len(world.made()) == 6

    play(scenario, seed=seed)


def test_failed_pods_are_replaced_ever_more_slowly() -> None:
    """At once, after 1 second, then after 2 more, after 4 more."""

    async def scenario(world: World) -> None:
        a_set(world, "x")
        for _ in range(800):
            await asyncio.sleep(0.01)
            fail_all(world)

        assert len(world.made()) == 5
        told = [text for text in world.events() if text.startswith("FailedDaemonPod")]
        assert len(told) == 4
        assert told[0].startswith("FailedDaemonPod: Found failed daemon pod default/da-")
        assert told[0].endswith(" on node x, will try to kill it")

    play(scenario)


def test_a_pod_that_succeeded_is_replaced_at_once() -> None:
    async def scenario(world: World) -> None:
        a_set(world, "x")
        await world.settle()
        (name,) = world.pods()
        world.patch(PODS, name, {"status": {"phase": "Succeeded"}}, "status")
        await world.settle()

        assert len(world.made()) == 2
        text = f"Found succeeded daemon pod default/{name} on node x, will try to delete it"
        assert world.events()[f"SucceededDaemonPod: {text}"] == 1

    play(scenario)


def test_a_taint_drives_pods_away_or_keeps_them_off() -> None:
    async def scenario(world: World) -> None:
        a_set(world, "x", "y")
        await world.settle()
        for name in world.pods():
            place = {"target": {"apiVersion": "v1", "kind": "Node", "name": _place(world, name)}}
            world.verbs.bind("default", name, {"metadata": {"name": name}} | place, user="tester")
        world.verbs.update(NODES, "", "x", _tainted(world, "x", "NoSchedule"), user="tester")
        a_node(world, "z", taints=[{"key": "t", "effect": "NoSchedule"}])
        await world.settle()

        assert places(world) == ["x", "y"]

        world.verbs.update(NODES, "", "x", _tainted(world, "x", "NoExecute"), user="tester")
        await world.settle()
        for name in world.pods():
            world.verbs.delete(PODS, "default", name, grace=0, user="tester")
        await world.settle()

        assert places(world) == ["y"]
        assert (status(world)["desiredNumberScheduled"], status(world)["numberMisscheduled"]) == (1, 0)

    play(scenario)


def _place(world: World, pod: str) -> str:
    affinity = world.pods()[pod]["spec"]["affinity"]["nodeAffinity"]
    terms = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    name: str = terms[0]["matchFields"][0]["values"][0]
    return name


def _tainted(world: World, node: str, effect: str) -> Tree:
    tree = world.verbs.read(NODES, "", node)
    return tree | {"spec": {"taints": [{"key": "t", "effect": effect}]}}


def test_a_name_that_is_taken_is_a_collision() -> None:
    async def scenario(world: World) -> None:
        a_set(world, "x")
        await world.settle()
        (first,) = world.revisions().values()
        world.delete(DAEMON_SETS, "da")
        await world.settle()
        taken = {"metadata": {"name": first["metadata"]["name"]}, "revision": 1, "data": {"other": True}}
        world.create(CONTROLLER_REVISIONS, taken)
        a_set(world)
        await world.settle()

        assert status(world)["collisionCount"] == 1
        made = [each["metadata"]["name"] for each in world.verbs.list(CONTROLLER_REVISIONS, "default")]
        assert len(made) == 2
        assert status(world)["currentNumberScheduled"] == 1

    play(scenario)


def test_of_two_equal_revisions_the_newest_stays_and_pods_count_as_its() -> None:
    async def scenario(world: World) -> None:
        a_set(world, "x")
        await world.settle()
        (first,) = world.revisions().values()
        labels = first["metadata"]["labels"] | {REVISION_LABEL: "copy"}
        copied = {"metadata": {"name": "da-copy", "labels": labels}, "revision": 5, "data": first["data"]}
        world.create(CONTROLLER_REVISIONS, copied)
        await world.settle()

        assert [each["metadata"]["name"] for each in world.verbs.list(CONTROLLER_REVISIONS, "default")] == ["da-copy"]
        assert [pod["metadata"]["labels"][REVISION_LABEL] for pod in world.pods().values()] == ["copy"]
        assert len(world.made()) == 1

    play(scenario)


def test_history_keeps_what_pods_were_made_from() -> None:
    async def scenario(world: World) -> None:
        a_set(world, "x", updateStrategy={"type": "OnDelete"}, revisionHistoryLimit=1)
        await world.settle()
        for number in range(2, 6):
            world.patch(DAEMON_SETS, "da", with_image(f"i:{number}"))
            await world.settle()

        assert set(world.revisions()) == {"i:1", "i:5"}

    play(scenario)


def test_a_set_that_comes_late_finds_the_nodes_that_are_there() -> None:
    async def scenario(world: World) -> None:
        for number in range(3):
            a_node(world, f"n{number}")
        await world.settle()
        a_set(world)
        await world.settle()

        assert places(world) == ["n0", "n1", "n2"]

    play(scenario)
