"""The states of a real cluster that are kept as copies: how each is brought about.

Nodes have names of their own, and what pods do is not written on them: the stand-in kubelet is as slow as a state needs
it, and what it would never do the state writes by hand, in a real kubelet's words.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Self

import msgspec
import structlog
from msgspec import Struct

from fairlead.contracts.zones.settings import Settings
from fairlead.engine.assembly import assemble
from fairlead.engine.metrics import Metrics
from fairlead.engine.options import OperatorOptions
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.http_caller import HttpCaller
from kubeloop.http_transport import HttpTransport
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import CONFIGMAPS, NAMESPACES, PODS, SERVICE_ACCOUNTS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import MERGE_PATCH, Request, create, delete, patch, path_of
from kubesim.kubelet import Kubelet
from kubesim.kubelet.nodes import NODES, register
from tests.operator_parts import zones

Tree = dict[str, Any]

SHOP = "shop"
WORKERS = {"worker-a-1": "eu-1a", "worker-b-1": "eu-1b", "worker-c-1": "eu-1c"}
"""Nodes of the kubelet and their zones."""
BY_HAND = "worker-d-1"
"""A node whose pods have no kubelet: what they are the state writes."""
PATIENCE, LOOK_EVERY, QUIET = 120.0, 0.1, 4.0
"""Seconds; a state in which nothing was written for so long is one."""
CLAIM: Tree = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
DAEMON_SETS = Resource("apps", "v1", "daemonsets", "DaemonSet")
SERVICES = Resource("", "v1", "services", "Service")
CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
POLICIES = Resource(
    "admissionregistration.k8s.io", "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", namespaced=False
)
WEBHOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)
WIDGETS = Resource("example.com", "v1", "widgets", "Widget")
DEVICES = Resource("resource.k8s.io", "v1", "deviceclasses", "DeviceClass", namespaced=False)


class NotReached(Exception):
    """A state did not come about; the text says which."""


class Stage:
    """Where a state is brought about: a cluster with nodes, and a namespace."""

    def __init__(self, client: Client, transport: Callable[[], HttpTransport]) -> None:
        self.client = client
        self._transport = transport
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        for name, zone in WORKERS.items():
            await register(self.client, name, zone)
        await register(self.client, BY_HAND, "eu-1a")
        taint = {"key": "example.com/by-hand", "effect": "NoSchedule"}
        await self.change(NODES, BY_HAND, {"spec": {"taints": [taint]}})
        await self.create(NAMESPACES, SHOP)
        await self.until("the namespace has its account", lambda: self.has(SERVICE_ACCOUNTS, "default"))
        await self.until("the namespace has its certificates", lambda: self.has(CONFIGMAPS, "kube-root-ca.crt"))
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def start_kubelet(self, ready_after: float = 1.0, *, gone_after: float = 0.1) -> asyncio.Task[None]:
        """Of pods that leave their place to the usual scheduler."""
        kubelet = Kubelet(
            self.client,
            ready_after=ready_after,
            gone_after=gone_after,
            nodes=list(WORKERS),
            scheduler="default-scheduler",
        )
        return self._start(kubelet.run())

    def start_operator(self) -> asyncio.Task[None]:
        return self._start(self._operate())

    def _start(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._tasks.append(task)
        return task

    async def stop(self, task: asyncio.Task[None]) -> None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def _operate(self) -> None:
        options = OperatorOptions(
            process="rollout-operator",
            namespaces=(SHOP,),
            interval=0.5,
            lease=None,
            identity="operator",
            parts=(zones(Settings()),),
        )
        quiet = structlog.wrap_logger(structlog.ReturnLogger(), processors=[])
        transport, caller = self._transport(), HttpCaller()
        try:
            await (await assemble(options, SHOP, transport, Metrics(), quiet, caller)).run()
        finally:
            await caller.close()
            await transport.close()

    async def create(self, resource: Resource, name: str, **tree: Any) -> Tree:
        metadata = {"name": name, **tree.pop("metadata", {})}
        whole = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **tree}
        body = msgspec.json.encode(whole)
        answer = await self.client.call(create(resource, SHOP if resource.namespaced else "", body))
        return msgspec.json.decode(answer.body, type=Tree)

    async def change(self, resource: Resource, name: str, tree: Tree, part: str = "") -> None:
        await self.client.call(patch(self._ref(resource, name), MERGE_PATCH, msgspec.json.encode(tree), part))

    async def remove(self, resource: Resource, name: str) -> None:
        await self.client.call(delete(self._ref(resource, name)))

    def _ref(self, resource: Resource, name: str) -> Ref:
        return Ref(resource, SHOP if resource.namespaced else "", name)

    async def read(self, resource: Resource, name: str) -> Tree:
        return await self.client.read(self._ref(resource, name), dict)

    async def list(self, resource: Resource) -> list[Tree]:
        return (await self.client.list(resource, dict, namespace=SHOP if resource.namespaced else "")).items

    async def has(self, resource: Resource, name: str) -> bool:
        return any(each["metadata"]["name"] == name for each in await self.list(resource))

    async def until(self, what: str, holds: Callable[[], Awaitable[bool]]) -> None:
        end = clock.monotonic() + PATIENCE
        while not await holds():
            if clock.monotonic() > end:
                raise NotReached(f"it is not so that {what}")
            await asyncio.sleep(LOOK_EVERY)

    async def ready(self, *names: str) -> None:
        """Returns when all pods of these sets and Deployments are ready."""
        for name in names:
            await self.until(f"{name} is ready", partial(self._is_ready, name))

    async def _is_ready(self, name: str) -> bool:
        for resource in (STATEFULSETS, DEPLOYMENTS):
            if await self.has(resource, name):
                tree = await self.read(resource, name)
                status = tree.get("status", {})
                seen = status.get("observedGeneration") == tree["metadata"]["generation"]
                return bool(seen and status.get("availableReplicas") == tree["spec"]["replicas"])
        return False

    async def quiet(self) -> None:
        """Returns when nothing was written for a while."""
        known, since = "", clock.monotonic()
        while clock.monotonic() < since + QUIET:
            newest = await self._newest()
            if newest != known:
                known, since = newest, clock.monotonic()
            await asyncio.sleep(LOOK_EVERY)

    async def _newest(self) -> str:
        """The versions of all that a state is about; the server itself writes leases of its own all the time."""
        kinds = (PODS, STATEFULSETS, DEPLOYMENTS, DAEMON_SETS, SERVICES, CLAIMS, BUDGETS, NODES, NAMESPACES)
        found = [each["metadata"]["resourceVersion"] for kind in kinds for each in await self.list(kind)]
        return " ".join(found)

    async def bind(self, name: str, node: str) -> None:
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        body = msgspec.json.encode(
            {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
        )
        path = path_of(PODS, SHOP, name, "binding")
        await self.client.call(Request("POST", path, body=body, content_type="application/json"))


class State(Struct, frozen=True):
    """How a state is brought about, and what is kept of it."""

    play: Callable[[Stage], Awaitable[None]]
    whole: bool = False
    """With what every cluster is born with."""
    managers: bool = False
    """With who owns which fields, which kubectl does not show."""


def template(app: str, image: str = "example.test/app:1", **spec: Any) -> Tree:
    port = {"name": "http", "containerPort": 8080}
    container = {"name": app, "image": image, "ports": [port]}
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": [container], **spec}}


def workload(app: str, replicas: int, **spec: Any) -> Tree:
    return {"replicas": replicas, "selector": {"matchLabels": {"app": app}}, "template": template(app)} | spec


async def zone_sets(stage: Stage, image: str = "example.test/ingester:1") -> None:
    for letter in "abc":
        name = f"ingester-zone-{letter}"
        metadata = {
            "labels": {"rollout-group": "ingester", "name": name},
            "annotations": {"rollout-max-unavailable": "2"},
        }
        labels = {"app": name, "name": name, "rollout-group": "ingester"}
        inner = template(name, image) | {"metadata": {"labels": labels}}
        await stage.create(
            STATEFULSETS,
            name,
            metadata=metadata,
            spec=workload(
                name,
                3,
                serviceName="ingester",
                podManagementPolicy="Parallel",
                updateStrategy={"type": "OnDelete"},
                template=inner,
            ),
        )
    await stage.create(
        SERVICES,
        "ingester",
        spec={"clusterIP": "None", "selector": {"rollout-group": "ingester"}, "ports": [{"port": 8080}]},
    )


async def at_rest(stage: Stage) -> None:
    """Every kind of workload, complete; a set that a partition keeps in two revisions; custom objects; old pods."""
    stage.start_kubelet(1.0)
    await zone_sets(stage)
    claim = {"metadata": {"name": "data"}, "spec": CLAIM}
    await stage.create(
        STATEFULSETS,
        "database",
        spec=workload(
            "database",
            3,
            serviceName="database",
            updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 2}},
            volumeClaimTemplates=[claim],
        ),
    )
    await stage.create(DEPLOYMENTS, "web", spec=workload("web", 4))
    await stage.create(
        DAEMON_SETS, "agent", spec={key: value for key, value in workload("agent", 0).items() if key != "replicas"}
    )
    await stage.create(
        SERVICES,
        "web",
        spec={
            "type": "NodePort",
            "clusterIP": "10.0.0.77",
            "selector": {"app": "web"},
            "ports": [{"port": 80, "targetPort": "http", "nodePort": 30080}],
        },
    )
    await stage.create(BUDGETS, "web", spec={"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}})
    await custom_kind(stage)
    await stage.create(DEVICES, "gpu", spec={})
    await policy(stage)
    await stage.ready("ingester-zone-a", "ingester-zone-b", "ingester-zone-c", "database", "web")
    await stage.change(STATEFULSETS, "database", {"spec": {"template": template("database", "example.test/app:2")}})
    await stage.change(DEPLOYMENTS, "web", {"spec": {"template": {"metadata": {"annotations": {"release": "2"}}}}})
    for name, phase in (("done", "Succeeded"), ("broken", "Failed"), ("lost", "Unknown")):
        await lone_pod(stage, name, phase)
    await stage.until("the partition is passed", lambda: updated(stage, "database", 1))
    await stage.ready("database", "web")
    await stage.quiet()


async def updated(stage: Stage, name: str, pods: int) -> bool:
    status = (await stage.read(STATEFULSETS, name)).get("status", {})
    return bool(status.get("updatedReplicas") == pods and status.get("updateRevision") != status.get("currentRevision"))


async def custom_kind(stage: Stage) -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "widgets", "kind": "Widget"}
    await stage.create(
        DEFINITIONS,
        "widgets.example.com",
        spec={"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    )

    async def established() -> bool:
        conditions = (await stage.read(DEFINITIONS, "widgets.example.com")).get("status", {}).get("conditions") or []
        return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)

    await stage.until("the definition is established", established)
    widget = await stage.create(WIDGETS, "first", spec={"size": 3})
    owner = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "first", "uid": widget["metadata"]["uid"]}
    await stage.create(CONFIGMAPS, "of-the-widget", metadata={"ownerReferences": [owner]}, data={"size": "3"})


async def policy(stage: Stage) -> None:
    rule = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["replicasets"]}
    await stage.create(
        POLICIES,
        "few-replicas",
        spec={
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": "object.spec.replicas < 100", "message": "too many replicas"}],
        },
    )
    hook = {
        "name": "review.example.com",
        "clientConfig": {"service": {"namespace": SHOP, "name": "reviewer", "path": "/review"}},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["secrets"]}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    await stage.create(WEBHOOKS, "reviewer", webhooks=[hook])


async def lone_pod(stage: Stage, name: str, phase: str, **status: Any) -> None:
    """A pod that the kubelet leaves alone, in a phase that it never writes."""
    inner = template(name)
    await stage.create(PODS, name, metadata=inner["metadata"], spec=inner["spec"] | {"schedulerName": "by-hand"})
    await stage.bind(name, BY_HAND)
    await stage.change(PODS, name, {"status": {"phase": phase, **status}}, "status")


async def in_the_middle(stage: Stage) -> None:
    """One of three zones has its new pods; of the second some are starting, and the operator is gone."""
    kubelet = stage.start_kubelet(3.0)
    await zone_sets(stage)
    sets = ("ingester-zone-a", "ingester-zone-b", "ingester-zone-c")
    await stage.ready(*sets)
    operator = stage.start_operator()
    for name in sets:
        await stage.change(
            STATEFULSETS,
            name,
            {"spec": {"template": {"metadata": {"annotations": {"release": "2"}}}}},
        )
    await stage.until("the second zone is being rolled out", lambda: is_rolling(stage, sets[1]))
    await stage.stop(operator)
    await stage.stop(kubelet)
    await stage.quiet()


async def is_rolling(stage: Stage, name: str) -> bool:
    """Whether new pods of the zone run and are not ready."""
    revision = (await stage.read(STATEFULSETS, name)).get("status", {}).get("updateRevision")
    pods = [each for each in await stage.list(PODS) if each["metadata"]["labels"].get("app") == name]
    new = [each for each in pods if each["metadata"]["labels"]["controller-revision-hash"] == revision]
    return len(pods) == 3 and any(each["status"]["phase"] == "Running" and _ready(each) != "True" for each in new)


def _ready(pod: Tree) -> str:
    return next((each["status"] for each in pod["status"].get("conditions", ()) if each["type"] == "Ready"), "")


def waiting(app: str, reason: str, restarts: int = 0) -> Tree:
    """Of a container that does not run."""
    return {
        "name": app,
        "image": "example.test/app:1",
        "imageID": "",
        "ready": False,
        "restartCount": restarts,
        "state": {"waiting": {"reason": reason, "message": "back-off"}},
    }


async def stuck(stage: Stage) -> None:
    """Pods and claims that wait for what does not come, a rollout that gave up, a lost node and namespace."""
    kubelet = stage.start_kubelet(1.0)
    claim = {"metadata": {"name": "data"}, "spec": CLAIM | {"storageClassName": "gone"}}
    alone = {"schedulerName": "by-hand"}
    await stage.create(DEPLOYMENTS, "steady", spec=workload("steady", 2))
    await stage.create(
        STATEFULSETS,
        "volumes",
        spec=workload("volumes", 2, template=template("volumes", **alone), volumeClaimTemplates=[claim]),
    )
    await stage.create(
        STATEFULSETS,
        "crashing",
        spec=workload("crashing", 2, podManagementPolicy="Parallel", template=template("crashing", **alone)),
    )
    await stage.create(
        DEPLOYMENTS, "slow", spec=workload("slow", 2, progressDeadlineSeconds=2, template=template("slow", **alone))
    )
    await stage.create(BUDGETS, "crashing", spec={"minAvailable": 1, "selector": {"matchLabels": {"app": "crashing"}}})
    await stage.ready("steady")
    await stage.until("all pods are there", lambda: has_pods(stage, 7))
    for number, reason in enumerate(("CrashLoopBackOff", "ImagePullBackOff")):
        await stage.bind(f"crashing-{number}", BY_HAND)
        phase = "Running" if number == 0 else "Pending"
        status = {"phase": phase, "containerStatuses": [waiting("crashing", reason, 7 - number)]}
        await stage.change(PODS, f"crashing-{number}", {"status": status}, "status")
    unschedulable = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no volume"}
    unschedulable["lastTransitionTime"] = clock.seconds(clock.now())
    await stage.change(PODS, "volumes-0", {"status": {"conditions": [unschedulable]}}, "status")
    await stage.create(
        PODS,
        "held",
        metadata={"finalizers": ["example.com/hold"], "labels": {"app": "held"}},
        spec=template("held")["spec"] | alone,
    )
    await stage.bind("held", "worker-c-1")
    await stage.remove(PODS, "held")
    await stage.create(CLAIMS, "held", metadata={"finalizers": ["example.com/hold"]}, spec=claim["spec"])
    await stage.remove(CLAIMS, "held")
    await stage.create(NAMESPACES, "leaving")
    await stage.change(NAMESPACES, "leaving", {"metadata": {"finalizers": ["example.com/hold"]}})
    await stage.remove(NAMESPACES, "leaving")
    await stage.until("nothing is left of the namespace but its finalizer", lambda: is_empty(stage, "leaving"))
    await stage.until("the rollout has given up", lambda: gave_up(stage, "slow"))
    await stage.stop(kubelet)
    node = await stage.read(NODES, "worker-c-1")
    [ready] = node["status"]["conditions"]
    lost = ready | {
        "status": "Unknown",
        "reason": "NodeStatusUnknown",
        "message": "Kubelet stopped posting node status.",
    }
    await stage.change(NODES, "worker-c-1", {"status": {"conditions": [lost]}}, "status")
    taint = {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}
    await stage.change(NODES, "worker-c-1", {"spec": {"taints": [taint]}})
    await stage.quiet()


async def is_empty(stage: Stage, namespace: str) -> bool:
    """Whether the controller of namespaces is done with it."""
    return not (await stage.read(NAMESPACES, namespace))["spec"].get("finalizers")


async def has_pods(stage: Stage, count: int) -> bool:
    return len(await stage.list(PODS)) == count


async def gave_up(stage: Stage, name: str) -> bool:
    conditions = (await stage.read(DEPLOYMENTS, name)).get("status", {}).get("conditions") or ()
    return any(each.get("reason") == "ProgressDeadlineExceeded" for each in conditions)


STATES: Mapping[str, State] = {
    "at_rest": State(at_rest, whole=True, managers=True),
    "in_the_middle": State(in_the_middle),
    "stuck": State(stuck),
}
