"""The other zones of a group, read live: who they are, and whether all their pods are ready and updated (3.11)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from fairlead.api.apps import STATEFULSETS, StatefulSet
from fairlead.api.core import PODS, Pod
from fairlead.api.meta import LabelSelector
from fairlead.api.zones import GROUP_LABEL, NAME_LABEL
from fairlead.decide.ask import Answer, Ask, Bad, Listing
from fairlead.decide.zones.groups import members_of
from fairlead.decide.zones.health import is_ready
from fairlead.decide.zones.membership import group_name
from fairlead.decide.zones.reviewing import decoded


class _StatefulSets(Struct, frozen=True):
    items: tuple[StatefulSet, ...]


class _Pods(Struct, frozen=True):
    items: tuple[Pod, ...]


def group_of(zone: StatefulSet) -> str:
    """Name of the group that a downscale of this zone concerns; empty for none (E-4)."""
    return group_name(zone) or ""


def zones_question(namespace: str, group: str) -> Ask:
    return Ask(Listing(STATEFULSETS, namespace, f"{GROUP_LABEL}={group}"))


def zones_in(answer: Answer) -> tuple[StatefulSet, ...] | str:
    """Zones of the group, in order of their names; a text says why they are not known."""
    if isinstance(answer, Bad):
        return f"the zones of its group could not be listed: {answer.text or answer.kind}"
    found = decoded(answer.value, _StatefulSets)
    if found is None:
        return "the zones of its group could not be understood"
    return tuple(sorted(filter(group_of, found.items), key=lambda zone: zone.metadata.name))


def pods_question(namespace: str, zone: StatefulSet) -> Ask:
    """The pods that may be the zone's (H-9); which of them are is decided when they are known."""
    name = zone.spec.template.metadata.labels.get(NAME_LABEL)
    labels = selector_text(zone.spec.selector) if name is None else f"{NAME_LABEL}={name}"
    return Ask(Listing(PODS, namespace, labels))


def selector_text(selector: LabelSelector) -> str:
    """As the API takes it in a query."""
    terms = [f"{key}={value}" for key, value in sorted(selector.match_labels.items())]
    for each in selector.match_expressions:
        match each.operator:
            case "In" | "NotIn":
                terms.append(f"{each.key} {each.operator.lower()} ({','.join(each.values)})")
            case "Exists":
                terms.append(each.key)
            case "DoesNotExist":
                terms.append(f"!{each.key}")
    return ",".join(terms)


def unsettled(zones: Sequence[StatefulSet], answers: Sequence[Answer]) -> str:
    """Step 10: the first zone of which not every pod is ready and updated, with its counts; empty when all are."""
    for zone, answer in zip(zones, answers, strict=True):
        name, status = zone.metadata.name, zone.status
        if isinstance(answer, Bad):
            return f"the pods of {name} could not be listed: {answer.text or answer.kind}"
        found = decoded(answer.value, _Pods)
        if found is None:
            return f"the pods of {name} could not be understood"
        ready = sum(map(is_ready, members_of([zone], found.items)[0]))
        if status.replicas != ready or status.updated_replicas != ready:
            outdated, unready = status.replicas - status.updated_replicas, status.replicas - ready
            return (
                f"{name} has {outdated} non-updated and {unready} non-ready replicas: its status counts "
                f"{status.replicas}, of them {status.updated_replicas} updated, and {ready} pods are ready"
            )
    return ""
