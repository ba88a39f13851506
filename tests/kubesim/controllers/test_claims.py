"""Claims are bound, volumes reclaimed and both protected, as kube-controller-manager 1.36.4 did when it was asked."""

from __future__ import annotations

from typing import Any

import pytest

from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Resource
from kubesim.controllers.claim_objects import OURS
from kubesim.errors import StatusError
from kubesim.kinds.registry import CLAIMS, CORE_EVENTS, NODES, STORAGE_CLASSES, VOLUMES
from kubesim.store.versions import Tree
from tests.kubesim.controllers.world import NAMESPACE, World, play

SEEDS = range(8)
BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
COMPLETED = "pv.kubernetes.io/bind-completed"


def a_volume(name: str, size: str = "1Gi", modes: tuple[str, ...] = ("ReadWriteOnce",), **spec: Any) -> Tree:
    given = {"capacity": {"storage": size}, "accessModes": list(modes), "hostPath": {"path": "/x"}}
    return {"metadata": {"name": name, "labels": {"name": name}}, "spec": given | spec}


def a_claim(name: str, size: str = "1Gi", storage_class: str | None = "", **spec: Any) -> Tree:
    given: Tree = {"resources": {"requests": {"storage": size}}, "accessModes": ["ReadWriteOnce"]}
    if storage_class is not None:
        given["storageClassName"] = storage_class
    return {"metadata": {"name": name}, "spec": given | spec}


def a_class(name: str, provisioner: str = OURS, *, default: bool = False, **fields: Any) -> Tree:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    return {"metadata": {"name": name, "annotations": annotations}, "provisioner": provisioner} | fields


def a_pod(claim: str, node: str = "n") -> Tree:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
    containers = [{"name": "c", "image": "i"}]
    return {"metadata": {"name": "user"}, "spec": {"nodeName": node, "containers": containers, "volumes": volumes}}


def claim(world: World, name: str) -> Tree:
    return world.verbs.read(CLAIMS, NAMESPACE, name)


def volume(world: World, name: str) -> Tree:
    return world.verbs.read(VOLUMES, "", name)


def phases(world: World) -> dict[str, str]:
    """Of all claims and volumes."""
    return {
        each["metadata"]["name"]: each["status"]["phase"]
        for resource in (CLAIMS, VOLUMES)
        for each in world.verbs.list(resource)
    }


def told(world: World) -> set[str]:
    return {
        f"{each['involvedObject']['name']} {each['type']} {each['reason']}: {each['message']}"
        for each in world.verbs.list(CORE_EVENTS)
    }


def delete_volume(world: World, name: str) -> None:
    world.verbs.delete(VOLUMES, "", name, user="tester")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_claim_gets_the_volume_that_fits_best(seed: int) -> None:
    """Of two of a size the one that can be mounted in fewer ways."""

    async def scenario(world: World) -> None:
        for tree in (
            a_volume("small"),
            a_volume("large", "5Gi"),
            a_volume("wide", modes=("ReadWriteOnce", "ReadOnlyMany")),
        ):
            world.create(VOLUMES, tree)
        await world.settle()
        assert set(phases(world).values()) == {"Available"}
        world.create(CLAIMS, a_claim("first"))
        await world.settle()
        world.create(CLAIMS, a_claim("second", "2Gi"))
        world.create(CLAIMS, a_claim("third", "50Gi"))
        await world.settle()

        found, kept = claim(world, "first"), volume(world, "small")
        assert found["spec"]["volumeName"] == "small"
        assert found["metadata"]["annotations"] == {COMPLETED: "yes", BY_CONTROLLER: "yes"}
        assert found["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
        assert found["status"] == {
            "phase": "Bound",
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
        }
        assert kept["metadata"]["annotations"] == {BY_CONTROLLER: "yes"}
        assert kept["metadata"]["finalizers"] == ["kubernetes.io/pv-protection"]
        reference = kept["spec"]["claimRef"]
        assert (reference["kind"], reference["name"], reference["uid"]) == (
            "PersistentVolumeClaim",
            "first",
            found["metadata"]["uid"],
        )
        assert claim(world, "second")["status"]["capacity"] == {"storage": "5Gi"}
        assert phases(world) == {
            "first": "Bound",
            "second": "Bound",
            "third": "Pending",
            "small": "Bound",
            "large": "Bound",
            "wide": "Available",
        }
        assert told(world) == {
            "third Normal FailedBinding: no persistent volumes available for this claim and no storage class is set"
        }

    play(scenario, seed=seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_volumes_and_claims_that_ask_for_each_other(seed: int) -> None:
    async def scenario(world: World) -> None:
        world.create(VOLUMES, a_volume("set-aside", claimRef={"namespace": NAMESPACE, "name": "expected"}))
        world.create(VOLUMES, a_volume("wanted"))
        world.create(CLAIMS, a_claim("wanting", volumeName="wanted"))
        await world.settle()
        world.create(CLAIMS, a_claim("late", volumeName="wanted"))
        world.create(CLAIMS, a_claim("too-large", "9Gi", volumeName="small"))
        world.create(VOLUMES, a_volume("small"))
        assert volume(world, "set-aside")["status"]["phase"] == "Available"
        world.create(CLAIMS, a_claim("expected"))
        await world.settle()

        assert claim(world, "expected")["spec"]["volumeName"] == "set-aside"
        assert "annotations" not in volume(world, "set-aside")["metadata"]
        assert claim(world, "wanting")["metadata"]["annotations"] == {COMPLETED: "yes"}
        assert volume(world, "wanted")["metadata"]["annotations"] == {BY_CONTROLLER: "yes"}
        assert told(world) == {
            'late Warning FailedBinding: volume "wanted" already bound to a different claim.',
            'too-large Warning VolumeMismatch: Cannot bind to requested volume "small": requested PV is too small',
        }

    play(scenario, seed=seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_becomes_of_a_volume_whose_claim_is_gone(seed: int) -> None:
    async def scenario(world: World) -> None:
        for name, policy, path in (
            ("kept", "Retain", "/x"),
            ("stuck", "Delete", "/x"),
            ("gone", "Delete", "/tmp/x"),
            ("reused", "Recycle", "/x"),
        ):
            spec: dict[str, Any] = {"persistentVolumeReclaimPolicy": policy, "hostPath": {"path": path}}
            world.create(VOLUMES, a_volume(name, **spec))
            world.create(CLAIMS, a_claim(f"for-{name}", volumeName=name))
        await world.settle()
        for each in world.verbs.list(CLAIMS):
            world.delete(CLAIMS, each["metadata"]["name"])
        await world.settle()

        assert phases(world) == {"kept": "Released", "stuck": "Failed", "reused": "Failed"}
        assert told(world) == {
            "stuck Warning VolumeFailedDelete: host_path deleter only supports /tmp/.+ but received provided /x",
            "reused Warning VolumeFailedRecycle: No recycler plugin found for the volume!",
        }
        assert volume(world, "kept")["spec"]["claimRef"]["name"] == "for-kept"

    play(scenario, seed=seed)


def test_a_volume_in_use_stays_until_its_claim_is_gone_and_a_claim_until_its_pod_is() -> None:
    async def scenario(world: World) -> None:
        world.create(NODES, {"metadata": {"name": "n"}})
        world.create(VOLUMES, a_volume("data"))
        world.create(CLAIMS, a_claim("data"))
        world.create(PODS, a_pod("data"))
        await world.settle()
        delete_volume(world, "data")
        world.delete(CLAIMS, "data")
        await world.settle()
        assert phases(world) == {"data": "Bound"}
        assert len(world.verbs.list(CLAIMS)) == len(world.verbs.list(VOLUMES)) == 1

        world.verbs.delete(PODS, NAMESPACE, "user", grace=0, user="kubelet")
        await world.settle()
        assert phases(world) == {}

    play(scenario)


def test_a_claim_that_loses_its_volume_says_so() -> None:
    async def scenario(world: World) -> None:
        world.create(VOLUMES, a_volume("data"))
        await world.settle()
        world.create(CLAIMS, a_claim("data"))
        await world.settle()
        tree = volume(world, "data")
        del tree["metadata"]["finalizers"]
        world.verbs.update(VOLUMES, "", "data", tree, user="tester")
        delete_volume(world, "data")
        await world.settle()

        assert phases(world) == {"data": "Lost"}
        assert told(world) == {
            "data Warning ClaimLost: Bound claim has lost its PersistentVolume. Data on the volume is lost!"
        }

    play(scenario)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_class_of_ours_has_volumes_made_and_taken_away(seed: int) -> None:
    async def scenario(world: World) -> None:
        world.create(STORAGE_CLASSES, a_class("standard", default=True))
        world.create(CLAIMS, a_claim("data", storage_class=None))
        await world.settle()
        found = claim(world, "data")
        made = f"pvc-{found['metadata']['uid']}"
        assert found["spec"]["storageClassName"] == "standard"
        assert phases(world) == {"data": "Bound", made: "Bound"}
        assert volume(world, made)["spec"]["persistentVolumeReclaimPolicy"] == "Delete"

        world.delete(CLAIMS, "data")
        await world.settle()
        assert phases(world) == {}

    play(scenario, seed=seed)


def test_a_class_that_waits_has_a_volume_made_when_a_pod_uses_the_claim() -> None:
    async def scenario(world: World) -> None:
        world.create(NODES, {"metadata": {"name": "n"}})
        world.create(VOLUMES, a_volume("free", storageClassName="late"))
        world.create(STORAGE_CLASSES, a_class("late", volumeBindingMode="WaitForFirstConsumer", reclaimPolicy="Retain"))
        world.create(CLAIMS, a_claim("data", storage_class="late"))
        await world.settle()
        assert phases(world) == {"data": "Pending", "free": "Available"}
        assert told(world) == {
            "data Normal WaitForFirstConsumer: waiting for first consumer to be created before binding"
        }

        world.create(PODS, a_pod("data"))
        await world.settle()
        made = claim(world, "data")["spec"]["volumeName"]
        assert phases(world) == {"data": "Bound", "free": "Available", made: "Bound"}

    play(scenario)


@pytest.mark.parametrize(
    ("provisioner", "event"),
    [
        (
            "example.com/x",
            (
                "data Normal ExternalProvisioning: Waiting for a volume to be created either by the external "
                "provisioner 'example.com/x' or manually by the system administrator. If volume creation is delayed, "
                "please verify that the provisioner is running and correctly registered."
            ),
        ),
        (
            "kubernetes.io/no-provisioner",
            "data Warning ProvisioningFailed: no volume plugin matched name: kubernetes.io/no-provisioner",
        ),
        ("", 'data Warning ProvisioningFailed: storageclass.storage.k8s.io "theirs" not found'),
    ],
)
def test_other_classes_leave_claims_waiting(provisioner: str, event: str) -> None:
    async def scenario(world: World) -> None:
        if provisioner:
            world.create(STORAGE_CLASSES, a_class("theirs", provisioner))
        world.create(CLAIMS, a_claim("data", storage_class="theirs"))
        await world.settle()

        assert phases(world) == {"data": "Pending"}
        assert told(world) == {event}
        named = claim(world, "data")["metadata"].get("annotations", {})
        assert set(named.values()) == ({provisioner} if provisioner == "example.com/x" else set())

    play(scenario)


def test_without_a_default_class_a_claim_names_none() -> None:
    async def scenario(world: World) -> None:
        world.create(STORAGE_CLASSES, a_class("plain"))
        world.create(CLAIMS, a_claim("data", storage_class=None))

        assert "storageClassName" not in claim(world, "data")["spec"]
        with pytest.raises(StatusError):
            world.create(CLAIMS, a_claim("data"))

    play(scenario)


@pytest.mark.parametrize(("resource", "kind"), [(CLAIMS, "pvc"), (VOLUMES, "pv")])
def test_protection_that_is_taken_away_is_given_back(resource: Resource, kind: str) -> None:
    async def script(world: World) -> None:
        world.create(CLAIMS, a_claim("it"))
        world.create(VOLUMES, a_volume("it"))
        await world.settle()
        namespace = NAMESPACE if resource.namespaced else ""
        bare = world.verbs.read(resource, namespace, "it")
        bare["metadata"]["finalizers"] = []
        world.verbs.update(resource, namespace, "it", bare, user="tester")
        await world.settle()

    world = play(script)

    [found] = world.verbs.list(resource)
    assert found["metadata"]["finalizers"] == [f"kubernetes.io/{kind}-protection"]
    assert set(phases(world).values()) == {"Bound"}


@pytest.mark.parametrize("field", ["dataSource", "dataSourceRef"])
def test_what_a_claim_is_filled_from_is_named_again(field: str) -> None:
    """Each of the two fields is filled in from the other."""

    async def script(world: World) -> None:
        world.create(CLAIMS, a_claim("it", dataSource={"kind": "PersistentVolumeClaim", "name": "other"}))
        world.patch(CLAIMS, "it", {"spec": {field: None}})

    spec = claim(play(script), "it")["spec"]

    assert [spec[each]["name"] for each in ("dataSource", "dataSourceRef")] == ["other"] * 2
