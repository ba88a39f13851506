"""Changes of objects of built-in kinds, allowed and not, for comparing what two clusters make of them.

Objects are such that no controller does anything about them.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from tests.e2e.builtin_trees import (
    BUSY,
    FULL,
    Tree,
    a_budget,
    a_claim,
    a_container,
    a_cron_job,
    a_job,
    a_policy,
    a_service,
    a_slice,
    a_stateful_set,
    a_template,
    a_volume,
    a_workload,
    an,
    an_autoscaler,
    an_ingress,
)


class Change(Struct, frozen=True):
    """An object and a merge patch of it, or of a part of it."""

    base: Tree
    patch: Tree
    subresource: str = ""


def spec(base: Tree, **fields: Any) -> Change:
    return Change(base, {"spec": fields})


def metadata(base: Tree, **fields: Any) -> Change:
    return Change(base, {"metadata": fields})


def status(base: Tree, **fields: Any) -> Change:
    return Change(base, {"status": fields}, "status")


def an_idle(kind: str, **fields: Any) -> Tree:
    return a_workload(kind, replicas=0, **fields)


POD = an("Pod", spec={"containers": [a_container()], "nodeName": "", "schedulerName": "nobody"})
GATED = an("Pod", spec={"containers": [a_container()], "schedulingGates": [{"name": "a"}, {"name": "b"}]})
DEPLOYMENT = an_idle("Deployment")
STATEFUL_SET = a_stateful_set(replicas=0)
DAEMON_SET = a_workload("DaemonSet", template=a_template(nodeSelector={"no": "where"}))
SERVICE = a_service()
HEADLESS = a_service(clusterIP="None")
NODE_PORT = a_service(type="NodePort")
BALANCER = a_service(type="LoadBalancer")
ALIAS = an("Service", spec={"type": "ExternalName", "externalName": "a.b"})
JOB = a_job(suspend=True)
MAP = an("ConfigMap", data={"a": "b"})
FROZEN = an("ConfigMap", data={"a": "b"}, immutable=True)
SECRET = an("Secret", type="Opaque", data={"a": "Yg=="})
CLAIM = a_claim(storageClassName="none")
IMAGE = {"containers": [{**a_container(), "image": "app:2"}]}

CHANGES: dict[str, Change] = {
    "labels of a map": metadata(MAP, labels={"a": "b"}),
    "a bad label": metadata(MAP, labels={"a b": "c"}),
    "a bad label of a Lease": metadata(an("Lease", version="coordination.k8s.io/v1", spec={}), labels={"a b": "c"}),
    "a bad label of a budget": metadata(a_budget(minAvailable=1), labels={"a b": "c"}),
    "a bad label of a deployment": metadata(DEPLOYMENT, labels={"a b": "c"}),
    "a bad label by way of the status": Change(DEPLOYMENT, {"metadata": {"annotations": {"a b": "c"}}}, "status"),
    "a bad annotation": metadata(MAP, annotations={"a b": "c"}),
    "a bad finalizer": metadata(MAP, finalizers=["a b"]),
    "a plain finalizer": metadata(MAP, finalizers=["mine"]),
    "a plain finalizer of a service": metadata(SERVICE, finalizers=["mine"]),
    "a bad owner": metadata(MAP, ownerReferences=[{"apiVersion": "v1", "kind": "", "name": "a", "uid": "b"}]),
    "another name": metadata(MAP, name="other"),
    "another uid": metadata(MAP, uid="00000000-0000-0000-0000-000000000000"),
    "data of a map": Change(MAP, {"data": {"b": "c"}}),
    "bad data of a map": Change(MAP, {"data": {"b c": "c"}}),
    "data of a frozen map": Change(FROZEN, {"data": {"b": "c"}}),
    "a map that thaws": Change(FROZEN, {"immutable": False}),
    "type of a secret": Change(SECRET, {"type": "other"}),
    "image of a pod": spec(POD, **IMAGE),
    "no image of a pod": spec(POD, containers=[{**a_container(), "image": ""}]),
    "image with spaces of a pod": spec(POD, containers=[{**a_container(), "image": " a"}]),
    "another container of a pod": spec(POD, containers=[a_container("other")]),
    "two containers of a pod": spec(POD, containers=[a_container(), a_container("other")]),
    "deadline of a pod": spec(POD, activeDeadlineSeconds=5),
    "bad deadline of a pod": spec(POD, activeDeadlineSeconds=0),
    "later deadline of a pod": spec(
        {**POD, "spec": {**POD["spec"], "activeDeadlineSeconds": 5}}, activeDeadlineSeconds=6
    ),
    "no deadline of a pod": spec(
        {**POD, "spec": {**POD["spec"], "activeDeadlineSeconds": 5}}, activeDeadlineSeconds=None
    ),
    "node of a pod": spec(POD, nodeName="n"),
    "host name of a pod": spec(POD, hostname="h"),
    "tolerations of a pod": spec(POD, tolerations=[{"key": "a", "operator": "Exists"}]),
    "gates of a pod": spec(POD, schedulingGates=[{"name": "a"}]),
    "fewer gates of a pod": spec(GATED, schedulingGates=[{"name": "a"}]),
    "selector of a pod that is held back": spec(GATED, nodeSelector={"a": "b"}),
    "conditions of a pod": status(POD, conditions=[{"type": "a b", "status": "True"}]),
    "quality of a pod": status(POD, qosClass="Guaranteed"),
    "address of a pod": status(POD, podIPs=[{"ip": "x"}]),
    "spec of a pod by way of its status": Change(POD, {"spec": {"nodeName": "n"}}, "status"),
    "status of a pod by way of its spec": Change(POD, {"status": {"phase": "Running"}}),
    "replicas of a deployment": spec(DEPLOYMENT, paused=True),
    "selector of a deployment": spec(
        DEPLOYMENT, selector={"matchLabels": {"a": "b"}}, template={"metadata": {"labels": {"a": "b"}}}
    ),
    "labels of a deployment that do not match": spec(DEPLOYMENT, template={"metadata": {"labels": {"app": "x"}}}),
    "everything in a deployment": spec(DEPLOYMENT, template=a_template(BUSY, **FULL)),
    "broken pods of a deployment": spec(DEPLOYMENT, template=a_template(a_container("A"))),
    "strategy of a deployment": spec(DEPLOYMENT, strategy={"type": "Recreate", "rollingUpdate": None}),
    "strategy of a deployment with a rest": spec(DEPLOYMENT, strategy={"type": "Recreate"}),
    "annotations of a deployment": metadata(DEPLOYMENT, annotations={"a": "b"}),
    "labels of a deployment's status": Change(DEPLOYMENT, {"metadata": {"labels": {"a": "b"}}}, "status"),
    "status of a deployment": status(DEPLOYMENT, replicas=1, readyReplicas=2, availableReplicas=3, updatedReplicas=-1),
    "collisions of a deployment": status(DEPLOYMENT, collisionCount=-1),
    "selector of a replica set": spec(
        an_idle("ReplicaSet"), selector={"matchLabels": {"a": "b"}}, template={"metadata": {"labels": {"a": "b"}}}
    ),
    "status of a replica set": status(an_idle("ReplicaSet"), replicas=1, fullyLabeledReplicas=2),
    "selector of a daemon set": spec(
        DAEMON_SET, selector={"matchLabels": {"a": "b"}}, template={"metadata": {"labels": {"a": "b"}}}
    ),
    "template of a daemon set": spec(DAEMON_SET, template={"metadata": {"annotations": {"a": "b"}}}),
    "status of a daemon set": status(DAEMON_SET, numberReady=-1),
    "template of a stateful set": spec(STATEFUL_SET, template={"metadata": {"annotations": {"a": "b"}}}),
    "service of a stateful set": spec(STATEFUL_SET, serviceName="other"),
    "claims of a stateful set": spec(STATEFUL_SET, volumeClaimTemplates=[{"metadata": {"name": "d"}, "spec": {}}]),
    "partition of a stateful set": spec(STATEFUL_SET, updateStrategy={"rollingUpdate": {"partition": -1}}),
    "labels of a stateful set that do not match": spec(STATEFUL_SET, template={"metadata": {"labels": {"app": "x"}}}),
    "status of a stateful set": status(STATEFUL_SET, replicas=1, readyReplicas=2, currentReplicas=-1),
    "ports of a service": spec(SERVICE, ports=[{"port": 81}]),
    "two unnamed ports of a service": spec(SERVICE, ports=[{"port": 81}, {"port": 82}]),
    "address of a service": spec(SERVICE, clusterIP="10.0.0.250"),
    "no address of a service": spec(SERVICE, clusterIP=None, clusterIPs=None),
    "headless service from a service": spec(SERVICE, clusterIP="None"),
    "service from a headless service": spec(HEADLESS, clusterIP=None, clusterIPs=None),
    "selector of a headless service": spec(HEADLESS, selector={"a": "b"}),
    "node port of a service": spec(SERVICE, type="NodePort"),
    "balancer of a service": spec(SERVICE, type="LoadBalancer"),
    "service of a node port": spec(NODE_PORT, type="ClusterIP"),
    "ports of a node port": spec(NODE_PORT, ports=[{"port": 81}]),
    "service of a balancer": spec(BALANCER, type="ClusterIP"),
    "local balancer": spec(BALANCER, externalTrafficPolicy="Local"),
    "class of a balancer": spec(BALANCER, loadBalancerClass="a/b"),
    "alias of a service": spec(SERVICE, type="ExternalName", externalName="a.b"),
    "service of an alias": spec(ALIAS, type="ClusterIP", externalName=None, ports=[{"port": 1}]),
    "type of a service": spec(SERVICE, type="Odd"),
    "families of a service": spec(SERVICE, ipFamilies=["IPv6"]),
    "affinity of a service": spec(SERVICE, sessionAffinity="ClientIP"),
    "ingress of a service": status(SERVICE, loadBalancer={"ingress": [{"ip": "1.2.3.4"}]}),
    "ingress of a balancer": status(BALANCER, loadBalancer={"ingress": [{"ip": "1.2.3.4"}]}),
    "bad ingress of a balancer": status(BALANCER, loadBalancer={"ingress": [{"ip": "x", "ipMode": "Odd"}]}),
    "parallelism of a job": spec(JOB, parallelism=3),
    "completions of a job": spec(JOB, completions=3),
    "mode of a job": spec(JOB, completionMode="Indexed"),
    "selector of a job": spec(JOB, selector={"matchLabels": {"a": "b"}}),
    "schedule of a cron job": spec(a_cron_job(suspend=True), schedule="x"),
    "template of a cron job": spec(a_cron_job(suspend=True), jobTemplate={"spec": {"parallelism": -1}}),
    "size of a claim": spec(CLAIM, resources={"requests": {"storage": "2Gi"}}),
    "class of a claim": spec(CLAIM, storageClassName="other"),
    "volume of a claim": spec(CLAIM, volumeName="v"),
    "capacity of a volume": spec(a_volume(storageClassName="none"), capacity={"storage": "2Gi"}),
    "path of a volume": spec(a_volume(storageClassName="none"), hostPath={"path": "/other"}),
    "provisioner of a class": Change(
        an("StorageClass", version="storage.k8s.io/v1", provisioner="a/b"), {"provisioner": "c/d"}
    ),
    "value of a priority class": Change(an("PriorityClass", version="scheduling.k8s.io/v1", value=1), {"value": 2}),
    "description of a priority class": Change(
        an("PriorityClass", version="scheduling.k8s.io/v1", value=1), {"description": "a"}
    ),
    "budget of both": spec(a_budget(minAvailable=1), maxUnavailable=1),
    "selector of a budget": spec(a_budget(minAvailable=1), selector={"matchLabels": {"a": "b"}}),
    "status of a budget": status(
        a_budget(minAvailable=1), disruptionsAllowed=-1, currentHealthy=0, desiredHealthy=0, expectedPods=0
    ),
    "least of an autoscaler": spec(an_autoscaler(), minReplicas=9),
    "status of an autoscaler": status(an_autoscaler(), desiredReplicas=-1, currentMetrics=None),
    "rules of an ingress": spec(
        an_ingress(defaultBackend={"service": {"name": "a", "port": {"number": 1}}}), rules=[{"host": "A"}]
    ),
    "controller of an ingress class": spec(
        an("IngressClass", version="networking.k8s.io/v1", spec={"controller": "a.b/c"}), controller="a.b/d"
    ),
    "types of a network policy": spec(a_policy(), policyTypes=["Odd"]),
    "addresses of a slice": Change(a_slice(), {"addressType": "IPv6"}),
    "endpoints of a slice": Change(a_slice(), {"endpoints": [{"addresses": ["1.2.3.4"]}]}),
    "scopes of a quota": spec(an("ResourceQuota", spec={"hard": {"pods": "1"}}), scopes=["BestEffort"]),
    "limits": spec(an("LimitRange", spec={"limits": []}), limits=[{"type": "Odd"}]),
    "data of a revision": Change(
        an("ControllerRevision", version="apps/v1", revision=1, data={"a": 1}), {"data": {"a": 2}}
    ),
    "template of pods": Change(
        an("PodTemplate", template=a_template()), {"template": {"metadata": {"labels": {"a": "b"}}}}
    ),
}
