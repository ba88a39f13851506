"""Status, scale, binding and eviction write their part of an object and no other."""

from __future__ import annotations

import json

from kubesim.cluster import Cluster
from kubesim.errors import StatusError
from kubesim.kinds.registry import PODS, STATEFUL_SETS
from tests.kubesim.scripts import kinds_of_events, merge, on_a_cluster, refused
from tests.kubesim.trees import Tree, a_pod, a_set


def test_status_and_the_rest_are_written_apart() -> None:
    def script(cluster: Cluster) -> tuple[Tree, Tree]:
        verbs = cluster.verbs
        verbs.create(STATEFUL_SETS, "default", a_set() | {"status": {"replicas": 9}}, user="me")
        change = {"spec": {"replicas": 5}, "status": {"replicas": 1}, "metadata": {"labels": {"a": "b"}}}
        status = merge(verbs, STATEFUL_SETS, "web", change, "status")
        main = merge(verbs, STATEFUL_SETS, "web", change | {"status": {"replicas": 7}})
        return status, main

    status, main = on_a_cluster(script)

    assert (status["spec"]["replicas"], status["status"]["replicas"]) == (1, 1)
    assert status["metadata"]["labels"] == {"a": "b"}
    assert (main["spec"]["replicas"], main["status"]["replicas"]) == (5, 1)


def test_the_status_of_a_pod_can_change_neither_its_owners_nor_its_class() -> None:
    def script(cluster: Cluster) -> tuple[Tree, StatusError]:
        verbs = cluster.verbs
        verbs.create(PODS, "default", a_pod(), user="me")
        owners = [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}]
        change = {"metadata": {"ownerReferences": owners}, "status": {"phase": "Running", "qosClass": None}}
        after = merge(verbs, PODS, "web-0", change, "status")
        return after, refused(lambda: merge(verbs, PODS, "web-0", {"status": {"qosClass": "Guaranteed"}}, "status"))

    after, error = on_a_cluster(script)

    assert "ownerReferences" not in after["metadata"]
    assert after["status"] == {"phase": "Running", "qosClass": "BestEffort"}
    assert error.code == 422


def test_scale_shows_and_changes_the_replicas() -> None:
    def script(cluster: Cluster) -> tuple[Tree, Tree, Tree, StatusError]:
        verbs = cluster.verbs
        verbs.create(STATEFUL_SETS, "default", a_set(replicas=2), user="me")
        scale = verbs.read(STATEFUL_SETS, "default", "web", subresource="scale")
        scale["spec"]["replicas"] = 5
        stale = json.loads(json.dumps(scale))
        updated = verbs.update(STATEFUL_SETS, "default", "web", scale, subresource="scale", user="me")
        error = refused(lambda: verbs.update(STATEFUL_SETS, "default", "web", stale, subresource="scale", user="me"))
        patched = merge(verbs, STATEFUL_SETS, "web", {"spec": {"replicas": 0}}, "scale")
        return updated, patched, verbs.read(STATEFUL_SETS, "default", "web"), error

    updated, patched, tree, error = on_a_cluster(script)

    assert (updated["kind"], updated["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert updated["spec"] == {"replicas": 5}
    assert updated["status"] == {"replicas": 0, "selector": "app=web"}
    assert patched["spec"] == {}
    assert (tree["spec"]["replicas"], tree["metadata"]["generation"]) == (0, 3)
    assert error.code == 409


def test_binding_puts_a_pod_on_a_node_once() -> None:
    def script(cluster: Cluster) -> tuple[Tree, StatusError]:
        verbs = cluster.verbs
        verbs.create(PODS, "default", a_pod(), user="me")
        binding = {"metadata": {"name": "web-0"}, "target": {"kind": "Node", "name": "node-1"}}
        verbs.bind("default", "web-0", binding, user="scheduler")
        error = refused(lambda: verbs.bind("default", "web-0", binding, user="scheduler"))
        return verbs.read(PODS, "default", "web-0"), error

    pod, error = on_a_cluster(script)

    assert pod["spec"]["nodeName"] == "node-1"
    assert pod["status"]["conditions"][0]["type"] == "PodScheduled"
    assert error.code == 409
    assert error.message.endswith('pod web-0 is already assigned to node "node-1"')


def test_an_eviction_says_why_and_deletes() -> None:
    def script(cluster: Cluster) -> tuple[Tree, StatusError, list[str]]:
        verbs = cluster.verbs
        verbs.create(PODS, "default", a_pod(node="node-1"), user="me")
        other = {"metadata": {"name": "web-0"}, "deleteOptions": {"preconditions": {"uid": "other"}}}
        error = refused(lambda: verbs.evict("default", "web-0", other, user="drain"))
        verbs.evict("default", "web-0", {"metadata": {"name": "web-0"}}, user="drain")
        return verbs.read(PODS, "default", "web-0"), error, kinds_of_events(cluster, PODS)

    pod, error, events = on_a_cluster(script)

    assert pod["status"]["conditions"][0]["reason"] == "EvictionByEvictionAPI"
    assert "deletionTimestamp" in pod["metadata"]
    assert error.code == 409
    assert events == ["ADDED", "MODIFIED", "MODIFIED"]
