"""Deployments and their pods for tests of phases: `canary` has rolled out revision v2, `cell-a` is held behind it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from fairlead.contracts.zones.kinds import DEPENDS_ON, GATE, PHASED, REVISION
from kubeloop.objects.apps import Deployment, DeploymentCondition, DeploymentMeta, DeploymentSpec, DeploymentStatus
from kubeloop.objects.core import (
    ContainerRunning,
    ContainerState,
    ContainerStatus,
    ContainerTerminated,
    Pod,
    PodMeta,
    PodStatus,
)
from kubeloop.objects.meta import Condition, LabelSelector, OwnerReference
from tests.builders import NAMESPACE, NOW

TEMPLATE, RUNNING = "00000000000b", "00000000000a"
"""Digests of the template that is held and of the one that runs."""
HELD = f"held {TEMPLATE} over {RUNNING}"
LONG_AGO = NOW - timedelta(hours=1)


def a_cell(
    name: str = "cell-a",
    *,
    depends_on: str = "canary",
    mark: str = HELD,
    revision: str = "v2",
    label: str = "true",
    deleted: bool = False,
    **annotations: str,
) -> Deployment:
    """A phased Deployment behind another; `annotations` are named by what comes after `grafana.com/rollout-`."""
    given = {DEPENDS_ON: depends_on, REVISION: revision, GATE: mark}
    given |= {f"grafana.com/rollout-{key.replace('_', '-')}": value for key, value in annotations.items()}
    return Deployment(
        DeploymentMeta(
            name=name,
            uid=f"uid-{name}",
            resource_version="7",
            namespace=NAMESPACE,
            labels={PHASED: label} if label else {},
            annotations={key: value for key, value in given.items() if value},
            deletion_timestamp=NOW if deleted else None,
        ),
        DeploymentSpec(selector=LabelSelector({"app": name}), paused=True),
    )


def a_canary(
    replicas: int = 3,
    *,
    rolled_out: datetime | None = LONG_AGO,
    reason: str = "NewReplicaSetAvailable",
    revision: str = "v2",
    paused: bool = False,
    generation: int = 2,
    observed: int | None = 2,
    counts: Mapping[str, int] | None = None,
    depends_on: str = "",
    deleted: bool = False,
) -> Deployment:
    """All rolled out; `counts` gives numbers of the status that are another, `rolled_out` None leaves out the time."""
    status = {"replicas": replicas, "updated_replicas": replicas, "available_replicas": replicas, **(counts or {})}
    conditions = [DeploymentCondition("Available", "True", "MinimumReplicasAvailable", NOW)]
    if reason:
        conditions.append(DeploymentCondition("Progressing", "True", reason, rolled_out))
    annotations = {REVISION: revision, DEPENDS_ON: depends_on}
    return Deployment(
        DeploymentMeta(
            name="canary",
            uid="uid-canary",
            resource_version="3",
            namespace=NAMESPACE,
            generation=generation,
            annotations={key: value for key, value in annotations.items() if value},
            deletion_timestamp=NOW if deleted else None,
        ),
        DeploymentSpec(replicas=replicas, selector=LabelSelector({"app": "canary"}), paused=paused),
        DeploymentStatus(observed, conditions=tuple(conditions), **status),
    )


def a_pod(
    number: int,
    *,
    of: str = "canary",
    ended: datetime | None = None,
    down: bool = False,
    ready_since: datetime | None = LONG_AGO,
    terminating: bool = False,
    owner: str = "ReplicaSet",
    namespace: str = NAMESPACE,
) -> Pod:
    """Ready; `ended` is when a container of it was last restarted, or went down and is not up again."""
    past = ContainerState(terminated=ContainerTerminated(ended)) if ended else ContainerState()
    up = ContainerState(running=ContainerRunning())
    container = (
        ContainerStatus("main", ready=False, state=past)
        if down
        else ContainerStatus("main", ready=True, state=up, last_state=past)
    )
    return Pod(
        PodMeta(
            name=f"{of}-{number}",
            uid=f"uid-{of}-{number}",
            resource_version="1",
            namespace=namespace,
            labels={"app": of},
            owner_references=(OwnerReference(owner, f"{of}-5d", "uid-set", "apps/v1", controller=True),),
            deletion_timestamp=NOW if terminating else None,
        ),
        PodStatus(
            phase="Running",
            conditions=(Condition("Ready", "True", ready_since),),
            container_statuses=(container,),
        ),
    )


def pods(count: int = 3) -> tuple[Pod, ...]:
    return tuple(a_pod(number) for number in range(count))
