"""Acceptance scenarios 20 to 28: exclusive placement, sets of single pods, rest, unhealthy groups, and the opt-ins."""

from __future__ import annotations

import asyncio
from datetime import datetime

import msgspec
import pytest

from fairlead.contracts.leaderworker.kinds import (
    EXCLUSIVE_TOPOLOGY,
    GROUP_RECREATIONS,
    LEADER_WORKER_SETS,
    MAX_GROUP_RESTARTS,
    PARALLEL_TEARDOWN,
    PAUSED,
    RECREATE_BACK_OFF,
    TEARDOWN,
)
from kubeloop import clock
from kubeloop.objects.apps import CONTROLLER_REVISIONS, STATEFULSETS
from kubeloop.objects.core import NODES, PODS, SERVICES
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import MERGE_PATCH, patch
from kubesim.kubelet.pods import SCHEDULER
from kubesim.pods.behaviour import CRASH_AFTER, GONE_AFTER
from tests.contracts.leaderworker.decide.sets import a_set
from tests.e2e.clusters import SimGround, Site, long
from tests.e2e.history import Tree
from tests.e2e.leaderworker_play import (
    FIRST,
    LOOK_EVERY,
    PLACED_BY_HAND,
    SECOND,
    THIRD,
    Play,
    a_pod,
    begin,
    image_of,
    key_of,
)
from tests.e2e.leaderworker_rules import judged
from tests.e2e.leaderworkers import with_sets

RACK = "topology.example.test/rack"
LED_BY_HAND: Tree = {"leaderTemplate": PLACED_BY_HAND}
"""No scheduler puts a leader where its topology is not known."""


def annotated(tree: Tree, annotations: dict[str, str]) -> Tree:
    return {**tree, "metadata": {**tree["metadata"], "annotations": annotations}}


async def label_nodes(site: Site, value: str | None) -> None:
    """As soon as they are there; None takes the label away, which another scenario on the same nodes may have left."""
    body = msgspec.json.encode({"metadata": {"labels": {RACK: value}}})
    await site.until(lambda: len(site.history.objects(NODES)) >= 3, following=[NODES])
    for number in range(3):
        await site.client.call(patch(Ref(NODES, "", f"sim-node-{number}"), MERGE_PATCH, body))


@with_sets(long=True)
async def test_workers_follow_their_leader_to_where_its_node_is(site: Site) -> None:
    """Scenario 20."""
    play = await begin(site, scheduler=SCHEDULER)
    judged(play)
    await label_nodes(site, None)
    await play.create(annotated(a_set(replicas=1, template=LED_BY_HAND), {EXCLUSIVE_TOPOLOGY: RACK}))
    await play.bind("a-0")
    await play.until(lambda: play.operator.log.of("reconcile failed: node without topology"), every=0.2)
    assert play.worker_sets() == []

    await label_nodes(site, "r1")
    await play.until(play.worker_sets)
    workers = play.workers(0)
    assert workers is not None
    assert workers["spec"]["template"]["spec"]["nodeSelector"] == {RACK: "r1"}
    await play.available()
    assert play.worker_sets() == ["a-0"]


@with_sets()
async def test_a_label_of_its_node_wakes_a_leader_that_waits_for_it(site: Site) -> None:
    """leaderworker 3.1: nodes are watched for as long as some leader waits, and for no longer."""
    play = await begin(site, scheduler=SCHEDULER)
    judged(play)
    await label_nodes(site, None)
    await play.create(a_set("b"))
    await play.available("b")
    assert NODES not in watched_kinds(play)
    await play.create(annotated(a_set(replicas=1, template=LED_BY_HAND), {EXCLUSIVE_TOPOLOGY: RACK}))
    await play.bind("a-0")
    failure = "reconcile failed: node without topology"
    await play.until(lambda: play.operator.log.of(failure) and NODES in watched_kinds(play), every=LOOK_EVERY)
    if isinstance(site.ground, SimGround):
        await asyncio.sleep(400)  # a retry would come after minutes
    begun = clock.monotonic()
    await label_nodes(site, "r1")
    await play.until(play.worker_sets)
    if isinstance(site.ground, SimGround):
        assert clock.monotonic() - begun < 1
    await play.available()
    await play.until(lambda: NODES not in watched_kinds(play), every=LOOK_EVERY)


def watched_kinds(play: Play) -> set[Resource]:
    manager = play.operator.manager
    return set() if manager is None else {each.resource for each in manager._caches}


@with_sets(long=True)
async def test_groups_of_one_pod_roll_without_worker_sets(site: Site) -> None:
    """Scenario 21."""
    play = await begin(site)
    judged(play)
    await play.create(a_set(replicas=3, template={"size": 1}))
    await play.available()
    await play.give_image(SECOND)
    await play.until(lambda: play.is_available() and len(play.keys()) == 1 and play.numbers() == "0/3")
    assert {image_of(pod) for pod in play.pods(set="a")} == {SECOND}
    assert play.numbers_so_far() == ["0/3", "3/3", "2/3", "1/3", "0/3"]
    assert [event.name for event in site.history.of(STATEFULSETS, "ADDED")] == ["a"]


@with_sets()
async def test_at_rest_rounds_write_nothing(site: Site) -> None:
    """Scenario 22, and 31 for some sets."""
    play = await begin(site)
    judged(play)
    for name, more in (
        ("a", {}),
        ("b", {"networkConfig": {"subdomainPolicy": "UniquePerReplica"}}),
        ("c", {"template": {"size": 1}}),
        ("d", {"update": {"maxSurge": "50%", "maxUnavailable": "50%"}}),
        ("e", {"replicas": 0}),
    ):
        await play.create(a_set(name, **more))
    for name in "abcde":
        await play.available(name)
    await play.at_rest()
    before, sent = versions(play), len(play.sent)
    for _ in range(20):
        play.rounds_again()
        await play.at_rest()
    assert play.sent[sent:] == []
    assert versions(play) == before

    await play.kill()
    play.start()
    await play.at_rest()
    assert play.sent[sent:] == []
    assert versions(play) == before


def versions(play: Play) -> Tree:
    return {
        f"{resource.plural}/{name}": tree["metadata"]["resourceVersion"]
        for resource in (LEADER_WORKER_SETS, STATEFULSETS, CONTROLLER_REVISIONS, SERVICES, PODS)
        for name, tree in play.site.history.objects(resource).items()
    }


@with_sets(long=True)
async def test_groups_that_are_all_away_are_updated(site: Site) -> None:
    """Scenario 24, all of them."""
    play = await begin(site)
    judged(play, budget=False)
    await play.create(a_set())
    await play.available()
    await play.hold(0, 1)
    await play.until(lambda: play.status()["readyReplicas"] == 0)
    await play.give_image(SECOND)
    await play.available()
    assert play.numbers_so_far()[:2] == ["0/2", "2/2"]
    assert play.numbers() == "0/2"


@with_sets(long=True)
async def test_a_group_that_is_away_counts_against_the_budget(site: Site) -> None:
    """Scenario 24, one of four."""
    play = await begin(site)
    judged(play, budget=False)
    await play.create(a_set(replicas=4, update={"maxUnavailable": 2}))
    await play.available()
    await play.hold(1)
    await play.until(lambda: play.status()["readyReplicas"] == 3)
    await play.give_image(SECOND, hold=True)
    await play.at_group(3, SECOND)
    await play.at_rest()
    assert play.numbers() == "3/4"
    assert play.numbers_so_far() == ["0/4", "4/4", "3/4"]

    await play.release(3)
    await play.at_numbers("1/4")  # group 1 has nothing to lose, and with group 2 it is two that are away
    for index in (2, 1, 0):
        await play.at_group(index, SECOND)
        await play.release(index)
    await play.available()


@with_sets(long=True)
async def test_an_old_group_that_is_away_blocks_a_rollout_that_may_spare_one(site: Site) -> None:
    """Section 5.24."""
    play = await begin(site)
    judged(play, budget=False)
    await play.create(a_set(replicas=3))
    await play.available()
    await play.hold(0)
    await play.until(lambda: play.status()["readyReplicas"] == 2)
    before = play.uids(0, 1, 2)
    await play.give_image(SECOND)
    note = "The rollout waits for old groups that are not ready: 0; to update others would exceed the budget"
    await play.until(lambda: note in play.told("RolloutBlocked"))
    await play.at_rest()
    assert (play.numbers(), play.uids(0, 1, 2)) == ("3/3", before)
    assert play.event(note)["type"] == "Warning"

    await play.release(0)
    await play.until(lambda: play.is_available() and len(play.keys()) == 1)


@with_sets(long=True)
async def test_a_paused_set_records_what_is_asked_and_moves_no_group(site: Site) -> None:
    """Scenario 25."""
    play = await begin(site)
    judged(play)
    await play.create(a_set(replicas=4))
    await play.available()
    await play.give_image(SECOND, hold=True)
    await play.at_group(3, SECOND)
    await play.change({"metadata": {"annotations": {PAUSED: "true"}}})
    await play.release(3)
    await play.until(lambda: play.is_whole(3, SECOND))
    await play.give_image(THIRD)
    await play.until(lambda: len(play.keys()) == 3)
    await play.at_rest()
    before = play.uids(0, 1, 2, 3)
    if not site.real:
        await asyncio.sleep(30)
    play.rounds_again()
    await play.at_rest()
    assert play.uids(0, 1, 2, 3) == before
    assert play.numbers() == "4/4"

    await play.change({"metadata": {"annotations": {PAUSED: None}}})
    await play.until(lambda: play.is_available() and len(play.keys()) == 1)
    assert {image_of(pod) for pod in play.pods(set="a")} == {THIRD}


def counters(play: Play) -> Tree:
    found = play.leaders()["metadata"].get("annotations", {}).get(GROUP_RECREATIONS, "{}")
    decoded: Tree = msgspec.json.decode(found)
    return decoded


def recreated_at(play: Play) -> list[datetime]:
    """When leaders began to go by the operator's hand."""
    uids = [msgspec.json.decode(each.body)["preconditions"]["uid"] for each in play.writes(PODS.plural, "delete")]
    found = []
    for uid in uids:
        going = [
            event.object["metadata"]["deletionTimestamp"]
            for event in play.site.history.of(PODS)
            if event.object["metadata"]["uid"] == uid and "deletionTimestamp" in event.object["metadata"]
        ]
        found.append(datetime.fromisoformat(going[0]))
    return found


@with_sets(long=True)
@pytest.mark.parametrize("killed", [False, True])
async def test_recreations_are_spaced_and_bounded(site: Site, killed: bool) -> None:
    """Scenario 26."""
    play = await begin(site)
    judged(play, budget=False)
    crashing: Tree = {**a_pod(), "metadata": {"annotations": {CRASH_AFTER: "500ms"}}}
    tree = a_set(replicas=1, template={"leaderTemplate": a_pod(), "workerTemplate": crashing})
    limits = {RECREATE_BACK_OFF: "2s,20s", MAX_GROUP_RESTARTS: "3"}
    await play.create(annotated(tree, limits))
    if killed:
        await play.until(lambda: len(play.writes(PODS.plural, "delete")) == 1)
        await play.kill()
        play.start()
    await play.until(lambda: play.conditions().get("Failed") == "True")
    await play.at_rest()
    if not site.real:
        await asyncio.sleep(60)
    await play.at_rest()

    first, second, third = recreated_at(play)
    assert 1 <= (second - first).total_seconds() <= 4
    assert 3 <= (third - second).total_seconds() <= 7
    failed = next(each for each in play.status()["conditions"] if each["type"] == "Failed")
    assert failed["reason"] == "MaxGroupRestartsExceeded"
    assert failed["message"].endswith("groups 0")
    note = "Group 0 was recreated as often as allowed and is left as it is: delete a-0 to start anew"
    await play.until(lambda: play.told("MaxGroupRestartsExceeded") == [note])
    (entry,) = counters(play).values()
    assert entry["n"] == 3

    await play.delete(PODS, "a-0")
    await play.until(lambda: len(play.writes(PODS.plural, "delete")) == 4)
    await play.until(lambda: play.conditions().get("Failed") == "False")
    await play.until(lambda: [each["n"] for each in counters(play).values()] == [1])


@with_sets()
@pytest.mark.parametrize("parallel", [True, long(False)])
async def test_workers_go_beside_their_leader_where_a_set_asks_for_that(site: Site, parallel: bool) -> None:
    """Scenario 28."""
    play = await begin(site)
    judged(play)
    slow: Tree = {**a_pod(), "metadata": {"annotations": {GONE_AFTER: "1s"}}}
    annotations = {TEARDOWN: PARALLEL_TEARDOWN} if parallel else {}
    await play.create(annotated(a_set(template={"leaderTemplate": slow, "workerTemplate": a_pod()}), annotations))
    await play.available()
    old = {name: tree["metadata"]["uid"] for name, tree in site.history.objects(PODS).items()}
    await play.change({"spec": {"leaderWorkerTemplate": {"leaderTemplate": a_pod(SECOND)}}})
    await play.until(lambda: play.is_available() and len(play.keys()) == 1)
    await play.at_rest()

    for index in range(2):
        going = first_event(play, old[f"a-{index}-1"], "going")
        gone = first_event(play, old[f"a-{index}"], "gone")
        assert (going < gone) is parallel
    removed = [each.name for each in play.writes(STATEFULSETS.plural, "delete")]
    assert sorted(removed) == (["a-0", "a-1"] if parallel else [])
    assert play.writes(PODS.plural, "delete") == []
    assert image_of(site.history.objects(PODS)["a-0-1"]) == FIRST
    assert key_of(site.history.objects(PODS)["a-0-1"]) == play.keys()[0]


def first_event(play: Play, uid: str, what: str) -> int:
    """The version at which a pod began to go, or was gone."""
    return next(
        event.version
        for event in play.site.history.of(PODS)
        if event.object["metadata"]["uid"] == uid
        and (event.type == "DELETED" or (what == "going" and "deletionTimestamp" in event.object["metadata"]))
    )
