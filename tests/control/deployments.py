"""Deployments on the embedded cluster, whose controller is played here: all pods of a template at once, and a status.

It writes what the real one writes of what is read: counts, the observed generation, and the condition Progressing with
the moment at which its reason last changed.
"""

from __future__ import annotations

import asyncio
from hashlib import blake2b
from typing import Any

import msgspec

from fairlead.api.apps import DEPLOYMENTS, REPLICASETS
from fairlead.api.core import PODS
from fairlead.api.meta import Ref, Resource
from fairlead.api.zones import DEPENDS_ON, PHASED, REVISION
from fairlead.kube import clock, request
from fairlead.kube.calls import Handler
from fairlead.sim.store import Tree
from tests.control.world import World

LAG = 0.25
"""Seconds from a change to what is done about it."""
HOST = "fairlead.test.svc"
MUTATING = Resource(
    "admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", False
)


def stamp() -> str:
    return clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")


def a_deployment(name: str, depends_on: str = "", revision: str = "v1", **annotations: str) -> Tree:
    """Two pods; phased where it depends on another."""
    given = {DEPENDS_ON: depends_on, REVISION: revision}
    given |= {f"grafana.com/rollout-{key.replace('_', '-')}": value for key, value in annotations.items()}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": name,
            "labels": {PHASED: "true"} if depends_on else {},
            "annotations": {key: value for key, value in given.items() if value},
        },
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": revision or "v1"}]},
            },
        },
    }


async def apply(world: World, name: str, revision: str, **annotations: str | None) -> Tree:
    """A person rolls out a revision: image and annotation; `annotations` are added."""
    given: Tree = {f"grafana.com/rollout-{key.replace('_', '-')}": value for key, value in annotations.items()}
    template = {"spec": {"containers": [{"name": "main", "image": revision}]}}
    patch = {"metadata": {"annotations": {REVISION: revision, **given}}, "spec": {"template": template}}
    return await change(world, name, patch)


async def change(world: World, name: str, patch: Tree, *, dry_run: bool = False) -> Tree:
    body = msgspec.json.encode(patch)
    sent = request.patch(Ref(DEPLOYMENTS, "test", name), "application/merge-patch+json", body)
    if dry_run:
        sent = msgspec.structs.replace(sent, query=(*sent.query, ("dryRun", "All")))
    answered: Tree = msgspec.json.decode((await world.client.call(sent)).body)
    return answered


async def register(world: World, handler: Handler) -> None:
    """From now on the API server asks about updates of phased Deployments."""
    world.cluster.network.serve(HOST, handler)
    hook = {
        "name": "phased-deployment.fairlead.test",
        "clientConfig": {"url": f"https://{HOST}/admission/phased-deployment"},
        "rules": [
            {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["deployments"]}
        ],
        "objectSelector": {"matchLabels": {PHASED: "true"}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "reinvocationPolicy": "IfNeeded",
    }
    tree = {"apiVersion": MUTATING.api_version, "kind": MUTATING.kind, "metadata": {"name": "phased"}}
    await world.create(MUTATING, "", tree | {"webhooks": [hook]})


class Controller:
    """The Deployment controller of the namespace `test`."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._sets: dict[tuple[str, str], str] = {}
        """UIDs of the ReplicaSets by Deployment and template."""
        self._changed = asyncio.Event()
        world.cluster.store.listen(lambda *_: self._changed.set())

    async def run(self) -> None:
        while True:
            self._changed.clear()
            for deployment in self._all(DEPLOYMENTS):
                await self._sync(deployment)
            await self._changed.wait()
            await asyncio.sleep(LAG)

    def _all(self, resource: Resource) -> list[Tree]:
        trees = [version.tree() for version in self._world.cluster.store.table(resource).at(None)]
        return [tree for tree in trees if "deletionTimestamp" not in tree["metadata"]]

    async def _sync(self, deployment: Tree) -> None:
        name, spec = deployment["metadata"]["name"], deployment["spec"]
        wanted = blake2b(msgspec.json.encode(spec["template"], order="sorted"), digest_size=4).hexdigest()
        pods = [pod for pod in self._all(PODS) if pod["metadata"]["labels"].get("app") == name]
        if not spec.get("paused"):
            for pod in pods:
                if pod["metadata"]["labels"]["pod-template-hash"] != wanted:
                    await self._world.client.call(request.delete(Ref(PODS, "test", pod["metadata"]["name"])))
            for number in range(spec["replicas"] if not pods else 0):
                await self._make(name, wanted, number, spec["template"])
        status = _status(deployment, pods, wanted)
        if status != deployment.get("status"):
            ref = Ref(DEPLOYMENTS, "test", name)
            body = msgspec.json.encode({"status": status})
            await self._world.client.call(request.patch(ref, "application/merge-patch+json", body, "status"))

    async def _make(self, name: str, wanted: str, number: int, template: Tree) -> None:
        if (name, wanted) not in self._sets:
            made = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": f"{name}-{wanted}"}}
            labels = {"app": name, "pod-template-hash": wanted}
            shown = {"metadata": {"labels": labels}, "spec": template["spec"]}
            spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": shown}
            await self._world.create(REPLICASETS, "test", {**made, "spec": spec})
            found = self._world.cluster.get(REPLICASETS, "test", f"{name}-{wanted}")
            self._sets[name, wanted] = found["metadata"]["uid"]
        owner = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "name": f"{name}-{wanted}",
            "uid": self._sets[name, wanted],
            "controller": True,
        }
        labels = {"app": name, "pod-template-hash": wanted}
        metadata = {"name": f"{name}-{wanted}-{number}", "labels": labels, "ownerReferences": [owner]}
        await self._world.create(
            PODS, "test", {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
        )


def _status(deployment: Tree, pods: list[Tree], wanted: str) -> Tree:
    replicas = deployment["spec"]["replicas"]
    updated = [pod for pod in pods if pod["metadata"]["labels"]["pod-template-hash"] == wanted]
    counts = (len(pods), len(updated), sum(map(_is_ready, pods)))
    status: Tree = {
        "observedGeneration": deployment["metadata"]["generation"],
        "replicas": counts[0],
        "updatedReplicas": counts[1],
        "availableReplicas": counts[2],
        "readyReplicas": counts[2],
    }
    (before,) = deployment.get("status", {}).get("conditions") or [{}]
    reason = before.get("reason", "")
    if deployment["spec"].get("paused"):
        reason = "DeploymentPaused"
    elif not (reason == "NewReplicaSetAvailable" and counts[0] == counts[1]):
        reason = "NewReplicaSetAvailable" if counts == (replicas,) * 3 else "ReplicaSetUpdated"
    if reason != before.get("reason"):
        before = {"type": "Progressing", "status": "True", "reason": reason, "lastUpdateTime": stamp()}
    return status | {"conditions": [before]}


def _is_ready(pod: Tree) -> bool:
    conditions: list[dict[str, Any]] = pod.get("status", {}).get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
