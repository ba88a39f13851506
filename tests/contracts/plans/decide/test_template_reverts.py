"""Going back in place, where a component revision tells the pod template of before (V-3 and V-4)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from fairlead.contracts.plans.applications.kinds import APPLIED
from fairlead.contracts.plans.decide.component_revisions import questions
from fairlead.contracts.plans.decide.seen import TraitSeen
from fairlead.contracts.plans.decide.workloads.reverts import NO_TEMPLATE
from fairlead.contracts.plans.kinds import CLONE_SETS, COMPONENT_REVISION, DAEMON_SETS, Json, WorkloadReference
from fairlead.core.ask import Answer, Answers, Good, Question
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.meta import Resource
from tests.contracts.plans.decide.cluster import Cluster
from tests.contracts.plans.decide.workloads.objects import clone_set, daemon_set, pod, revision, stateful_set

REVERT: Json = {"rolloutBatches": [{"replicas": 1}, {}], "revertOnDelete": True}
SOURCE: Json = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "name": "w-v1"}
BACK = [(False, "the workloads are as they were before")]


def template(image: str, number: int) -> Json:
    labels = {COMPONENT_REVISION: f"w-v{number}", "app.oam.dev/component": "w"}
    return {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "w", "image": image}]}}


class Revisions(Cluster):
    """With the component revisions that its rollout names."""

    snapshot: Json

    def seen(self, answers: Answers) -> TraitSeen:
        references = (WorkloadReference(*SOURCE.values()), WorkloadReference("apps/v1", "ControllerRevision", "w-v2"))
        known: dict[Question, Answer] = {}
        for each, asked in zip(references, questions(references, "ns"), strict=True):
            known[asked] = Good(msgspec.json.encode({"metadata": {"name": each.name}, "data": self.snapshot}))
        return super().seen(Answers({**answers.known, **known}))


def a_cluster(resource: Resource, tree: Json, **snapshot: Any) -> Cluster:
    """`w` is at its second revision, and its rollout comes from the first."""
    cluster = Revisions(REVERT, sources=())
    labels = {"app.oam.dev/component": "w", COMPONENT_REVISION: "w-v2", "mine": "stays"}
    metadata = {**tree["metadata"], "name": "w", "uid": "uid-w", "labels": labels, "annotations": {APPLIED: "{}"}}
    cluster.put(resource, {**tree, "metadata": metadata, "spec": {**tree["spec"], "template": template("new", 2)}})
    cluster.spec |= {"targetRef": {**SOURCE, "name": "w-v2"}, "sourceRef": [SOURCE]}
    workload = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "spec": {"template": {"spec": template("old", 1)["spec"]}},
    }
    cluster.snapshot = {"metadata": {"name": "w"}, "spec": {"workload": workload, **snapshot}}
    return cluster


def labelled(tree: Json, number: int) -> Json:
    metadata = tree["metadata"]
    labels = {**metadata["labels"], COMPONENT_REVISION: f"w-v{number}"}
    return {**tree, "metadata": {**metadata, "labels": labels}}


def told(cluster: Cluster) -> list[tuple[bool, str]]:
    return [(each.warning, each.text) for each in cluster.told if each.reason == "Rollout Reverted"]


def test_v_3_a_clone_set_gets_its_template_back() -> None:
    cluster = a_cluster(CLONE_SETS, clone_set(5, paused=True).tree)
    cluster.play_to("batchVerifying", 0)

    cluster.delete()
    cluster.play()

    assert not cluster.is_there
    found = cluster.tree("w")
    assert found["spec"]["template"] == template("old", 1)
    assert found["spec"]["updateStrategy"] == {"paused": False, "partition": 0}
    labels = {"app.oam.dev/component": "w", COMPONENT_REVISION: "w-v1", "mine": "stays"}
    assert found["metadata"]["labels"] == labels
    assert not found["metadata"]["annotations"]
    assert cluster.owners("w") == []
    assert told(cluster) == BACK


def a_stateful_set(**snapshot: Any) -> Cluster:
    cluster = a_cluster(STATEFULSETS, stateful_set(3, partition=3).tree, **snapshot)
    cluster.pods = [labelled(pod(f"w-{place}", "old", of="w"), 1) for place in range(3)]
    cluster.play_to("batchVerifying", 0)
    return cluster


def test_v_4_a_stateful_set_gets_its_template_back_and_loses_the_new_pods_that_it_would_wait_for() -> None:
    cluster = a_stateful_set()
    cluster.pods[2] = labelled(pod("w-2", "new", of="w", ready=False), 2)

    cluster.delete()
    cluster.play()

    assert not cluster.is_there
    assert cluster.tree("w")["spec"]["template"] == template("old", 1)
    assert cluster.tree("w")["spec"]["updateStrategy"]["rollingUpdate"] == {"partition": 0}
    assert [each["metadata"]["name"] for each in cluster.pods] == ["w-0", "w-1"]
    assert told(cluster) == BACK


def test_v_4_new_pods_that_serve_are_left_to_the_stateful_set() -> None:
    cluster = a_stateful_set()
    cluster.pods[2] = labelled(pod("w-2", "new", of="w"), 2)

    cluster.delete()
    cluster.play()

    assert (cluster.is_there, len(cluster.pods)) == (False, 3)
    assert told(cluster) == BACK


def test_v_4_a_controller_that_does_not_look_holds_the_deletion_up_for_ten_minutes() -> None:
    cluster = a_stateful_set()
    cluster.pods[2] = labelled(pod("w-2", "new", of="w", ready=False), 2)
    cluster.delete()
    for _ in range(6):
        cluster.run()
    assert (cluster.is_there, len(cluster.pods)) == (True, 3)

    cluster.now += timedelta(minutes=10)
    for _ in range(3):
        if cluster.is_there:
            cluster.run()

    assert not cluster.is_there
    ((is_warning, text),) = told(cluster)
    assert is_warning
    assert text.startswith("incomplete: waiting for the controller of the StatefulSet w")


@pytest.mark.parametrize(("strategy", "left"), [("OnDelete", ["w-0"]), ("RollingUpdate", ["w-0", "w-1"])])
def test_v_4_a_daemon_set_takes_new_pods_back_by_its_own_strategy_or_loses_them(strategy: str, left: list[str]) -> None:
    cluster = a_cluster(DAEMON_SETS, daemon_set(2, kind=strategy).tree)
    cluster.revisions = [revision("new", 2, "w")]
    cluster.pods = [labelled(pod(f"w-{place}", "new", of="w", node=f"n{place}"), 2) for place in range(2)]
    cluster.play_to("batchInitializing", 0)
    cluster.pods[0] = labelled(pod("w-0", "old", of="w", node="n0"), 1)

    cluster.delete()
    for _ in range(8):
        if cluster.is_there:
            cluster.run()
            tree = cluster.tree("w")
            tree["status"]["observedGeneration"] = tree["metadata"]["generation"]

    assert not cluster.is_there
    assert cluster.tree("w")["spec"]["template"] == template("old", 1)
    assert cluster.tree("w")["spec"]["updateStrategy"] == {"type": strategy}
    assert [each["metadata"]["name"] for each in cluster.pods] == left


def test_v_4_a_revision_that_takes_parameters_does_not_tell_the_template() -> None:
    cluster = a_stateful_set(parameters=[{"name": "image", "fieldPaths": ["spec.template"]}])

    cluster.delete()
    cluster.play()

    assert cluster.tree("w")["spec"]["template"] == template("new", 2)
    assert told(cluster) == [(True, NO_TEMPLATE)]


def test_what_a_failed_attempt_released_is_claimed_again_to_go_back() -> None:
    cluster = a_cluster(CLONE_SETS, clone_set(5, paused=True).tree)
    cluster.play_to("batchVerifying", 0)
    cluster.ask("abort@2026-01-01T00:00:00Z")
    cluster.play("rolloutFailed")
    assert cluster.tree("w")["spec"]["template"] == template("new", 2)

    cluster.delete()
    cluster.play()

    assert cluster.tree("w")["spec"]["template"] == template("old", 1)
    assert (cluster.is_there, cluster.owners("w")) == (False, [])


def test_a_workload_that_is_not_of_its_revision_yet_is_waited_for() -> None:
    """Its old template would pass for a rollout that has nothing to do."""
    cluster = a_cluster(STATEFULSETS, stateful_set(3, partition=3).tree)
    cluster.pods = [labelled(pod(f"w-{place}", "old", of="w"), 1) for place in range(3)]
    labels = cluster.tree("w")["metadata"]["labels"]
    labels[COMPONENT_REVISION] = "w-v1"
    cluster.play(most=4)

    said = "waiting for the StatefulSet w to be of the revision w-v2: it is of w-v1"
    assert cluster.condition("RolloutSpecVerifying") == ("False", said)

    labels[COMPONENT_REVISION] = "w-v2"
    cluster.play_to("batchVerifying", 0)
