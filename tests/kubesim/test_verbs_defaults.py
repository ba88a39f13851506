"""What a writer leaves out is completed as by the real API server."""

from __future__ import annotations

import pytest

from kubesim.cluster import Cluster
from kubesim.kinds.registry import PODS, SECRETS, SERVICES, STATEFUL_SETS
from tests.kubesim.scripts import on_a_cluster
from tests.kubesim.trees import Tree, a_pod, a_set


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
        (f"app@sha256:{'0' * 64}", "IfNotPresent"),
        (f"app:latest@sha256:{'0' * 64}", "Always"),
        ("app:latest@sha256:0000", "IfNotPresent"),
        ("App", "IfNotPresent"),
        ("Registry/app", "Always"),
        ("registry/App", "IfNotPresent"),
        ("registry:port/app", "IfNotPresent"),
        ("app__one", "Always"),
        ("app___one", "IfNotPresent"),
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


def test_pods_tolerate_a_node_that_is_away_for_a_while_unless_they_say_otherwise() -> None:
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}

    made = on_a_cluster(lambda cluster: cluster.verbs.create(PODS, "default", a_pod(tolerations=[own]), user="me"))

    assert [(each["key"], each["tolerationSeconds"]) for each in made["spec"]["tolerations"]] == [
        ("node.kubernetes.io/not-ready", 5),
        ("node.kubernetes.io/unreachable", 300),
    ]
    assert made["spec"]["priority"] == 0
