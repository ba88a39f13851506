"""Sets, pods and revisions as the StatefulSet controller sees them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from kubeloop.objects.apps import REVISION_LABEL, Ordinals, StatefulSetMeta
from kubeloop.objects.core import Pod, PodMeta, PodStatus
from kubeloop.objects.meta import Condition, LabelSelector
from kubesim.controllers.statefulset_pods import POD_NAME_LABEL, RollingUpdate, Set, Spec, Status, Strategy

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)


def a_set(
    replicas: int = 3,
    *,
    parallel: bool = False,
    on_delete: bool = False,
    partition: int | None = 0,
    max_unavailable: int | str | None = None,
    start: int = 0,
    min_ready_seconds: int = 0,
    deleted: bool = False,
    status: Status | None = None,
    generation: int = 1,
) -> Set:
    rolling = None if on_delete or partition is None else RollingUpdate(partition, max_unavailable)
    return Set(
        StatefulSetMeta(
            "web", "set-uid", "7", "default", generation=generation, deletion_timestamp=NOW if deleted else None
        ),
        Spec(
            selector=LabelSelector({"app": "web"}),
            template={"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}},
            replicas=replicas,
            pod_management_policy="Parallel" if parallel else "OrderedReady",
            update_strategy=Strategy("OnDelete" if on_delete else "RollingUpdate", rolling),
            min_ready_seconds=min_ready_seconds,
            ordinals=Ordinals(start),
        ),
        status or Status(),
    )


def a_pod(
    ordinal: int,
    *,
    revision: str = "old",
    ready: bool = True,
    ready_for: float = 3600,
    phase: str = "Running",
    terminating: bool = False,
    identified: bool = True,
) -> Pod:
    name = f"web-{ordinal}"
    labels = {"app": "web", REVISION_LABEL: revision}
    if identified:
        labels[POD_NAME_LABEL] = name
    since = NOW - timedelta(seconds=ready_for)
    return Pod(
        PodMeta(name, f"{name}-uid", "5", "default", labels, NOW if terminating else None),
        PodStatus(phase, (Condition("Ready", "True" if ready else "False", since),)),
    )


def pods(count: int, *, revision: str = "old") -> list[Pod]:
    return [a_pod(ordinal, revision=revision) for ordinal in range(count)]
