"""Hypothesis strategies: any state of the world that a group could be seen in, sensible or not."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
from hypothesis import strategies as some

from fairlead.contracts.zones.decide import Snapshot
from fairlead.contracts.zones.kinds import (
    GROUP_LABEL,
    HEALTH_CHECK,
    MAX_UNAVAILABLE,
    NAME_LABEL,
    PAUSED,
    ROTATE,
    ZONE_SOAK,
)
from fairlead.core.ask import Answer, Answers, Ask, Bad, Good, Question, Read
from kubeloop.objects.apps import (
    REVISION_LABEL,
    STATEFULSETS,
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
from kubeloop.objects.meta import Condition, LabelSelector, LabelSelectorRequirement, OwnerReference, Ref
from tests.builders import GROUP, NAMESPACE, body_of

NAMES = ("zone-a", "zone-b", "zone-c", "zone-10", "zone-9")
REVISIONS = some.sampled_from(("old", "new", "other", ""))
COUNTS = some.integers(0, 5)
TIMES = some.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1), timezones=some.just(UTC))  # noqa: DTZ001

budgets = some.one_of(
    some.none(),
    some.sampled_from(("1", "2", "3", "50%", "100%", "0", "-1", "101%", "abc", "", " 2 ", "9" * 40)),
    some.text(max_size=5),
)

selectors = some.builds(
    LabelSelector,
    some.dictionaries(some.sampled_from(("app", "zone")), some.sampled_from(("x", "y")), max_size=2),
    some.lists(
        some.builds(
            LabelSelectorRequirement,
            some.sampled_from(("app", "zone")),
            some.sampled_from(("In", "NotIn", "Exists", "DoesNotExist", "Nonsense")),
            some.just(("x",)),
        ),
        max_size=1,
    ).map(tuple),
)

statuses = some.builds(
    StatefulSetStatus,
    observed_generation=some.one_of(some.none(), some.integers(0, 3)),
    replicas=COUNTS,
    ready_replicas=COUNTS,
    available_replicas=some.one_of(some.none(), COUNTS),
    current_revision=REVISIONS,
    update_revision=REVISIONS,
)


@some.composite
def statefulsets(draw: some.DrawFn, name: str) -> StatefulSet:
    annotations = {
        MAX_UNAVAILABLE: draw(budgets),
        PAUSED: draw(some.sampled_from((None, None, "true", "false"))),
        ZONE_SOAK: draw(some.sampled_from((None, None, None, "5000h", "0s", "-1s", "abc"))),
        HEALTH_CHECK: draw(some.sampled_from((None, None, None, "missing"))),
    }
    label = draw(some.sampled_from((name, name, None, "zone-a")))
    labels = {NAME_LABEL: label, ROTATE: draw(some.sampled_from((None, None, None, "true")))}
    return StatefulSet(
        StatefulSetMeta(
            name=name,
            uid=f"uid-{name}",
            resource_version="7",
            namespace=NAMESPACE,
            labels={GROUP_LABEL: GROUP},
            deletion_timestamp=draw(some.one_of(some.none(), some.none(), some.none(), TIMES)),
            generation=draw(some.integers(0, 3)),
            annotations={key: value for key, value in annotations.items() if value is not None},
        ),
        StatefulSetSpec(
            replicas=draw(COUNTS),
            selector=draw(selectors),
            template=Template(TemplateMeta({key: value for key, value in labels.items() if value is not None})),
            update_strategy=UpdateStrategy(draw(some.sampled_from(("OnDelete",) * 7 + ("RollingUpdate", "")))),
            ordinals=Ordinals(draw(some.integers(0, 2))),
            min_ready_seconds=draw(some.sampled_from((0, 0, 30, 10**7, 2**31 - 1))),
        ),
        draw(statuses),
    )


containers = some.builds(
    ContainerStatus,
    name=some.just("main"),
    ready=some.booleans(),
    state=some.builds(
        ContainerState,
        waiting=some.one_of(
            some.none(),
            some.builds(ContainerWaiting, some.sampled_from(("CrashLoopBackOff", "ContainerCreating", ""))),
        ),
        running=some.sampled_from((None, ContainerRunning())),
    ),
)

pod_statuses = some.builds(
    PodStatus,
    phase=some.sampled_from(("Running", "Running", "Running", "Pending", "Failed", "Succeeded", "")),
    conditions=some.lists(
        some.builds(Condition, some.just("Ready"), some.sampled_from(("True", "False")), some.none() | TIMES),
        max_size=1,
    ).map(tuple),
    container_statuses=some.lists(containers, max_size=2).map(tuple),
    init_container_statuses=some.lists(containers, max_size=1).map(tuple),
)


@some.composite
def pods(draw: some.DrawFn, name: str) -> Pod:
    labels = {
        NAME_LABEL: draw(some.sampled_from((None, *NAMES[:3]))),
        REVISION_LABEL: draw(some.sampled_from((None, "old", "new", "other"))),
        "app": draw(some.sampled_from((None, "x"))),
        ROTATE: draw(some.sampled_from((None, None, "true", "false"))),
    }
    owner = draw(some.sampled_from(("", "uid-zone-a", "uid-zone-b", "uid-zone-c", "uid-stranger")))
    return Pod(
        PodMeta(
            name=name,
            uid=f"uid-{name}",
            resource_version="9",
            namespace=NAMESPACE,
            labels={key: value for key, value in labels.items() if value is not None},
            deletion_timestamp=draw(some.one_of(some.none(), some.none(), some.none(), TIMES)),
            deletion_grace_period_seconds=draw(some.sampled_from((0, 30, 2**40))),
            owner_references=(OwnerReference("StatefulSet", "x", owner, "apps/v1", True),) if owner else (),
        ),
        draw(pod_statuses),
    )


@some.composite
def answers(draw: some.DrawFn, zones: tuple[StatefulSet, ...]) -> Answers:
    """Answers to some of the questions that the zones may raise: good, late, refused, or of a newer version."""
    known: dict[Question, Answer] = {}
    for zone in zones:
        ask = Ask(Read(Ref(STATEFULSETS, NAMESPACE, zone.metadata.name, zone.metadata.uid)))
        newer = msgspec.structs.replace(zone, metadata=msgspec.structs.replace(zone.metadata, resource_version="8"))
        choices: tuple[Answer | None, ...] = (
            None,
            Good(body_of(zone)),
            Good(body_of(newer)),
            Good(b"null"),
            Bad("absent"),
            Bad("timeout"),
        )
        answer = draw(some.sampled_from(choices))
        if answer is not None:
            known[ask] = answer
    return Answers(known)


@some.composite
def snapshots(draw: some.DrawFn) -> Snapshot:
    """Any group: zones and pods that need not agree with each other."""
    names = draw(some.lists(some.sampled_from(NAMES), unique=True, max_size=4))
    zones = tuple(draw(statefulsets(name)) for name in names)
    ordinals = draw(
        some.lists(some.tuples(some.sampled_from((*NAMES[:3], "stray")), some.integers(0, 12)), unique=True, max_size=9)
    )
    return Snapshot(
        NAMESPACE,
        GROUP,
        zones,
        tuple(draw(pods(f"{name}-{ordinal}")) for name, ordinal in ordinals),
        answers=draw(answers(zones)),
    )
