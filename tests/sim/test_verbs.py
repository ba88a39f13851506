"""The verbs keep the promises of the real API server, down to the sentences of a refusal."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from fairlead.sim.cluster import Cluster
from fairlead.sim.errors import StatusError
from fairlead.sim.patch import MERGE_PATCH
from fairlead.sim.registry import (
    CONFIG_MAPS,
    CONTROLLER_REVISIONS,
    CORE_EVENTS,
    EVENTS,
    LEASES,
    NAMESPACES,
    PODS,
    SECRETS,
    SERVICES,
    STATEFUL_SETS,
)
from fairlead.sim.time import run
from fairlead.sim.verbs import Verbs
from tests.sim.trees import Tree, a_map, a_pod, a_set


def on_a_cluster(script: Callable[[Cluster], Any], *, seed: int = 0) -> Any:
    """The answer of a script that needs nothing but a cluster and a clock."""

    async def main() -> Any:
        answer = script(Cluster(seed=seed))
        return await answer if asyncio.iscoroutine(answer) else answer

    return run(main())


def refused(call: Callable[[], object]) -> StatusError:
    with pytest.raises(StatusError) as caught:
        call()
    return caught.value


def merge(verbs: Verbs, resource: Any, name: str, change: Tree, subresource: str = "") -> Tree:
    body = json.dumps(change).encode()
    return verbs.patch(resource, "default", name, MERGE_PATCH, body, subresource=subresource, user="me")


def kinds_of_events(cluster: Cluster, resource: Any) -> list[str]:
    return [entry.type for entry in cluster.history.of(resource)]


# Create


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


def test_nulls_are_absent_except_in_data_that_the_server_does_not_read() -> None:
    def script(cluster: Cluster) -> tuple[Tree, Tree]:
        verbs = cluster.verbs
        revision = {"metadata": {"name": "r", "annotations": None}, "revision": 1, "data": {"spec": None}}
        return (
            verbs.create(CONTROLLER_REVISIONS, "default", revision, user="me"),
            verbs.create(CONFIG_MAPS, "default", a_map() | {"binaryData": None}, user="me"),
        )

    revision, settings = on_a_cluster(script)

    assert revision["data"] == {"spec": None}
    assert "annotations" not in revision["metadata"]
    assert "binaryData" not in settings


# Defaults


def test_a_stateful_set_is_completed_as_by_the_real_server() -> None:
    made = on_a_cluster(lambda cluster: cluster.verbs.create(STATEFUL_SETS, "default", a_set(), user="me"))

    assert made["spec"] == {
        "serviceName": "web",
        "replicas": 1,
        "selector": {"matchLabels": {"app": "web"}},
        "podManagementPolicy": "OrderedReady",
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        "revisionHistoryLimit": 10,
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "containers": [
                    {
                        "name": "main",
                        "image": "app:1",
                        "resources": {},
                        "terminationMessagePath": "/dev/termination-log",
                        "terminationMessagePolicy": "File",
                        "imagePullPolicy": "IfNotPresent",
                    }
                ],
                "restartPolicy": "Always",
                "terminationGracePeriodSeconds": 30,
                "dnsPolicy": "ClusterFirst",
                "securityContext": {},
                "schedulerName": "default-scheduler",
            },
        },
    }
    assert made["status"] == {"replicas": 0, "availableReplicas": 0}
    assert made["metadata"]["generation"] == 1


def test_on_delete_has_no_rolling_update_and_a_gated_field_vanishes() -> None:
    def script(cluster: Cluster) -> list[Tree]:
        gated = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 3}}
        sets = [a_set("a", updateStrategy={"type": "OnDelete"}), a_set("b", updateStrategy=gated)]
        made = [cluster.verbs.create(STATEFUL_SETS, "default", each, user="me") for each in sets]
        return [each["spec"]["updateStrategy"] for each in made]

    assert on_a_cluster(script) == [
        {"type": "OnDelete"},
        {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
    ]


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("app", "Always"),
        ("app:latest", "Always"),
        ("app:1", "IfNotPresent"),
        ("registry.example:5000/app", "Always"),
        ("registry.example:5000/app:2", "IfNotPresent"),
        ("app@sha256:0000", "IfNotPresent"),
        ("app:latest@sha256:0000", "Always"),
    ],
)
def test_the_pull_policy_follows_from_the_tag(image: str, policy: str) -> None:
    pod = a_pod() | {"spec": {"containers": [{"name": "main", "image": image}]}}

    made = on_a_cluster(lambda cluster: cluster.verbs.create(PODS, "default", pod, user="me"))

    assert made["spec"]["containers"][0]["imagePullPolicy"] == policy


def test_probes_ports_volumes_and_requests_are_completed() -> None:
    container = {
        "name": "main",
        "image": "app:1",
        "ports": [{"containerPort": 80}],
        "readinessProbe": {"httpGet": {"port": 80}, "periodSeconds": 5},
        "env": [{"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
    }
    volumes = [{"name": "a"}, {"name": "b", "configMap": {"name": "c"}}]
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [container], "volumes": volumes, "serviceAccount": "sa"}}

    made = on_a_cluster(lambda cluster: cluster.verbs.create(PODS, "default", pod, user="me"))

    main = made["spec"]["containers"][0]
    assert main["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert main["readinessProbe"] == {
        "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
        "periodSeconds": 5,
        "timeoutSeconds": 1,
        "successThreshold": 1,
        "failureThreshold": 3,
    }
    assert main["env"][0]["valueFrom"]["fieldRef"] == {"fieldPath": "metadata.name", "apiVersion": "v1"}
    assert main["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}
    assert made["spec"]["volumes"] == [
        {"name": "a", "emptyDir": {}},
        {"name": "b", "configMap": {"name": "c", "defaultMode": 420}},
    ]
    assert made["spec"]["serviceAccountName"] == "sa"
    assert made["status"] == {"phase": "Pending", "qosClass": "Guaranteed"}


def test_services_get_an_address_that_stays_and_headless_ones_none() -> None:
    def script(cluster: Cluster) -> tuple[Tree, Tree, Tree]:
        verbs = cluster.verbs
        service: Tree = {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}], "selector": {"app": "web"}}}
        headless = {"metadata": {"name": "b"}, "spec": {"clusterIP": "None", "ports": [{"port": 80}]}}
        first = verbs.create(SERVICES, "default", service, user="me")
        second = verbs.create(SERVICES, "default", headless, user="me")
        service["spec"]["ports"] = [{"port": 81}]
        return first, second, verbs.update(SERVICES, "default", "a", service, user="me")

    first, second, updated = on_a_cluster(script)

    assert first["spec"]["clusterIP"].startswith("10.96.")
    assert first["spec"]["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    assert second["spec"]["clusterIPs"] == ["None"]
    assert updated["spec"]["clusterIP"] == first["spec"]["clusterIP"]


def test_plain_secrets_are_stored_coded() -> None:
    secret = {"metadata": {"name": "s"}, "stringData": {"key": "value"}}

    made = on_a_cluster(lambda cluster: cluster.verbs.create(SECRETS, "default", secret, user="me"))

    assert (made["type"], made["data"]) == ("Opaque", {"key": "dmFsdWU="})
    assert "stringData" not in made


# Update


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


@pytest.mark.parametrize("field", ["serviceName", "podManagementPolicy", "volumeClaimTemplates", "selector"])
def test_most_of_a_stateful_set_cannot_change(field: str) -> None:
    values: dict[str, Any] = {
        "serviceName": "other",
        "podManagementPolicy": "Parallel",
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {}}],
        "selector": {"matchLabels": {"app": "web", "tier": "x"}},
    }

    def script(cluster: Cluster) -> StatusError:
        labels = {"app": "web", "tier": "x"}
        cluster.verbs.create(STATEFUL_SETS, "default", a_set(labels=labels), user="me")
        return refused(lambda: merge(cluster.verbs, STATEFUL_SETS, "web", {"spec": {field: values[field]}}))

    error = on_a_cluster(script)

    text = (
        "Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
        "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' "
        "are forbidden"
    )
    assert (error.code, error.reason) == (422, "Invalid")
    assert error.message == f'StatefulSet.apps "web" is invalid: spec: {text}'
    assert error.details["causes"] == [{"reason": "FieldValueForbidden", "message": text, "field": "spec"}]


@pytest.mark.parametrize(
    "change",
    [
        {"replicas": 4},
        {"minReadySeconds": 4},
        {"ordinals": {"start": 2}},
        {"revisionHistoryLimit": 1},
        {"updateStrategy": {"type": "OnDelete", "rollingUpdate": None}},
        {"persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete"}},
        {"template": {"metadata": {"annotations": {"a": "b"}}}},
    ],
)
def test_the_rest_of_a_stateful_set_can(change: Tree) -> None:
    def script(cluster: Cluster) -> int:
        cluster.verbs.create(STATEFUL_SETS, "default", a_set(), user="me")
        after = merge(cluster.verbs, STATEFUL_SETS, "web", {"spec": change})
        return int(after["metadata"]["generation"])

    assert on_a_cluster(script) == 2


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        (
            {"selector": {}},
            "spec.selector",
            "Invalid value: {}: empty selector is invalid for statefulset",
        ),
        (
            {"selector": {"matchLabels": {"app": "x"}}},
            "spec.template.metadata.labels",
            'Invalid value: {"app":"web"}: `selector` does not match template `labels`',
        ),
        ({"replicas": -1}, "spec.replicas", "Invalid value: -1: must be greater than or equal to 0"),
        (
            {"podManagementPolicy": "Random"},
            "spec.podManagementPolicy",
            "Invalid value: \"Random\": must be 'OrderedReady' or 'Parallel'",
        ),
        (
            {"template": {"metadata": {"labels": {"app": "web"}}, "spec": {}}},
            "spec.template.spec.containers",
            "Required value",
        ),
    ],
)
def test_a_stateful_set_that_makes_no_sense_is_invalid(spec: Tree, field: str, message: str) -> None:
    error = on_a_cluster(
        lambda cluster: refused(lambda: cluster.verbs.create(STATEFUL_SETS, "default", a_set(**spec), user="me"))
    )

    assert error.code == 422
    causes: Any = error.details["causes"]
    assert [(cause["field"], cause["message"]) for cause in causes] == [(field, message)]


def test_without_a_selector_nothing_matches_either() -> None:
    error = on_a_cluster(
        lambda cluster: refused(
            lambda: cluster.verbs.create(STATEFUL_SETS, "default", {"metadata": {"name": "e"}}, user="me")
        )
    )

    assert error.message == (
        'StatefulSet.apps "e" is invalid: [spec.selector: Required value, spec.template.metadata.labels: '
        "Invalid value: null: `selector` does not match template `labels`, "
        "spec.template.spec.containers: Required value]"
    )


def test_pods_tolerate_a_node_that_is_away_for_a_while_unless_they_say_otherwise() -> None:
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}

    made = on_a_cluster(lambda cluster: cluster.verbs.create(PODS, "default", a_pod(tolerations=[own]), user="me"))

    assert [(each["key"], each["tolerationSeconds"]) for each in made["spec"]["tolerations"]] == [
        ("node.kubernetes.io/not-ready", 5),
        ("node.kubernetes.io/unreachable", 300),
    ]
    assert made["spec"]["priority"] == 0


def test_a_pod_can_change_its_image_and_little_else() -> None:
    def script(cluster: Cluster) -> tuple[int, StatusError]:
        verbs = cluster.verbs
        pod = verbs.create(PODS, "default", a_pod(), user="me")
        pod["spec"]["containers"][0]["image"] = "app:2"
        after = verbs.update(PODS, "default", "web-0", pod, user="me")
        after["spec"]["nodeName"] = "node-1"
        return pod["metadata"]["generation"] + 1, refused(
            lambda: verbs.update(PODS, "default", "web-0", after, user="me")
        )

    generation, error = on_a_cluster(script)

    assert generation == 2
    assert error.code == 422
    assert "pod updates may not change fields other than" in error.message


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


# Delete


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


def test_a_namespace_goes_when_it_is_empty() -> None:
    def script(cluster: Cluster) -> tuple[Tree, list[str], StatusError, list[str]]:
        verbs = cluster.verbs
        verbs.create(NAMESPACES, "", {"metadata": {"name": "team"}}, user="me")
        verbs.create(CONFIG_MAPS, "team", a_map(), user="me")
        verbs.create(PODS, "team", a_pod(node="node-1"), user="me")
        answer = verbs.delete(NAMESPACES, "", "team", user="me")
        left = [tree["metadata"]["name"] for tree in (*verbs.list(CONFIG_MAPS), *verbs.list(PODS))]
        error = refused(lambda: verbs.create(CONFIG_MAPS, "team", a_map("late"), user="me"))
        verbs.delete(PODS, "team", "web-0", grace=0, user="kubelet")
        return answer, left, error, [tree["metadata"]["name"] for tree in verbs.list(NAMESPACES)]

    answer, left, error, namespaces = on_a_cluster(script)

    assert answer["status"]["phase"] == "Terminating"
    assert left == ["web-0"]
    assert error.code == 403
    assert error.message == (
        'configmaps "late" is forbidden: unable to create new content in namespace team because it is being terminated'
    )
    assert "team" not in namespaces


# Subresources


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


def test_events_are_one_store_under_two_groups() -> None:
    def script(cluster: Cluster) -> tuple[Tree, Tree]:
        event = {
            "metadata": {"name": "e"},
            "regarding": {"kind": "Pod", "name": "web-0"},
            "note": "it happened",
            "reason": "Happened",
            "reportingController": "fairlead",
            "type": "Normal",
        }
        cluster.verbs.create(EVENTS, "default", event, user="me")
        return cluster.verbs.read(CORE_EVENTS, "default", "e"), cluster.verbs.read(EVENTS, "default", "e")

    core, new = on_a_cluster(script)

    assert (core["apiVersion"], core["involvedObject"]["name"], core["message"]) == ("v1", "web-0", "it happened")
    assert core["reportingComponent"] == "fairlead"
    assert (new["apiVersion"], new["regarding"]["name"], new["note"]) == ("events.k8s.io/v1", "web-0", "it happened")


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
