from __future__ import annotations

import pytest

from fairlead.contracts.zones.decide.rollout.readiness import STUCK, is_stuck
from fairlead.core.pod_readiness import is_ready
from kubeloop.objects.core import ContainerState, ContainerStatus, Pod
from tests.builders import RUNNING, STARTING, a_pod, a_zone, waiting

ZONE = a_zone()
ENDED = ContainerStatus("ingester", ready=True, state=ContainerState())

READINESS = {
    "running with every container ready": (a_pod(ZONE), True),
    "no containers listed": (a_pod(ZONE, containers=()), True),
    "an init container that waits is not consulted": (a_pod(ZONE, init=(waiting("PodInitializing"),)), True),
    "a container not ready": (a_pod(ZONE, containers=(RUNNING, STARTING)), False),
    "a container ready but not running": (a_pod(ZONE, containers=(ENDED,)), False),
    "terminating": (a_pod(ZONE, state="terminating"), False),
    "pending": (a_pod(ZONE, phase="Pending"), False),
    "succeeded": (a_pod(ZONE, phase="Succeeded"), False),
    "of unknown phase": (a_pod(ZONE, phase=""), False),
}


@pytest.mark.parametrize(("pod", "ready"), READINESS.values(), ids=READINESS.keys())
def test_a_pod_is_ready_when_it_runs_with_all_containers_ready(pod: Pod, ready: bool) -> None:
    assert is_ready(pod) is ready


@pytest.mark.parametrize("reason", sorted(STUCK))
def test_a_pod_is_stuck_when_a_container_waits_for_what_waiting_cannot_bring(reason: str) -> None:
    assert is_stuck(a_pod(ZONE, containers=(waiting(reason),), phase="Pending"))
    assert is_stuck(a_pod(ZONE, containers=(), init=(waiting(reason),), phase="Pending"))


NOT_STUCK = {
    "waits for its image": a_pod(ZONE, containers=(waiting("ContainerCreating"),), phase="Pending"),
    "fails its probe": a_pod(ZONE, state="notReady"),
    "is ready, whatever an init container says": a_pod(ZONE, init=(waiting("CrashLoopBackOff"),)),
}


@pytest.mark.parametrize("pod", NOT_STUCK.values(), ids=NOT_STUCK.keys())
def test_a_pod_that_may_still_become_ready_is_not_stuck(pod: Pod) -> None:
    assert not is_stuck(pod)


def test_a_second_container_may_be_the_stuck_one() -> None:
    pod = a_pod(ZONE, containers=(waiting("ContainerCreating"), waiting("ErrImagePull")), phase="Pending")

    assert is_stuck(pod)
