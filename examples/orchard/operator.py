"""Orchard, an operator on kopf: an Orchard has as many trees (ConfigMaps) as its spec says.

It is watered every second, and harvested before it goes.
`kopf run --standalone -A examples/orchard/operator.py` runs it on the cluster of the kubeconfig; `test_operator.py`
tests it on one that is served for a test.
"""

from __future__ import annotations

from typing import Any

import kopf
from kubernetes import client, config

KIND = ("example.test", "v1", "orchards")
LABEL = "example.test/orchard"


@kopf.on.startup()
def connect(settings: kopf.OperatorSettings, **_: Any) -> None:
    config.load_config()
    settings.persistence.finalizer = "example.test/harvest"


@kopf.on.create(*KIND)
@kopf.on.resume(*KIND)
@kopf.on.update(*KIND, field="spec.trees")
def plant(body: kopf.Body, name: str | None, namespace: str | None, patch: kopf.Patch, **_: Any) -> None:
    """Makes trees that lack, and fells those that are too many."""
    core, wanted = client.CoreV1Api(), {f"{name}-{number}" for number in range(body.spec["trees"])}
    there = {
        tree.metadata.name
        for tree in core.list_namespaced_config_map(namespace, label_selector=f"{LABEL}={name}").items
    }
    for missing in sorted(wanted - there):
        tree = {"metadata": {"name": missing, "labels": {LABEL: name}}}
        kopf.adopt(tree)
        core.create_namespaced_config_map(namespace, tree)
    for old in sorted(there - wanted):
        core.delete_namespaced_config_map(old, namespace)
    patch.status["trees"] = len(wanted)
    kopf.info(body, reason="Planted", message=f"there are {len(wanted)} trees")


@kopf.timer(*KIND, interval=1.0)
def water(status: kopf.Status, patch: kopf.Patch, **_: Any) -> None:
    patch.status["watered"] = status.get("watered", 0) + 1


@kopf.on.delete(*KIND)
def harvest(status: kopf.Status, name: str | None, namespace: str | None, **_: Any) -> None:
    """Leaves a harvest, once, however often it is tried."""
    fruit = {"metadata": {"name": f"{name}-harvest"}, "data": {"trees": str(status.get("trees", 0))}}
    try:
        client.CoreV1Api().create_namespaced_config_map(namespace, fruit)
    except client.ApiException as refused:
        if refused.status != 409:
            raise
