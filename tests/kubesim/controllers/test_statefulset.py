"""The StatefulSet controller at work on the embedded API, behind its lagging watches."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.controllers.revisions import hash_of, patch_of
from kubesim.kinds.registry import CONTROLLER_REVISIONS, NAMESPACES, PODS, STATEFUL_SETS
from tests.kubesim.controllers.world import World, a_set_tree, play, with_image

SEEDS = range(20)


async def two_ready(world: World, **spec: Any) -> None:
    world.create(STATEFUL_SETS, a_set_tree(replicas=2, **spec))
    await world.settle()
    world.make_ready("web-0", "web-1")
    await world.settle()


def counts(status: dict[str, object]) -> str:
    return f"{status.get('readyReplicas', 0)} of {status['replicas']}"


def test_a_pod_has_the_identity_of_its_place() -> None:
    async def scenario(world: World) -> None:
        world.create(STATEFUL_SETS, a_set_tree(replicas=1, ordinals={"start": 5}))

        await world.settle()

        (pod,) = world.pods().values()
        revision = world.status()["updateRevision"]
        assert pod["metadata"]["name"] == "web-5"
        assert pod["metadata"]["labels"] == {
            "app": "web",
            "apps.kubernetes.io/pod-index": "5",
            "controller-revision-hash": revision,
            "statefulset.kubernetes.io/pod-name": "web-5",
        }
        assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("web-5", "web")
        assert pod["metadata"]["ownerReferences"] == [
            {
                "apiVersion": "apps/v1",
                "kind": "StatefulSet",
                "name": "web",
                "uid": world.set()["metadata"]["uid"],
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]

    play(scenario)


def test_a_set_that_is_gone_makes_no_pods() -> None:
    """News of a pod may come before that of the set which went first."""

    async def scenario(world: World) -> None:
        tree = a_set_tree(replicas=1)
        tree["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 0
        world.create(STATEFUL_SETS, tree)
        await world.settle()
        world.delete(STATEFUL_SETS, "web")
        await world.settle(5)

        assert world.made() == ["web-0"]

    for seed in range(40):
        play(scenario, seed=seed)


def test_what_the_template_says_comes_to_the_pod() -> None:
    async def scenario(world: World) -> None:
        tree = a_set_tree(replicas=1)
        tree["spec"]["template"]["metadata"] |= {"annotations": {"x": "y"}, "finalizers": ["a.example/b"]}
        world.create(STATEFUL_SETS, tree)

        await world.settle()

        metadata = world.pods()["web-0"]["metadata"]
        assert (metadata["annotations"], metadata["finalizers"]) == ({"x": "y"}, ["a.example/b"])

    play(scenario)


def test_an_ordered_set_makes_the_next_pod_when_the_one_before_is_ready() -> None:
    async def scenario(world: World) -> None:
        world.create(STATEFUL_SETS, a_set_tree(podManagementPolicy="OrderedReady"))
        await world.settle()
        assert list(world.pods()) == ["web-0"]

        world.make_ready("web-0")
        await world.settle()

        assert list(world.pods()) == ["web-0", "web-1"]

    play(scenario)


def test_the_status_of_a_new_set_is_complete() -> None:
    async def scenario(world: World) -> None:
        await two_ready(world)

        status = world.status()
        revision = status["updateRevision"]
        assert status == {
            "observedGeneration": 1,
            "replicas": 2,
            "readyReplicas": 2,
            "availableReplicas": 2,
            "currentReplicas": 2,
            "updatedReplicas": 2,
            "currentRevision": revision,
            "updateRevision": revision,
            "collisionCount": 0,
        }

    play(scenario)


def test_a_status_after_a_pod_is_gone_can_still_count_it_as_ready() -> None:
    """Whoever trusts readyReplicas right after a deletion believes that all is well."""
    seen: set[tuple[str, ...]] = set()
    for seed in SEEDS:

        async def scenario(world: World) -> None:
            await two_ready(world)
            before = len(world.statuses())

            world.delete(PODS, "web-0")
            await world.settle()

            seen.add(tuple(counts(status) for status in world.statuses()[before:]))

        play(scenario, seed=seed)

    assert ("2 of 2", "1 of 1", "1 of 2") in seen
    assert all(states[-1] == "1 of 2" for states in seen)


def test_a_changed_template_shows_first_with_the_old_generation_and_revision() -> None:
    async def scenario(world: World) -> None:
        await two_ready(world)
        before = world.status()

        world.patch(STATEFUL_SETS, "web", with_image("i:2"))

        assert world.set()["metadata"]["generation"] == 2
        assert world.status() == before
        await world.settle()
        after = world.status()
        assert after["observedGeneration"] == 2
        assert after["updateRevision"] != before["updateRevision"]
        assert after["currentRevision"] == before["currentRevision"]

    play(scenario)


def test_with_on_delete_the_current_revision_never_moves() -> None:
    async def scenario(world: World) -> None:
        await two_ready(world)
        first = world.status()["currentRevision"]
        world.patch(STATEFUL_SETS, "web", with_image("i:2"))
        await world.settle()

        for name in ("web-0", "web-1"):
            world.delete(PODS, name)
            await world.settle()
            world.make_ready(name)
        await world.settle()

        status = world.status()
        assert (status["currentRevision"], status["updatedReplicas"]) == (first, 2)
        assert "currentReplicas" not in status

    play(scenario)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_rolling_update_replaces_from_the_top_and_completes(seed: int) -> None:
    async def scenario(world: World) -> None:
        await two_ready(world, updateStrategy={"type": "RollingUpdate"})
        made = len(world.made())

        world.patch(STATEFUL_SETS, "web", with_image("i:2"))
        for name in ("web-1", "web-0"):
            await world.settle()
            world.make_ready(name)
        await world.settle()

        assert world.made()[made:] == ["web-1", "web-0"]
        status = world.status()
        assert status["currentRevision"] == status["updateRevision"] == world.revisions()["i:2"]["metadata"]["name"]
        assert status["currentReplicas"] == 2

    play(scenario, seed=seed)


def test_a_pod_below_the_partition_comes_back_as_it_was() -> None:
    async def scenario(world: World) -> None:
        await two_ready(world, updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 1}})
        world.patch(STATEFUL_SETS, "web", with_image("i:2"))
        await world.settle()

        world.delete(PODS, "web-0")
        await world.settle()

        images = {name: pod["spec"]["containers"][0]["image"] for name, pod in world.pods().items()}
        assert images == {"web-0": "i:1", "web-1": "i:2"}

    play(scenario)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_pod_is_made_or_deleted_twice_however_late_the_watches_are(seed: int) -> None:
    """Every creation and deletion is told once; a second attempt would be refused or told again."""

    async def scenario(world: World) -> None:
        world.create(STATEFUL_SETS, a_set_tree(replicas=4))
        await world.settle(20)
        world.delete(PODS, "web-2")
        world.patch(STATEFUL_SETS, "web", {"spec": {"replicas": 2}})
        await world.settle(20)
        world.patch(STATEFUL_SETS, "web", {"spec": {"replicas": 3}})
        await world.settle(20)

    world = play(scenario, seed=seed, lag=(0.0, 2.0))

    told = world.events()
    made = sum(count for text, count in told.items() if text.startswith("SuccessfulCreate"))
    assert made == len(world.made())
    assert not [text for text in told if text.startswith("Failed")]
    assert told["SuccessfulDelete: Delete Pod web-3 in StatefulSet web successful"] == 1
    assert world.status()["replicas"] == 3


def test_creations_and_deletions_are_told_as_events() -> None:
    async def scenario(world: World) -> None:
        await two_ready(world)
        world.delete(PODS, "web-0")
        await world.settle()
        world.patch(STATEFUL_SETS, "web", {"spec": {"replicas": 1}})
        await world.settle()

        assert world.events() == {
            "SuccessfulCreate: Create Pod web-0 in StatefulSet web successful": 2,
            "SuccessfulCreate: Create Pod web-1 in StatefulSet web successful": 1,
            "SuccessfulDelete: Delete Pod web-1 in StatefulSet web successful": 1,
        }

    play(scenario)


def test_a_failed_pod_is_replaced() -> None:
    async def scenario(world: World) -> None:
        await two_ready(world)
        first = world.pods()["web-1"]["metadata"]["uid"]

        world.patch(PODS, "web-1", {"status": {"phase": "Failed"}}, "status")
        await world.settle()

        assert world.pods()["web-1"]["metadata"]["uid"] != first

    play(scenario)


def test_a_pod_becomes_available_when_its_time_has_come_and_nothing_else_happens() -> None:
    async def scenario(world: World) -> None:
        await two_ready(world, minReadySeconds=30)
        assert world.status()["availableReplicas"] == 0

        await world.settle(31)

        assert world.status()["availableReplicas"] == 2

    play(scenario)


def test_a_template_that_comes_back_finds_its_revision_again() -> None:
    async def scenario(world: World) -> None:
        await two_ready(world)
        first = world.status()["updateRevision"]
        world.patch(STATEFUL_SETS, "web", with_image("i:2"))
        await world.settle()

        world.patch(STATEFUL_SETS, "web", with_image("i:1"))
        await world.settle()

        assert world.status()["updateRevision"] == first
        assert {image: each["revision"] for image, each in world.revisions().items()} == {"i:1": 3, "i:2": 2}

    play(scenario)


def test_old_revisions_go_beyond_the_limit_but_not_those_of_pods() -> None:
    async def scenario(world: World) -> None:
        await two_ready(world, revisionHistoryLimit=1)

        for image in ("i:2", "i:3", "i:4", "i:5"):
            world.patch(STATEFUL_SETS, "web", with_image(image))
            await world.settle()

        assert sorted(world.revisions()) == ["i:1", "i:4", "i:5"]

    play(scenario)


def test_a_name_that_is_taken_by_other_data_is_a_collision() -> None:
    async def scenario(world: World) -> None:
        world.create(STATEFUL_SETS, a_set_tree("other"))
        await world.settle()
        template = world.set("other")["spec"]["template"]
        template["metadata"]["labels"] = {"app": "web"}
        taken = f"web-{hash_of(patch_of(template), 0)}"
        world.create(CONTROLLER_REVISIONS, {"metadata": {"name": taken}, "data": {"some": "thing"}, "revision": 1})

        world.create(STATEFUL_SETS, a_set_tree("web"))
        await world.settle()

        status = world.status()
        assert status["collisionCount"] == 1
        assert status["updateRevision"] == f"web-{hash_of(patch_of(template), 1)}"

    play(scenario)


def test_an_orphan_that_fits_is_adopted_and_gets_its_labels() -> None:
    async def scenario(world: World) -> None:
        orphan = {"metadata": {"name": "web-0", "labels": {"app": "web"}}, "spec": a_pod_spec()}
        world.create(PODS, orphan)
        uid = world.pods()["web-0"]["metadata"]["uid"]

        world.create(STATEFUL_SETS, a_set_tree())
        await world.settle()

        metadata = world.pods()["web-0"]["metadata"]
        assert metadata["uid"] == uid
        assert metadata["ownerReferences"][0]["uid"] == world.set()["metadata"]["uid"]
        assert metadata["labels"]["statefulset.kubernetes.io/pod-name"] == "web-0"
        assert world.status()["replicas"] == 2

    play(scenario)


def test_an_orphan_of_another_name_is_left_alone() -> None:
    async def scenario(world: World) -> None:
        orphan = {"metadata": {"name": "stranger", "labels": {"app": "web"}}, "spec": a_pod_spec()}
        world.create(PODS, orphan)

        world.create(STATEFUL_SETS, a_set_tree())
        await world.settle()

        assert "ownerReferences" not in world.pods()["stranger"]["metadata"]

    play(scenario)


def test_a_pod_whose_labels_no_longer_fit_is_released() -> None:
    async def scenario(world: World) -> None:
        await two_ready(world)

        world.patch(PODS, "web-1", {"metadata": {"labels": {"app": "elsewhere"}}})
        await world.settle()

        assert "ownerReferences" not in world.pods()["web-1"]["metadata"]

    play(scenario)


def test_a_set_that_is_orphaned_and_made_again_takes_its_pods_back() -> None:
    async def scenario(world: World) -> None:
        await two_ready(world)
        uids = {pod["metadata"]["uid"] for pod in world.pods().values()}
        world.delete(STATEFUL_SETS, "web", "Orphan")
        await world.settle()

        world.create(STATEFUL_SETS, a_set_tree())
        await world.settle()

        assert {pod["metadata"]["uid"] for pod in world.pods().values()} == uids
        assert world.status()["readyReplicas"] == 2
        assert len(world.revisions()) == 1

    play(scenario)


def test_a_set_with_claims_makes_pods_that_name_them() -> None:
    async def scenario(world: World) -> None:
        tree = a_set_tree(replicas=1)
        tree["spec"]["volumeClaimTemplates"] = [
            {
                "metadata": {"name": "data"},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            }
        ]
        world.create(STATEFUL_SETS, tree)

        await world.settle()

        volumes = world.pods()["web-0"]["spec"]["volumes"]
        claimed = [each for each in volumes if "persistentVolumeClaim" in each]
        assert claimed == [{"name": "data", "persistentVolumeClaim": {"claimName": "data-web-0"}}]

    play(scenario)


def test_a_set_in_a_namespace_that_goes_away_ends_with_it() -> None:
    async def scenario(world: World) -> None:
        await two_ready(world)

        world.verbs.delete(NAMESPACES, "", "default", user="tester")
        await world.settle(10.0)

        assert world.pods() == {}

    play(scenario)


def test_what_happens_while_a_watch_is_broken_is_seen_afterwards() -> None:
    async def scenario(world: World) -> None:
        await two_ready(world)

        world.delete(PODS, "web-0")
        world.store.close_watchers()
        await world.settle()

        assert world.status()["readyReplicas"] == 1
        assert list(world.pods()) == ["web-0", "web-1"]

    play(scenario)


def test_the_same_seed_gives_the_same_history() -> None:
    async def scenario(world: World) -> None:
        await two_ready(world, updateStrategy={"type": "RollingUpdate"})
        world.patch(STATEFUL_SETS, "web", with_image("i:2"))
        await world.settle()

    first, again, other = ([event.new.body for _, event, _ in play(scenario, seed=seed).writes] for seed in (3, 3, 4))

    assert first == again
    assert first != other


def a_pod_spec() -> dict[str, object]:
    return {"containers": [{"name": "c", "image": "i:1"}]}
