"""Pods of group 0, and the revision that they are made of."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide.revisions import key_of
from fairlead.contracts.leaderworker.kinds import (
    Pod,
)
from kubeloop.objects.core import ContainerStatus
from kubeloop.objects.meta import OwnerReference
from tests.contracts.leaderworker.decide.some import a_leader, a_revision, a_set

KEY = key_of(a_revision(a_set()))


def restarted(pod: Pod, times: int = 1) -> Pod:
    status = ContainerStatus("main", restart_count=times)
    return replace(pod, status=replace(pod.status, container_statuses=(status,)))


def a_worker(number: int = 1, **changes: Any) -> Pod:
    """Of group 0, made by its worker StatefulSet."""
    owner = (OwnerReference("StatefulSet", "a-0", str(changes.pop("owner", "workers-0")), controller=True),)
    labels = {"leaderworkerset.sigs.k8s.io/worker-index": str(number)}
    made = a_leader(0, KEY, name=f"a-0-{number}", uid=f"worker-{number}", labels=labels)
    return replace(made, metadata=replace(made.metadata, owner_references=owner, **changes))
