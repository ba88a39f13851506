"""Objects for tests: each builder shows what matters to the test and fills in a healthy rest."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

from fairlead.contracts.zones.decide import Snapshot
from fairlead.contracts.zones.kinds import GROUP_LABEL, MAX_UNAVAILABLE, NAME_LABEL, PAUSED
from fairlead.core.ask import Answer, Answers, Question
from kubeloop.objects.apps import (
    REVISION_LABEL,
    Ordinals,
    StatefulSet,
    StatefulSetMeta,
    StatefulSetSpec,
    StatefulSetStatus,
    Template,
    TemplateMeta,
    UpdateStrategy,
)
from kubeloop.objects.core import (
    ContainerRunning,
    ContainerState,
    ContainerStatus,
    ContainerWaiting,
    Pod,
    PodMeta,
    PodStatus,
)
from kubeloop.objects.meta import Condition, LabelSelector, OwnerReference

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
EARLIER = datetime(2026, 3, 1, 11, 55, tzinfo=UTC)
NAMESPACE = "test"
GROUP = "ingester"

RUNNING = ContainerStatus("ingester", ready=True, state=ContainerState(running=ContainerRunning()))
STARTING = ContainerStatus("ingester", ready=False, state=ContainerState(running=ContainerRunning()))


def waiting(reason: str) -> ContainerStatus:
    return ContainerStatus("ingester", ready=False, state=ContainerState(waiting=ContainerWaiting(reason)))


def a_zone(
    letter: str = "a",
    replicas: int = 3,
    *,
    ready: int | None = None,
    known: int | None = None,
    current: str = "old",
    update: str = "new",
    strategy: str = "OnDelete",
    max_unavailable: str | None = None,
    paused: str | None = None,
    start: int = 0,
    generation: int = 1,
    observed: int | None = 1,
    label: str | None = "",
    selector: LabelSelector | None = None,
    group: str = GROUP,
    version: str = "1",
    min_ready: int = 0,
    available: int | None = None,
    annotations: Mapping[str, str] | None = None,
    template: Mapping[str, str] | None = None,
) -> StatefulSet:
    """`ingester-zone-<letter>`: all ready on `old`, with the template at `new`; `known` is status.replicas."""
    name = f"ingester-zone-{letter}"
    known_annotations = {MAX_UNAVAILABLE: max_unavailable, PAUSED: paused, **(annotations or {})}
    replicas_known = replicas if known is None else known
    label = name if label == "" else label
    return StatefulSet(
        StatefulSetMeta(
            name=name,
            uid=f"uid-{name}",
            resource_version=version,
            namespace=NAMESPACE,
            labels={GROUP_LABEL: group},
            generation=generation,
            annotations={key: value for key, value in known_annotations.items() if value is not None},
        ),
        StatefulSetSpec(
            replicas=replicas,
            selector=selector or LabelSelector({"app": "ingester", "zone": letter}),
            template=Template(TemplateMeta({**({} if label is None else {NAME_LABEL: label}), **(template or {})})),
            update_strategy=UpdateStrategy(strategy),
            ordinals=Ordinals(start),
            min_ready_seconds=min_ready,
        ),
        StatefulSetStatus(
            observed_generation=observed,
            replicas=replicas_known,
            ready_replicas=replicas_known if ready is None else ready,
            available_replicas=available,
            current_revision=current,
            update_revision=update,
        ),
    )


def a_pod(
    zone: StatefulSet,
    ordinal: int = 0,
    revision: str | None = "old",
    *,
    state: str = "ready",
    name: str = "",
    labels: Mapping[str, str] | None = None,
    owner: str | None = None,
    containers: tuple[ContainerStatus, ...] | None = None,
    init: tuple[ContainerStatus, ...] = (),
    phase: str = "Running",
    grace: int = 0,
    since: datetime | None = EARLIER,
) -> Pod:
    """A pod of the zone; state is `ready`, `notReady`, `terminating` or `stuck`; an owner of "" leaves it loose.

    `since` is when its readiness last changed.
    """
    name = name or f"{zone.metadata.name}-{ordinal}"
    given = {NAME_LABEL: zone.metadata.name} if labels is None else dict(labels)
    if revision is not None:
        given[REVISION_LABEL] = revision
    controller = zone.metadata.uid if owner is None else owner
    shown = {"notReady": (STARTING,), "stuck": (waiting("CrashLoopBackOff"),)}.get(state, (RUNNING,))
    is_ready = state == "ready" and phase == "Running" and containers is None
    return Pod(
        PodMeta(
            name=name,
            uid=f"uid-{name}-{revision}",
            resource_version="1",
            namespace=NAMESPACE,
            labels=given,
            deletion_timestamp=NOW if state == "terminating" else None,
            deletion_grace_period_seconds=grace,
            owner_references=(OwnerReference("StatefulSet", zone.metadata.name, controller, "apps/v1", True),)
            if controller
            else (),
        ),
        PodStatus(
            phase=phase,
            conditions=(Condition("Ready", "True" if is_ready else "False", since),),
            container_statuses=shown if containers is None else containers,
            init_container_statuses=init,
        ),
    )


def pods_of(zone: StatefulSet, revision: str = "old", **states: str) -> tuple[Pod, ...]:
    """Every pod the zone asks for; `_1="notReady"` sets the state of pod 1, `_1="missing"` leaves it out, and
    `_1="notReady new"` sets its revision as well."""
    made = []
    for ordinal in range(zone.spec.ordinals.start, zone.spec.ordinals.start + zone.spec.replicas):
        state, _, other = states.get(f"_{ordinal}", "ready").partition(" ")
        if state != "missing":
            made.append(a_pod(zone, ordinal, other or revision, state=state))
    return tuple(made)


def seen(
    *parts: StatefulSet | Pod | tuple[Pod, ...],
    answers: Mapping[Question, Answer] | None = None,
    since: Mapping[str, datetime] | None = None,
) -> Snapshot:
    """A Snapshot of zones and pods given in any order; zones without given pods have none."""
    flat = [piece for part in parts for piece in (part if isinstance(part, tuple) else (part,))]
    return Snapshot(
        NAMESPACE,
        GROUP,
        tuple(piece for piece in flat if isinstance(piece, StatefulSet)),
        tuple(piece for piece in flat if isinstance(piece, Pod)),
        answers=Answers(answers or {}),
        since=since or {},
    )


def body_of(zone: StatefulSet) -> bytes:
    """The zone as the API server would give it, with fields that no struct of ours knows."""
    tree = msgspec.to_builtins(zone)
    tree |= {"apiVersion": "apps/v1", "kind": "StatefulSet"}
    tree["spec"] |= {"serviceName": "ingester", "podManagementPolicy": "Parallel"}
    available = zone.status.available_replicas
    tree["status"] |= {
        "collisionCount": 0,
        "availableReplicas": zone.status.ready_replicas if available is None else available,
    }
    return msgspec.json.encode(tree)
