"""Subresources, and what is particular to services, pods and workloads."""

from __future__ import annotations

import json
from typing import Any

from tests.exchanges.case import JSON_PATCH, STRATEGIC, Case, applied, case, delete, get, patch, post, put
from tests.exchanges.cases.samples import (
    APPS,
    CORE,
    DEPLOYMENTS,
    PODS,
    SERVICES,
    SETS,
    a_deployment,
    a_map,
    a_pod,
    a_service,
    a_set,
    an_object,
)

_BOUND = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "one"}, "target": {"kind": "Node", "name": "n"}}
_EVICTION = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "one"}}

_REVISION = '{"apiVersion":"apps/v1","kind":"ControllerRevision","data":%s,"revision":1,"metadata":{"name":"one"%s}}'
_JOBS = "/apis/batch/v1/namespaces/{ns}/jobs"
_JOB = an_object("batch/v1", "Job", spec={"template": {"spec": a_pod()["spec"] | {"restartPolicy": "Never"}}})


def _scale(replicas: Any, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "one", "namespace": "{ns}"} | metadata,
        "spec": {"replicas": replicas},
    }


_STATUS = f"{PODS}/one/status"
_SUBRESOURCES = (
    case(
        "the status of a pod",
        post(PODS, a_pod()),
        patch(_STATUS, {"status": {"phase": "Running", "podIP": "10.1.2.3"}, "metadata": {"labels": {"a": "b"}}}),
        get(_STATUS),
        patch(f"{PODS}/one", {"status": {"phase": "Failed"}}),
    ),
    case("the status of nothing", patch(f"{PODS}/missing/status", {"status": {}}), get(f"{PODS}/missing/status")),
    case(
        "a scale",
        post(DEPLOYMENTS, a_deployment(replicas=2)),
        get(f"{DEPLOYMENTS}/one/scale"),
        put(f"{DEPLOYMENTS}/one/scale", _scale(5)),
        get(f"{DEPLOYMENTS}/one"),
    ),
    case("a scale of nothing", get(f"{DEPLOYMENTS}/missing/scale"), put(f"{DEPLOYMENTS}/missing/scale", _scale(5))),
    case(
        "a scale that is refused",
        post(SETS, a_set()),
        put(f"{SETS}/one/scale", _scale(-1)),
        put(f"{SETS}/one/scale", _scale(1, resourceVersion="1")),
        put(f"{SETS}/one/scale", _scale("x")),
        put(f"{SETS}/one/scale", _scale(1, name="two")),
        put(f"{SETS}/one/scale", a_map()),
        delete(f"{SETS}/one/scale"),
    ),
    case(
        "patches of a scale",
        post(SETS, a_set()),
        patch(f"{SETS}/one/scale", {"spec": {"replicas": 4}}),
        patch(
            f"{SETS}/one/scale",
            [{"op": "replace", "path": "/spec/replicas", "value": 0}],
            "application/json-patch+json",
        ),
    ),
    case(
        "a pod is bound",
        post(PODS, a_pod()),
        post(f"{PODS}/one/binding", _BOUND),
        post(f"{PODS}/one/binding", _BOUND),
        post(f"{PODS}/missing/binding", _BOUND),
        get(f"{PODS}/one"),
        get(f"{PODS}/one/binding"),
    ),
    case(
        "a binding to nothing",
        post(PODS, a_pod()),
        post(f"{PODS}/one/binding", _BOUND | {"target": {}}),
        post(f"{PODS}/one/binding", _BOUND | {"target": {"kind": "Pod", "name": "x"}}),
    ),
    case(
        "an eviction",
        post(PODS, a_pod()),
        post(f"{PODS}/one/eviction", _EVICTION, dryRun="All"),
        post(f"{PODS}/one/eviction", _EVICTION),
        post(f"{PODS}/one/eviction", _EVICTION),
    ),
    case(
        "an eviction of another name",
        post(PODS, a_pod()),
        post(f"{PODS}/one/eviction", _EVICTION | {"metadata": {"name": "two"}}),
        post(f"{PODS}/one/eviction", {}),
    ),
    case(
        "an eviction against a budget",
        post(PODS, a_pod(spec={"nodeName": "n"}, labels={"app": "a"})),
        patch(_STATUS, {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}),
        post(
            "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets",
            an_object(
                "policy/v1", "PodDisruptionBudget", spec={"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}
            ),
        ),
        post(f"{PODS}/one/eviction", _EVICTION),
        patch(
            "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets/one/status",
            {
                "status": {
                    "observedGeneration": 1,
                    "disruptionsAllowed": 0,
                    "currentHealthy": 1,
                    "desiredHealthy": 1,
                    "expectedPods": 1,
                }
            },
        ),
        post(f"{PODS}/one/eviction", _EVICTION),
        patch("/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets/one/status", {"status": {"disruptionsAllowed": 1}}),
        post(f"{PODS}/one/eviction", _EVICTION),
        get("/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets/one"),
    ),
    case(
        "finalizing a namespace",
        put(
            "/api/v1/namespaces/{ns}/finalize",
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": "{ns}"},
                "spec": {"finalizers": ["kubernetes", "example.com/mine"]},
            },
        ),
        get("/api/v1/namespaces/{ns}"),
    ),
    case(
        "the status of a namespace",
        patch("/api/v1/namespaces/{ns}/status", {"status": {"conditions": [{"type": "X", "status": "True"}]}}),
    ),
)

_SERVICES = (
    case(
        "addresses of services",
        post(SERVICES, a_service()),
        put(f"{SERVICES}/one", a_service(ports=[{"port": 81, "targetPort": "http"}])),
        patch(f"{SERVICES}/one", {"spec": {"clusterIP": "10.0.0.77"}}),
        patch(f"{SERVICES}/one", {"spec": {"type": "NodePort"}}),
        patch(f"{SERVICES}/one", {"spec": {"type": "ExternalName", "externalName": "x.io"}}),
    ),
    case("a headless service", post(SERVICES, a_service(clusterIP="None"))),
    case("a service by another name", post(SERVICES, a_service(type="ExternalName", externalName="example.com"))),
    case("a load balancer", post(SERVICES, a_service(type="LoadBalancer"))),
    case(
        "services that are refused",
        post(SERVICES, a_service(ports=[])),
        post(SERVICES, a_service(ports=[{"port": 0}, {"port": 70000}])),
        post(SERVICES, a_service(type="Nonsense")),
        post(SERVICES, a_service(clusterIP="1.2.3.4")),
    ),
    case(
        "a port of all nodes out of range",
        post(SERVICES, a_service(type="NodePort", ports=[{"port": 80, "nodePort": 80}])),
    ),
)

_PODS = (
    case("a pod without containers", post(PODS, a_pod(spec={"containers": []}))),
    case(
        "a pod with two containers of one name",
        post(PODS, a_pod(spec={"containers": [{"name": "a", "image": "x"}, {"name": "a", "image": "y"}]})),
    ),
    case("a pod with a wrong policy", post(PODS, a_pod(spec={"restartPolicy": "Maybe", "dnsPolicy": "Maybe"}))),
    case(
        "a pod with a mount of nothing",
        post(
            PODS,
            a_pod(
                spec={"containers": [{"name": "a", "image": "x", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}]}
            ),
        ),
    ),
    case(
        "a pod with more asked than allowed",
        post(
            PODS,
            a_pod(
                spec={
                    "containers": [
                        {"name": "a", "image": "x", "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}
                    ]
                }
            ),
        ),
    ),
    case(
        "a pod with all kinds of defaults",
        post(
            PODS,
            a_pod(
                spec={
                    "initContainers": [{"name": "first", "image": "host/first"}],
                    "containers": [
                        {
                            "name": "main",
                            "image": "main:latest",
                            "ports": [{"containerPort": 80}],
                            "env": [
                                {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
                                {"name": "A", "value": ""},
                            ],
                            "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}},
                            "livenessProbe": {"httpGet": {"port": 80}},
                            "readinessProbe": {"exec": {"command": ["true"]}},
                            "lifecycle": {"preStop": {"httpGet": {"port": "http", "path": "/stop"}}},
                            "volumeMounts": [{"name": "map", "mountPath": "/map"}],
                        }
                    ],
                    "volumes": [
                        {"name": "map", "configMap": {"name": "m"}},
                        {"name": "secret", "secret": {"secretName": "s"}},
                        {"name": "empty"},
                        {
                            "name": "down",
                            "downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]},
                        },
                        {
                            "name": "own",
                            "ephemeral": {
                                "volumeClaimTemplate": {
                                    "spec": {
                                        "accessModes": ["ReadWriteOnce"],
                                        "resources": {"requests": {"storage": "1Gi"}},
                                    }
                                }
                            },
                        },
                    ],
                    "topologySpreadConstraints": [
                        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
                    ],
                }
            ),
        ),
    ),
    case("a pod with an unknown account", post(PODS, a_pod(spec={"serviceAccountName": "missing"}))),
    case(
        "a pod with a priority class",
        post(PODS, a_pod(spec={"priorityClassName": "system-node-critical"})),
        post(PODS, a_pod("two", spec={"priorityClassName": "missing"})),
    ),
    case(
        "containers may not be added",
        post(PODS, a_pod()),
        patch(f"{PODS}/one", {"spec": {"containers": [{"name": "b", "image": "c"}]}}),
    ),
)

_WORKLOADS = (
    case(
        "a deployment whose selector does not match",
        post(DEPLOYMENTS, a_deployment(selector={"matchLabels": {"app": "b"}})),
    ),
    case("a deployment without anything", post(DEPLOYMENTS, an_object("apps/v1", "Deployment"))),
    case(
        "a deployment with wrong numbers",
        post(
            DEPLOYMENTS, a_deployment(replicas=-1, strategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}})
        ),
    ),
    case(
        "recreating has no numbers",
        post(DEPLOYMENTS, a_deployment(strategy={"type": "Recreate", "rollingUpdate": {"maxSurge": 1}})),
    ),
    case(
        "a stateful set with wrong policies",
        post(SETS, a_set(podManagementPolicy="Maybe", updateStrategy={"type": "Maybe"}, replicas=-2)),
    ),
    case(
        "a template that may restart never",
        post(
            DEPLOYMENTS,
            a_deployment(
                template={"metadata": {"labels": {"app": "a"}}, "spec": a_pod()["spec"] | {"restartPolicy": "Never"}}
            ),
        ),
    ),
    case(
        "a job without a policy",
        post(
            "/apis/batch/v1/namespaces/{ns}/jobs",
            an_object("batch/v1", "Job", spec={"template": {"spec": a_pod()["spec"]}}),
        ),
    ),
    case(
        "a cron job with a bad schedule",
        post(
            "/apis/batch/v1/namespaces/{ns}/cronjobs",
            an_object(
                "batch/v1",
                "CronJob",
                spec={
                    "schedule": "often",
                    "jobTemplate": {"spec": {"template": {"spec": a_pod()["spec"] | {"restartPolicy": "Never"}}}},
                },
            ),
        ),
    ),
    case(
        "a budget with two numbers",
        post(
            "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets",
            an_object("policy/v1", "PodDisruptionBudget", spec={"minAvailable": 1, "maxUnavailable": "20%"}),
        ),
    ),
    case("a claim without anything", post(f"{CORE}/persistentvolumeclaims", an_object("v1", "PersistentVolumeClaim"))),
    case(
        "a daemon set that surges and waits",
        post(
            f"{APPS}/daemonsets",
            an_object(
                "apps/v1",
                "DaemonSet",
                spec={
                    "selector": {"matchLabels": {"app": "a"}},
                    "template": {"metadata": {"labels": {"app": "a"}}, "spec": a_pod()["spec"]},
                    "updateStrategy": {"rollingUpdate": {"maxSurge": "10%", "maxUnavailable": 0}},
                },
            ),
        ),
    ),
)

_ODDITIES = (
    case(
        "all addresses of a pod",
        post(PODS, a_pod()),
        patch(_STATUS, {"status": {"podIPs": [{"ip": "10.1.2.3"}]}}),
        patch(_STATUS, {"status": {"podIP": "10.1.2.4"}}),
    ),
    case(
        "a binding to nobody in particular",
        post(PODS, a_pod()),
        post(f"{PODS}/one/binding", _BOUND | {"target": {"kind": "Pod", "name": ""}}),
    ),
    case(
        "an eviction of an older version",
        post(PODS, a_pod()),
        post(f"{PODS}/one/eviction", _EVICTION | {"apiVersion": "policy/v1beta1"}),
    ),
    case(
        "data of a revision to the letter",
        post(f"{APPS}/controllerrevisions", _REVISION % ('{"b":1,"a":2}', "")),
        put(f"{APPS}/controllerrevisions/one", _REVISION % ('{"b":1,"a":2}', ',"labels":{"a":"b"}')),
        patch(f"{APPS}/controllerrevisions/one", {"metadata": {"labels": {"a": "c"}}}),
        patch(f"{APPS}/controllerrevisions/one", [{"op": "remove", "path": "/metadata/labels"}], JSON_PATCH),
        patch(f"{APPS}/controllerrevisions/one", {"metadata": {"labels": {"a": "d"}}}, STRATEGIC),
        applied(f"{APPS}/controllerrevisions/one", json.loads(_REVISION % ('{"b":1,"a":2}', "")), force="true"),
        put(f"{APPS}/controllerrevisions/one", _REVISION % ('{"a":2,"b":1}', "")),
    ),
    case(
        "data of a revision in order",
        post(f"{APPS}/controllerrevisions", _REVISION % ('{"a":2,"b":1}', "")),
        patch(f"{APPS}/controllerrevisions/one", {"metadata": {"labels": {"a": "d"}}}, STRATEGIC),
        applied(f"{APPS}/controllerrevisions/one", json.loads(_REVISION % ('{"b":1,"a":2}', "")), force="true"),
        patch(f"{APPS}/controllerrevisions/one", {"data": {"a": 2}}),
        put(f"{APPS}/controllerrevisions/one", _REVISION % ('{"a": 2,"b":1}', "")),
    ),
    case(
        "jobs that take their pods along",
        post(f"{_JOBS}", _JOB),
        delete(f"{_JOBS}/one", propagationPolicy="Background"),
        get(f"{_JOBS}/one"),
    ),
)

CASES: tuple[Case, ...] = (*_ODDITIES, *_SUBRESOURCES, *_SERVICES, *_PODS, *_WORKLOADS)
