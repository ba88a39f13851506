"""Rules 9 and 10: when a pod and a zone are ready, from container states, not from pod conditions."""

from __future__ import annotations

from fairlead.api.apps import StatefulSetStatus
from fairlead.api.core import Pod

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


def is_ready(pod: Pod) -> bool:
    """Rule 9: Running, not terminating, every container ready and running; no containers listed counts as ready."""
    if pod.status.phase != "Running" or pod.metadata.deletion_timestamp is not None:
        return False
    for container in pod.status.container_statuses:
        if not container.ready or container.state.running is None:
            return False
    return True


def is_terminating(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is not None


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


def says_ready(status: StatefulSetStatus) -> bool:
    """Rule 10(a), the part of a zone's health that its own status tells; pods tell the rest, because status lags."""
    return status.replicas == status.ready_replicas
