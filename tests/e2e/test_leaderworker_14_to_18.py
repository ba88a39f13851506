"""Acceptance scenarios 14 to 18: when workers start, when groups are recreated, how pods are found, and scaling."""

from __future__ import annotations

import msgspec
import pytest

from fairlead.contracts.leaderworker.kinds import LEADER_WORKER_SETS, NAME, WORKER_INDEX
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import PODS, SERVICES
from kubeloop.request import MERGE_PATCH, Request, path_of
from kubesim.pods.behaviour import CRASH_AFTER, CRASH_TIMES, HANG_TERMINATING, PENDING
from tests.contracts.leaderworker.decide.sets import a_set, environment
from tests.e2e.clusters import Site, long
from tests.e2e.history import Tree
from tests.e2e.leaderworker_play import FIRST, SECOND, Play, a_pod, begin, body_of, key_of, owner_of
from tests.e2e.leaderworker_rules import judged
from tests.e2e.leaderworkers import with_sets
from tests.e2e.zones import change


@with_sets()
async def test_workers_are_made_when_their_leader_is_ready(site: Site) -> None:
    """Scenario 14."""
    play = await begin(site)
    judged(play)
    template = {"leaderTemplate": a_pod(hold=True), "workerTemplate": a_pod()}
    await play.create(a_set(replicas=4, startupPolicy="LeaderReady", template=template))
    await play.until(lambda: len(play.pods(worker="0")) == 4)
    await play.at_rest()
    assert play.worker_sets() == []
    assert play.conditions() == {"Progressing": "True"}

    await play.release(0, 1)
    await play.until(lambda: len(play.worker_sets()) == 2)
    await play.at_rest()
    assert play.worker_sets() == ["a-0", "a-1"]
    await play.until(lambda: play.status()["readyReplicas"] == 2)

    await play.release(2, 3)
    await play.available()
    assert play.worker_sets() == ["a-0", "a-1", "a-2", "a-3"]


async def annotate(site: Site, pod: str, annotations: dict[str, str | None]) -> None:
    await change(site, PODS, pod, {"metadata": {"annotations": annotations}})


def recreations(play: Play) -> list[str]:
    """Notes of recreated groups, and the deletions behind them."""
    for each in play.writes(PODS.plural, "delete"):
        assert body_of(each)["propagationPolicy"] == "Foreground"
        assert body_of(each)["preconditions"]["uid"]
    return [each.name for each in play.writes(PODS.plural, "delete")]


@with_sets(long=True)
async def test_without_a_policy_a_worker_comes_back_alone(site: Site) -> None:
    """Scenario 15, None."""
    play = await begin(site)
    judged(play, budget=False)
    await play.create(a_set(template={"size": 4, "restartPolicy": "None"}))
    await play.available()
    before = play.uids(0, 1)
    lost = site.history.objects(PODS)["a-0-1"]["metadata"]["uid"]
    await play.delete(PODS, "a-0-1")
    await annotate(site, "a-1-1", {CRASH_AFTER: "10ms", CRASH_TIMES: "1"})
    await play.until(lambda: lost not in play.uids(0) and play.is_whole(0, FIRST, 4))
    await play.until(lambda: restarts(site, "a-1-1") == 1 and play.is_whole(1, FIRST, 4))
    await play.at_rest()
    assert recreations(play) == []
    assert before - play.uids(0, 1) == {lost}


def restarts(site: Site, pod: str) -> int:
    statuses = site.history.objects(PODS)[pod]["status"].get("containerStatuses", ())
    return sum(each["restartCount"] for each in statuses)


@with_sets()
@pytest.mark.parametrize("mishap", ["deleted", long("restarted"), "leader restarted"])
async def test_a_group_is_recreated_when_one_of_its_pods_fails(site: Site, mishap: str) -> None:
    """Scenario 15, RecreateGroupOnPodRestart."""
    play = await begin(site)
    judged(play, budget=False)
    await play.create(a_set(template={"size": 4}))
    await play.available()
    await play.at_rest()
    before, others = play.uids(0), play.uids(1)
    leader = site.history.objects(PODS)["a-0"]
    failed = "a-0" if mishap == "leader restarted" else "a-0-2"
    if mishap == "deleted":
        await play.delete(PODS, failed)
    else:
        await annotate(site, failed, {CRASH_AFTER: "10ms", CRASH_TIMES: "1"})

    await play.until(lambda: not before & play.uids(0) and play.is_whole(0, FIRST, 4))
    await play.available()
    await play.at_rest()
    assert recreations(play) == ["a-0"]
    assert play.uids(1) == others
    note = f"Worker pod {failed} failed, deleted leader pod a-0 to recreate group 0"
    await play.until(lambda: play.told("RecreateGroup") == [note])
    event = play.event(note)
    assert (event["type"], event["action"]) == ("Normal", "Delete")
    assert (event["related"]["kind"], event["related"]["uid"]) == ("Pod", leader["metadata"]["uid"])
    assert len(play.keys()) == 1
    assert "UpdateInProgress" not in play.conditions()


@with_sets(long=True)
async def test_a_group_that_has_not_started_is_left_alone(site: Site) -> None:
    """Scenario 15, RecreateGroupAfterStart."""
    play = await begin(site)
    judged(play, budget=False)
    pending: Tree = {**a_pod(), "metadata": {"annotations": {PENDING: "true"}}}
    template = {
        "size": 4,
        "restartPolicy": "RecreateGroupAfterStart",
        "leaderTemplate": a_pod(),
        "workerTemplate": pending,
    }
    await play.create(a_set(replicas=1, template=template))
    await play.until(lambda: len(play.group(0)) == 4)
    leader = site.history.objects(PODS)["a-0"]["metadata"]["uid"]
    for worker in (1, 2):
        await annotate(site, f"a-0-{worker}", {PENDING: None})
    await play.until(lambda: all(phase(site, f"a-0-{worker}") == "Running" for worker in (1, 2)))
    lost = site.history.objects(PODS)["a-0-1"]["metadata"]["uid"]
    await play.delete(PODS, "a-0-1")
    await play.until(lambda: len(play.group(0)) == 4 and lost not in play.uids(0))
    await play.at_rest()
    assert recreations(play) == []
    assert leader in play.uids(0)

    for worker in (1, 3):
        await annotate(site, f"a-0-{worker}", {PENDING: None})
    await play.until(lambda: play.is_whole(0, FIRST, 4))
    await play.at_rest()
    await play.delete(PODS, "a-0-3")
    await play.until(lambda: leader not in play.uids(0))
    await play.at_rest()
    assert recreations(play) == ["a-0"]


def phase(site: Site, pod: str) -> str:
    said: str = site.history.objects(PODS)[pod]["status"]["phase"]
    return said


@with_sets()
async def test_old_workers_that_go_slowly_do_not_take_the_new_leader_along(site: Site) -> None:
    """Scenario 16."""
    play = await begin(site)
    judged(play)
    await play.create(a_set(replicas=2))
    await play.available()
    old = site.history.objects(PODS)["a-1-1"]
    await annotate(site, "a-1-1", {HANG_TERMINATING: "true"})
    await play.give_image(SECOND)
    leader = await site.until(lambda: next((pod for pod in play.pods(worker="0") if key_of(pod) != key_of(old)), None))
    assert leader is not None
    await play.until(lambda: "deletionTimestamp" in site.history.objects(PODS)["a-1-1"]["metadata"])
    await play.at_rest()
    assert site.history.objects(PODS)["a-1"]["metadata"]["uid"] == leader["metadata"]["uid"]
    assert play.numbers() == "1/2"

    await annotate(site, "a-1-1", {HANG_TERMINATING: None})
    await play.available()
    assert recreations(play) == []
    assert play.told("RecreateGroup") == []
    assert leader["metadata"]["uid"] in play.uids(1)


@with_sets()
async def test_every_group_has_its_own_service_until_they_share_one(site: Site) -> None:
    """Scenario 17."""
    play = await begin(site)
    judged(play)
    unique = {"networkConfig": {"subdomainPolicy": "UniquePerReplica"}}
    await play.create(a_set(replicas=4, update={"maxUnavailable": 1, "maxSurge": 4}, **unique))
    await play.available()
    assert play.services() == ["a-0", "a-1", "a-2", "a-3"]
    service, leader = site.history.objects(SERVICES)["a-1"], site.history.objects(PODS)["a-1"]
    assert owner_of(service)["uid"] == leader["metadata"]["uid"]
    assert address(site, "a-1") == f"a-1.a-1.{site.namespace}"
    assert address(site, "a-1-1") == f"a-1.a-1.{site.namespace}"

    await play.give_image(SECOND, hold=True)
    for index in range(4, 7):
        await play.at_group(index, SECOND)
    assert play.services() == [f"a-{index}" for index in range(7)]
    for index in (6, 5, 4, 3, 2, 1, 0):
        await play.at_group(index, SECOND)
        await play.release(index)
    await play.available()
    await play.until(lambda: play.services() == ["a-0", "a-1", "a-2", "a-3"])

    await play.change({"spec": {"networkConfig": {"subdomainPolicy": "Shared"}}})
    await play.until(lambda: "a" in play.services())
    assert key_of(site.history.objects(PODS)["a-0"]) == play.keys()[0]
    template = {"workerTemplate": a_pod(SECOND)}
    await play.change({"spec": {"leaderWorkerTemplate": template}})
    await play.available()
    await play.until(lambda: play.services() == ["a"])
    assert address(site, "a-1") == f"a-1.a.{site.namespace}"
    assert address(site, "a-1-1") == f"a-1.a.{site.namespace}"


def address(site: Site, pod: str) -> str:
    return environment(site.history.objects(PODS)[pod])["LWS_LEADER_ADDRESS"]


async def scale(play: Play, replicas: int | None = None) -> Tree:
    """What the scale subresource says; with `replicas` after that was written."""
    path = path_of(LEADER_WORKER_SETS, play.site.namespace, "a", "scale")
    request = Request("GET", path)
    if replicas is not None:
        body = msgspec.json.encode({"spec": {"replicas": replicas}})
        request = Request("PATCH", path, body=body, content_type=MERGE_PATCH)
    found: Tree = msgspec.json.decode((await play.site.client.call(request)).body)
    return found


@with_sets()
async def test_a_set_is_scaled_by_its_subresource(site: Site) -> None:
    """Scenario 18."""
    play = await begin(site)
    judged(play, budget=False)
    await play.create(a_set())
    await play.available()
    stays = play.uids(0, 1)
    await scale(play, 4)
    await play.until(lambda: play.is_available() and play.status()["replicas"] == 4)
    await play.at_rest()
    assert play.numbers_so_far() == ["0/2", "0/4"]
    assert play.uids(0, 1) == stays
    assert len(play.keys()) == 1
    assert "UpdateInProgress" not in play.conditions()
    said = await scale(play)
    assert said["spec"] == {"replicas": 4}
    assert said["status"] == {"replicas": 4, "selector": f"{NAME}=a,{WORKER_INDEX}=0"}

    await scale(play, 0)
    await play.until(lambda: play.is_available() and play.status().get("replicas", 0) == 0)
    await play.until(lambda: not play.pods(set="a") and not play.worker_sets())
    assert play.numbers() == "0/0"
    assert play.leaders()["spec"]["updateStrategy"]["rollingUpdate"].get("maxUnavailable", 1) == 1
    assert [each.name for each in play.writes(STATEFULSETS.plural, "delete")] == []
