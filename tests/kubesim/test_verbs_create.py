"""Creating keeps the promises of the real API server: what it decides, refuses and stores of a new object."""

from __future__ import annotations

import asyncio

import pytest

from kubesim.cluster import Cluster
from kubesim.errors import StatusError
from kubesim.kinds.registry import CONFIG_MAPS, CORE_EVENTS, EVENTS, STATEFUL_SETS
from tests.kubesim.scripts import on_a_cluster, refused
from tests.kubesim.trees import Tree, a_map, a_set


def test_a_new_object_gets_what_the_server_decides() -> None:
    sent = a_map()
    sent["metadata"] |= {"uid": "mine", "creationTimestamp": "2000-01-01T00:00:00Z", "managedFields": [{}]}

    async def script(cluster: Cluster) -> Tree:
        await asyncio.sleep(1.9)
        return cluster.verbs.create(CONFIG_MAPS, "default", sent, user="me")

    made = on_a_cluster(script)

    assert made["metadata"]["namespace"] == "default"
    assert made["metadata"]["creationTimestamp"] == "2030-01-01T00:00:01Z"
    assert len(made["metadata"]["uid"]) == 36
    assert made["metadata"]["resourceVersion"] == str(Cluster().store.revision + 1)
    assert "generation" not in made["metadata"]
    assert "managedFields" not in made["metadata"]
    assert sent["metadata"]["uid"] == "mine"


def test_uids_and_generated_names_come_from_the_seed() -> None:
    def script(cluster: Cluster) -> list[str]:
        trees = [{"metadata": {"generateName": "job-"}, "data": {}} for _ in range(3)]
        made = [cluster.verbs.create(CONFIG_MAPS, "default", tree, user="me")["metadata"] for tree in trees]
        return [f"{each['name']} {each['uid']}" for each in made]

    first, again, other = (on_a_cluster(script, seed=seed) for seed in (1, 1, 2))

    assert first == again
    assert first != other
    assert len(set(first)) == 3
    assert all(text.startswith("job-") and len(text.split()[0]) == 9 for text in first)


def test_a_name_is_taken_once() -> None:
    def script(cluster: Cluster) -> StatusError:
        cluster.verbs.create(STATEFUL_SETS, "default", a_set(), user="me")
        return refused(lambda: cluster.verbs.create(STATEFUL_SETS, "default", a_set(), user="me"))

    error = on_a_cluster(script)

    assert error.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'statefulsets.apps "web" already exists',
        "reason": "AlreadyExists",
        "details": {"name": "web", "group": "apps", "kind": "statefulsets"},
        "code": 409,
    }


def test_the_namespace_must_exist_and_match() -> None:
    def script(cluster: Cluster) -> tuple[StatusError, StatusError]:
        verbs = cluster.verbs
        elsewhere = a_map(namespace="other")
        return (
            refused(lambda: verbs.create(CONFIG_MAPS, "nowhere", a_map(), user="me")),
            refused(lambda: verbs.create(CONFIG_MAPS, "default", elsewhere, user="me")),
        )

    missing, mismatch = on_a_cluster(script)

    assert (missing.code, missing.message) == (404, 'namespaces "nowhere" not found')
    assert mismatch.code == 400
    assert mismatch.message == "the namespace of the provided object does not match the namespace sent on the request"


@pytest.mark.parametrize(
    ("metadata", "code"),
    [
        ({}, 422),
        ({"name": "Not_A_Name"}, 422),
        ({"name": "a", "labels": {"key": "not a value"}}, 422),
        ({"name": "a", "labels": {"key": 1}}, 400),
        ({"name": "a", "resourceVersion": "5"}, 500),
    ],
)
def test_metadata_that_breaks_the_rules_is_refused(metadata: Tree, code: int) -> None:
    error = on_a_cluster(
        lambda cluster: refused(lambda: cluster.verbs.create(CONFIG_MAPS, "default", {"metadata": metadata}, user="me"))
    )

    assert error.code == code


def test_a_tree_of_another_kind_is_refused() -> None:
    error = on_a_cluster(
        lambda cluster: refused(
            lambda: cluster.verbs.create(CONFIG_MAPS, "default", a_map() | {"kind": "Secret"}, user="me")
        )
    )

    assert error.code == 400


def test_events_are_one_store_under_two_groups() -> None:
    def script(cluster: Cluster) -> tuple[Tree, Tree]:
        event = {
            "metadata": {"name": "e"},
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "regarding": {"kind": "Pod", "name": "web-0"},
            "note": "it happened",
            "reason": "Happened",
            "action": "Happening",
            "reportingController": "fairlead",
            "reportingInstance": "fairlead-0",
            "type": "Normal",
        }
        cluster.verbs.create(EVENTS, "default", event, user="me")
        return cluster.verbs.read(CORE_EVENTS, "default", "e"), cluster.verbs.read(EVENTS, "default", "e")

    core, new = on_a_cluster(script)

    assert (core["apiVersion"], core["involvedObject"]["name"], core["message"]) == ("v1", "web-0", "it happened")
    assert core["reportingComponent"] == "fairlead"
    assert (new["apiVersion"], new["regarding"]["name"], new["note"]) == ("events.k8s.io/v1", "web-0", "it happened")
