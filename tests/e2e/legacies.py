"""Environments of an operator that knew v1alpha1 alone: its definition, its objects with their status, their pods."""

from __future__ import annotations

import copy
import json
from typing import Any

from fairlead.contracts.environments.install.definitions import materializes
from fairlead.contracts.environments.kinds import (
    APP,
    GENERATION,
    MATERIALIZES,
    NAME,
    ORGANIZATION_NAME,
    ORGANIZATION_NAMESPACE,
    RESOURCE_ID,
)
from kubeloop import clock
from kubeloop.errors import NotFound
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import CONFIGMAPS, SERVICES
from kubeloop.request import Request, path_of
from tests.e2e.clusters import CUSTOM_RESOURCES
from tests.e2e.converting import definition
from tests.e2e.environments import IMAGE, OLD, Scene, V, manifest
from tests.e2e.history import Tree

FIRST, SECOND = "11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222"
"""Values of requestRollout."""
LATER_FIELDS = ("lastCompletedRolloutHash", "requestedRolloutHash")
"""Of the status; that operator's definition did not have them."""


async def define_legacy(scene: Scene) -> None:
    """The definition with v1alpha1 as its only version; returns when the kind is served."""
    tree: Tree = copy.deepcopy(materializes())
    (version,) = (each for each in tree["spec"]["versions"] if each["name"] == OLD.version)
    for field in LATER_FIELDS:
        del version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"][field]
    tree["spec"]["versions"] = [{**version, "storage": True}]
    tree["spec"].pop("conversion", None)
    await scene.site.create(CUSTOM_RESOURCES, tree)

    async def is_served() -> bool:
        try:
            await scene.site.client.call(Request("GET", path_of(OLD, scene.site.namespace)))
        except NotFound:
            return False
        return True

    await scene.until(is_served)


async def a_legacy(
    scene: Scene,
    *,
    name: str = "m",
    asked: str = FIRST,
    completed: str = FIRST,
    reason: str = "Applied",
    resource_id: str = "legacy0000",
    spec: Tree | None = None,
) -> Tree:
    """An environment whose generation 1 serves; it is idle, unless another rollout was asked for than completed."""
    body = {**(spec or V), "requestRollout": asked}
    made = await scene.apply(manifest(body, OLD, name))
    condition = {
        "type": "UpToDate",
        "status": "True" if reason == "Applied" else "Unknown",
        "reason": reason,
        "message": "written by another operator",
        "lastTransitionTime": clock.now().strftime("%Y-%m-%dT%H:%M:%SZ"),
        "observedGeneration": made["metadata"]["generation"],
    }
    status = {
        "resourceId": resource_id,
        "activeGeneration": 1,
        "lastCompletedRolloutRequest": completed,
        "lastCompletedRolloutEnvironmentdImageRef": IMAGE,
        "resourcesHash": "",
        "conditions": [condition],
    }
    made = await scene.site.write_status(OLD, name, status)
    await a_generation(scene, made, 1)
    selector = {NAME: f"mz{resource_id}-environmentd-1"}
    await _owned(scene, SERVICES, f"mz{resource_id}-environmentd", made, {"spec": _headless(selector)})
    scene.stubs.leads(resource_id, 1)
    return made


async def migrated(scene: Scene) -> None:
    """Returns when all are stored in the version of today; environments are followed from then on."""

    async def is_clean() -> bool:
        return bool((await definition(scene.site))["status"]["storedVersions"] == [MATERIALIZES.version])

    await scene.until(is_clean)
    await scene.site.history.follow(MATERIALIZES)


async def a_generation(scene: Scene, owner: Tree, generation: int, *arguments: str) -> None:
    """Its four objects, as far as anybody looks at them; `arguments` are those of its container."""
    resource_id = owner["status"]["resourceId"]
    name = f"mz{resource_id}-environmentd-{generation}"
    selector = {NAME: name}
    entry = {"addr": "0.0.0.0:6876", "authenticator_kind": "None", "allowed_roles": "Normal", "enable_tls": False}
    listeners = json.dumps({"sql": {"external": entry}, "http": {"external": entry}})
    await _owned(scene, SERVICES, name, owner, {"spec": _headless(selector)})
    await _owned(scene, SERVICES, f"mz{resource_id}-persist-pubsub-{generation}", owner, {"spec": _headless(selector)})
    await _owned(
        scene, CONFIGMAPS, f"mz{resource_id}-listeners-{generation}", owner, {"data": {"listeners.json": listeners}}
    )
    labels = {**_labels(owner), **selector, APP: "environmentd", "app": "environmentd"}
    annotations = {GENERATION: str(generation)}
    container = {
        "name": "environmentd",
        "image": owner["spec"]["environmentdImageRef"],
        "args": [f"--deploy-generation={generation}", *arguments],
    }
    spec = {
        "replicas": 1,
        "serviceName": f"mz{resource_id}-environmentd",
        "selector": {"matchLabels": selector},
        "template": {
            "metadata": {"labels": labels, "annotations": annotations},
            "spec": {"containers": [container], "terminationGracePeriodSeconds": 0},
        },
    }
    await _owned(scene, STATEFULSETS, name, owner, {"spec": spec}, annotations=annotations)


def _headless(selector: Tree) -> Tree:
    return {"clusterIP": "None", "selector": selector, "ports": [{"name": "internal-http", "port": 6878}]}


def _labels(owner: Tree) -> dict[str, str]:
    metadata = owner["metadata"]
    return {
        ORGANIZATION_NAME: metadata["name"],
        ORGANIZATION_NAMESPACE: metadata["namespace"],
        RESOURCE_ID: owner["status"]["resourceId"],
    }


async def _owned(scene: Scene, resource: Any, name: str, owner: Tree, tree: Tree, **metadata: Any) -> None:
    """Under an owner reference of the version that operator knew."""
    reference = {
        "apiVersion": OLD.api_version,
        "kind": OLD.kind,
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "blockOwnerDeletion": True,
    }
    labels = _labels(owner)
    meta = {"name": name, "labels": labels, "ownerReferences": [reference], **metadata}
    await scene.site.create(resource, {"metadata": meta, **tree})
