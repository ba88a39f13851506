"""Edge cases of section 5: what people delete and edit by hand, names that are taken, templates that are refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from fairlead.cli.documents_of import explain_all
from fairlead.contracts.leaderworker.kinds import (
    GROUP_INDEX,
    GROUP_KEY,
    GROUP_RECREATIONS,
    LEADER_WORKER_SETS,
    MAX_GROUP_RESTARTS,
    NAME,
    PAUSED,
    RECREATE_BACK_OFF,
    REVISION_KEY,
    SIZE,
    WORKER_INDEX,
)
from kubeloop.objects.apps import CONTROLLER_REVISIONS, STATEFULSETS
from kubeloop.objects.core import PODS, SERVICES
from kubeloop.objects.meta import Ref
from kubeloop.request import JSON, Request, delete, path_of
from kubesim.pods.behaviour import CRASH_AFTER, CRASH_TIMES
from tests.contracts.leaderworker.decide.sets import a_set
from tests.e2e.clusters import Site
from tests.e2e.history import Tree
from tests.e2e.leaderworker_play import FIRST, SECOND, Play, a_pod, begin, image_of, key_of, owner_of
from tests.e2e.leaderworker_rules import judged
from tests.e2e.leaderworkers import with_sets
from tests.e2e.meddling import Meddling
from tests.e2e.rollouts import is_ready
from tests.e2e.zones import change, statefulset


async def begun(site: Site, **spec: Any) -> Play:
    """A set that is available, and an operator at rest."""
    play = await begin(site)
    await play.create(a_set(**spec))
    await play.available()
    await play.at_rest()
    return play


def refused(play: Play) -> int:
    return sum(each.status >= 400 for each in play.writes(STATEFULSETS.plural))


def uid_of(tree: Tree | None) -> str:
    uid: str = "" if tree is None else tree["metadata"]["uid"]
    return uid


@with_sets()
async def test_a_template_that_is_refused_leaves_the_groups_alone(site: Site) -> None:
    """Section 5.13 and section 5.14: claims cannot be changed."""
    play = await begun(site)
    judged(play)
    before, old = play.uids(0, 1), play.keys()
    storage = {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"]}
    claim = {"metadata": {"name": "data"}, "spec": storage}
    await play.change({"spec": {"leaderWorkerTemplate": {"volumeClaimTemplates": [claim]}}})
    await play.until(lambda: play.told("FailedUpdate"))
    (note,) = play.told("FailedUpdate")
    assert note.startswith("Failed to update leader statefulset a: ")
    event = play.event(note)
    assert (event["type"], event["action"], "related" in event) == ("Warning", "Update", False)
    tries = refused(play)
    await play.until(lambda: refused(play) > tries, every=0.2)
    assert len(play.keys()) == 2
    assert play.uids(0, 1) == before
    assert play.status()["observedGeneration"] < play.tree()["metadata"]["generation"]

    await play.change({"spec": {"leaderWorkerTemplate": {"volumeClaimTemplates": None}}})
    await play.available()
    await play.at_rest()
    await play.until(lambda: play.keys() == old)
    assert play.uids(0, 1) == before
    assert play.numbers_so_far() == ["0/2"]
    assert [each["revision"] for each in play.revisions()] == [3], "2 was the one that was refused"


@with_sets(long=True)
@pytest.mark.parametrize(
    "edit",
    [
        {"spec": {"replicas": 3}},
        {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 2}}}},
        {"metadata": {"annotations": {"leaderworkerset.sigs.k8s.io/replicas": "7"}}},
        {"metadata": {"labels": {NAME: None}}},
        {"metadata": {"labels": {REVISION_KEY: None}}},
    ],
    ids=["replicas", "partition", "annotation", "name", "key"],
)
async def test_leaders_that_somebody_edits_are_forced_back(site: Site, edit: Tree) -> None:
    """Section 5.34."""
    play = await begun(site)
    before, wanted, keys = play.uids(0, 1), meaning(play.leaders()), play.keys()
    await change(site, STATEFULSETS, "a", edit)
    await play.until(lambda: len(play.numbers_so_far()) > 1 or meaning(play.leaders()) == wanted)
    await play.until(lambda: meaning(play.leaders()) == wanted)
    await play.available()
    await play.at_rest()
    assert play.keys() == keys
    assert play.uids(0, 1) == before


@with_sets()
async def test_leaders_that_somebody_gives_another_key_roll_to_it_within_the_budget(site: Site) -> None:
    """Section 3.12 point 6: its revision is made; section 5.34: groups do not go all at once."""
    play = await begun(site)
    judged(play, lost=True)
    before = play.uids(0, 1)

    await change(site, STATEFULSETS, "a", {"metadata": {"labels": {REVISION_KEY: "another"}}})
    await play.until(lambda: play.keys() == ["another"])
    await play.available()
    await play.at_rest()

    assert key_of(play.leaders()) == "another"
    assert not before & play.uids(0, 1)
    assert "Creating missing revision with key another for existing LeaderWorkerSet" in play.told("CreatingRevision")


@with_sets(on=("sim",))
async def test_leaders_that_somebody_gives_an_earlier_key_do_not_go_back(site: Site) -> None:
    """Section 5.34: in the middle of a rollout the earlier revision is there, and the spec says another."""
    play = await begun(site, replicas=3)
    judged(play)
    (old,) = play.keys()
    await play.give_image(SECOND, hold=True)
    await play.at_group(2, SECOND)
    await play.at_rest()
    new, before = key_of(play.leaders()), play.uids(0, 1, 2)

    await change(site, STATEFULSETS, "a", {"metadata": {"labels": {REVISION_KEY: old}}})
    await play.until(lambda: keys_so_far(play)[-2:] == [old, new])
    await play.at_rest()
    assert play.uids(0, 1, 2) == before
    assert play.numbers_so_far() == ["0/3", "3/3", "2/3"]

    for index in (2, 1, 0):
        await play.at_group(index, SECOND)
        await play.release(index)
    await play.until(lambda: play.is_available() and play.keys() == [new])


def keys_so_far(play: Play) -> list[str]:
    """Of the leaders, each time that it changed."""
    found = [key_of(event.object) for event in play.site.history.of(STATEFULSETS) if event.name == "a"]
    return [each for before, each in pairwise(["", *found]) if each != before]


def meaning(leaders: Tree) -> Tree:
    metadata = leaders["metadata"]
    return {"labels": metadata.get("labels"), "annotations": metadata.get("annotations"), "spec": leaders["spec"]}


@with_sets(long=True)
async def test_leaders_workers_and_services_that_somebody_deletes_come_back(site: Site) -> None:
    """Section 3.14 point 4."""
    play = await begun(site)
    judged(play, budget=False)
    keys = play.keys()
    leader, workers = uid_of(play.group(0)[0]), uid_of(play.workers(0))

    await play.delete(SERVICES, "a")
    await play.until(lambda: "a" in play.services())
    await play.delete(STATEFULSETS, "a-0", "Background")
    await play.until(lambda: uid_of(play.workers(0)) not in ("", workers) and play.is_whole(0, FIRST))
    await play.at_rest()
    assert uid_of(play.group(0)[0]) == leader
    assert play.writes(PODS.plural, "delete") == []

    old = uid_of(play.leaders())
    await play.delete(STATEFULSETS, "a", "Background")
    await play.until(lambda: play.numbers() == "0/2" and uid_of(play.leaders()) != old)
    await play.until(lambda: leader not in play.uids(0) and play.is_whole(0, FIRST) and play.is_whole(1, FIRST))
    await play.available()
    await play.at_rest()
    assert play.keys() == keys
    assert key_of(play.leaders()) == keys[0]


@with_sets()
@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
async def test_everything_goes_with_its_set(site: Site, propagation: str) -> None:
    play = await begun(site, networkConfig={"subdomainPolicy": "UniquePerReplica"})
    judged(play, budget=False, lost=True)
    await play.delete(LEADER_WORKER_SETS, "a", propagation)
    await play.until(lambda: not play.pods(set="a") and not site.history.objects(STATEFULSETS))
    await play.until(lambda: not play.services() and not site.history.objects(CONTROLLER_REVISIONS))
    await play.at_rest()
    assert [each for each in play.writes(STATEFULSETS.plural) if each.verb == "create"][2:] == []


@with_sets(long=True)
async def test_a_name_that_another_set_has_taken_is_reported_and_left_alone(site: Site) -> None:
    """Section 5.10."""
    play = await begin(site)
    judged(play, budget=False)
    foreign = await site.create(STATEFULSETS, statefulset("a", 0, labels={}))
    await play.create(a_set())
    problem = "a StatefulSet a exists that this LeaderWorkerSet does not control"
    note = f"Failed to create leader statefulset a: {problem}"
    await play.until(lambda: note in play.told("FailedCreate"))
    assert play.writes(STATEFULSETS.plural) == []
    assert play.revisions() == []

    await play.delete(STATEFULSETS, "a")
    await play.available()
    assert uid_of(play.leaders()) != uid_of(foreign)


@with_sets()
async def test_workers_of_another_are_never_adopted(site: Site) -> None:
    """Section 5.10 and section 5.29: the name of the workers is taken, or their leader went without them."""
    play = await begin(site)
    judged(play, budget=False)
    await site.create(STATEFULSETS, statefulset("a-1", 0, labels={}))
    await play.create(a_set())
    problem = "a StatefulSet a-1 exists that the leader pod does not control"
    note = f"Failed to create worker statefulset for leader pod a-1: {problem}"
    await play.until(lambda: note in play.told("FailedCreate"))
    assert play.event(note)["related"]["name"] == "a-1"
    await play.until(lambda: play.status().get("readyReplicas") == 1)
    assert play.conditions() == {"Progressing": "True"}
    await play.delete(STATEFULSETS, "a-1")
    await play.available()
    await play.at_rest()

    orphan = uid_of(play.workers(0))
    await play.delete(PODS, "a-0", "Orphan")
    problem = "a StatefulSet a-0 exists that the leader pod does not control"
    await play.until(lambda: f"Failed to create worker statefulset for leader pod a-0: {problem}" in play.told())
    await play.at_rest()
    workers = play.workers(0)
    assert workers is not None
    assert (uid_of(workers), owner_of(workers)) == (orphan, {})
    assert play.conditions()["Available"] == "False"


@with_sets(long=True)
async def test_a_pod_that_only_carries_the_labels_is_no_group(site: Site) -> None:
    """Section 5.31 and section 5.32, and S10."""
    play = await begun(site)
    judged(play)
    sent, (key,) = len(play.sent), play.keys()
    labels = {NAME: "a", WORKER_INDEX: "0", REVISION_KEY: key, GROUP_KEY: "none"}
    for name, index in (("x-0", "0"), ("other", "x")):
        annotations = {SIZE: "2", CRASH_AFTER: "50ms", CRASH_TIMES: "1"}
        metadata = {"name": name, "labels": {**labels, GROUP_INDEX: index}, "annotations": annotations}
        await site.create(PODS, {"metadata": metadata, "spec": a_pod()["spec"]})
    await play.until(lambda: restarted(site, "x-0") and restarted(site, "other"))
    await play.at_rest()
    assert play.sent[sent:] == []
    assert play.status()["readyReplicas"] == 2
    assert {"x-0", "other"} <= set(site.history.objects(PODS))


def restarted(site: Site, pod: str) -> bool:
    statuses = site.history.objects(PODS).get(pod, {}).get("status", {}).get("containerStatuses", ())
    return any(each["restartCount"] > 0 for each in statuses)


@with_sets(long=True)
async def test_a_group_whose_revision_is_lost_waits_for_the_rollout(site: Site) -> None:
    """Section 5.6."""
    play = await begun(site)
    judged(play, budget=False, lost=True)
    old = play.revisions()[0]
    await play.give_image(SECOND, hold=True)
    await play.at_group(1, SECOND)
    await play.delete(CONTROLLER_REVISIONS, old["metadata"]["name"])
    await play.at_rest()
    before = play.uids(0)
    assert play.told("FailedCreate") == []

    await play.delete(PODS, "a-0")
    key = key_of(old)
    note = f"There is no ControllerRevision with key {key}: no workers are made for leader pod a-0"
    await play.until(lambda: note in play.told("FailedCreate") and not before & play.uids(0))
    await play.until(lambda: play.worker_sets() == ["a-1"])
    await play.release(1)
    await play.at_group(0, SECOND)
    await play.release(0)
    await play.until(lambda: play.is_available() and len(play.keys()) == 1)


@with_sets(long=True)
async def test_recreations_are_forgotten_when_a_group_was_ready_for_long(site: Site) -> None:
    """Section 6.8: the count starts anew."""
    play = await begin(site)
    judged(play, budget=False)
    tree = a_set(replicas=1)
    tree["metadata"]["annotations"] = {RECREATE_BACK_OFF: "1s,3s", MAX_GROUP_RESTARTS: "1"}
    await play.create(tree)
    for number in (1, 2):
        await play.available()
        before = play.uids(0)
        await change(site, PODS, "a-0-1", {"metadata": {"annotations": {CRASH_AFTER: "10ms", CRASH_TIMES: "1"}}})
        await play.until(lambda before=before: is_another(play, before))
        # What follows StatefulSets may be behind what follows pods: the count must have been seen before its end is.
        await play.until(lambda number=number: times_counted(play) == number and counted(play) == {})
    assert play.told("MaxGroupRestartsExceeded") == []


def is_another(play: Play, before: set[str]) -> bool:
    return not before & play.uids(0) and play.is_whole(0, FIRST)


def counted(play: Play) -> Tree:
    return counters_of(play.leaders())


def counters_of(leaders: Tree) -> Tree:
    found = leaders["metadata"].get("annotations", {}).get(GROUP_RECREATIONS, "{}")
    decoded: Tree = msgspec.json.decode(found)
    return decoded


def times_counted(play: Play) -> int:
    """How often a count began."""
    leaders = [event.object for event in play.site.history.of(STATEFULSETS) if event.name == "a"]
    seen = [bool(counters_of(each)) for each in leaders]
    return sum(later and not sooner for sooner, later in pairwise([False, *seen]))


@with_sets(long=True)
async def test_annotations_that_cannot_be_used_are_told_and_ignored(site: Site) -> None:
    """Section 6.8."""
    play = await begin(site)
    judged(play)
    tree = a_set()
    tree["metadata"]["annotations"] = {PAUSED: "yes", MAX_GROUP_RESTARTS: "-1"}
    await play.create(tree)
    await play.available()
    await play.give_image(SECOND)
    await play.until(lambda: play.is_available() and {image_of(pod) for pod in play.pods(set="a")} == {SECOND})
    told = set(play.told("InvalidAnnotation"))
    assert told == {
        f"{PAUSED} is 'yes', and only 'true' means something; it is ignored",
        f"{MAX_GROUP_RESTARTS} is '-1', which is no number of recreations; it is ignored",
    }


@with_sets(long=True)
async def test_a_worker_that_vanishes_at_once_recreates_its_group(site: Site) -> None:
    """Section 3.9 point 6: deleted without grace, and replaced before anybody looks."""
    play = await begun(site, template={"size": 3})
    judged(play, budget=False)
    before, leader = play.uids(0), uid_of(site.history.objects(PODS)["a-0"])
    await site.client.call(_at_once(site, "a-0-1"))
    await play.until(lambda: not before & play.uids(0) and play.is_whole(0, FIRST, 3))
    await play.at_rest()
    assert [each.name for each in play.writes(PODS.plural, "delete")] == ["a-0"]
    note = "Worker pod a-0-1 failed, deleted leader pod a-0 to recreate group 0"
    await play.until(lambda: play.told("RecreateGroup") == [note])
    assert play.event(note)["related"]["uid"] == leader


def _at_once(site: Site, pod: str) -> Request:
    body = msgspec.json.encode({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0})
    return Request("DELETE", path_of(PODS, site.namespace, pod), body=body, content_type=JSON)


@with_sets()
async def test_a_revision_that_somebody_takes_for_himself_in_the_last_moment_stays(site: Site) -> None:
    """Without the label of the set it is no revision of it any more, whatever was decided about it before."""
    play = await begun(site, replicas=1)
    await play.kill()

    async def take(request: Request) -> None:
        name = request.path.rpartition("/")[2]
        await change(site, CONTROLLER_REVISIONS, name, {"metadata": {"labels": {NAME: None, "kept": "true"}}})

    (old,) = (each["metadata"]["name"] for each in play.revisions())
    meddling = Meddling(site.ground.transport("admin"), "delete", CONTROLLER_REVISIONS.plural, take)
    play.start(meddling)
    await play.give_image(SECOND)
    await play.available()
    await play.at_rest()

    assert meddling.done
    kept = site.history.objects(CONTROLLER_REVISIONS)[old]
    assert kept["metadata"]["labels"]["kept"] == "true"
    assert [str(each) for each in play.sent if each.verb == "delete"] == [f"delete controllerrevisions/{old} 409"]


@with_sets(on=("sim",))
async def test_the_current_revision_from_which_somebody_takes_the_label_is_recorded_again(site: Site) -> None:
    """Section 5.7: under the next name, since that one is taken; the next rollout goes as ever."""
    play = await begun(site)
    judged(play, lost=True)
    (old,) = play.revisions()
    before, key = play.uids(0, 1), key_of(old)

    await change(site, CONTROLLER_REVISIONS, old["metadata"]["name"], {"metadata": {"labels": {NAME: None}}})
    await play.until(lambda: [key_of(each) for each in play.revisions()] == [key, key], within=5)
    await play.at_rest()

    assert play.revisions()[1]["metadata"]["name"] == f"a-{key}-2"
    assert play.uids(0, 1) == before
    await play.give_image(SECOND)
    await play.available()
    await play.at_rest()
    assert all(play.is_whole(index, SECOND) for index in range(2))
    assert old["metadata"]["name"] in site.history.objects(CONTROLLER_REVISIONS)


@with_sets()
async def test_a_set_that_was_deleted_without_its_groups_takes_them_over_when_it_is_made_again(site: Site) -> None:
    """First somebody must say that the StatefulSet, which nobody controls, is not his; then no pod is touched."""
    play = await begun(site)
    before = play.uids(0, 1)
    await site.client.call(delete(Ref(LEADER_WORKER_SETS, site.namespace, "a"), propagation="Orphan"))
    await play.until(lambda: "a" not in site.history.objects(LEADER_WORKER_SETS))
    await play.until(lambda: not owner_of(play.leaders()))
    await play.create(a_set())
    await play.until(lambda: play.told("FailedCreate"))

    (shown,) = await explain_all(site.client, [site.namespace])
    (block,) = shown.blocked_by
    assert block.reason == "NameTaken"
    assert block.advice[0].endswith(f"kubectl -n {site.namespace} delete statefulset a --cascade=orphan")
    await site.client.call(delete(Ref(STATEFULSETS, site.namespace, "a"), propagation="Orphan"))
    await play.available()
    await play.at_rest()

    assert play.uids(0, 1) == before
    assert owner_of(play.leaders())["uid"] == uid_of(play.tree())
    assert len(play.keys()) == 1


@with_sets(on=("sim",))
async def test_leaders_whose_statefulset_goes_without_them_roll_on_within_the_budget(site: Site) -> None:
    """Section 3.14 point 4: the one that is made takes over groups of both revisions, and moves none by that."""
    update = {"maxUnavailable": 2}
    play = await begun(site, replicas=4, update=update, template={"leaderTemplate": a_pod()})
    judged(play, budget=False)
    await play.give_image(SECOND, hold=True, leaderTemplate=a_pod(SECOND))
    await play.at_group(3, SECOND)
    await play.at_group(2, SECOND)
    await play.at_rest()
    before, old = play.uids(0, 1, 2, 3), uid_of(play.leaders())

    await play.delete(STATEFULSETS, "a", "Orphan")
    await play.until(lambda: play.numbers() == "4/4" and uid_of(play.leaders()) != old)
    await play.at_numbers("2/4")
    await play.until(lambda: {owner_of(pod).get("uid") for pod in play.pods(worker="0")} == {uid_of(play.leaders())})
    await play.at_rest()
    assert play.uids(0, 1, 2, 3) == before

    await play.release(3, 2)
    await play.at_group(1, SECOND)
    await play.at_group(0, SECOND)
    await play.release(1, 0)
    await play.until(lambda: play.is_available() and len(play.keys()) == 1)
    await play.at_numbers("0/4")

    counts = [_whole_groups(world[PODS].values()) for _, world in site.history.replay()]
    assert min(counts[counts.index(4) :]) == 2


def _whole_groups(pods: Iterable[Tree]) -> int:
    """Groups of two pods that are ready, whoever controls them."""
    found = Counter(each["metadata"]["labels"].get(GROUP_INDEX) for each in pods if is_ready(each))
    return sum(each == 2 for each in found.values())
