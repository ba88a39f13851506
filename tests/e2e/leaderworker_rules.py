"""What must hold at every moment of a scenario with LeaderWorkerSets (section 4), judged from the cluster's history."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from fairlead.contracts.leaderworker.kinds import GROUP_INDEX, LEADER_WORKER_SETS, NAME, SIZE, WORKER_INDEX
from kubeloop.objects.apps import CONTROLLER_REVISIONS, STATEFULSETS
from kubeloop.objects.core import PODS
from tests.e2e.clusters import Site
from tests.e2e.history import Tree, World
from tests.e2e.leaderworker_play import Play, key_of, owner_of
from tests.e2e.rollouts import is_ready


def judged(play: Play, *, budget: bool = True, lost: bool = False) -> None:
    """Has the rules judged at the end of the scenario.

    The `budget` is that of a set whose groups fail for no other reason than its rollout; revisions are `lost` where
    somebody else deletes them, or gives the leaders a key that has none.
    """
    play.site.judges.append(lambda: _judge(play, budget, lost))


def _judge(play: Play, budget: bool, lost: bool) -> None:
    partitions: dict[str, tuple[str, int, int]] = {}
    complete: set[str] = set()
    numbers: dict[str, int] = {}
    for event, world in play.site.history.replay():
        is_new = event.resource == CONTROLLER_REVISIONS and event.type == "ADDED"
        if is_new and not lost and _is_of_a_set(event.object):
            _numbers_increase(event.object, numbers)
        for given in world[LEADER_WORKER_SETS].values():
            name = given["metadata"]["name"]
            leaders = world[STATEFULSETS].get(name)
            _conditions_agree(given)
            if leaders is None or owner_of(leaders).get("uid") != given["metadata"]["uid"]:
                continue
            if not lost:
                _keys_are_recorded(given, leaders, world)
            _workers_are_like_their_leaders(given, world)
            _partition_only_falls(given, leaders, partitions)
            if budget:
                _budget_is_kept(given, world, complete)
                _surge_is_bounded(given, world)
    _leaders_are_deleted_once(play)


def _numbers_increase(revision: Tree, numbers: dict[str, int]) -> None:
    """leaderworker S12."""
    owner = owner_of(revision)["uid"]
    assert revision["revision"] > numbers.get(owner, 0), f"{revision['metadata']['name']} is older than others"
    numbers[owner] = revision["revision"]


def _is_of_a_set(tree: Tree) -> bool:
    return owner_of(tree).get("kind") == LEADER_WORKER_SETS.kind


def _conditions_agree(given: Tree) -> None:
    """leaderworker S13."""
    holding = {each["type"] for each in given.get("status", {}).get("conditions", ()) if each["status"] == "True"}
    assert "Available" not in holding or not holding & {"Progressing", "UpdateInProgress"}, holding


def _keys_are_recorded(given: Tree, leaders: Tree, world: World) -> None:
    """leaderworker S5 and leaderworker S8: whatever carries a key has its revision."""
    uid = given["metadata"]["uid"]
    recorded = {key_of(each) for each in world[CONTROLLER_REVISIONS].values() if owner_of(each).get("uid") == uid}
    living = [leaders, *_leader_pods(given, world), *_worker_sets(given, world)]
    carried = {key_of(each) for each in living if "deletionTimestamp" not in each["metadata"]}
    assert carried <= recorded, f"no revision has {carried - recorded}"


def _workers_are_like_their_leaders(given: Tree, world: World) -> None:
    """leaderworker S4, by key and size."""
    for workers in _worker_sets(given, world):
        leader = world[PODS].get(workers["metadata"]["name"])
        if leader is not None and owner_of(workers).get("uid") == leader["metadata"]["uid"]:
            assert key_of(workers) == key_of(leader), workers["metadata"]["name"]
            size = leader["metadata"]["annotations"][SIZE]
            assert workers["spec"]["replicas"] == int(size) - 1, workers["metadata"]["name"]


def _partition_only_falls(given: Tree, leaders: Tree, partitions: dict[str, tuple[str, int, int]]) -> None:
    """leaderworker S3, within one key and one partition that a person asks for."""
    asked, key = _strategy(given).get("partition", 0), key_of(leaders["spec"]["template"])
    partition = leaders["spec"]["updateStrategy"]["rollingUpdate"].get("partition", 0)
    before = partitions.get(leaders["metadata"]["uid"])
    if before is not None and before[:2] == (key, asked):
        # A person's new partition shows in the set before it shows in its leaders.
        assert partition <= max(before[2], asked), f"{before[2]} became {partition}"
    partitions[leaders["metadata"]["uid"]] = (key, asked, partition)


def _budget_is_kept(given: Tree, world: World, complete: set[str]) -> None:
    """leaderworker S1, once all groups have been ready."""
    name, wanted = given["metadata"]["name"], given["spec"]["replicas"]
    ready = len(ready_groups(given, world))
    if ready >= wanted:
        complete.add(name)
    if name in complete:
        away = _scaled(_strategy(given).get("maxUnavailable", 1), wanted, up=False)
        surge = _scaled(_strategy(given).get("maxSurge", 0), wanted, up=True)
        least = wanted - (away or (1 if surge == 0 else 0))
        assert ready >= least, f"{ready} groups of {name} are ready, of {wanted}"


def _surge_is_bounded(given: Tree, world: World) -> None:
    """leaderworker S2."""
    wanted = given["spec"]["replicas"]
    most = wanted + min(_scaled(_strategy(given).get("maxSurge", 0), wanted, up=True), wanted)
    assert len(_leader_pods(given, world)) <= most


def _leaders_are_deleted_once(play: Play) -> None:
    """leaderworker S11."""
    deleted = [each.body for each in play.writes("pods", "delete")]
    assert len(deleted) == len(set(deleted)), "a leader was deleted twice"


def ready_groups(given: Tree, world: World) -> set[int]:
    """Indexes, by what pods say and what belongs to whom."""
    found = set()
    for leader in _leader_pods(given, world):
        size = int(leader["metadata"]["annotations"][SIZE])
        mine = [
            each
            for each in world[PODS].values()
            if _group(each) == _group(leader)
            and each["metadata"]["labels"].get(NAME) == given["metadata"]["name"]
            and _is_with(each, leader, world)
        ]
        if len(mine) == size and all(map(is_ready, mine)):
            found.add(int(_group(leader)))
    return found


def ready_so_far(site: Site, name: str = "a") -> Iterator[set[int]]:
    """Ready groups after every event."""
    for _, world in site.history.replay():
        if name in world[LEADER_WORKER_SETS]:
            yield ready_groups(world[LEADER_WORKER_SETS][name], world)


def _is_with(pod: Tree, leader: Tree, world: World) -> bool:
    if pod is leader:
        return True
    workers = world[STATEFULSETS].get(owner_of(pod).get("name", ""))
    return workers is not None and owner_of(workers).get("uid") == leader["metadata"]["uid"]


def _group(pod: Tree) -> str:
    group: str = pod["metadata"].get("labels", {}).get(GROUP_INDEX, "")
    return group


def _leader_pods(given: Tree, world: World) -> list[Tree]:
    leaders = world[STATEFULSETS].get(given["metadata"]["name"])
    uid = None if leaders is None else leaders["metadata"]["uid"]
    return [
        each
        for each in world[PODS].values()
        if owner_of(each).get("uid") == uid and each["metadata"]["labels"].get(WORKER_INDEX) == "0"
    ]


def _worker_sets(given: Tree, world: World) -> list[Tree]:
    name = given["metadata"]["name"]
    return [
        each
        for each in world[STATEFULSETS].values()
        if each["metadata"]["name"] != name and each["metadata"].get("labels", {}).get(NAME) == name
    ]


def _strategy(given: Tree) -> Tree:
    strategy: Tree = given["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"]
    return strategy


def _scaled(value: int | str, of: int, *, up: bool) -> int:
    if isinstance(value, int):
        return value
    exact = int(value.removesuffix("%")) * of / 100
    return ceil(exact) if up else int(exact)
