"""Whole rollouts, pass by pass, on a cluster in memory (R-2): batches, gates, pauses, hooks, deadlines, kinds."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from time import process_time
from typing import Any

import pytest

from fairlead.contracts.plans.decide.seen import Extension
from fairlead.contracts.plans.decide.trait_pass import RULES
from fairlead.contracts.plans.kinds import DAEMON_SETS, Json
from fairlead.core.ask import Bad, Good, Http
from fairlead.core.decision import Hold
from fairlead.core.reason import Reason
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.meta import Resource
from tests.contracts.plans.decide.cluster import NOON, Cluster, a_clone_set, a_pair
from tests.contracts.plans.decide.workloads.objects import daemon_set, deployment, merged, pod, revision, stateful_set

FINALIZER = "finalizers.rollouttrait.standard.oam.dev"


def test_the_finalizer_comes_before_everything_else() -> None:
    cluster = a_pair()

    cluster.run()

    assert cluster.meta.finalizers == (FINALIZER,)
    assert (cluster.status, len(cluster.history)) == ({}, 1)


def test_a_pair_is_rolled_in_its_batches() -> None:
    cluster = a_pair()

    cluster.play("rolloutSucceed")

    assert (cluster.sizes("d1"), cluster.sizes("d2")) == ([5, 4, 2, 0], [0, 1, 3, 5])
    assert all(each.sizes["d1"] + each.sizes["d2"] >= 5 for each in cluster.history)
    assert cluster.owners("d1") == cluster.owners("d2") == []
    found = cluster.rollout
    assert (found.upgraded_replicas, found.upgraded_ready_replicas, found.rollout_target_size) == (5, 5, 5)
    assert found.last_applied_pod_template_identifier == found.target_generation != ""
    assert cluster.condition("RolloutSucceed")[0] == "True"


def test_sources_shrink_first_where_the_plan_says_so() -> None:
    cluster = a_pair({"rolloutStrategy": "DecreaseFirst"})

    cluster.play("rolloutSucceed")

    assert (cluster.sizes("d1"), cluster.sizes("d2")) == ([5, 4, 2, 0], [0, 1, 3, 5])
    assert all(each.sizes["d1"] + each.sizes["d2"] <= 5 for each in cluster.history)


def test_one_transition_a_pass_and_nothing_at_the_end() -> None:
    cluster = a_pair()

    cluster.play("rolloutSucceed")

    places = [(each.state, each.batch_state, each.batch) for each in cluster.history]
    changes = [place for before, place in pairwise(places) if before != place]
    assert len(changes) == len(set(changes)) == 2 + 5 + 5 + 4 + 2
    before = len(cluster.history)
    decision = cluster.run()
    assert decision.verdict == Hold(Reason.COMPLETE)
    assert len(cluster.history) == before


@pytest.mark.parametrize("name", ["lastBatchToRollout", "batchPartition"])
def test_a_gate_holds_until_the_partition_is_raised(name: str) -> None:
    cluster = a_pair({name: 0})

    cluster.play(most=60)

    assert (cluster.state, cluster.rollout.batch_rolling_state, cluster.rollout.current_batch) == (
        "rollingInBatches",
        "batchReady",
        0,
    )
    before = len(cluster.history)
    assert cluster.run().verdict == Hold(
        Reason.GATE_CLOSED,
        cluster.now + timedelta(seconds=5),
        (("rollouttrait/r", "batch 0 is the last that may be rolled: raise the partition to go on"),),
    )
    assert len(cluster.history) == before
    cluster.edit(**{name: 2})
    cluster.play("rolloutSucceed")
    assert cluster.state == "rolloutSucceed"


def test_a_partition_past_the_last_batch_is_the_last() -> None:
    cluster = a_pair({"batchPartition": 9})

    cluster.play("rolloutSucceed")

    assert cluster.state == "rolloutSucceed"


def test_no_approval_for_dead_pods() -> None:
    cluster = a_pair({"lastBatchToRollout": 0})
    cluster.play(most=60)
    cluster.put(*_with_status(cluster, "d2", {"readyReplicas": 0}))

    cluster.edit(lastBatchToRollout=2)
    cluster.run()

    assert cluster.state == "rollingInBatches"
    assert cluster.condition("BatchReady") == ("False", "0 of 1 pods of the Deployment d2 are ready")
    assert cluster.rollout.current_batch == 0
    cluster.play("rolloutSucceed")
    assert cluster.state == "rolloutSucceed"


def _with_status(cluster: Cluster, name: str, status: Json) -> tuple[Resource, Json]:
    resource, tree = cluster.objects[name]
    return resource, merged(tree, {"status": status})


def test_a_pause_freezes_everything_and_ends() -> None:
    cluster = a_pair()
    cluster.play_to("batchInRolling", 1)
    cluster.edit(paused=True)

    cluster.play(most=1)
    first = cluster.rollout
    cluster.play(most=3)

    assert cluster.condition("BatchPaused")[0] == "True"
    assert cluster.rollout == first
    assert (cluster.size("d1"), cluster.size("d2")) == (4, 1)
    assert cluster.reasons().count("Rollout paused") == 1
    cluster.edit(paused=None)
    cluster.play("rolloutSucceed")
    assert cluster.state == "rolloutSucceed"
    assert cluster.condition("BatchPaused")[0] == "False"


def test_a_rollout_that_is_created_paused_claims_and_stops() -> None:
    """R-7."""
    cluster = a_pair({"paused": True, "rolloutWebhooks": [_hook("initialize-rollout")]})

    cluster.play(most=20)

    assert (cluster.state, cluster.rollout.batch_rolling_state) == ("rollingInBatches", "batchInitializing")
    assert cluster.owners("d2") == ["RolloutTrait", "Namespace"]
    assert [each["phase"] for each in cluster.calls] == ["initializing"]


def _hook(kind: str, **fields: Any) -> Json:
    return {"type": kind, "name": kind, "url": f"http://hooks/{kind}", **fields}


def _hooked() -> Json:
    per_batch = [_hook("pre-batch-rollout", metadata={"a": "b"}), _hook("post-batch-rollout")]
    return {
        "rolloutWebhooks": [_hook("initialize-rollout"), _hook("finalize-rollout"), _hook("pre-batch-rollout")],
        "rolloutBatches": [{"replicas": 2, "batchRolloutWebhooks": per_batch}, {"replicas": 3}],
    }


def test_hooks_are_called_in_their_order() -> None:
    """Those of the plan come before those of the batch."""
    cluster = a_pair(_hooked())

    cluster.play("rolloutSucceed")

    base = {"name": "r", "namespace": "ns"}
    assert cluster.calls == [
        {**base, "phase": "initializing"},
        {**base, "phase": "batchInitializing"},
        {**base, "phase": "batchInitializing", "metadata": {"a": "b"}},
        {**base, "phase": "batchFinalizing"},
        {**base, "phase": "batchInitializing"},
        {**base, "phase": "finalising"},
    ]


def test_calls_of_two_batches_are_two_questions() -> None:
    """R-26: equal bodies, other subjects; complete bodies, own time-outs, and codes that are asked for."""
    asked: list[Http] = []

    def answer(_body: Json, call: Http) -> Good:
        asked.append(call)
        return Good(code=208)

    hook = _hook("pre-batch-rollout", expectedStatus=[208], method="PUT")
    cluster = a_pair({"rolloutWebhooks": [hook]})
    cluster.hook = answer

    cluster.play("rolloutSucceed")

    assert len(asked) == len({each.subject for each in asked}) == 3
    assert {each.body for each in asked} == {b'{"name":"r","namespace":"ns","phase":"batchInitializing"}'}
    assert {(each.method, each.accepts, each.follows) for each in asked} == {("PUT", (208,), False)}
    assert not any(each.heeds_body for each in asked)
    assert asked[0].retry.tries == 4
    assert asked[0].retry.covers(Bad("failed", code=503))
    assert not asked[0].retry.covers(Bad("failed", code=404))


def test_a_hook_that_refuses_holds_its_batch_and_nothing_after_it_is_called() -> None:
    cluster = a_pair(_hooked())
    cluster.hook = lambda body, _call: Bad("failed", code=403) if "batch" in body["phase"] else Good(code=200)

    cluster.play(most=12)

    assert (cluster.state, cluster.rollout.batch_rolling_state) == ("rollingInBatches", "batchInitializing")
    assert cluster.condition("BatchInitializing") == (
        "False",
        "failed to invoke a webhook: pre-batch-rollout at http://hooks/pre-batch-rollout: status 403",
    )
    assert (cluster.size("d1"), cluster.size("d2")) == (5, 0)
    assert all("metadata" not in each for each in cluster.calls)
    assert "WebhookFailed" in cluster.reasons()
    cluster.hook = lambda _body, _call: Good(code=200)
    cluster.play("rolloutSucceed")
    assert cluster.state == "rolloutSucceed"


def test_a_hook_that_is_down_claims_nothing() -> None:
    cluster = a_pair({"rolloutWebhooks": [_hook("initialize-rollout")]})
    cluster.hook = lambda _body, _call: Bad("unreachable", "nobody listens")

    cluster.play(most=8)

    assert cluster.state == "initializing"
    assert cluster.owners("d1") == cluster.owners("d2") == []


def test_the_deadline_ends_what_does_not_go_on() -> None:
    """R-9: pods that never become ready."""
    cluster = a_pair({"progressDeadlineSeconds": 60})

    cluster.play("rolloutFailed", ready=False)

    assert cluster.state == "rolloutFailed"
    assert cluster.condition("RolloutInProgress") == (
        "False",
        "no progress within 60 s: 0 of 1 pods of the Deployment d2 are ready",
    )
    assert cluster.owners("d1") == cluster.owners("d2") == []
    assert (cluster.size("d1"), cluster.size("d2")) == (5, 1)


def test_a_pause_and_a_gate_do_not_count_for_the_deadline() -> None:
    cluster = a_pair({"progressDeadlineSeconds": 60, "lastBatchToRollout": 0})
    cluster.play(most=40)
    cluster.now += timedelta(hours=1)
    cluster.edit(lastBatchToRollout=2, paused=True)
    cluster.play(most=2)
    cluster.now += timedelta(hours=1)
    cluster.edit(paused=None)

    cluster.play("rolloutSucceed")

    assert cluster.state == "rolloutSucceed"


def test_a_missing_target_is_waited_for_until_the_deadline() -> None:
    cluster = a_pair({"progressDeadlineSeconds": 60})
    del cluster.objects["d2"]

    cluster.play(most=8)
    assert cluster.state == "verifyingSpec"
    assert cluster.condition("RolloutSpecVerifying") == ("False", "the Deployment d2 is not there")
    cluster.play("rolloutFailed")

    assert cluster.state == "rolloutFailed"


def test_a_batch_soaks_anew_when_a_pod_flaps() -> None:
    """X-2."""
    cluster = a_pair({"rolloutBatches": [{"replicas": 1, "soakSeconds": 30}, {}]})
    cluster.play_to("batchVerifying", 0)
    cluster.run()
    cluster.now += timedelta(seconds=20)
    cluster.put(*_with_status(cluster, "d2", {"readyReplicas": 0}))
    cluster.run()
    cluster.settle()
    began = cluster.now
    cluster.run()

    for _ in range(29):
        cluster.now += timedelta(seconds=1)
        cluster.run()
        assert cluster.rollout.batch_rolling_state == "batchVerifying"
    cluster.now = began + timedelta(seconds=30)
    cluster.run()

    assert cluster.rollout.batch_rolling_state == "batchFinalizing"


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_batch_does_not_soak_over_pods_that_are_lost_in_a_pause(is_lost: bool) -> None:
    """X-2: they are back when it goes on, and nobody would know that they were gone."""
    cluster = a_pair({"rolloutBatches": [{"replicas": 1, "soakSeconds": 30}, {}]})
    cluster.play_to("batchVerifying", 0)
    cluster.run()
    cluster.edit(paused=True)
    cluster.run()
    if is_lost:
        cluster.put(*_with_status(cluster, "d2", {"readyReplicas": 0}))
    cluster.run()
    cluster.settle()
    cluster.now += timedelta(seconds=60)

    cluster.edit(paused=None)
    cluster.run()

    assert cluster.rollout.batch_rolling_state == ("batchVerifying" if is_lost else "batchFinalizing")


def test_pods_of_a_batch_go_apart() -> None:
    """R-22, through the status: two pods are never less than the interval apart."""
    cluster = a_pair({"rolloutBatches": [{"replicas": 3, "instanceInterval": 12}, {}]})
    grown: list[float] = []
    for _ in range(60):
        before = cluster.size("d2")
        cluster.run()
        if cluster.size("d2") > before:
            grown.append((cluster.now - NOON).total_seconds())
        cluster.settle()
        cluster.now += timedelta(seconds=1)
        if cluster.rollout.current_batch:
            break

    assert cluster.sizes("d2")[:4] == [0, 1, 2, 3]
    assert len(grown) == 3
    assert all(later - earlier >= 12 for earlier, later in pairwise(grown))


def test_a_clone_set_is_rolled_by_its_partition() -> None:
    cluster = a_clone_set()

    seen = []
    while cluster.state != "rolloutSucceed":
        cluster.run()
        seen.append(cluster.tree("c")["spec"]["updateStrategy"].get("partition"))
        cluster.settle()

    assert [each for place, each in enumerate(seen) if place == 0 or seen[place - 1] != each] == [None, 5, 4, 2, 0]
    assert cluster.tree("c")["spec"]["updateStrategy"] == {"paused": False, "partition": 0}


@pytest.mark.parametrize(
    ("strategy", "state"), [({"partition": 0}, "rolloutFailed"), ({"partition": 5}, "rolloutSucceed")]
)
def test_only_a_frozen_clone_set_is_rolled(strategy: Json, state: str) -> None:
    cluster = a_clone_set(**strategy)

    cluster.play(state)

    assert cluster.state == state


def test_a_stateful_set_waits_for_new_pods() -> None:
    cluster = Cluster({"rolloutBatches": [{"replicas": 1}, {"replicas": 3}]}, sources=())
    cluster.spec["targetRef"] = cluster.reference("s", "StatefulSet")
    cluster.put(STATEFULSETS, stateful_set(4, partition=4).tree)
    cluster.pods = [pod(f"s-{place}", "old", of="s") for place in range(4)]

    cluster.play(most=20)
    assert cluster.rollout.batch_rolling_state == "batchVerifying"
    assert cluster.tree("s")["spec"]["updateStrategy"]["rollingUpdate"] == {"partition": 3}
    cluster.pods[3] = pod("s-3", "new", of="s")
    cluster.play_to("batchVerifying", 1)
    assert cluster.tree("s")["spec"]["updateStrategy"]["rollingUpdate"] == {"partition": 0}
    cluster.pods = [pod(f"s-{place}", "new", of="s") for place in range(4)]
    cluster.play("rolloutSucceed")

    assert cluster.state == "rolloutSucceed"


def _daemons(nodes: int, plan: Json) -> Cluster:
    cluster = Cluster(plan, sources=())
    cluster.spec["targetRef"] = cluster.reference("ds", "DaemonSet")
    tree = daemon_set(nodes).tree
    tree["status"]["updatedNumberScheduled"] = 0
    cluster.put(DAEMON_SETS, tree)
    cluster.revisions = [revision("old", 1), revision("new", 2)]
    cluster.pods = [pod(f"p-{place}", "old", of="ds", node=f"n-{place}") for place in range(nodes)]
    return cluster


def _make_pods(cluster: Cluster) -> None:
    """As the controller of DaemonSets: a new pod on each node that lost its own."""
    nodes = {each["spec"]["nodeName"] for each in cluster.pods}
    tree = cluster.tree("ds")
    wanted = {f"n-{place}" for place in range(tree["status"]["desiredNumberScheduled"])}
    cluster.pods += [pod(f"new-{node}", "new", of="ds", node=node) for node in sorted(wanted - nodes)]
    resource, _ = cluster.objects["ds"]
    cluster.put(resource, merged(tree, {"status": {"observedGeneration": tree["metadata"]["generation"]}}))


def test_a_daemon_set_loses_a_pod_per_goal() -> None:
    cluster = _daemons(4, {"rolloutBatches": [{"replicas": 1}, {"replicas": 3}]})
    lost = []
    while cluster.state != "rolloutSucceed":
        before = len(cluster.pods)
        cluster.run()
        lost.append(before - len(cluster.pods))
        _make_pods(cluster)

    assert [each for each in lost if each] == [1, 3]
    assert cluster.tree("ds")["spec"]["updateStrategy"] == {"type": "OnDelete"}


def test_a_daemon_set_follows_its_nodes() -> None:
    cluster = _daemons(4, {"rolloutBatches": [{"replicas": 2}, {"replicas": 2}], "lastBatchToRollout": 0})
    for _ in range(30):
        cluster.run()
        _make_pods(cluster)
    tree = cluster.tree("ds")
    cluster.put(DAEMON_SETS, merged(tree, {"status": {"desiredNumberScheduled": 6}}))
    _make_pods(cluster)

    cluster.edit(lastBatchToRollout=1, targetSize=4)
    while cluster.state != "rolloutSucceed":
        cluster.run()
        _make_pods(cluster)

    assert (cluster.rollout.rollout_target_size, cluster.rollout.effective_batches) == (6, (2, 4))
    assert all(each["metadata"]["labels"]["controller-revision-hash"] == "new" for each in cluster.pods)


def test_a_scale_goes_from_goal_to_goal() -> None:
    batches = [{"replicas": each} for each in (1, "20%", "50%", 2)]
    cluster = Cluster({"rolloutBatches": batches, "targetSize": 12}, sources=())
    cluster.add_deployment("d2", 2)

    cluster.play("rolloutSucceed")

    assert cluster.sizes("d2") == [2, 3, 5, 10, 12]
    assert cluster.reasons()[:2] == ["Scale Verified", "Scale Initialized"]


def test_a_scale_without_a_size_fails() -> None:
    cluster = Cluster({}, sources=())
    cluster.add_deployment("d2", 2)

    cluster.play("rolloutFailed")

    assert cluster.condition("RolloutSpecVerifying") == (
        "False",
        "no source was found, so targetSize must say what to scale to",
    )


PATHS: Json = {
    "style": "pair",
    "replicasPath": "spec.replicas",
    "podTemplatePath": "spec.template",
    "pausedPath": "spec.paused",
    "status": {
        "replicasPath": "status.replicas",
        "readyPath": "status.readyReplicas",
        "observedGenerationPath": "status.observedGeneration",
    },
}


@pytest.mark.parametrize("is_described", [True, False])
def test_a_custom_kind_needs_its_paths(is_described: bool) -> None:
    """R-5: without them nothing is written."""
    cluster = Cluster({"rolloutBatches": [{"replicas": 1}, {}]})
    games = Resource("example.org", "v1", "games", "Game")
    for name, size in (("d1", 5), ("d2", 0)):
        cluster.put(games, deployment(name, size, paused=size == 0).tree)
    target, source = (cluster.reference(name, "Game", "example.org/v1") for name in ("d2", "d1"))
    cluster.spec |= {"targetRef": target, "sourceRef": [source]}
    cluster.extensions = (Extension("example.org", "Game", PATHS),) if is_described else ()

    for _ in range(60):
        cluster.run()
        for name, (resource, tree) in cluster.objects.items():
            cluster._settle_deployment(name, resource, tree, True)

    if is_described:
        assert (cluster.state, cluster.sizes("d2")) == ("rolloutSucceed", [0, 1, 5])
    else:
        assert cluster.condition("RolloutFailed")[1] == "the workload kind `Game` is not supported"
        assert cluster.reasons() == ["Unsupported workload"]
        assert cluster.owners("d1") == cluster.owners("d2") == []


def test_a_kind_that_is_not_installed_is_not_supported() -> None:
    cluster = a_clone_set()
    cluster.unserved = frozenset({"CloneSet.apps.kruise.io"})

    cluster.play("rolloutFailed")

    assert cluster.condition("RolloutFailed")[1] == "the workload kind `CloneSet` is not supported"


def test_rules_have_names_to_be_told_by() -> None:
    assert len({each.__name__ for each in RULES}) == len(RULES)


def test_a_batch_of_very_many_pods_one_by_one_takes_no_time_for_those_that_are_there() -> None:
    """A size is anybody's to write, and without room for them none of the pods need be there."""
    size = 60_000_000
    batches = [{"replicas": "50%", "instanceInterval": 1}, {"replicas": "50%"}]
    cluster = a_pair({"targetSize": size, "rolloutBatches": batches}, size)
    cluster.add_deployment("d2", size // 2)
    cluster.add_deployment("d1", size // 2)
    begun = process_time()

    cluster.play("rolloutSucceed")

    assert (cluster.size("d1"), cluster.size("d2")) == (0, size)
    assert process_time() - begun < 5
