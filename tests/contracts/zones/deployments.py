"""Deployments on the embedded cluster, whose controller is played here: all pods of a template at once, and a status.

It writes what the real one writes of what is read: counts, the observed generation, and the condition Progressing with
the moment at which its reason last changed.
"""

from __future__ import annotations

import msgspec

from fairlead.contracts.zones.kinds import DEPENDS_ON, PHASED, REVISION
from kubeloop import clock, request
from kubeloop.calls import Handler
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.meta import Ref, Resource
from kubesim.store.versions import Tree
from tests.engine.world import World

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
