"""A write to what exists, as at the real API server: its conditions, what counts as a change, what is recorded."""

from __future__ import annotations

import asyncio

from kubesim.cluster import Cluster
from kubesim.errors import StatusError
from kubesim.kinds.registry import CONFIG_MAPS, LEASES, STATEFUL_SETS
from kubesim.patches.patch import MERGE_PATCH
from tests.kubesim.scripts import kinds_of_events, merge, on_a_cluster, refused
from tests.kubesim.trees import Tree, a_map, a_set


def test_a_stale_version_is_a_conflict() -> None:
    def script(cluster: Cluster) -> StatusError:
        verbs = cluster.verbs
        stale = verbs.create(STATEFUL_SETS, "default", a_set(), user="me")
        merge(verbs, STATEFUL_SETS, "web", {"spec": {"replicas": 2}})
        return refused(lambda: verbs.update(STATEFUL_SETS, "default", "web", stale, user="me"))

    error = on_a_cluster(script)

    assert (error.code, error.reason) == (409, "Conflict")
    assert error.message == (
        'Operation cannot be fulfilled on statefulsets.apps "web": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )


def test_a_version_in_a_patch_is_a_condition_too() -> None:
    def script(cluster: Cluster) -> StatusError:
        cluster.verbs.create(CONFIG_MAPS, "default", a_map(), user="me")
        return refused(
            lambda: merge(cluster.verbs, CONFIG_MAPS, "settings", {"metadata": {"resourceVersion": "1"}, "data": {}})
        )

    assert on_a_cluster(script).code == 409


def test_the_uid_of_another_incarnation_is_a_conflict() -> None:
    def script(cluster: Cluster) -> tuple[StatusError, StatusError, str]:
        verbs = cluster.verbs
        tree = verbs.create(CONFIG_MAPS, "default", a_map(), user="me")
        uid = tree["metadata"]["uid"]
        tree["metadata"]["uid"] = "other"
        return (
            refused(lambda: verbs.update(CONFIG_MAPS, "default", "settings", tree, user="me")),
            refused(lambda: verbs.delete(CONFIG_MAPS, "default", "settings", uid="other", user="me")),
            uid,
        )

    update, deletion, uid = on_a_cluster(script)

    assert update.code == deletion.code == 409
    assert f"Precondition failed: UID in precondition: other, UID in object meta: {uid}" in update.message
    assert deletion.message == (
        f'Operation cannot be fulfilled on ConfigMap "settings": the UID in the precondition (other) does not match '
        f"the UID in record ({uid}). The object might have been deleted and then recreated"
    )


def test_a_write_that_changes_nothing_keeps_the_version_and_sends_no_event() -> None:
    def script(cluster: Cluster) -> tuple[str, list[str]]:
        verbs = cluster.verbs
        tree = verbs.create(STATEFUL_SETS, "default", a_set(), user="me")
        verbs.update(STATEFUL_SETS, "default", "web", a_set(), user="me")
        after = merge(verbs, STATEFUL_SETS, "web", {"spec": {"replicas": 1}, "metadata": {"labels": {}}})
        same = after["metadata"]["resourceVersion"] == tree["metadata"]["resourceVersion"]
        return ("same" if same else "changed"), kinds_of_events(cluster, STATEFUL_SETS)

    assert on_a_cluster(script) == ("same", ["ADDED"])


def test_generation_counts_changes_of_the_spec_alone() -> None:
    def script(cluster: Cluster) -> list[int]:
        verbs = cluster.verbs
        verbs.create(STATEFUL_SETS, "default", a_set(), user="me")
        changes = [
            merge(verbs, STATEFUL_SETS, "web", {"spec": {"replicas": 2}}),
            merge(verbs, STATEFUL_SETS, "web", {"metadata": {"labels": {"a": "b"}}}),
            merge(verbs, STATEFUL_SETS, "web", {"status": {"replicas": 1}}, "status"),
            merge(verbs, STATEFUL_SETS, "web", {"metadata": {"generation": 99}}),
        ]
        return [each["metadata"]["generation"] for each in changes]

    assert on_a_cluster(script) == [2, 2, 2, 2]


def test_a_lease_can_be_created_by_put_and_must_name_its_version_afterwards() -> None:
    def script(cluster: Cluster) -> tuple[str, StatusError]:
        verbs = cluster.verbs
        lease = {"metadata": {"name": "leader"}, "spec": {"holderIdentity": "a"}}
        made = verbs.update(LEASES, "default", "leader", lease, user="me")
        error = refused(lambda: verbs.update(LEASES, "default", "leader", lease, user="me"))
        made["spec"]["holderIdentity"] = "b"
        return verbs.update(LEASES, "default", "leader", made, user="me")["spec"]["holderIdentity"], error

    holder, error = on_a_cluster(script)

    assert holder == "b"
    assert error.code == 422
    assert "metadata.resourceVersion: Invalid value: 0: must be specified for an update" in error.message


def test_a_name_in_the_body_must_be_that_of_the_path() -> None:
    def script(cluster: Cluster) -> StatusError:
        cluster.verbs.create(CONFIG_MAPS, "default", a_map(), user="me")
        return refused(lambda: cluster.verbs.update(CONFIG_MAPS, "default", "settings", a_map("other"), user="me"))

    assert on_a_cluster(script).message == (
        "the name of the object (other) does not match the name on the URL (settings)"
    )


def test_a_dry_run_answers_and_stores_nothing() -> None:
    def script(cluster: Cluster) -> tuple[Tree, list[str]]:
        verbs = cluster.verbs
        verbs.create(CONFIG_MAPS, "default", a_map(), user="me")
        verbs.create(CONFIG_MAPS, "default", a_map("other"), user="me", dry_run=True)
        body = b'{"data":{"key":"new"}}'
        after = verbs.patch(CONFIG_MAPS, "default", "settings", MERGE_PATCH, body, user="me", dry_run=True)
        verbs.delete(CONFIG_MAPS, "default", "settings", user="me", dry_run=True)
        return after, kinds_of_events(cluster, CONFIG_MAPS)

    after, events = on_a_cluster(script)

    assert after["data"] == {"key": "new"}
    assert events == ["ADDED"]


def test_the_history_tells_who_wrote_what_and_when() -> None:
    async def script(cluster: Cluster) -> list[tuple[object, ...]]:
        verbs = cluster.verbs
        verbs.create(STATEFUL_SETS, "default", a_set(), user="me")
        await asyncio.sleep(60)
        body = b'{"status":{"replicas":1}}'
        verbs.patch(STATEFUL_SETS, "default", "web", MERGE_PATCH, body, subresource="status", user="controller")
        return [
            (
                entry.at.minute,
                entry.type,
                entry.user,
                entry.verb,
                entry.subresource,
                entry.old and entry.old["status"]["replicas"],
                entry.new["status"]["replicas"],
            )
            for entry in cluster.history.of(STATEFUL_SETS, "web")
        ]

    assert on_a_cluster(script) == [
        (0, "ADDED", "me", "create", "", None, 0),
        (1, "MODIFIED", "controller", "patch", "status", 0, 1),
    ]
