"""Sets, revisions, leaders and pods for the tests of decisions."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide.revisions import data_of
from fairlead.contracts.leaderworker.kinds import (
    NAME,
    REVISION_KEY,
    LeaderWorkerSet,
    LeaderWorkerSetMeta,
    LeaderWorkerSetSpec,
    LeaderWorkerSetStatus,
    Revision,
    RevisionMeta,
)
from kubeloop.objects.meta import OwnerReference
from kubeloop.safe_hash import safe_hash

UID = "lws-uid"


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
