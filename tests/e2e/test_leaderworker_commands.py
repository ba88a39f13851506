"""Looking at sets and asking things of them: with the operator, on both clusters."""

from __future__ import annotations

from itertools import count

import msgspec
import pytest

from fairlead.cli.documents_of import explain_all
from fairlead.cli.failures import sentence
from fairlead.cli.selection import is_blocked, is_complete
from fairlead.contracts import CONTRACTS
from fairlead.contracts.leaderworker.kinds import (
    EXCLUSIVE_TOPOLOGY,
    LEADER_WORKER_SETS,
    MAX_GROUP_RESTARTS,
    PAUSED,
    REVISION_KEY,
)
from fairlead.contracts.leaderworker.settings import Settings
from fairlead.contracts.leaderworker.verbs import VERBS
from fairlead.core.explain import Explain, Lane
from fairlead.core.verb import Absent, Nothing, Refused, VerbDocument, VerbTable
from fairlead.engine.verbs import Unfinished
from kubeloop.errors import Forbidden
from kubeloop.objects.apps import CONTROLLER_REVISIONS
from kubeloop.objects.core import PODS
from kubesim.kubelet.pods import SCHEDULER
from kubesim.pods.behaviour import CRASH_AFTER, CRASH_TIMES, HANG_TERMINATING
from tests.contracts.leaderworker.decide.sets import a_set
from tests.e2e.clusters import Site
from tests.e2e.leaderworker_play import FIRST, PLACED_BY_HAND, SECOND, Play, begin
from tests.e2e.leaderworkers import with_sets
from tests.e2e.programs import finished
from tests.e2e.roles import Rights, grant
from tests.e2e.verbs import asked, interrupted, said
from tests.e2e.zones import change

READ = ("get", "list", "watch")
LOOKING: Rights = {
    ("", "pods"): READ,
    ("", "services"): READ,
    ("apps", "statefulsets"): READ,
    ("apps", "controllerrevisions"): READ,
    ("leaderworkerset.x-k8s.io", "leaderworkersets"): READ,
}
"""What a look needs of sets, and no more."""


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CONTRACTS, "leaderworker", "fairlead.contracts.leaderworker.contract")


async def look(play: Play) -> Explain:
    """As a command works it out: no operator is asked."""
    (shown,) = await explain_all(play.site.client, [play.site.namespace])
    return shown


async def told(play: Play) -> Explain:
    """As the operator tells it."""
    manager = play.operator.manager
    assert manager is not None
    report = await manager.report("lws-manager", [play.site.namespace])
    (shown,) = report.items
    return shown


def lane(shown: Explain, index: int) -> Lane:
    return next(each for each in shown.stands.lanes if each.name == f"a-{index}")


def bare(shown: Explain) -> dict[str, object]:
    """Without who says it and when."""
    tree = msgspec.to_builtins(shown)
    waits = [*tree["blockedBy"], *(each for one in tree["stands"]["lanes"] for each in one["waits"])]
    for each in waits:
        each.pop("since")
        each.pop("sinceExact")
    return {key: value for key, value in tree.items() if key not in ("source", "again")}


@with_sets(long=True)
async def test_operator_and_command_tell_the_same_of_a_rollout_half_way(site: Site) -> None:
    play = await begin(site)
    await play.create(a_set(replicas=3))
    await play.available()
    await play.give_image(SECOND, hold=True)
    await play.at_numbers("2/3")
    await play.at_group(2, SECOND)
    await play.at_rest()

    shown = await told(play)
    old, new = play.keys()
    assert bare(await look(play)) == bare(shown)
    assert [each.phase for each in shown.stands.lanes] == ["Pending", "Pending", "Settling"]
    assert (lane(shown, 0).from_revision, lane(shown, 0).to_revision) == (old, new)
    assert (lane(shown, 0).from_images, lane(shown, 0).to_images) == ((FIRST,), (SECOND,))
    assert [each.name for each in lane(shown, 2).cells] == ["a-2", "a-2-1"]
    assert {each.object for each in shown.blocked_by} == {"pod/a-2", "pod/a-2-1"}
    assert all(each.since is not None for each in shown.blocked_by)
    assert shown.source
    assert shown.source.observed == {"leaderworkerset/a": play.tree()["metadata"]["generation"]}

    await play.change({"spec": {"leaderWorkerTemplate": {"workerTemplate": {"metadata": None}}}})
    await play.available()
    await play.at_rest()
    assert is_complete(await told(play))
    assert is_complete(await look(play))


@with_sets(long=True)
async def test_a_command_says_what_comes_next_when_a_rollout_begins_in_another(site: Site) -> None:
    """The first step looks at leaders past the cache, and a command without an operator can do that too."""
    play = await begin(site)
    await play.create(a_set(replicas=3))
    await play.available()
    await play.give_image(SECOND, hold=True)
    await play.at_numbers("2/3")
    await play.at_group(2, SECOND)
    await play.give_image("example.test/main:3", hold=True)
    await play.at_numbers("3/3")
    await play.kill()
    await play.release(2)
    await play.until(lambda: play.is_whole(2, SECOND))

    shown = await look(play)

    assert shown.blocked_by == ()
    assert shown.next
    assert "a-2" in shown.next[0]


@with_sets(long=True)
async def test_a_pod_that_does_not_go_is_named_with_its_node(site: Site) -> None:
    play = await begin(site)
    await play.create(a_set(replicas=2))
    await play.available()
    hangs = {"metadata": {"annotations": {HANG_TERMINATING: "true"}}}
    await change(site, PODS, "a-1-1", hangs)
    await play.delete(PODS, "a-1-1")
    await play.until(lambda: "deletionTimestamp" in site.history.objects(PODS)["a-1"]["metadata"])
    await play.at_rest()

    shown = await told(play)
    assert lane(shown, 1).phase == "Recreating"
    (found,) = [each for each in lane(shown, 1).waits if each.object == "pod/a-1-1"]
    node = site.history.objects(PODS)["a-1-1"]["spec"]["nodeName"]
    assert found.text == f"a-1-1 is shutting down on node {node}"
    assert found.since is not None
    await change(site, PODS, "a-1-1", {"metadata": {"annotations": {HANG_TERMINATING: None}}})
    await play.available()


@with_sets(long=True)
async def test_a_group_that_was_recreated_as_often_as_it_may_be_is_held(site: Site) -> None:
    play = await begin(site)
    made = a_set(replicas=1)
    made["metadata"]["annotations"] = {MAX_GROUP_RESTARTS: "0"}
    await play.create(made)
    await play.available()
    crash = {"metadata": {"annotations": {CRASH_AFTER: "10ms", CRASH_TIMES: "1"}}}
    await change(site, PODS, "a-0-1", crash)
    await play.until(lambda: play.conditions().get("Failed") == "True")
    await play.at_rest()

    shown = await told(play)
    (found,) = [each for each in lane(shown, 0).waits if each.reason == "RestartsExceeded"]
    assert (lane(shown, 0).phase, found.kind) == ("Held", "held")
    assert f"kubectl -n {site.namespace} delete pod a-0" in found.advice[0]


@with_sets()
async def test_undo_after_a_rollout_returns_by_a_rollout(site: Site) -> None:
    """Scenario 23, its first half."""
    play = await begin(site, Settings(history_limit=2))
    await play.create(a_set(replicas=2))
    await play.available()
    await play.give_image(SECOND)
    await play.until(lambda: play.is_available() and play.is_whole(0, SECOND) and play.is_whole(1, SECOND))
    await play.at_rest()
    first, second = play.keys()

    assert "goes back to revision 1" in await said(site, VERBS, "undo", "a")
    await play.until(lambda: play.is_available() and play.is_whole(0, FIRST) and play.is_whole(1, FIRST))
    await play.at_rest()

    assert play.keys() == [second, first]
    table = await asked(site, VERBS, "history", "a")
    assert isinstance(table, VerbTable)
    assert [(each["key"], each["groups"], each["current"]) for each in table.items] == [
        (second, 0, False),
        (first, 2, True),
    ]
    shown = await asked(site, VERBS, "history", "a", revision=str(table.items[0]["revision"]))
    assert isinstance(shown, VerbDocument)
    assert SECOND in str(shown.shown)
    assert isinstance(await asked(site, VERBS, "undo", "a", to_revision=first), Nothing)
    assert isinstance(await asked(site, VERBS, "undo", "a", to_revision="77"), Refused)
    assert isinstance(await asked(site, VERBS, "undo", "b"), Absent)


@with_sets(long=True)
async def test_undo_in_the_middle_moves_no_group_that_never_moved(site: Site) -> None:
    """Scenario 23, its second half: without a history the old revision lives until the rollout is done."""
    play = await begin(site)
    await play.create(a_set(replicas=3))
    await play.available()
    before = play.uids(0, 1)
    await play.give_image(SECOND, hold=True)
    await play.at_group(2, SECOND)
    await play.at_rest()

    await said(site, VERBS, "undo", "a")
    await play.until(lambda: play.is_available() and play.is_whole(2, FIRST))
    await play.at_rest()

    assert play.uids(0, 1) == before
    assert len(play.revisions()) == 1
    nothing_left = await asked(site, VERBS, "undo", "a")
    assert isinstance(nothing_left, Refused)
    assert nothing_left.sentence.startswith("no rollout history found")


@with_sets()
async def test_undo_is_decided_anew_when_somebody_else_was_faster(site: Site) -> None:
    play = await begin(site, Settings(history_limit=2))
    await play.create(a_set(replicas=1))
    await play.available()
    await play.give_image(SECOND)
    await play.until(lambda: play.is_available() and play.is_whole(0, SECOND))
    await play.at_rest()
    await play.kill()  # its status would be a second change, after which undo is left

    async def scaled() -> None:
        await play.change({"spec": {"replicas": 2}})

    async with interrupted(site, 1, scaled) as (client, _):
        await asked(site, VERBS, "undo", "a", client)

    play.start()
    await play.until(lambda: play.is_available() and play.is_whole(0, FIRST) and play.is_whole(1, FIRST))
    assert play.tree()["spec"]["replicas"] == 2


@with_sets(long=True)
async def test_undo_looks_once_more_and_then_leaves_it(site: Site) -> None:
    """leaderworker 6.4: of two conflicts the second ends it, and nothing is written."""
    play = await begin(site, Settings(history_limit=2))
    await play.create(a_set(replicas=1))
    await play.available()
    await play.give_image(SECOND)
    await play.until(lambda: play.is_available() and play.is_whole(0, SECOND))
    await play.at_rest()
    counted = count()

    async def labelled() -> None:
        await play.change({"metadata": {"labels": {"count": str(next(counted))}}})

    async with interrupted(site, 0, labelled) as (client, sent):
        with pytest.raises(Unfinished) as unfinished:
            await asked(site, VERBS, "undo", "a", client)

    assert (unfinished.value.written, sent.patches) == ((), 2)
    assert play.tree()["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"][0]["image"] == SECOND


@with_sets(long=True)
async def test_a_partition_that_is_reached_is_complete_once_the_set_is_available(site: Site) -> None:
    """leaderworker 6.4: the document says what the partition keeps all the same."""
    play = await begin(site)
    await play.create(a_set(replicas=3, update={"partition": 2}))
    await play.available()
    await play.give_image(SECOND, hold=True)
    await play.at_group(2, SECOND)
    await play.at_rest()
    assert not is_complete(await told(play))

    await play.release(2)
    await play.available()
    await play.at_rest()
    for shown in (await told(play), await look(play)):
        assert (is_complete(shown), shown.stands.phase, shown.stands.done) == (True, "Held", 1)
        assert [each.reason for each in shown.blocked_by] == ["PartitionReached"]

    await play.hold(0)
    await play.until(lambda: play.status()["readyReplicas"] == 2)
    await play.at_rest()
    for shown in (await told(play), await look(play)):
        assert (shown.outcome, {each.object for each in shown.blocked_by}) == ("waiting", {"pod/a-0", "pod/a-0-1"})


@with_sets(on=("served", "real"), long=True)
async def test_the_status_at_a_partition_is_code_0(site: Site) -> None:
    play = await begin(site)
    await play.create(a_set(replicas=2, update={"partition": 1}))
    await play.available()
    await play.give_image(SECOND)
    await play.until(lambda: play.is_available() and play.is_whole(1, SECOND))
    await play.at_rest()

    ended = await finished(
        *("fairlead", "status", "a", "-n", site.namespace, "--timeout", "60s"), kubeconfig=site.server.kubeconfig
    )

    assert ended.code == 0, ended
    last = ended.out.splitlines()[-1]
    assert last.startswith("a: done, 1 of 2 groups updated; waiting: groups below 1 stay at their revision")


@with_sets(on=("served", "real"), long=True)
async def test_the_outcomes_of_undo_have_their_codes(site: Site) -> None:
    """leaderworker 6.4."""
    play = await begin(site)
    await play.create(a_set(replicas=1))
    await play.available()

    async def undo(*words: str) -> tuple[int, str]:
        arguments = ("undo", *words, "-n", site.namespace, "--yes")
        ended = await finished("fairlead", *arguments, kubeconfig=site.server.kubeconfig)
        return ended.code, f"{ended.out}{ended.err}"

    for words, code, text in (
        (("b",), 3, "LeaderWorkerSet or RolloutTrait named b"),
        (("a",), 1, "no rollout history found"),
    ):
        ended, told_of_it = await undo(*words)
        assert (ended, text in told_of_it) == (code, True), told_of_it


@with_sets()
async def test_a_refusal_of_the_webhook_is_reported_in_its_words(site: Site) -> None:
    """leaderworker 6.4: a field that cannot change back."""
    play = await begin(site, Settings(history_limit=2))
    await play.create(a_set(replicas=1))
    await play.available()
    name, data = play.revisions()[0]["metadata"]["name"], play.revisions()[0]
    policy = {"subGroupPolicy": {"subGroupSize": 2, "subGroupPolicyType": "LeaderWorker"}}
    data["data"]["spec"]["leaderWorkerTemplate"] |= policy
    made = {**data, "metadata": {key: data["metadata"][key] for key in ("labels", "ownerReferences")}, "revision": 7}
    made["metadata"] |= {"name": f"{name}-forged", "labels": {**made["metadata"]["labels"], REVISION_KEY: "forged"}}
    await site.create(CONTROLLER_REVISIONS, made)

    with pytest.raises(Forbidden) as refused:
        await asked(site, VERBS, "undo", "a", None, to_revision="7")

    text = "cannot enable subGroupSize after the lws is already created"
    assert text in sentence(refused.value)
    assert "role" not in sentence(refused.value)


@with_sets()
async def test_a_restart_replaces_every_group_and_a_pause_holds_it(site: Site) -> None:
    play = await begin(site)
    await play.create(a_set(replicas=2))
    await play.available()
    await play.at_rest()
    before, (key,) = play.uids(0, 1), play.keys()

    await said(site, VERBS, "pause", "a")
    await said(site, VERBS, "restart", "a")
    await play.until(lambda: len(play.keys()) == 2)
    await play.at_rest()
    shown = await told(play)
    assert (is_blocked(shown), shown.outcome, shown.stands.phase) == (True, "held", "Paused")
    assert play.uids(0, 1) == before

    await said(site, VERBS, "resume", "a")
    await play.until(lambda: play.is_available() and len(play.keys()) == 1 and play.keys() != [key])
    assert not play.uids(0, 1) & before
    assert PAUSED not in site.history.objects(LEADER_WORKER_SETS)["a"]["metadata"].get("annotations", {})
    assert {pod["metadata"]["labels"][REVISION_KEY] for pod in play.pods(set="a")} == set(play.keys())


@with_sets(long=True)
async def test_what_becomes_of_sets_is_measured(site: Site) -> None:
    play = await begin(site)
    await play.create(a_set(replicas=2))
    await play.available()
    await play.give_image(SECOND)
    await play.until(lambda: play.is_available() and play.is_whole(0, SECOND) and play.is_whole(1, SECOND))
    await play.at_rest()
    await play.delete(PODS, "a-0-1")
    await play.until(lambda: len(play.told("RecreateGroup")) == 1 and play.is_whole(0, SECOND) and play.is_available())
    await play.at_rest()

    def value(name: str, /, **labels: str) -> float | None:
        found = play.operator.metrics.registry.get_sample_value(name, labels)
        return None if found is None else float(found)

    def of_set(name: str, /, **labels: str) -> float | None:
        return value(name, namespace=site.namespace, name="a", **labels)

    states = {state: of_set("fairlead_lws_groups", state=state) for state in ("ready", "updated", "desired", "surge")}
    assert states == {"ready": 2, "updated": 2, "desired": 2, "surge": 0}
    assert of_set("fairlead_lws_revisions") == 1
    assert of_set("fairlead_lws_rollout_blocked") == 0
    assert of_set("fairlead_lws_group_recreations_total", reason="PodDeleted") == 1
    assert value("fairlead_lws_rollout_duration_seconds_count") == 1
    assert (value("fairlead_lws_group_ready_seconds_count") or 0) >= 5
    assert (value("fairlead_lws_semantic_equal_total", path="bytes") or 0) >= 1
    for controller in ("leaderworkerset", "pod"):
        assert (value("controller_runtime_reconcile_total", controller=controller, result="success") or 0) > 0
        assert value("controller_runtime_reconcile_errors_total", controller=controller) == 0
        assert value("controller_runtime_active_workers", controller=controller) == 0
        queue = {"name": controller, "controller": controller}
        assert (value("workqueue_adds_total", **queue) or 0) > 0
        assert value("workqueue_depth", **queue, priority="") == 0
        assert value("workqueue_unfinished_work_seconds", **queue) == 0
        assert value("workqueue_work_duration_seconds_count", **queue) == value(
            "workqueue_queue_duration_seconds_count", **queue
        )
    assert value("leader_election_master_status", name="b8b2488c.x-k8s.io") == 1
    counted = [
        sample
        for family in play.operator.metrics.registry.collect()
        for sample in family.samples
        if sample.name == "rest_client_requests_total" and sample.labels["method"] == "POST"
    ]
    assert sum(sample.value for sample in counted if sample.labels["code"] == "201") > 0


@with_sets(long=True)
async def test_who_may_not_read_nodes_is_told_what_the_rest_shows(site: Site) -> None:
    play = await begin(site, scheduler=SCHEDULER)
    made = a_set(replicas=1, template={"leaderTemplate": PLACED_BY_HAND})
    made["metadata"]["annotations"] = {EXCLUSIVE_TOPOLOGY: "example.test/rack"}
    await play.create(made)
    await play.bind("a-0")
    user = await grant(site, LOOKING, "looker")

    (shown,) = await explain_all(site.client_as(user.name), [site.namespace])

    assert "NodeUnlabelled" not in {each.reason for each in lane(shown, 0).waits}
    assert "NodeUnlabelled" in {each.reason for each in lane(await look(play), 0).waits}
