"""Deleting keeps the promises of the real API server: grace, finalizers, propagation, preconditions, namespaces."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kubesim.cluster import Cluster
from kubesim.errors import StatusError
from kubesim.kinds.registry import CONFIG_MAPS, NAMESPACES, PODS, STATEFUL_SETS
from tests.kubesim.scripts import kinds_of_events, merge, on_a_cluster, refused
from tests.kubesim.trees import Tree, a_map, a_pod, a_set


def test_deleting_answers_with_a_status_that_names_the_object() -> None:
    def script(cluster: Cluster) -> tuple[Tree, str, StatusError]:
        verbs = cluster.verbs
        uid = verbs.create(STATEFUL_SETS, "default", a_set(), user="me")["metadata"]["uid"]
        answer = verbs.delete(STATEFUL_SETS, "default", "web", user="me")
        return answer, uid, refused(lambda: verbs.delete(STATEFUL_SETS, "default", "web", user="me"))

    answer, uid, error = on_a_cluster(script)

    assert answer["status"] == "Success"
    assert answer["details"] == {"name": "web", "group": "apps", "kind": "statefulsets", "uid": uid}
    assert (error.code, error.message) == (404, 'statefulsets.apps "web" not found')


def test_a_pod_without_a_node_is_marked_and_gone_at_once() -> None:
    def script(cluster: Cluster) -> list[tuple[str, Any]]:
        cluster.verbs.create(PODS, "default", a_pod(), user="me")
        cluster.verbs.delete(PODS, "default", "web-0", user="me")
        return [
            (entry.type, entry.new["metadata"].get("deletionGracePeriodSeconds")) for entry in cluster.history.of(PODS)
        ]

    assert on_a_cluster(script) == [("ADDED", None), ("MODIFIED", 0), ("DELETED", 0)]


def test_a_pod_on_a_node_terminates_until_its_kubelet_says_that_it_is_gone() -> None:
    async def script(cluster: Cluster) -> tuple[Tree, Tree, list[str], list[str]]:
        verbs = cluster.verbs
        verbs.create(PODS, "default", a_pod(node="node-1"), user="me")
        first = verbs.delete(PODS, "default", "web-0", user="me")
        await asyncio.sleep(5)
        again = verbs.delete(PODS, "default", "web-0", user="me")
        before = kinds_of_events(cluster, PODS)
        verbs.delete(PODS, "default", "web-0", grace=0, user="kubelet")
        return first, again, before, kinds_of_events(cluster, PODS)

    first, again, before, after = on_a_cluster(script)

    assert first["metadata"]["deletionTimestamp"] == "2030-01-01T00:00:30Z"
    assert first["metadata"]["deletionGracePeriodSeconds"] == 30
    assert first["metadata"]["generation"] == 2
    assert again == first
    assert before == ["ADDED", "MODIFIED"]
    assert after == ["ADDED", "MODIFIED", "MODIFIED", "DELETED"]


@pytest.mark.parametrize(
    ("pod", "phase", "grace", "left"),
    [
        (a_pod(node="n", terminationGracePeriodSeconds=7), "Running", None, 7),
        (a_pod(node="n"), "Running", 3, 3),
        (a_pod(node="n"), "Running", -1, 1),
        (a_pod(node="n"), "Succeeded", None, None),
        (a_pod(node="n"), "Failed", None, None),
        (a_pod(node="n"), "Running", 0, None),
    ],
)
def test_the_grace_period_of_a_pod(pod: Tree, phase: str, grace: int | None, left: int | None) -> None:
    def script(cluster: Cluster) -> int | None:
        verbs = cluster.verbs
        verbs.create(PODS, "default", pod, user="me")
        merge(verbs, PODS, "web-0", {"status": {"phase": phase}}, "status")
        verbs.delete(PODS, "default", "web-0", grace=grace, user="me")
        pods = verbs.list(PODS)
        return pods[0]["metadata"]["deletionGracePeriodSeconds"] if pods else None

    assert on_a_cluster(script) == left


def test_finalizers_hold_an_object_until_the_last_is_taken_off() -> None:
    def script(cluster: Cluster) -> tuple[Tree, StatusError, list[str], list[Tree]]:
        verbs = cluster.verbs
        verbs.create(CONFIG_MAPS, "default", a_map(finalizers=["example.org/a", "example.org/b"]), user="me")
        held = verbs.delete(CONFIG_MAPS, "default", "settings", user="me")
        more = {"metadata": {"finalizers": ["example.org/a", "example.org/c"]}}
        error = refused(lambda: merge(verbs, CONFIG_MAPS, "settings", more))
        merge(verbs, CONFIG_MAPS, "settings", {"metadata": {"finalizers": ["example.org/b"]}})
        merge(verbs, CONFIG_MAPS, "settings", {"metadata": {"finalizers": None}})
        return held, error, kinds_of_events(cluster, CONFIG_MAPS), verbs.list(CONFIG_MAPS)

    held, error, events, left = on_a_cluster(script)

    assert held["metadata"]["deletionTimestamp"] == "2030-01-01T00:00:00Z"
    assert held["metadata"]["deletionGracePeriodSeconds"] == 0
    assert error.code == 422
    assert 'found new finalizers []string{"example.org/c"}' in error.message
    assert events == ["ADDED", "MODIFIED", "MODIFIED", "DELETED"]
    assert left == []


def test_a_pod_with_a_finalizer_outlives_its_grace_period() -> None:
    def script(cluster: Cluster) -> tuple[int, list[Tree]]:
        verbs = cluster.verbs
        pod = a_pod(node="node-1")
        pod["metadata"]["finalizers"] = ["example.org/a"]
        verbs.create(PODS, "default", pod, user="me")
        verbs.delete(PODS, "default", "web-0", user="me")
        verbs.delete(PODS, "default", "web-0", grace=0, user="kubelet")
        held = len(verbs.list(PODS))
        merge(verbs, PODS, "web-0", {"metadata": {"finalizers": []}})
        return held, verbs.list(PODS)

    assert on_a_cluster(script) == (1, [])


@pytest.mark.parametrize(
    ("propagation", "finalizers"),
    [("Foreground", ["foregroundDeletion"]), ("Orphan", ["orphan"]), ("Background", None)],
)
def test_propagation_becomes_a_finalizer(propagation: str, finalizers: list[str] | None) -> None:
    def script(cluster: Cluster) -> list[str] | None:
        verbs = cluster.verbs
        verbs.create(STATEFUL_SETS, "default", a_set(), user="me")
        answer = verbs.delete(STATEFUL_SETS, "default", "web", propagation=propagation, user="me")
        found: list[str] | None = answer["metadata"].get("finalizers")
        return found

    assert on_a_cluster(script) == finalizers


def test_a_deletion_can_name_the_version_it_means() -> None:
    def script(cluster: Cluster) -> StatusError:
        verbs = cluster.verbs
        made = verbs.create(CONFIG_MAPS, "default", a_map(), user="me")
        current = made["metadata"]["resourceVersion"]
        error = refused(lambda: verbs.delete(CONFIG_MAPS, "default", "settings", resource_version="1", user="me"))
        verbs.delete(CONFIG_MAPS, "default", "settings", resource_version=current, user="me")
        return error

    error = on_a_cluster(script)

    assert error.code == 409
    assert "the ResourceVersion in the precondition (1) does not match" in error.message


def test_a_namespace_goes_when_it_is_finalized() -> None:
    def script(cluster: Cluster) -> tuple[Tree, StatusError, list[Tree], list[str]]:
        verbs = cluster.verbs
        verbs.create(NAMESPACES, "", {"metadata": {"name": "team"}}, user="me")
        answer = verbs.delete(NAMESPACES, "", "team", user="me")
        error = refused(lambda: verbs.create(CONFIG_MAPS, "team", a_map("late"), user="me"))
        unchanged = verbs.update(NAMESPACES, "", "team", answer | {"spec": {}}, user="me")
        verbs.delete(NAMESPACES, "", "team", user="me")
        left = verbs.list(NAMESPACES, fields="metadata.name=team")
        verbs.update(NAMESPACES, "", "team", unchanged | {"spec": {}}, subresource="finalize", user="me")
        return answer, error, left, [tree["metadata"]["name"] for tree in verbs.list(NAMESPACES)]

    answer, error, left, namespaces = on_a_cluster(script)

    assert answer["status"]["phase"] == "Terminating"
    assert left == [answer]
    assert error.code == 403
    assert error.message == (
        'configmaps "late" is forbidden: unable to create new content in namespace team because it is being terminated'
    )
    assert "team" not in namespaces
