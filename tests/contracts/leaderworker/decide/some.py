"""Sets, revisions, leaders and pods for the tests of decisions."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide.revisions import data_of
from fairlead.contracts.leaderworker.kinds import (
    GROUP_INDEX,
    GROUP_KEY,
    NAME,
    REVISION_KEY,
    WORKER_INDEX,
    LeaderWorkerSet,
    LeaderWorkerSetMeta,
    LeaderWorkerSetSpec,
    LeaderWorkerSetStatus,
    Pod,
    PodBudget,
    PodBudgetSpec,
    Revision,
    RevisionMeta,
    StatefulSet,
    StatefulSetMeta,
)
from kubeloop.objects.apps import StatefulSetStatus
from kubeloop.objects.core import PodMeta, PodStatus
from kubeloop.objects.meta import Condition, LabelSelector, Meta, OwnerReference
from kubeloop.safe_hash import safe_hash

UID = "lws-uid"
LEADERS_UID = "leaders-uid"


def a_template(image: str = "nginx:1", **changes: Any) -> dict[str, Any]:
    worker = {"spec": {"containers": [{"name": "worker", "image": image}]}}
    return {"size": 2, "restartPolicy": "RecreateGroupOnPodRestart", "workerTemplate": worker, **changes}


def a_set(image: str = "nginx:1", **changes: Any) -> LeaderWorkerSet:
    meta = LeaderWorkerSetMeta(
        name="a",
        uid=UID,
        resource_version="1",
        namespace="default",
        generation=changes.pop("generation", 2),
        annotations=changes.pop("annotations", {}),
        labels=changes.pop("labels", {}),
    )
    status = LeaderWorkerSetStatus(observed_generation=changes.pop("observed", 1))
    template = changes.pop("template", None) or a_template(image)
    return LeaderWorkerSet(meta, LeaderWorkerSetSpec(template, **{"replicas": 2, **changes}), status)


def a_revision(of: LeaderWorkerSet, number: int = 1, key: str = "", owner: str = UID, data: bytes = b"") -> Revision:
    stored = data or data_of(of)
    key = key or safe_hash(stored)
    owners = (OwnerReference("LeaderWorkerSet", "a", owner, controller=True),) if owner else ()
    meta = RevisionMeta(
        name=f"a-{safe_hash(stored)}-{number}",
        uid=f"revision-{number}-{owner}",
        resource_version=str(number),
        namespace="default",
        labels={NAME: "a", REVISION_KEY: key},
        owner_references=owners,
    )
    return Revision(meta, number, Raw(stored))


def renumbered(revision: Revision, number: int) -> Revision:
    return replace(revision, revision=number)


def tree(data: bytes) -> dict[str, Any]:
    return msgspec.json.decode(data, type=dict[str, Any])


def a_leader(index: int = 0, key: str = "k", **changes: Any) -> Pod:
    labels = {
        NAME: "a",
        WORKER_INDEX: "0",
        GROUP_INDEX: str(index),
        GROUP_KEY: f"group-{index}",
        REVISION_KEY: key,
        **changes.pop("labels", {}),
    }
    meta = PodMeta(
        name=changes.pop("name", f"a-{index}"),
        uid=changes.pop("uid", f"leader-{index}"),
        resource_version="1",
        namespace="default",
        labels=labels,
        owner_references=(OwnerReference("StatefulSet", "a", changes.pop("owner", LEADERS_UID), controller=True),),
        **changes.pop("meta", {}),
    )
    ready = "True" if changes.pop("ready", True) else "False"
    return Pod(
        meta, PodStatus(phase=changes.pop("phase", "Running"), conditions=(Condition("Ready", ready),)), **changes
    )


def the_leaders(body: dict[str, Any] | None = None, **changes: Any) -> StatefulSet:
    """The leader StatefulSet, as it was applied."""
    body = body or {"metadata": {"labels": {}, "annotations": {}}, "spec": {}}
    meta = StatefulSetMeta(
        name="a",
        uid=LEADERS_UID,
        resource_version="5",
        namespace="default",
        labels=body["metadata"]["labels"],
        annotations=body["metadata"]["annotations"],
        owner_references=(OwnerReference("LeaderWorkerSet", "a", UID, controller=True),),
    )
    return replace(StatefulSet(meta, body["spec"]), **changes)


def some_workers(index: int = 0, key: str = "k", ready: bool = True, **changes: Any) -> StatefulSet:
    """The worker StatefulSet of a group of two, whose status names no revision, as where no controller writes it."""
    owner = changes.pop("owner", f"leader-{index}")
    meta = StatefulSetMeta(
        name=f"a-{index}",
        uid=changes.pop("uid", f"workers-{index}"),
        resource_version="5",
        namespace="default",
        labels={NAME: "a", GROUP_INDEX: str(index), REVISION_KEY: key},
        owner_references=(OwnerReference("Pod", f"a-{index}", owner, controller=True),),
    )
    status = StatefulSetStatus(replicas=1, available_replicas=int(ready))
    return StatefulSet(meta, {"replicas": 1, **changes}, status)


def a_budget(least: object = 2, owner: str = UID, **spec: Any) -> PodBudget:
    """The PodDisruptionBudget of the set; `owner` is empty where nobody controls it."""
    owners = (OwnerReference("LeaderWorkerSet", "a", owner, controller=True),) if owner else ()
    meta = Meta("a", "budget-uid", "7", "default", labels={NAME: "a"}, owner_references=owners)
    return PodBudget(meta, PodBudgetSpec(least, **{"selector": LabelSelector({NAME: "a"}), **spec}))  # type: ignore[arg-type]
