"""What the server's own admission does to pods and claims: accounts, priorities, limits, classes."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.cluster import Cluster
from kubesim.errors import StatusError
from kubesim.kinds.registry import (
    CLAIMS,
    INGRESS_CLASSES,
    INGRESSES,
    LIMIT_RANGES,
    PODS,
    PRIORITY_CLASSES,
    SERVICE_ACCOUNTS,
    STORAGE_CLASSES,
)
from tests.kubesim.scripts import on_a_cluster, refused
from tests.kubesim.trees import Tree, a_pod

TOKENS = "/var/run/secrets/kubernetes.io/serviceaccount"


def make(cluster: Cluster, resource: Any, tree: Tree) -> Tree:
    return cluster.verbs.create(resource, "default" if resource.namespaced else "", tree, user="me")


def an_account(name: str = "default", **fields: Any) -> Tree:
    return {"metadata": {"name": name}, **fields}


def a_limit(**fields: Any) -> Tree:
    return {"metadata": {"name": "limits"}, "spec": {"limits": [{"type": "Container", **fields}]}}


# Accounts


def test_pods_find_the_token_of_their_account() -> None:
    def script(cluster: Cluster) -> Any:
        make(cluster, SERVICE_ACCOUNTS, an_account())
        init = {"name": "first", "image": "app:1"}
        return make(cluster, PODS, a_pod(initContainers=[init]))["spec"]

    spec = on_a_cluster(script)

    (volume,) = spec["volumes"]
    assert volume["name"].startswith("kube-api-access-")
    assert volume["projected"]["defaultMode"] == 0o644
    assert volume["projected"]["sources"] == [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {
            "downwardAPI": {
                "items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]
            }
        },
    ]
    mount = {"name": volume["name"], "readOnly": True, "mountPath": TOKENS}
    assert [each["volumeMounts"] for each in spec["containers"] + spec["initContainers"]] == [[mount], [mount]]
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("default", "default")


@pytest.mark.parametrize(
    ("account", "pod"),
    [
        ({"automountServiceAccountToken": False}, {}),
        ({}, {"automountServiceAccountToken": False}),
        ({"automountServiceAccountToken": True}, {"automountServiceAccountToken": False}),
    ],
)
def test_pods_get_no_token_where_they_or_their_account_want_none(account: Tree, pod: Tree) -> None:
    def script(cluster: Cluster) -> Any:
        make(cluster, SERVICE_ACCOUNTS, an_account(**account))
        return make(cluster, PODS, a_pod(**pod))["spec"]

    spec = on_a_cluster(script)

    assert "volumes" not in spec
    assert spec["serviceAccountName"] == "default"


def test_a_container_that_has_something_else_there_is_left_alone() -> None:
    def script(cluster: Cluster) -> Any:
        make(cluster, SERVICE_ACCOUNTS, an_account())
        main = {"name": "main", "image": "app:1", "volumeMounts": [{"name": "own", "mountPath": TOKENS}]}
        return make(cluster, PODS, a_pod(containers=[main], volumes=[{"name": "own"}]))["spec"]

    assert [each["name"] for each in on_a_cluster(script)["volumes"]] == ["own"]


def test_secrets_to_pull_with_come_from_the_account() -> None:
    def script(cluster: Cluster) -> list[Tree]:
        make(cluster, SERVICE_ACCOUNTS, an_account(imagePullSecrets=[{"name": "pull"}]))
        own = a_pod("own", imagePullSecrets=[{"name": "mine"}])
        return [make(cluster, PODS, each)["spec"]["imagePullSecrets"] for each in (a_pod(), own)]

    assert on_a_cluster(script) == [[{"name": "pull"}], [{"name": "mine"}]]


def test_an_account_that_is_not_there_is_missed_only_where_accounts_are_kept() -> None:
    def script(cluster: Cluster) -> tuple[Tree, StatusError]:
        alone = make(cluster, PODS, a_pod("alone", serviceAccountName="nobody"))
        make(cluster, SERVICE_ACCOUNTS, an_account())
        return alone, refused(lambda: make(cluster, PODS, a_pod(serviceAccountName="nobody")))

    alone, error = on_a_cluster(script)

    assert alone["spec"]["serviceAccountName"] == "nobody"
    assert "volumes" not in alone["spec"]
    assert error.code == 403
    assert error.message == (
        'pods "web-0" is forbidden: error looking up service account default/nobody: serviceaccount "nobody" not found'
    )


# Priorities


@pytest.mark.parametrize(
    ("spec", "priority", "policy"),
    [
        ({}, 0, "PreemptLowerPriority"),
        ({"priorityClassName": "high"}, 1000, "Never"),
        ({"priorityClassName": "system-cluster-critical"}, 2_000_000_000, "PreemptLowerPriority"),
        ({"priorityClassName": "system-node-critical"}, 2_000_001_000, "PreemptLowerPriority"),
    ],
)
def test_the_priority_is_that_of_the_class(spec: Tree, priority: int, policy: str) -> None:
    def script(cluster: Cluster) -> Any:
        make(cluster, PRIORITY_CLASSES, {"metadata": {"name": "high"}, "value": 1000, "preemptionPolicy": "Never"})
        return make(cluster, PODS, a_pod(**spec))["spec"]

    made = on_a_cluster(script)

    assert (made["priority"], made["preemptionPolicy"]) == (priority, policy)


def test_of_several_default_classes_the_lowest_is_taken() -> None:
    def script(cluster: Cluster) -> Any:
        for name, value in (("b", 20), ("a", 10)):
            make(cluster, PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value, "globalDefault": True})
        return make(cluster, PODS, a_pod())["spec"]

    made = on_a_cluster(script)

    assert (made["priorityClassName"], made["priority"]) == ("a", 10)


# Limits


def test_containers_get_the_limits_of_their_namespace() -> None:
    def script(cluster: Cluster) -> Any:
        limit = a_limit(default={"cpu": "2", "memory": "1Gi"}, defaultRequest={"cpu": "1", "memory": "1Gi"})
        make(cluster, LIMIT_RANGES, limit)
        return make(cluster, PODS, a_pod())

    made = on_a_cluster(script)

    assert made["spec"]["containers"][0]["resources"] == {
        "limits": {"cpu": "2", "memory": "1Gi"},
        "requests": {"cpu": "1", "memory": "1Gi"},
    }
    assert made["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": (
            "LimitRanger plugin set: cpu, memory request for container main; cpu, memory limit for container main"
        )
    }
    assert made["status"]["qosClass"] == "Burstable"


@pytest.mark.parametrize(
    ("limit", "resources", "why"),
    [
        ({"max": {"cpu": "1"}}, {"limits": {"cpu": "2"}}, "maximum cpu usage per Container is 1, but limit is 2"),
        (
            {"min": {"cpu": "1"}},
            {"requests": {"cpu": "500m"}},
            "minimum cpu usage per Container is 1, but request is 500m",
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            {"limits": {"cpu": "3"}, "requests": {"cpu": "1"}},
            "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000",
        ),
        (
            {"max": {"cpu": "1", "memory": "1Gi"}},
            {"limits": {"cpu": "2", "memory": "2Gi"}},
            (
                "[maximum cpu usage per Container is 1, but limit is 2, "
                "maximum memory usage per Container is 1Gi, but limit is 2Gi]"
            ),
        ),
    ],
)
def test_containers_beyond_the_limits_are_refused(limit: Tree, resources: Tree, why: str) -> None:
    def script(cluster: Cluster) -> StatusError:
        make(cluster, LIMIT_RANGES, a_limit(**limit))
        container = {"name": "main", "image": "app:1", "resources": resources}
        return refused(lambda: make(cluster, PODS, a_pod(containers=[container])))

    error = on_a_cluster(script)

    assert (error.code, error.message) == (403, f'pods "web-0" is forbidden: {why}')


def test_claims_beyond_the_limits_are_refused() -> None:
    def script(cluster: Cluster) -> StatusError:
        limit = {"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}
        make(cluster, LIMIT_RANGES, {"metadata": {"name": "limits"}, "spec": {"limits": [limit]}})
        wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}
        return refused(lambda: make(cluster, CLAIMS, {"metadata": {"name": "data"}, "spec": wanted}))

    assert on_a_cluster(script).message == (
        'persistentvolumeclaims "data" is forbidden: '
        "maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi"
    )


# Classes


def test_claims_and_ingresses_get_the_default_class() -> None:
    def script(cluster: Cluster) -> tuple[Tree, Tree]:
        storage = {"storageclass.kubernetes.io/is-default-class": "true"}
        ingress = {"ingressclass.kubernetes.io/is-default-class": "true"}
        make(cluster, STORAGE_CLASSES, {"metadata": {"name": "fast", "annotations": storage}, "provisioner": "a/b"})
        named = {"metadata": {"name": "front", "annotations": ingress}, "spec": {"controller": "a.b/c"}}
        make(cluster, INGRESS_CLASSES, named)
        wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        backend = {"service": {"name": "web", "port": {"number": 80}}}
        return (
            make(cluster, CLAIMS, {"metadata": {"name": "data"}, "spec": wanted}),
            make(cluster, INGRESSES, {"metadata": {"name": "web"}, "spec": {"defaultBackend": backend}}),
        )

    claim, ingress = on_a_cluster(script)

    assert claim["spec"]["storageClassName"] == "fast"
    assert claim["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    assert ingress["spec"]["ingressClassName"] == "front"
