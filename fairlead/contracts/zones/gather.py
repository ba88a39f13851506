"""Facts for the zone contract: which objects a group's decision may need, and which groups a change concerns.

It over-collects by index and chooses nothing; which pod belongs to which zone is decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from fairlead.contracts.zones.decide.budgets.zpdb import DisruptionBudget
from fairlead.contracts.zones.decide.groups import selects
from fairlead.contracts.zones.decide.healthchecks.healthcheck_spec import HealthCheck
from fairlead.contracts.zones.decide.live import ref_of
from fairlead.contracts.zones.decide.membership import group_name
from fairlead.contracts.zones.decide.seen import Snapshot
from fairlead.contracts.zones.kinds import NAME_LABEL
from fairlead.contracts.zones.settings import Settings
from fairlead.core.ask import Answers
from fairlead.engine.controller import RolloutKey
from kubeloop.objects.apps import StatefulSet
from kubeloop.objects.core import Pod
from kubeloop.objects.meta import Ref
from kubeloop.store import Named, Readable

_GROUP, _NAME, _UID, _SELECTING, _CONTROLLER, _ORPHAN = "group", "name", "uid", "selecting", "controller", "orphan"


def _template_name(zone: StatefulSet) -> str | None:
    return zone.spec.template.metadata.labels.get(NAME_LABEL)


def _in(namespace: str, value: str) -> str:
    return f"{namespace}/{value}"


def _by_group(zone: StatefulSet) -> Iterator[str]:
    if (group := group_name(zone)) is not None:
        yield _in(zone.metadata.namespace, group)


def _by_template_name(zone: StatefulSet) -> Iterator[str]:
    if (name := _template_name(zone)) is not None:
        yield _in(zone.metadata.namespace, name)


def _selecting(zone: StatefulSet) -> Iterator[str]:
    if _template_name(zone) is None:
        yield zone.metadata.namespace


def _by_name_label(pod: Pod) -> Iterator[str]:
    if (name := pod.metadata.labels.get(NAME_LABEL)) is not None:
        yield _in(pod.metadata.namespace, name)


def _by_controller(pod: Pod) -> Iterator[str]:
    if controller := pod.metadata.controller_uid:
        yield controller


def _orphan(pod: Pod) -> Iterator[str]:
    if not pod.metadata.controller_uid:
        yield pod.metadata.namespace


STATEFULSET_INDEXES = {
    _GROUP: _by_group,
    _NAME: _by_template_name,
    _UID: lambda zone: (zone.metadata.uid,),
    _SELECTING: _selecting,
}
POD_INDEXES = {_NAME: _by_name_label, _CONTROLLER: _by_controller, _ORPHAN: _orphan}


def snapshot(
    key: RolloutKey,
    zones: Readable[StatefulSet],
    pods: Readable[Pod],
    settings: Settings,
    answers: Answers,
    since: Mapping[str, datetime],
    budgets: tuple[DisruptionBudget, ...] = (),
    checks: tuple[HealthCheck, ...] = (),
) -> Snapshot | None:
    """Everything a decision about this group may read; None when it has no StatefulSet."""
    namespace, group = key
    members = zones.by(_GROUP, _in(namespace, group))
    if not members:
        return None
    found: dict[str, Pod] = {}
    for zone in members:
        name = _template_name(zone)
        labelled = pods.by(_ORPHAN, namespace) if name is None else pods.by(_NAME, _in(namespace, name))
        for pod in (*labelled, *pods.by(_CONTROLLER, zone.metadata.uid)):
            found[pod.metadata.uid] = pod
    return Snapshot(
        namespace=namespace,
        group=group,
        statefulsets=members,
        pods=tuple(found.values()),
        answers=answers,
        settings=settings,
        since=since,
        budgets=budgets,
        checks=checks,
    )


def versions(seen: Snapshot) -> Iterator[str]:
    """Names every object of the Snapshot, and the version in which it shows it."""
    shown: tuple[Named, ...] = (*seen.statefulsets, *seen.pods)
    yield from (f"{item.metadata.uid}@{item.metadata.resource_version}" for item in shown)
    yield from (f"{guard.uid}@{guard.generation}" for guard in seen.budgets)
    yield from (f"{check.uid}@{check.generation}" for check in seen.checks)


def observed(seen: Snapshot) -> dict[str, int]:
    """The generation of each StatefulSet of the group."""
    return generations(seen.statefulsets)


def zone_ref(seen: Snapshot, uid: str) -> Ref | None:
    """The StatefulSet of the group with this UID."""
    return next((ref_of(zone) for zone in seen.statefulsets if zone.metadata.uid == uid), None)


def generations(zones: Iterable[StatefulSet]) -> dict[str, int]:
    return {f"statefulset/{zone.metadata.name}": zone.metadata.generation for zone in zones}


def members(key: RolloutKey, zones: Readable[StatefulSet]) -> tuple[StatefulSet, ...]:
    """The StatefulSets that are in the group at present."""
    return tuple(zones.by(_GROUP, _in(key.namespace, key.name)))


def scopes(key: RolloutKey, zones: Readable[StatefulSet]) -> Iterator[str]:
    """The UIDs of the StatefulSets that are in the group at present."""
    return (zone.metadata.uid for zone in members(key, zones))


def group_of(zone: StatefulSet) -> Iterator[RolloutKey]:
    """The group a StatefulSet belongs to, if any."""
    if (group := group_name(zone)) is not None:
        yield RolloutKey((zone.metadata.namespace, group))


def groups_of(pod: Pod, zones: Readable[StatefulSet]) -> Iterable[RolloutKey]:
    """The groups whose decision may read this pod; each once, in a stable order."""
    namespace = pod.metadata.namespace
    name = pod.metadata.labels.get(NAME_LABEL)
    if controller := pod.metadata.controller_uid:
        concerned = zones.by(_UID, controller)
    else:
        labelled = () if name is None else zones.by(_NAME, _in(namespace, name))
        concerned = (*labelled, *(zone for zone in zones.by(_SELECTING, namespace) if selects(zone, pod)))
    return dict.fromkeys(key for zone in concerned for key in group_of(zone))


def all_groups(zones: Readable[StatefulSet]) -> Iterable[RolloutKey]:
    """Every group there is, each once, in a stable order (rule 6)."""
    return dict.fromkeys(key for zone in zones.items() for key in group_of(zone))
