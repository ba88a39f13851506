"""Sets that wait for pods in vain: they say so, once, and go on when it is over."""

from __future__ import annotations

from fairlead.cli.documents_of import explain_all
from fairlead.contracts.leaderworker.kinds import NO_RESTART, RECREATE_ON_RESTART, REVISION_KEY
from fairlead.core.explain import Explain
from fairlead.core.progress_deadline import PROGRESS_DEADLINE
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubeloop.request import delete
from kubesim.pods.behaviour import CRASH_AFTER, HANG_TERMINATING, IMAGE_PULL, PENDING, READY_AFTER
from tests.contracts.leaderworker.decide.sets import a_set
from tests.e2e.clusters import Site
from tests.e2e.history import Tree
from tests.e2e.leaderworker_play import LOOK_EVERY, SECOND, THIRD, Play, a_pod, begin
from tests.e2e.leaderworker_rules import judged
from tests.e2e.leaderworkers import with_sets
from tests.e2e.programs import finished
from tests.e2e.zones import change

CRASHING = {CRASH_AFTER: "500ms", READY_AFTER: "1m"}
"""Pods that crash before they are ready."""


def patient(seconds: int = 2, restart: str = NO_RESTART) -> Tree:
    """A set whose pods count as stuck after so long, with leaders that are fine."""
    tree = a_set(template={"leaderTemplate": a_pod(), "workerTemplate": a_pod(), "restartPolicy": restart})
    return {**tree, "metadata": {**tree["metadata"], "annotations": {PROGRESS_DEADLINE: f"{seconds}s"}}}


async def give_workers(play: Play, image: str = SECOND, **annotations: str | None) -> None:
    template = {"metadata": {"annotations": annotations}, "spec": {"containers": [{"name": "main", "image": image}]}}
    await play.change({"spec": {"leaderWorkerTemplate": {"workerTemplate": template}}})


def blocked(play: Play, reason: str = "PodStuck") -> bool:
    """What both metrics say."""
    value, place = play.operator.metrics.registry.get_sample_value, play.site.namespace
    labels = {"part": "leaderworker", "namespace": place, "rollout": "a", "reason": reason}
    found = value("fairlead_rollout_blocked", labels) == 1
    assert value("fairlead_lws_rollout_blocked", {"namespace": place, "name": "a"}) == float(found)
    return found


async def until_blocked(play: Play) -> None:
    await play.until(lambda: play.told("RolloutBlocked") and blocked(play), every=LOOK_EVERY)


async def explained(play: Play) -> Explain:
    manager = play.operator.manager
    assert manager is not None
    (shown,) = (await manager.report("lws-manager", [play.site.namespace])).items
    (looked,) = await explain_all(play.site.client, [play.site.namespace])
    assert (looked.outcome, looked.stands.phase) == (shown.outcome, shown.stands.phase)
    return shown


def restarts(site: Site, pod: str) -> int:
    statuses = site.history.objects(PODS)[pod]["status"].get("containerStatuses", ())
    return max((each["restartCount"] for each in statuses), default=0)


@with_sets(seeds=(0, 1, 2), long=True)
async def test_a_worker_that_crashes_again_and_again_blocks_its_set(site: Site) -> None:
    play = await begin(site)
    judged(play)
    await play.create(patient(600))
    await play.available()
    await give_workers(play, **CRASHING)
    await play.until(lambda: "a-1-1" in site.history.objects(PODS) and restarts(site, "a-1-1") >= 2)
    await until_blocked(play)

    note = "Group 1 does not become ready: pod a-1-1 is stuck, container main is in CrashLoopBackOff"
    assert play.told("RolloutBlocked") == [note]
    assert play.event(note)["related"]["name"] == "a-1-1"
    shown = await explained(play)
    assert (shown.outcome, shown.stands.phase, shown.next) == ("blocked", "Blocked", ())
    first = shown.blocked_by[0]
    assert first.object == "pod/a-1-1"
    assert first.text.startswith("a-1-1 is stuck: container main is in CrashLoopBackOff (")
    assert "restarts" in first.text
    assert first.since is not None
    assert first.advice[0] == f"kubectl -n {site.namespace} logs a-1-1 -c main --previous"
    earlier = site.history.objects(PODS)["a-0"]["metadata"]["labels"][REVISION_KEY]
    back = f"fairlead undo a -n {site.namespace} --to-revision {earlier}"
    assert first.advice[-1] == f"go back to the earlier template: {back}"

    before = restarts(site, "a-1-1")
    await play.until(lambda: restarts(site, "a-1-1") >= before + 3)
    await play.at_rest()
    assert blocked(play)
    assert play.told("RolloutBlocked") == [note]
    assert play.numbers() == "1/2"

    await give_workers(play, THIRD, **dict.fromkeys(CRASHING))
    await play.available()
    await play.at_rest()
    assert not blocked(play)
    assert (await explained(play)).outcome == "done"


@with_sets(long=True)
async def test_a_worker_without_a_node_blocks_when_its_time_is_over(site: Site) -> None:
    """Nothing happens in the cluster when the deadline passes: the round looks again by itself."""
    play = await begin(site)
    judged(play)
    await play.create(patient(5))
    await play.available()
    await give_workers(play, **{PENDING: "true"})
    await until_blocked(play)

    notes = play.told("RolloutBlocked")
    assert all(note.startswith("Group 1 does not become ready: pod a-1-1 is stuck, ") for note in notes), notes
    assert len(notes) == len(set(notes))
    await change(site, PODS, "a-1-1", {"metadata": {"annotations": {PENDING: None}}})
    await play.until(lambda: not blocked(play), every=LOOK_EVERY)


@with_sets()
async def test_a_pod_that_does_not_go_from_a_lost_node_blocks_its_set(site: Site) -> None:
    """It is named with its node, and never deleted by force."""
    play = await begin(site)
    judged(play, budget=False)
    await play.create(patient(restart=RECREATE_ON_RESTART))
    await play.available()
    await change(site, PODS, "a-1-1", {"metadata": {"annotations": {HANG_TERMINATING: "true"}}})
    await play.delete(PODS, "a-1-1")
    await until_blocked(play)

    node = site.history.objects(PODS)["a-1-1"]["spec"]["nodeName"]
    (note,) = play.told("RolloutBlocked")
    assert note == (
        f"Group 1 does not become ready: pod a-1-1 is stuck, it does not finish shutting down on node {node}"
    )
    first = (await explained(play)).blocked_by[0]
    assert first.text == f"a-1-1 is stuck: it does not finish shutting down on node {node}"
    assert first.since is not None
    assert [each.name for each in play.writes(PODS.plural, "delete")] == ["a-1"]


@with_sets(on=("served", "real"), long=True)
async def test_an_image_that_cannot_be_pulled_ends_commands_with_4(site: Site) -> None:
    play = await begin(site)
    await play.create(patient(600))
    await play.available()
    await give_workers(play, **{IMAGE_PULL: "fail"})
    await until_blocked(play)

    for words in (("watch", "a", "--exit-when-blocked"), ("status", "a")):
        ended = await finished(
            *("fairlead", *words, "-n", site.namespace, "--timeout", "60s"), kubeconfig=site.server.kubeconfig
        )
        assert ended.code == 4, ended
        assert "a-1-1 is stuck: container main is in ImagePullBackOff" in f"{ended.out}{ended.err}"


@with_sets()
async def test_a_group_whose_name_is_taken_blocks_its_set(site: Site) -> None:
    """In words, and in the metric that an alert goes by."""
    play = await begin(site)
    labels = {"app": "other"}
    template = {"metadata": {"labels": labels}, "spec": a_pod()["spec"]}
    spec = {"replicas": 0, "serviceName": "x", "selector": {"matchLabels": labels}, "template": template}
    await site.create(STATEFULSETS, {"metadata": {"name": "a-1"}, "spec": spec})
    await play.create(a_set(replicas=2))

    await play.until(lambda: play.told("FailedCreate"), every=LOOK_EVERY)
    await play.until(lambda: blocked(play, "NameTaken"), every=LOOK_EVERY)
    shown = await explained(play)
    assert (shown.outcome, shown.stands.phase) == ("blocked", "Blocked")

    await site.client.call(delete(Ref(STATEFULSETS, site.namespace, "a-1")))
    await play.available()
    assert not blocked(play, "NameTaken")
