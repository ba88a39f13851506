"""Live lists of zones and of their pods: how they are asked for, and what is understood of the answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from msgspec import Struct

from fairlead.contracts.zones.decide.admission.review_reading import decoded
from fairlead.contracts.zones.decide.groups import members_of
from fairlead.contracts.zones.kinds import NAME_LABEL
from fairlead.core.ask import Answer, Ask, Good, Listing
from kubeloop.objects.apps import StatefulSet
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import LabelSelector, LabelSelectorRequirement

T = TypeVar("T")

MOST_IN_A_LIST = 20
"""Zones whose pods one list asks for: the query is part of an address, whose length servers bound."""


class _StatefulSets(Struct, frozen=True):
    items: tuple[StatefulSet, ...]


class _Pods(Struct, frozen=True):
    items: tuple[Pod, ...]


def pods_question(zone: StatefulSet) -> Ask:
    """The pods that may be the zone's; which of them are is decided when they are known.

    By the template's `name` where every pod of the zone must have it. Elsewhere (H-9) by the selector, which all of
    them match: a `name` that the template just got is on no pod yet.
    """
    name = _name_of_all(zone)
    labels = selector_text(zone.spec.selector) if name is None else f"{NAME_LABEL}={name}"
    return Ask(Listing(PODS, zone.metadata.namespace, labels))


def pods_questions(zones: Sequence[StatefulSet]) -> dict[str, Ask]:
    """What to ask for the pods of each of these zones of one namespace, by its UID.

    Zones whose pods all have the template's `name` share a list: whatever is selected, a live list costs the API
    server a look at every pod of the namespace.
    """
    names = {zone.metadata.uid: name for zone in zones if (name := _name_of_all(zone)) is not None}
    alone = {zone.metadata.uid: pods_question(zone) for zone in zones}
    if not 1 < len(names) <= MOST_IN_A_LIST:
        return alone
    labels = f"{NAME_LABEL} in ({','.join(sorted(set(names.values())))})"
    shared = Ask(Listing(PODS, zones[0].metadata.namespace, labels))
    return {uid: shared if uid in names else ask for uid, ask in alone.items()}


def _name_of_all(zone: StatefulSet) -> str | None:
    """The `name` that every pod of the zone must have; None where a pod may lack it."""
    name, selector = zone.spec.template.metadata.labels.get(NAME_LABEL), zone.spec.selector
    if name is None or (selector_text(selector) and selector.match_labels.get(NAME_LABEL) != name):
        return None
    return name


def zones_in(answer: Answer) -> tuple[StatefulSet, ...] | None:
    """By name; None when they could not be listed."""
    found = _listed(answer, _StatefulSets)
    return None if found is None else tuple(sorted(found.items, key=lambda zone: zone.metadata.name))


def pods_in(answer: Answer, zone: StatefulSet) -> tuple[Pod, ...] | None:
    """Those that are the zone's (H-10); None when they could not be listed."""
    found = _listed(answer, _Pods)
    return None if found is None else tuple(members_of([zone], found.items)[0])


def _listed(answer: Answer, kind: type[T]) -> T | None:
    return decoded(answer.value, kind) if isinstance(answer, Good) else None


def selector_text(selector: LabelSelector) -> str:
    """As the API takes it in a query."""
    labels = (f"{key}={value}" for key, value in sorted(selector.match_labels.items()))
    return ",".join((*labels, *map(_requirement, selector.match_expressions)))


def _requirement(each: LabelSelectorRequirement) -> str:
    values = ",".join(each.values)
    match each.operator:
        case "In":
            return f"{each.key} in ({values})"
        case "NotIn":
            return f"{each.key} notin ({values})"
        case "DoesNotExist":
            return f"!{each.key}"
        case _:
            return each.key
