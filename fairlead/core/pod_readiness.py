"""When a pod is ready, from container states, not from pod conditions."""

from __future__ import annotations

from kubeloop.objects.core import Pod


def is_ready(pod: Pod) -> bool:
    """Running, not terminating, every container ready and running; no containers listed counts as ready."""
    if pod.status.phase != "Running" or pod.metadata.deletion_timestamp is not None:
        return False
    for container in pod.status.container_statuses:
        if not container.ready or container.state.running is None:
            return False
    return True


def is_terminating(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is not None
