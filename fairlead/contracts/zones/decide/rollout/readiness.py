"""Rule 10: when a zone is ready; rule 9, when a pod is, is in `core.pod_readiness`."""

from __future__ import annotations

from datetime import datetime, timedelta

from fairlead.core.pod_readiness import is_ready
from kubeloop.objects.apps import StatefulSet
from kubeloop.objects.core import Pod

STUCK = frozenset(
    {
        "CrashLoopBackOff",
        "ImagePullBackOff",
        "ErrImagePull",
        "InvalidImageName",
        "CreateContainerConfigError",
        "CreateContainerError",
    }
)
"""Why a container waits when only another pod template can help it."""


def is_stuck(pod: Pod) -> bool:
    """Whether a pod that is not ready will not become so by waiting: U-1's half that does not ask for the revision."""
    return pod.metadata.deletion_timestamp is None and waiting_for(pod) in STUCK and not is_ready(pod)


def waiting_for(pod: Pod) -> str:
    """Why a container waits, a reason of STUCK before any other; empty when none waits."""
    reasons = [
        container.state.waiting.reason
        for container in (*pod.status.init_container_statuses, *pod.status.container_statuses)
        if container.state.waiting is not None
    ]
    return next((reason for reason in reasons if reason in STUCK), reasons[0] if reasons else "")


def ready_since(pod: Pod) -> datetime | None:
    """When the pod last became ready, by its condition; None where that does not say that it is ready, or when."""
    for condition in pod.status.conditions:
        if condition.type == "Ready" and condition.status == "True":
            return condition.last_transition_time
    return None


def appeared_at(pod: Pod) -> datetime | None:
    """When the pod was young: the first of its conditions is that it was scheduled, which happens once."""
    return min((each.last_transition_time for each in pod.status.conditions if each.last_transition_time), default=None)


def available_at(pod: Pod, seconds: int) -> datetime | None:
    """When the pod has been ready for so long; None when nobody can tell, as it is with the StatefulSet controller."""
    since = ready_since(pod)
    try:
        return None if since is None else since + timedelta(seconds=seconds)
    except OverflowError:
        return None


def is_not_yet_available(pod: Pod, seconds: int, now: datetime) -> bool:
    """Whether the pod is ready and `minReadySeconds` of it are not over, or cannot be told to be."""
    moment = available_at(pod, seconds)
    return is_ready(pod) and (moment is None or moment > now)


def says_ready(statefulset: StatefulSet) -> bool:
    """Rule 10(a), the part of a zone's health that its own status tells; pods tell the rest, because status lags."""
    status = statefulset.status
    return status.replicas == status.ready_replicas and counted_ready(statefulset) >= status.replicas


def counted_ready(statefulset: StatefulSet) -> int:
    """How many pods the status counts as ready; with `minReadySeconds`, those that have been ready for as long."""
    status = statefulset.status
    if statefulset.spec.min_ready_seconds > 0 and status.available_replicas is not None:
        return min(status.ready_replicas, status.available_replicas)
    return status.ready_replicas
