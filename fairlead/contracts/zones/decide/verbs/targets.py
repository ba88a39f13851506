"""Which StatefulSets a verb is about: all zones of a group, as they are read live."""

from __future__ import annotations

from datetime import datetime
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from fairlead.contracts.zones.decide.membership import group_name
from fairlead.contracts.zones.kinds import GROUP_LABEL, PAUSED
from fairlead.core.ask import Answers, Ask, Good, Listing, Need
from fairlead.core.field_managers import ManagedFields
from fairlead.core.ordinals import natural_key
from fairlead.core.verb import Absent, Refused, Tree, VerbRequest
from kubeloop.objects.apps import STATEFULSETS, StatefulSet, StatefulSetMeta
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import Ref

T = TypeVar("T")


class _Meta(StatefulSetMeta, frozen=True, rename="camel"):
    managed_fields: tuple[ManagedFields, ...] = ()


class _Spec(Struct, frozen=True):
    template: Tree = {}


class _Whole(Struct, frozen=True):
    """What no decision of a round reads."""

    metadata: _Meta
    spec: _Spec = _Spec()


class _Items(Struct, Generic[T], frozen=True):
    items: tuple[T, ...] = ()


class Target(Struct, frozen=True):
    """One zone."""

    statefulset: StatefulSet
    template: Tree
    """Without what is null."""
    managed: tuple[ManagedFields, ...]

    @property
    def name(self) -> str:
        return self.statefulset.metadata.name

    @property
    def ref(self) -> Ref:
        metadata = self.statefulset.metadata
        return Ref(STATEFULSETS, metadata.namespace, metadata.name, metadata.uid)

    @property
    def bound(self) -> Tree:
        """Metadata of a patch of exactly the version that was read."""
        metadata = self.statefulset.metadata
        return {"uid": metadata.uid, "resourceVersion": metadata.resource_version}

    @property
    def is_paused(self) -> bool:
        return self.statefulset.metadata.annotations.get(PAUSED) == "true"

    @property
    def marks(self) -> dict[str, str]:
        metadata = self.statefulset.metadata
        return {**metadata.labels, **metadata.annotations}


class TargetGroup(Struct, frozen=True):
    namespace: str
    name: str
    zones: tuple[Target, ...]
    """In the order in which they are rolled; none that is being deleted."""

    @property
    def shown(self) -> str:
        return _called(self.name)

    @property
    def place(self) -> str:
        """Name and namespace as arguments of a command."""
        return f"{self.shown} -n {self.namespace}"


def group_named(
    request: VerbRequest, answers: Answers, *, by_zone: bool = False
) -> TargetGroup | Absent | Refused | Need:
    """The group of this name, or with `by_zone` that of the StatefulSet of this name.

    What is written is written to all zones, so whoever names one of them is told that first.
    """
    question = Ask(Listing(STATEFULSETS, request.namespace, GROUP_LABEL))
    if todo := answers.lacking((question,)):
        return Need(todo)
    zones = [zone for zone in _zones(answers, question) if group_name(zone.statefulset) is not None]
    groups = {group_name(zone.statefulset): zone for zone in zones}
    zone = next((zone for zone in zones if zone.name == request.name), None)
    name: str | None = request.name
    if name not in groups:
        if zone is None:
            return Absent()
        name = group_name(zone.statefulset)
        if not by_zone:
            return Refused(f"{request.name} is a zone of the group {_called(name)}: name the group")
    members = [zone for zone in zones if group_name(zone.statefulset) == name]
    staying = tuple(zone for zone in members if zone.statefulset.metadata.deletion_timestamp is None)
    if not staying:
        return Refused(f"all zones of {_called(name)} are being deleted")
    return TargetGroup(request.namespace, name or "", tuple(sorted(staying, key=lambda zone: natural_key(zone.name))))


def find(request: VerbRequest, answers: Answers, _: datetime) -> bool | Need:
    """Whether there is a group, or a zone of one, of this name."""
    found = group_named(request, answers, by_zone=True)
    return found if isinstance(found, Need) else isinstance(found, TargetGroup)


def _called(name: str | None) -> str:
    """As people write it."""
    return name or '""'


def _zones(answers: Answers, question: Ask) -> list[Target]:
    answer = answers[question]
    if not isinstance(answer, Good):
        return []
    narrow = msgspec.json.decode(answer.value, type=_Items[StatefulSet]).items
    whole = msgspec.json.decode(answer.value, type=_Items[_Whole]).items
    return [
        Target(zone, without_nulls(each.spec.template), each.metadata.managed_fields)
        for zone, each in zip(narrow, whole, strict=True)
    ]


def pods_question(group: TargetGroup) -> Ask:
    return Ask(Listing(PODS, group.namespace))


def pods_of(group: TargetGroup, answers: Answers) -> dict[str, list[Pod]]:
    """The pods of each zone by its name, in their natural order."""
    answer = answers[pods_question(group)]
    pods = msgspec.json.decode(answer.value, type=_Items[Pod]).items if isinstance(answer, Good) else []
    owned: dict[str, list[Pod]] = {zone.statefulset.metadata.uid: [] for zone in group.zones}
    for pod in sorted(pods, key=lambda pod: natural_key(pod.metadata.name)):
        owned.get(pod.metadata.controller_uid, []).append(pod)
    return {zone.name: owned[zone.statefulset.metadata.uid] for zone in group.zones}


def without_nulls(tree: Tree) -> Tree:
    """A field that is null is one that is not there."""
    return {key: _kept(value) for key, value in tree.items() if value is not None}


def _kept(value: object) -> object:
    match value:
        case dict():
            return without_nulls(value)
        case list():
            return [_kept(each) for each in value]
    return value
