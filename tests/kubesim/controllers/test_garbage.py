"""What has lost its owners goes, and nothing else does."""

from __future__ import annotations

import pytest

from kubesim.controllers.service_accounts import CERTIFICATES
from kubesim.errors import StatusError
from kubesim.kinds.registry import CONFIG_MAPS, CORE_EVENTS, NODES, PODS, SECRETS, STATEFUL_SETS
from kubesim.store.versions import Tree
from tests.kubesim.controllers.world import NAMESPACE, TESTER, World, a_set_tree, play

SEEDS = range(10)


def owner(tree: Tree, *, blocking: bool = True) -> Tree:
    return {
        "apiVersion": tree["apiVersion"],
        "kind": tree["kind"],
        "name": tree["metadata"]["name"],
        "uid": tree["metadata"]["uid"],
        "blockOwnerDeletion": blocking,
    }


def a_map(world: World, name: str, *owners: Tree, finalizers: tuple[str, ...] = ()) -> Tree:
    metadata = {"name": name, "ownerReferences": list(owners), "finalizers": list(finalizers)}
    return world.create(CONFIG_MAPS, {"metadata": metadata})


def maps(world: World) -> list[str]:
    """Those that a test has made."""
    names = [each["metadata"]["name"] for each in world.verbs.list(CONFIG_MAPS, NAMESPACE)]
    return [name for name in names if name != CERTIFICATES]


def a_missing_owner(name: str = "missing", uid: str = "0000", kind: str = "ConfigMap", version: str = "v1") -> Tree:
    return {"apiVersion": version, "kind": kind, "name": name, "uid": uid, "blockOwnerDeletion": True}


async def a_set_with_pods(world: World) -> None:
    world.create(STATEFUL_SETS, a_set_tree(replicas=2))
    await world.settle()


def exists(world: World) -> bool:
    try:
        world.set()
    except StatusError:
        return False
    return True


@pytest.mark.parametrize("seed", SEEDS)
def test_a_set_deleted_in_the_background_is_gone_at_once_and_its_pods_follow(seed: int) -> None:
    async def scenario(world: World) -> None:
        await a_set_with_pods(world)

        world.delete(STATEFUL_SETS, "web", "Background")

        assert not exists(world)
        assert len(world.pods()) == 2
        await world.settle()
        assert world.pods() == {}
        assert world.revisions() == {}

    play(scenario, seed=seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_set_deleted_in_the_foreground_waits_for_its_pods(seed: int) -> None:
    """A pod may be made again meanwhile by a controller that has not yet seen the deletion; it goes as well."""

    async def scenario(world: World) -> None:
        await a_set_with_pods(world)
        world.patch(PODS, "web-0", {"metadata": {"finalizers": ["a.example/hold"]}})

        world.delete(STATEFUL_SETS, "web", "Foreground")
        await world.settle()

        assert exists(world)
        assert "web-0" in world.pods()
        world.patch(PODS, "web-0", {"metadata": {"finalizers": []}})
        await world.settle()
        assert not exists(world)
        assert world.pods() == {}

    play(scenario, seed=seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_set_deleted_alone_leaves_its_pods_without_an_owner(seed: int) -> None:
    async def scenario(world: World) -> None:
        await a_set_with_pods(world)

        world.delete(STATEFUL_SETS, "web", "Orphan")
        await world.settle()

        assert not exists(world)
        assert list(world.pods()) == ["web-0", "web-1"]
        assert not any("ownerReferences" in pod["metadata"] for pod in world.pods().values())
        assert not any("ownerReferences" in each["metadata"] for each in world.revisions().values())

    play(scenario, seed=seed)


def test_a_dependent_that_does_not_block_does_not_hold_a_foreground_deletion() -> None:
    async def scenario(world: World) -> None:
        first = a_map(world, "owner")
        a_map(world, "loose", owner(first, blocking=False), finalizers=("a.example/hold",))
        await world.settle()

        world.delete(CONFIG_MAPS, "owner", "Foreground")
        await world.settle()

        assert maps(world) == ["loose"]

    play(scenario)


def test_a_dependent_that_stops_to_block_lets_a_foreground_deletion_go_on() -> None:
    async def scenario(world: World) -> None:
        first = a_map(world, "owner")
        a_map(world, "held", owner(first), finalizers=("a.example/hold",))
        await world.settle()
        world.delete(CONFIG_MAPS, "owner", "Foreground")
        await world.settle()
        assert maps(world) == ["held", "owner"]

        world.patch(CONFIG_MAPS, "held", {"metadata": {"ownerReferences": [owner(first, blocking=False)]}})
        await world.settle()

        assert maps(world) == ["held"]

    play(scenario)


def test_a_foreground_deletion_goes_down_the_whole_chain() -> None:
    async def scenario(world: World) -> None:
        first = a_map(world, "a")
        second = a_map(world, "b", owner(first))
        a_map(world, "c", owner(second), finalizers=("a.example/hold",))
        await world.settle()

        world.delete(CONFIG_MAPS, "a", "Foreground")
        await world.settle()

        assert maps(world) == ["a", "b", "c"], "the last holds all"
        world.patch(CONFIG_MAPS, "c", {"metadata": {"finalizers": []}})
        await world.settle()
        assert maps(world) == []

    play(scenario)


def test_a_circle_deleted_in_the_foreground_ends() -> None:
    async def scenario(world: World) -> None:
        first = a_map(world, "a")
        second = a_map(world, "b", owner(first))
        world.patch(CONFIG_MAPS, "a", {"metadata": {"ownerReferences": [owner(second)]}})
        await world.settle()

        world.delete(CONFIG_MAPS, "a", "Foreground")
        await world.settle(60)

        assert maps(world) == []

    play(scenario)


def test_an_object_stays_as_long_as_one_of_its_owners_does() -> None:
    async def scenario(world: World) -> None:
        first, second = a_map(world, "first"), a_map(world, "second")
        a_map(world, "both", owner(first), owner(second))
        await world.settle()

        world.delete(CONFIG_MAPS, "first")
        await world.settle()

        both = world.verbs.read(CONFIG_MAPS, NAMESPACE, "both")
        assert [each["name"] for each in both["metadata"]["ownerReferences"]] == ["second"], "the lost one is dropped"
        world.delete(CONFIG_MAPS, "second")
        await world.settle()
        assert maps(world) == []

    play(scenario)


@pytest.mark.parametrize(
    "reference",
    [
        pytest.param(a_missing_owner(), id="an owner that never was"),
        pytest.param(a_missing_owner("present", "0000"), id="an owner of the same name and another UID"),
    ],
)
def test_an_object_whose_owner_does_not_exist_goes(reference: Tree) -> None:
    async def scenario(world: World) -> None:
        a_map(world, "present")
        a_map(world, "stray", reference)

        await world.settle()

        assert maps(world) == ["present"]

    play(scenario)


def test_an_object_whose_owner_is_of_no_served_kind_is_never_collected() -> None:
    async def scenario(world: World) -> None:
        a_map(world, "kept", a_missing_owner(kind="Gadget", version="example.com/v1"))

        await world.settle(3600)

        assert maps(world) == ["kept"]

    play(scenario)


def test_an_object_without_a_namespace_does_not_go_with_an_owner_in_one() -> None:
    async def scenario(world: World) -> None:
        first = a_map(world, "owner")
        world.create(NODES, {"metadata": {"name": "node", "ownerReferences": [owner(first)]}})
        world.delete(CONFIG_MAPS, "owner")

        await world.settle(3600)

        assert [each["metadata"]["name"] for each in world.verbs.list(NODES)] == ["node"]

    play(scenario)


def test_an_owner_in_another_namespace_is_no_owner() -> None:
    async def scenario(world: World) -> None:
        elsewhere = world.verbs.create(SECRETS, "kube-system", {"metadata": {"name": "far"}}, user=TESTER)
        a_map(world, "stray", owner(elsewhere))

        await world.settle()

        assert maps(world) == []

    play(scenario)


def test_an_object_that_changes_often_is_still_collected() -> None:
    async def scenario(world: World) -> None:
        first = a_map(world, "owner")
        a_map(world, "busy", owner(first))
        await world.settle()

        world.delete(CONFIG_MAPS, "owner")
        for number in range(200):
            if "busy" in maps(world):
                world.patch(CONFIG_MAPS, "busy", {"data": {"n": str(number)}})
            await world.settle(0.001)

        assert maps(world) == []

    play(scenario)


def test_what_lost_its_owner_while_nobody_watched_goes_when_the_collector_starts() -> None:
    async def scenario(world: World) -> None:
        first = a_map(world, "owner")
        a_map(world, "dependent", owner(first))
        world.delete(CONFIG_MAPS, "owner")

        await world.settle()

        assert maps(world) == []

    play(scenario)


def test_a_watch_that_breaks_hides_no_deletion() -> None:
    async def scenario(world: World) -> None:
        first = a_map(world, "owner")
        a_map(world, "dependent", owner(first))
        await world.settle()

        world.delete(CONFIG_MAPS, "owner")
        world.store.close_watchers()
        await world.settle()

        assert maps(world) == []

    play(scenario)


@pytest.mark.parametrize("owner_first", [True, False])
def test_an_owner_in_another_namespace_is_none_and_told_of(owner_first: bool) -> None:
    """Whichever of the two is seen first."""
    lag = (0.0, 0.02) if owner_first else (0.0, 0.0)

    async def scenario(world: World) -> None:
        stranger = a_map(world, "owner")
        await world.settle(1 if owner_first else 0)
        metadata = {"name": "dependent", "ownerReferences": [owner(stranger)]}
        world.verbs.create(CONFIG_MAPS, "kube-public", {"metadata": metadata}, user=TESTER)
        await world.settle()

    world = play(scenario, lag=lag)

    [event] = [each for each in world.verbs.list(CORE_EVENTS) if each["reason"] == "OwnerRefInvalidNamespace"]
    uid = world.verbs.read(CONFIG_MAPS, NAMESPACE, "owner")["metadata"]["uid"]
    about = event["involvedObject"]
    assert (about["kind"], about["namespace"], about["name"]) == ("ConfigMap", "kube-public", "dependent")
    assert "resourceVersion" not in about
    assert (event["type"], event["source"]) == ("Warning", {"component": "garbage-collector-controller"})
    assert event["message"] == (
        f"ownerRef [v1/ConfigMap, namespace: kube-public, name: owner, uid: {uid}] "
        'does not exist in namespace "kube-public"'
    )
    assert "dependent" not in [each["metadata"]["name"] for each in world.verbs.list(CONFIG_MAPS, "kube-public")]
