"""The claims of StatefulSets: what they are like, what is told of them, and what stands in their way."""

from __future__ import annotations

from typing import Any

from kubesim.kinds.registry import CLAIMS, PODS, STATEFUL_SETS
from kubesim.store.versions import Tree
from tests.kubesim.controllers.world import World, a_set_tree, play

SPEC = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def a_set(deleted: str = "Retain", scaled: str = "Retain", **spec: Any) -> Tree:
    templates = [{"metadata": {"name": "data", "labels": {"of": "data"}, "annotations": {"note": "a"}}, "spec": SPEC}]
    policy = {"whenDeleted": deleted, "whenScaled": scaled}
    return a_set_tree("x", volumeClaimTemplates=templates, persistentVolumeClaimRetentionPolicy=policy, **spec)


def claim(world: World, name: str) -> Tree:
    return world.verbs.read(CLAIMS, "default", name)


def a_claim(name: str, **metadata: Any) -> Tree:
    return {"metadata": {"name": name, **metadata}, "spec": SPEC}


def a_pod(world: World, name: str, **labels: str) -> Tree:
    """A pod that nobody has made."""
    spec = {"containers": [{"name": "c", "image": "i:1"}]}
    return world.create(PODS, {"metadata": {"name": name, "labels": labels}, "spec": spec})


def test_a_claim_is_made_after_its_template_before_the_pod() -> None:
    async def scenario(world: World) -> None:
        world.create(STATEFUL_SETS, a_set("Delete", replicas=1))
        await world.settle()

        found = claim(world, "data-x-0")
        meta = found["metadata"]
        assert meta["labels"] == {"app": "x", "of": "data"}
        assert meta["annotations"] == {"note": "a"}
        assert meta["finalizers"] == ["kubernetes.io/pvc-protection"]
        assert meta["ownerReferences"] == [
            {
                "apiVersion": "apps/v1",
                "blockOwnerDeletion": True,
                "controller": True,
                "kind": "StatefulSet",
                "name": "x",
                "uid": world.set("x")["metadata"]["uid"],
            }
        ]
        assert found["spec"] == SPEC | {"volumeMode": "Filesystem"}
        assert found["status"] == {"phase": "Pending"}
        created = [resource for resource, event, _ in world.writes if event.type == "ADDED"]
        assert created.index(CLAIMS) < created.index(PODS)
        assert {
            "SuccessfulCreate: Create Claim data-x-0 Pod x-0 in StatefulSet x success": 1,
            "SuccessfulCreate: Create Pod x-0 in StatefulSet x successful": 1,
        }.items() <= world.events().items()

    play(scenario)


def test_a_pod_without_the_volume_cannot_be_given_it() -> None:
    async def scenario(world: World) -> None:
        a_pod(world, "x-0", app="x")
        world.create(STATEFUL_SETS, a_set(replicas=1))
        await world.settle()

        text = 'FailedUpdate: Update Pod x-0 in StatefulSet x failed error: Pod "x-0" is invalid: spec: Forbidden: pod '
        assert any(told.startswith(text) for told in world.events())
        assert claim(world, "data-x-0")["metadata"]["labels"]["of"] == "data"

    play(scenario)


def test_a_pod_waits_for_a_claim_of_its_place_to_go() -> None:
    async def scenario(world: World) -> None:
        world.create(CLAIMS, a_claim("data-x-0", finalizers=["test/hold"]))
        world.delete(CLAIMS, "data-x-0")
        await world.settle()
        world.create(STATEFUL_SETS, a_set(replicas=1))
        await world.settle(30)
        assert not world.pods()
        text = "FailedCreate: Create Pod x-0 in StatefulSet x failed error: pvc data-x-0 is being deleted"
        assert world.events()[text] > 1

        world.patch(CLAIMS, "data-x-0", {"metadata": {"finalizers": []}})
        await world.settle(60)

        assert list(world.pods()) == ["x-0"]
        assert "deletionTimestamp" not in claim(world, "data-x-0")["metadata"]

    play(scenario)


def test_a_claim_that_goes_with_an_earlier_pod_of_the_place_blocks_it() -> None:
    async def scenario(world: World) -> None:
        earlier = {"apiVersion": "v1", "kind": "Pod", "name": "x-1", "uid": "earlier"}
        held = a_pod(world, "other")
        alive = {"apiVersion": "v1", "kind": "Pod", "name": "other", "uid": held["metadata"]["uid"]}
        world.create(CLAIMS, a_claim("data-x-1", ownerReferences=[earlier, alive]))
        world.create(STATEFUL_SETS, a_set(scaled="Delete", replicas=2))
        seen = set()
        for _ in range(5):
            await world.settle(0.002)
            seen |= set(world.pods())

        assert "x-1" not in seen

    play(scenario, lag=(0.02, 0.02))


def test_a_claim_that_somebody_else_controls_is_left_to_them() -> None:
    async def scenario(world: World) -> None:
        other = a_pod(world, "other")
        uid = other["metadata"]["uid"]
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "other", "uid": uid, "controller": True}
        world.create(CLAIMS, a_claim("data-x-0", ownerReferences=[owner]))
        await world.settle()
        world.create(STATEFUL_SETS, a_set("Delete", replicas=1))
        await world.settle()

        assert [each["name"] for each in claim(world, "data-x-0")["metadata"]["ownerReferences"]] == ["other"]
        text = (
            "ConflictingController: PersistentVolumeClaim data-x-0 has a conflicting OwnerReference that acts as a "
            "manging controller, the retention policy is ignored for this claim"
        )
        assert text in world.events()

    play(scenario)


def test_claims_follow_a_change_of_the_policy_and_the_pod_counts_as_updated() -> None:
    async def scenario(world: World) -> None:
        world.create(STATEFUL_SETS, a_set(replicas=1))
        await world.settle()
        assert "ownerReferences" not in claim(world, "data-x-0")["metadata"]

        change = {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Delete"}}
        world.make_ready("x-0")
        await world.settle()
        world.patch(STATEFUL_SETS, "x", {"spec": change})
        await world.settle()

        assert [each["name"] for each in claim(world, "data-x-0")["metadata"]["ownerReferences"]] == ["x"]
        assert world.events()["SuccessfulUpdate: Update Pod x-0 in StatefulSet x successful"] == 1

    play(scenario)
