"""LeaderWorkerSets and their pods, as somebody might send them, and reviews of them."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw

from fairlead.contracts.leaderworker.kinds import (
    GROUP_INDEX,
    LEADER_NAME,
    LEADER_WORKER_SETS,
    NAME,
    REVISION_KEY,
    SIZE,
    WORKER_INDEX,
)
from kubeloop.objects.review import NOTHING, Review

Tree = dict[str, Any]

NAMESPACE = "test"
TPU = {"resources": {"limits": {"google.com/tpu": "4"}}}


def a_set(name: str = "a", /, *, template: Tree | None = None, update: Tree | None = None, **spec: Any) -> Tree:
    """A LeaderWorkerSet as it is stored; `template` and `update` replace fields within."""
    pod = {"spec": {"containers": [{"name": "main", "image": "example.test/main:1"}]}}
    strategy = {"maxUnavailable": 1, "maxSurge": 0, "partition": 0, **(update or {})}
    leader_worker = {"size": 2, "restartPolicy": "RecreateGroupOnPodRestart", "workerTemplate": pod}
    return {
        "apiVersion": LEADER_WORKER_SETS.api_version,
        "kind": LEADER_WORKER_SETS.kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "replicas": 2,
            "startupPolicy": "LeaderCreated",
            "rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration": strategy},
            "networkConfig": {"subdomainPolicy": "Shared"},
            "leaderWorkerTemplate": {**leader_worker, **(template or {})},
            **spec,
        },
    }


def a_pod(
    name: str, /, *, size: object = 2, labels: Tree | None = None, notes: Tree | None = None, **spec: Any
) -> Tree:
    """A pod of a set as a StatefulSet makes it; a leader where the name has one number (`a-0`)."""
    owner = name.rpartition("-")[0]
    is_worker = owner.rpartition("-")[2].isdigit()
    mine = {GROUP_INDEX: owner.rpartition("-")[2]} if is_worker else {WORKER_INDEX: "0"}
    set_name = owner.rpartition("-")[0] if is_worker else owner
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {NAME: set_name, REVISION_KEY: "key", **mine, **(labels or {})},
            "annotations": {SIZE: str(size), **({LEADER_NAME: owner} if is_worker else {}), **(notes or {})},
        },
        "spec": {"containers": [{"name": "main"}], "subdomain": set_name, **spec},
    }


def environment(pod: Tree, place: int = 0, kind: str = "containers") -> dict[str, str]:
    """The variables of a container, in their order."""
    return {each["name"]: each.get("value", "") for each in pod["spec"][kind][place].get("env", ())}


def a_review(new: object, old: object = None, operation: str = "CREATE") -> Review:
    return Review(
        uid="uid-1",
        name="a",
        namespace=NAMESPACE,
        operation=operation,
        object=_raw(new),
        old_object=_raw(old),
    )


def _raw(tree: object) -> Raw:
    return NOTHING if tree is None else Raw(msgspec.json.encode(tree))
