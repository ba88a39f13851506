"""Copies of real clusters stand still until something is changed, and go on from where they are when it is.

The states were listed from kube-apiserver 1.36 with its controllers and the stand-in kubelet (`tools.copies`).
"""

from __future__ import annotations

import asyncio
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kubeloop.calls import Call, Reply
from kubeloop.errors import Invalid, KubeError
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import Request, delete
from kubesim.api.verbs import Verbs
from kubesim.controllers.manager import CONTROLLERS, Setting
from kubesim.controllers.names import ALL, KUBELET, NAMES
from kubesim.controllers.selected_pods import Chosen
from kubesim.copies import Copy
from kubesim.kinds.registry import (
    CONFIG_MAPS,
    DAEMON_SETS,
    DEPLOYMENTS,
    NODES,
    PODS,
    SECRETS,
    SERVICES,
    STATEFUL_SETS,
)
from kubesim.loading import read
from kubesim.saving import read as read_saved
from kubesim.saving import save
from kubesim.store.store import Store
from kubesim.store.versions import Tree
from kubesim.virtual import VirtualCluster

FOLDER = Path(__file__).parent / "copies"
STATES = ("at_rest", "in_the_middle", "stuck")
SHOP = "shop"
LONG = 90 * 60.0
DEVICES = Resource("resource.k8s.io", "v1", "deviceclasses", "DeviceClass", namespaced=False)
WIDGETS = Resource("example.com", "v1", "widgets", "Widget")


@cache
def a_copy(name: str, **settings: Any) -> Copy:
    return read([FOLDER / f"{name}.json"], **settings)


def writes(world: VirtualCluster) -> list[str]:
    return [f"{each.user} {each.verb} {each.resource.plural} {each.name}" for each in world.cluster.history]


async def rest(world: VirtualCluster) -> list[str]:
    await asyncio.sleep(LONG)
    return writes(world)


@pytest.mark.parametrize("name", STATES)
@pytest.mark.parametrize(("seed", "coarse"), [(0, False), (1, False), (0, True)])
def test_nothing_is_written_in_ninety_minutes(name: str, seed: int, coarse: bool) -> None:
    """With all controllers and the kubelet at work."""
    world = VirtualCluster(seed, copy=a_copy(name), coarse=coarse)

    assert world.play(rest) == []


@pytest.mark.parametrize("name", STATES)
def test_objects_are_as_they_were_listed(name: str) -> None:
    """UIDs, versions, times, statuses and who owns which fields included."""
    listed = json.loads((FOLDER / f"{name}.json").read_text())["items"]
    cluster = VirtualCluster(copy=a_copy(name)).cluster
    kept = {version.head.uid: version.tree() for _, version in cluster.store.everything()}

    assert [each["kind"] for each in listed if "uid" not in each["metadata"]] == ["ComponentStatus"] * 3
    assert [each for each in listed if "uid" in each["metadata"] and kept.get(each["metadata"]["uid"]) != each] == []


def test_a_copy_rests_as_well_after_it_was_saved(tmp_path: Path) -> None:
    async def kept(world: VirtualCluster) -> None:
        save(world.cluster, tmp_path)

    VirtualCluster(copy=a_copy("stuck")).play(kept)

    assert VirtualCluster(copy=read_saved(tmp_path)).play(rest) == []


def test_time_goes_on_from_the_moment_of_the_copy() -> None:
    async def scenario(world: VirtualCluster) -> str:
        made = await world.create(CONFIG_MAPS, SHOP, {"metadata": {"name": "now"}})
        created: str = made["metadata"]["creationTimestamp"]
        return created

    copy = a_copy("at_rest")
    times = [
        version.tree()["metadata"]["creationTimestamp"] for table in copy.tables.values() for version in table.values()
    ]

    assert max(times) <= VirtualCluster(copy=copy).play(scenario) == f"{copy.now:%Y-%m-%dT%H:%M:%SZ}"


def test_a_deployment_that_is_changed_rolls_out_and_the_rest_stays() -> None:
    async def scenario(world: VirtualCluster) -> set[str]:
        image = {"spec": {"template": {"metadata": {"annotations": {"release": "3"}}}}}
        await world.patch(DEPLOYMENTS, SHOP, "web", image)

        async def done() -> bool:
            web = await world.get(DEPLOYMENTS, SHOP, "web") or {}
            status, is_seen = web["status"], web["status"]["observedGeneration"] == web["metadata"]["generation"]
            counts = {status.get("updatedReplicas"), status.get("availableReplicas"), status["replicas"]}
            return is_seen and counts == {4}

        await world.until(done)
        return {each.name for each in world.cluster.history.of(PODS)}

    touched = VirtualCluster(copy=a_copy("at_rest")).play(scenario)

    assert touched
    assert all(name.startswith("web-") for name in touched)


def test_a_set_rolls_on_from_its_partition() -> None:
    async def scenario(world: VirtualCluster) -> list[Tree]:
        await world.patch(
            STATEFUL_SETS, SHOP, "database", {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}}
        )

        async def done() -> bool:
            status = (await world.get(STATEFUL_SETS, SHOP, "database") or {})["status"]
            return bool(status["currentRevision"] == status["updateRevision"] and status["availableReplicas"] == 3)

        await world.until(done)
        return [each for each in await world.list(PODS, SHOP) if each["metadata"]["labels"].get("app") == "database"]

    copy = a_copy("at_rest")
    before = {key[1]: version.head.uid for key, version in copy.tables[PODS].items() if key[1].startswith("database")}
    after = {each["metadata"]["name"]: each["metadata"]["uid"] for each in VirtualCluster(copy=copy).play(scenario)}

    assert after["database-2"] == before["database-2"], "it was of the new revision already"
    assert after["database-1"] != before["database-1"]
    assert after["database-0"] != before["database-0"]


def test_only_those_act_who_are_chosen() -> None:
    async def scenario(world: VirtualCluster) -> list[str]:
        await world.patch(DEPLOYMENTS, SHOP, "web", {"spec": {"replicas": 6}})
        await asyncio.sleep(LONG)
        return writes(world)[1:]

    def acting(*controllers: str) -> list[str]:
        return VirtualCluster(copy=a_copy("at_rest"), controllers=controllers).play(scenario)

    assert acting() == []
    assert {each.split()[0].rpartition(":")[2] for each in acting("deployment-controller")} == {"deployment-controller"}
    still = acting("*", "-kubelet")
    assert [each for each in still if "kubelet" in each] == []
    assert len([each for each in still if " create pods " in each]) == 2


def test_who_is_no_controller_cannot_be_chosen() -> None:
    with pytest.raises(ValueError, match='no controller is named "stateful-controller": choose of clusterrole-'):
        VirtualCluster(controllers=["stateful-controller"])


def test_new_pods_become_ready_after_the_time_that_those_like_them_needed() -> None:
    async def scenario(world: VirtualCluster) -> float:
        await world.client.call(delete_of(PODS, "ingester-zone-a-0"))

        async def back() -> bool:
            pod = await world.get(PODS, SHOP, "ingester-zone-a-0")
            return pod is not None and "deletionTimestamp" not in pod["metadata"] and is_ready(pod)

        return await world.until(back)

    took = VirtualCluster(copy=a_copy("in_the_middle"), ready_after=500.0).play(scenario)

    assert 3 <= took <= 6, "the kubelet took three seconds where it was recorded"


def test_new_pods_get_stuck_where_none_of_their_revision_is_ready() -> None:
    async def scenario(world: VirtualCluster) -> dict[str, str]:
        for name in ("crashing-0", "crashing-1", "volumes-0"):
            await world.client.call(delete_of(PODS, name))
        await asyncio.sleep(600)
        return {each["metadata"]["name"]: state_of(each) for each in await world.list(PODS, SHOP)}

    states = VirtualCluster(copy=a_copy("stuck")).play(scenario)

    assert states["crashing-0"] != "ready"
    assert states["crashing-1"] == "ImagePullBackOff"
    assert states["volumes-0"] == "unbound"


def test_what_somebody_changes_rests_no_longer() -> None:
    async def scenario(world: VirtualCluster) -> list[bool]:
        await world.patch(PODS, SHOP, "ingester-zone-b-0", {"metadata": {"annotations": {"touched": "yes"}}})
        await asyncio.sleep(60)
        pods = [await world.get(PODS, SHOP, f"ingester-zone-b-{number}") for number in (0, 1)]
        return [is_ready(pod or {}) for pod in pods]

    assert VirtualCluster(copy=a_copy("in_the_middle")).play(scenario) == [True, False]


def test_pods_under_way_go_on_where_that_is_wanted() -> None:
    async def scenario(world: VirtualCluster) -> set[bool]:
        await asyncio.sleep(60)
        return {is_ready(each) for each in await world.list(PODS, SHOP)}

    copy = a_copy("in_the_middle", go_on=True)

    assert VirtualCluster(copy=copy, ready_after=500.0).play(scenario) == {True}


def test_ports_of_services_are_taken() -> None:
    async def scenario(world: VirtualCluster) -> str:
        return await refusal(world, {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30080}]})

    assert "provided port is already allocated" in VirtualCluster(copy=a_copy("at_rest")).play(scenario)


async def refusal(world: VirtualCluster, spec: Tree) -> str:
    with pytest.raises(Invalid) as refused:
        await world.create(SERVICES, SHOP, {"metadata": {"name": "another"}, "spec": spec})
    return str(refused.value)


def test_a_webhook_of_the_copy_that_nobody_answers_for_lets_pass() -> None:
    """It is about all secrets, and fails closed."""

    async def scenario(world: VirtualCluster) -> Tree:
        return await world.create(SECRETS, SHOP, {"metadata": {"name": "new"}})

    assert VirtualCluster(copy=a_copy("at_rest")).play(scenario)["metadata"]["name"] == "new"


def test_a_webhook_of_the_copy_is_played_by_who_answers_at_its_name() -> None:
    async def refuse(_call: Call) -> Reply:
        return Reply(500, b"no")

    async def scenario(world: VirtualCluster) -> str:
        world.cluster.network.serve("reviewer.shop.svc", refuse)
        with pytest.raises(KubeError) as refused:
            await world.create(SECRETS, SHOP, {"metadata": {"name": "new"}})
        return str(refused.value)

    assert 'failed calling webhook "review.example.com"' in VirtualCluster(copy=a_copy("at_rest")).play(scenario)


def test_kinds_are_served_that_nobody_defines_here() -> None:
    async def scenario(world: VirtualCluster) -> tuple[list[str], list[str]]:
        devices, widgets = await world.list(DEVICES), await world.list(WIDGETS, SHOP)
        return [each["metadata"]["name"] for each in devices], [each["metadata"]["name"] for each in widgets]

    assert VirtualCluster(copy=a_copy("at_rest")).play(scenario) == (["gpu"], ["first"])


def test_what_a_custom_object_owns_goes_with_it() -> None:
    async def scenario(world: VirtualCluster) -> Tree | None:
        await world.client.call(delete_of(WIDGETS, "first"))
        await asyncio.sleep(10)
        return await world.get(CONFIG_MAPS, SHOP, "of-the-widget")

    assert VirtualCluster(copy=a_copy("at_rest")).play(scenario) is None


def test_nodes_that_are_not_ready_get_no_pods() -> None:
    async def scenario(world: VirtualCluster) -> set[str]:
        await world.patch(DEPLOYMENTS, SHOP, "steady", {"spec": {"replicas": 12}})
        await asyncio.sleep(60)
        pods = [each for each in await world.list(PODS, SHOP) if each["metadata"]["labels"].get("app") == "steady"]
        assert all(is_ready(each) for each in pods)
        return {each["spec"]["nodeName"] for each in pods}

    world = VirtualCluster(copy=a_copy("stuck"))

    assert world.play(scenario) <= {"worker-a-1", "worker-b-1", "worker-c-1"}
    assert sorted(key[1] for key in world.cluster.store.table(NODES).live) == [
        "worker-a-1",
        "worker-b-1",
        "worker-c-1",
        "worker-d-1",
    ]


def test_daemons_are_not_multiplied() -> None:
    world = VirtualCluster(copy=a_copy("at_rest"))
    world.play(rest)

    assert world.cluster.get(DAEMON_SETS, SHOP, "agent")["status"]["numberReady"] == 3


# Forks


async def busy(world: VirtualCluster) -> str:
    await world.patch(DEPLOYMENTS, SHOP, "web", {"spec": {"replicas": 7}})
    await world.client.call(delete_of(PODS, "ingester-zone-a-0"))
    await asyncio.sleep(120)
    return world.cluster.history.digest()


def test_the_same_seed_gives_the_same_digest_of_all_writes() -> None:
    copy = a_copy("at_rest")
    first, again, other = (VirtualCluster(seed, copy=copy).play(busy) for seed in (5, 5, 6))

    assert first == again
    assert first != other


def test_forks_do_not_see_each_other() -> None:
    copy = a_copy("at_rest")
    one, two = VirtualCluster(1, copy=copy), VirtualCluster(2, copy=copy)
    one.play(busy)

    assert two.play(rest) == []
    assert one.cluster.store.revision > two.cluster.store.revision == copy.revision
    assert VirtualCluster(copy=copy).play(rest) == []


def test_a_cluster_is_forked_in_the_middle_of_what_it_does() -> None:
    """What is drawn afterwards is drawn anew: no name and no UID is given twice."""
    forked: list[Copy] = []

    async def fork(world: VirtualCluster) -> None:
        await world.patch(DEPLOYMENTS, SHOP, "web", {"spec": {"replicas": 7}})
        await asyncio.sleep(0.5)
        forked.append(world.cluster.copy())

    async def grown(world: VirtualCluster) -> list[str]:
        await world.patch(DEPLOYMENTS, SHOP, "web", {"spec": {"replicas": 12}})
        await asyncio.sleep(120)
        pods = [each for each in await world.list(PODS, SHOP) if each["metadata"]["labels"].get("app") == "web"]
        assert all(is_ready(each) for each in pods)
        return [each["metadata"]["uid"] for each in pods]

    VirtualCluster(3, copy=a_copy("at_rest")).play(fork)
    uids = VirtualCluster(3, copy=forked[0]).play(grown)

    assert len(set(uids)) == len(uids) == 12


# Who needs what


@pytest.mark.parametrize("controller", CONTROLLERS, ids=lambda each: each.name)
def test_a_controller_needs_what_it_looks_at(controller: Any) -> None:
    async def looked_at() -> set[Resource]:
        verbs = Verbs(Store())
        controller.make(Setting(verbs, Chosen(Verbs(Store())), "", frozenset()))
        return {resource for resource, _ in verbs.views}

    assert asyncio.run(looked_at()) <= set(controller.needs)


def test_every_controller_has_its_name() -> None:
    assert sorted((*(each.name for each in CONTROLLERS), KUBELET)) == sorted(NAMES)
    assert ALL == ("*",)


# What tests read


def delete_of(resource: Resource, name: str) -> Request:
    return delete(Ref(resource, SHOP, name))


def is_ready(pod: Tree) -> bool:
    conditions = pod.get("status", {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def state_of(pod: Tree) -> str:
    if "nodeName" not in pod["spec"]:
        return "unbound"
    if is_ready(pod):
        return "ready"
    waiting = [each["state"].get("waiting", {}).get("reason") for each in pod["status"].get("containerStatuses") or ()]
    return next((each for each in waiting if each), "not ready")
