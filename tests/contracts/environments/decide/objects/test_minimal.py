"""Every object of an environment of which nothing is set that need not be, whole."""

from __future__ import annotations

import json

from fairlead.contracts.environments.decide.objects.balancer import balancer, balancer_objects
from fairlead.contracts.environments.decide.objects.console import console, console_objects
from fairlead.contracts.environments.decide.objects.environment import environment_objects
from fairlead.contracts.environments.decide.objects.generation import generation_objects, public_service
from tests.contracts.environments.decide.objects.samples import (
    HASH,
    LOCAL,
    Tree,
    a_balancer,
    a_console,
    an_environment,
    companion_metadata,
    identity,
    labels,
    metadata,
    tree,
    trees,
)

ALL = ["create", "update", "patch", "delete", "get", "list", "watch"]
PORTS = [
    {"name": "sql", "port": 6875, "protocol": "TCP"},
    {"name": "https", "port": 6876, "protocol": "TCP"},
    {"name": "internal-sql", "port": 6877, "protocol": "TCP"},
    {"name": "internal-http", "port": 6878, "protocol": "TCP"},
]
NAME = "mzabcdefgh12-environmentd-1"
SELECTOR = {"materialize.cloud/name": NAME}


def test_an_environment_has_an_account_with_its_role_and_nothing_else() -> None:
    objects = trees(environment_objects(an_environment(), LOCAL))

    rbac = "rbac.authorization.k8s.io"
    volumes = "persistentvolumeclaims/kubelet_volume_stats_"
    assert objects == {
        "ServiceAccount/m": {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": metadata("m", annotations={}),
        },
        "Role/m": {
            "apiVersion": f"{rbac}/v1",
            "kind": "Role",
            "metadata": metadata("m"),
            "rules": [
                {"apiGroups": ["apps"], "resources": ["statefulsets"], "verbs": ALL},
                {
                    "apiGroups": [""],
                    "resources": ["persistentvolumeclaims", "pods", "secrets", "services"],
                    "verbs": ALL,
                },
                {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]},
                {"apiGroups": ["materialize.cloud"], "resources": ["vpcendpoints"], "verbs": ALL},
                {"apiGroups": ["metrics.k8s.io"], "resources": ["pods"], "verbs": ["get", "list"]},
                {
                    "apiGroups": ["custom.metrics.k8s.io"],
                    "resources": [f"{volumes}used_bytes", f"{volumes}capacity_bytes"],
                    "verbs": ["get"],
                },
            ],
        },
        "RoleBinding/m": {
            "apiVersion": f"{rbac}/v1",
            "kind": "RoleBinding",
            "metadata": metadata("m"),
            "roleRef": {"apiGroup": rbac, "kind": "Role", "name": "m"},
            "subjects": [{"kind": "ServiceAccount", "name": "m", "namespace": "e"}],
        },
    }


def test_a_generation_has_two_services_its_listeners_and_a_statefulset_in_this_order() -> None:
    objects = trees(generation_objects(an_environment(), 1, HASH, LOCAL))

    told = json.loads(objects["ConfigMap/mzabcdefgh12-listeners-1"]["data"].pop("listeners.json"))
    assert told == EXPECTED_LISTENERS
    assert list(objects) == [
        f"Service/{NAME}",
        "Service/mzabcdefgh12-persist-pubsub-1",
        "ConfigMap/mzabcdefgh12-listeners-1",
        f"StatefulSet/{NAME}",
    ]
    assert objects == {
        f"Service/{NAME}": {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata(NAME),
            "spec": {"type": "ClusterIP", "ports": PORTS, "selector": SELECTOR},
        },
        "Service/mzabcdefgh12-persist-pubsub-1": {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata("mzabcdefgh12-persist-pubsub-1"),
            "spec": {
                "type": "ClusterIP",
                "clusterIP": "None",
                "ports": [{"name": "grpc", "port": 6879, "protocol": "TCP"}],
                "selector": SELECTOR,
            },
        },
        "ConfigMap/mzabcdefgh12-listeners-1": {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata("mzabcdefgh12-listeners-1", annotations={"materialize.cloud/generation": "1"}),
            "data": {},
        },
        f"StatefulSet/{NAME}": expected_statefulset(),
    }


def test_the_public_service_is_headless_and_selects_the_generation() -> None:
    service = tree(public_service(an_environment(), 1, LOCAL))

    assert service == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata("mzabcdefgh12-environmentd"),
        "spec": {"type": "ClusterIP", "clusterIP": "None", "ports": PORTS, "selector": SELECTOR},
    }


def test_a_balancer_and_a_console_are_asked_for() -> None:
    asked = trees(tuple(filter(None, (balancer(an_environment(), LOCAL), console(an_environment(), LOCAL)))))

    assert asked == {
        "Balancer/m": {
            "apiVersion": "materialize.cloud/v1alpha1",
            "kind": "Balancer",
            "metadata": metadata("m", labels=labels("balancerd")),
            "spec": {
                "balancerdImageRef": "materialize/balancerd:v26.0.0",
                "staticRouting": {
                    "environmentdNamespace": "e",
                    "environmentdServiceName": "mzabcdefgh12-environmentd",
                },
                "resourceId": "abcdefgh12",
            },
        },
        "Console/m": {
            "apiVersion": "materialize.cloud/v1alpha1",
            "kind": "Console",
            "metadata": metadata("m", labels=labels("console")),
            "spec": {
                "consoleImageRef": "materialize/console:latest",
                "balancerd": {"serviceName": "mzabcdefgh12-balancerd", "namespace": "e", "scheme": "http"},
                "authenticatorKind": "None",
                "resourceId": "abcdefgh12",
            },
        },
    }


def test_a_balancer_has_a_service_and_a_deployment() -> None:
    objects = trees(balancer_objects(a_balancer(), LOCAL))

    name = "mzabcdefgh12-balancerd"
    selected = identity() | {
        "materialize.cloud/name": name,
        "materialize.cloud/app": "balancerd",
        "app": "balancerd",
    }
    assert list(objects) == [f"Service/{name}", f"Deployment/{name}"]
    assert objects[f"Service/{name}"] == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": companion_metadata(name, "balancerd"),
        "spec": {
            "type": "ClusterIP",
            "clusterIP": "None",
            "ports": [
                {"name": "http", "port": 6876, "protocol": "TCP"},
                {"name": "pgwire", "port": 6875, "protocol": "TCP"},
            ],
            "selector": {"materialize.cloud/name": name},
        },
    }
    assert objects[f"Deployment/{name}"] == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": companion_metadata(name, "balancerd"),
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": selected},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "100%"}},
            "template": {
                "metadata": {"labels": labels("balancerd") | selected},
                "spec": {
                    "securityContext": {"fsGroup": 999, "runAsUser": 999, "runAsGroup": 999},
                    "containers": [EXPECTED_BALANCERD],
                },
            },
        },
    }


def test_a_console_has_its_configuration_a_service_and_a_deployment() -> None:
    objects = trees(console_objects(a_console(), LOCAL))

    name = "mzabcdefgh12-console"
    selected = identity() | {"materialize.cloud/name": name, "materialize.cloud/app": "console", "app": "console"}
    assert list(objects) == [f"ConfigMap/{name}", f"Service/{name}", f"Deployment/{name}"]
    told = json.loads(objects[f"ConfigMap/{name}"]["data"]["app-config.json"])
    assert told == {"version": "26.0", "auth": {"mode": "None"}}
    assert objects[f"ConfigMap/{name}"]["metadata"] == companion_metadata(name, "console")
    assert objects[f"Service/{name}"] == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": companion_metadata(name, "console"),
        "spec": {
            "type": "ClusterIP",
            "clusterIP": "None",
            "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
            "selector": {"materialize.cloud/name": name},
        },
    }
    assert objects[f"Deployment/{name}"] == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": companion_metadata(name, "console"),
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": selected},
            "template": {
                "metadata": {"labels": labels("console") | selected},
                "spec": {
                    "securityContext": {"fsGroup": 101},
                    "volumes": [{"name": "app-config", "configMap": {"name": name, "defaultMode": 256}}],
                    "containers": [EXPECTED_CONSOLE],
                },
            },
        },
    }


def expected_statefulset() -> Tree:
    annotations = {
        "materialize.cloud/generation": "1",
        "materialize.cloud/rollout-hash": HASH,
        "materialize.cloud/force": "00000000-0000-0000-0000-000000000000",
    }
    pod_labels = labels() | SELECTOR | {"materialize.cloud/app": "environmentd"}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": metadata(NAME, annotations=annotations),
        "spec": {
            "replicas": 1,
            "serviceName": "mzabcdefgh12-environmentd",
            "selector": {"matchLabels": SELECTOR},
            "template": {
                "metadata": {
                    "labels": pod_labels,
                    "annotations": {
                        "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
                        "karpenter.sh/do-not-evict": "true",
                        "karpenter.sh/do-not-disrupt": "true",
                        "materialize.cloud/generation": "1",
                    },
                },
                "spec": EXPECTED_POD,
            },
        },
    }


EXPECTED_LISTENERS = {
    "version": "0.147.0",
    "sql": {
        "external": {
            "addr": "0.0.0.0:6875",
            "authenticator_kind": "None",
            "allowed_roles": "Normal",
            "enable_tls": False,
        },
        "internal": {
            "addr": "0.0.0.0:6877",
            "authenticator_kind": "None",
            "allowed_roles": "NormalAndInternal",
            "enable_tls": False,
        },
    },
    "http": {
        "external": {
            "addr": "0.0.0.0:6876",
            "authenticator_kind": "None",
            "allowed_roles": "Normal",
            "enable_tls": False,
            "routes": {
                "base": True,
                "webhook": True,
                "internal": False,
                "metrics": False,
                "profiling": False,
                "mcp_agent": True,
                "mcp_developer": True,
                "console_config": True,
            },
        },
        "internal": {
            "addr": "0.0.0.0:6878",
            "authenticator_kind": "None",
            "allowed_roles": "NormalAndInternal",
            "enable_tls": False,
            "routes": {
                "base": True,
                "webhook": True,
                "internal": True,
                "metrics": True,
                "profiling": True,
                "mcp_agent": True,
                "mcp_developer": True,
                "console_config": False,
            },
        },
    },
}

PROBE = {"tcpSocket": {"port": 6875}, "initialDelaySeconds": 1, "failureThreshold": 12}

EXPECTED_POD = {
    "serviceAccountName": "m",
    "securityContext": {"fsGroup": 999, "runAsUser": 999, "runAsGroup": 999},
    "terminationGracePeriodSeconds": 0,
    "tolerations": [
        {
            "key": "node.kubernetes.io/not-ready",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": 30,
        },
        {
            "key": "node.kubernetes.io/unreachable",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": 30,
        },
    ],
    "volumes": [
        {
            "name": "license-key",
            "secret": {
                "secretName": "materialize-backend",
                "defaultMode": 256,
                "items": [{"key": "license_key", "path": "license_key"}],
            },
        },
        {"name": "listeners-configmap", "configMap": {"name": "mzabcdefgh12-listeners-1", "defaultMode": 256}},
    ],
    "containers": [
        {
            "name": "environmentd",
            "image": "materialize/environmentd:v26.0.0",
            "imagePullPolicy": "Always",
            "ports": [
                {"name": "sql", "containerPort": 6875, "protocol": "TCP"},
                {"name": "internal-sql", "containerPort": 6877, "protocol": "TCP"},
                {"name": "http", "containerPort": 6876, "protocol": "TCP"},
                {"name": "internal-http", "containerPort": 6878, "protocol": "TCP"},
                {"name": "persist-pubsub", "containerPort": 6879, "protocol": "TCP"},
            ],
            "livenessProbe": PROBE,
            "readinessProbe": PROBE,
            "volumeMounts": [
                {"name": "license-key", "mountPath": "/license_key"},
                {"name": "listeners-configmap", "mountPath": "/listeners"},
            ],
            "env": [
                {
                    "name": "MZ_METADATA_BACKEND_URL",
                    "valueFrom": {
                        "secretKeyRef": {
                            "name": "materialize-backend",
                            "key": "metadata_backend_url",
                            "optional": False,
                        }
                    },
                },
                {
                    "name": "MZ_PERSIST_BLOB_URL",
                    "valueFrom": {
                        "secretKeyRef": {
                            "name": "materialize-backend",
                            "key": "persist_backend_url",
                            "optional": False,
                        }
                    },
                },
                {"name": "AWS_REGION", "value": "kind"},
                {"name": "MZ_LICENSE_KEY", "value": "/license_key/license_key"},
            ],
            "args": [
                "--environment-id=local-kind-12345678-1234-1234-1234-123456789012-0",
                "--clusterd-image=materialize/clusterd:v26.0.0",
                "--cors-allowed-origin=http://local.dev.materialize.com:3000",
                "--cors-allowed-origin=http://local.mtrlz.com:3000",
                "--cors-allowed-origin=http://localhost:3000",
                "--cors-allowed-origin=https://staging.console.materialize.com",
                "--secrets-controller=kubernetes",
                "--system-parameter-default=cluster_enable_topology_spread=false",
                "--system-parameter-default=enable_rbac_checks=false",
                "--persist-isolated-runtime-threads=-1",
                "--orchestrator=kubernetes",
                "--orchestrator-kubernetes-service-account=m",
                "--orchestrator-kubernetes-image-pull-policy=always",
                "--orchestrator-kubernetes-service-label=materialize.cloud/organization-name=m",
                "--orchestrator-kubernetes-service-label=materialize.cloud/organization-namespace=e",
                "--orchestrator-kubernetes-service-label=materialize.cloud/mz-resource-id=abcdefgh12",
                "--orchestrator-kubernetes-name-prefix=mzabcdefgh12-",
                "--log-format=json",
                "--opentelemetry-resource=organization_id=12345678-1234-1234-1234-123456789012",
                "--opentelemetry-resource=environment_name=m",
                "--tls-mode=disable",
                "--orchestrator-kubernetes-service-fs-group=999",
                "--persist-pubsub-url=http://mzabcdefgh12-persist-pubsub-1:6879",
                "--internal-persist-pubsub-listen-addr=0.0.0.0:6879",
                "--deploy-generation=1",
                "--internal-console-redirect-url=https://console.materialize.com",
                "--orchestrator-kubernetes-disable-pod-metrics-collection",
                "--listeners-config-path=/listeners/listeners.json",
            ],
        }
    ],
}

EXPECTED_BALANCERD = {
    "name": "balancerd",
    "image": "materialize/balancerd:v26.0.0",
    "imagePullPolicy": "Always",
    "args": [
        "service",
        "--pgwire-listen-addr=0.0.0.0:6875",
        "--https-listen-addr=0.0.0.0:6876",
        "--internal-http-listen-addr=0.0.0.0:8080",
        "--https-resolver-template=mzabcdefgh12-environmentd.e.svc.cluster.local:6876",
        "--static-resolver-addr=mzabcdefgh12-environmentd.e.svc.cluster.local:6875",
        "--tls-mode=disable",
    ],
    "ports": [
        {"name": "pgwire", "containerPort": 6875, "protocol": "TCP"},
        {"name": "http", "containerPort": 6876, "protocol": "TCP"},
        {"name": "internal-http", "containerPort": 8080, "protocol": "TCP"},
    ],
    "startupProbe": {
        "httpGet": {"path": "/api/readyz", "port": 8080},
        "initialDelaySeconds": 3,
        "periodSeconds": 3,
        "failureThreshold": 20,
        "timeoutSeconds": 1,
    },
    "readinessProbe": {
        "httpGet": {"path": "/api/readyz", "port": 8080},
        "periodSeconds": 10,
        "failureThreshold": 3,
        "timeoutSeconds": 1,
    },
    "livenessProbe": {
        "httpGet": {"path": "/api/livez", "port": 8080},
        "initialDelaySeconds": 8,
        "periodSeconds": 10,
        "failureThreshold": 3,
        "timeoutSeconds": 1,
    },
}

EXPECTED_CONSOLE = {
    "name": "console",
    "image": "materialize/console:26.0",
    "imagePullPolicy": "Always",
    "env": [
        {"name": "MZ_ENDPOINT", "value": "http://mzabcdefgh12-balancerd.e.svc.cluster.local:6876"},
        {"name": "MZ_NGINX_LISTENER_CONFIG", "value": "listen 8080;"},
    ],
    "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
    "startupProbe": {
        "httpGet": {"path": "/", "port": 8080, "scheme": "HTTP"},
        "periodSeconds": 1,
        "failureThreshold": 10,
    },
    "readinessProbe": {
        "httpGet": {"path": "/", "port": 8080, "scheme": "HTTP"},
        "periodSeconds": 30,
        "failureThreshold": 1,
    },
    "livenessProbe": {"httpGet": {"path": "/", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 30},
    "volumeMounts": [{"name": "app-config", "mountPath": "/usr/share/nginx/html/app-config"}],
}
