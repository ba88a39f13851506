"""A cluster of values that answers what decisions about evictions ask, and reviews to put to them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

import msgspec
from msgspec import Raw, structs

from fairlead.contracts.zones.decide.budgets.eviction import EvictionSnapshot, judge
from fairlead.contracts.zones.decide.budgets.zpdb import DisruptionBudget
from fairlead.contracts.zones.kinds import GROUP_LABEL, NAME_LABEL, READY_TIME
from fairlead.core.ask import (
    Answer,
    Bad,
    Good,
    Listing,
    Read,
)
from fairlead.core.decision import Admit
from kubeloop.objects.apps import StatefulSet
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import LabelSelector
from kubeloop.objects.review import GroupVersionResource, Review
from tests.builders import GROUP, NAMESPACE, NOW, a_pod, a_zone
from tests.contracts.evicting import LiveRecords

REGEX = "ingester-zone-[a-z]-([0-9]+)"


def a_guard(
    *,
    name: str = "budget",
    max_unavailable: int = 1,
    percentage: int = 0,
    regex: str = "",
    delay: float = 0.0,
    labels: dict[str, str] | None = None,
) -> DisruptionBudget:
    """Over every zone of the group."""
    return DisruptionBudget(
        NAMESPACE,
        name,
        f"uid-{name}",
        1,
        {GROUP_LABEL: GROUP} if labels is None else labels,
        max_unavailable=max_unavailable,
        percentage=percentage,
        regex=regex,
        delay=delay,
    )


def a_guarded_zone(letter: str, replicas: int = 3, **given: object) -> StatefulSet:
    """Its pods are found by `name`."""
    return a_zone(letter, replicas, selector=LabelSelector({NAME_LABEL: f"ingester-zone-{letter}"}), **given)  # type: ignore[arg-type]


def a_guarded_pod(zone: StatefulSet, ordinal: int, *, ready_time: str | None = None, **given: object) -> Pod:
    """Carries the labels of its zone and of the group."""
    labels = {NAME_LABEL: zone.metadata.name, GROUP_LABEL: GROUP}
    pod = a_pod(zone, ordinal, labels=labels, **given)  # type: ignore[arg-type]
    annotations = {} if ready_time is None else {READY_TIME: ready_time}
    return structs.replace(pod, metadata=structs.replace(pod.metadata, annotations=annotations))


def changed(pod: Pod, **metadata: object) -> Pod:
    return structs.replace(pod, metadata=structs.replace(pod.metadata, **metadata))


class Live(LiveRecords):
    """Zones and their pods."""

    def __init__(self, *things: StatefulSet | Pod) -> None:
        super().__init__()
        self.zones = {thing.metadata.name: thing for thing in things if isinstance(thing, StatefulSet)}
        self.pods = {thing.metadata.name: thing for thing in things if isinstance(thing, Pod)}

    def shown(self, asked: Read | Listing) -> Answer:
        if isinstance(asked, Read):
            found = (self.pods if asked.ref.resource == PODS else self.zones).get(asked.ref.name)
            return Bad("absent", "not found", 404) if found is None else Good(msgspec.json.encode(found))
        things = self.pods.values() if asked.resource == PODS else self.zones.values()
        found_all = [each for each in things if is_selected(asked.labels, each.metadata.labels)]
        return Good(msgspec.json.encode({"items": found_all}))

    def evict(
        self,
        pod: str,
        *guards: DisruptionBudget,
        now: datetime = NOW,
        cached: bool = True,
        review: Mapping[str, object] | None = None,
    ) -> Admit:
        """The verdict on the eviction of a pod, all questions answered from here; `review` as for `an_eviction`."""
        shown = self.pods.get(pod) if cached else None
        zones = tuple(self.zones.values()) if cached else ()
        return self.settle(EvictionSnapshot(an_eviction(pod, **(review or {})), guards, shown, zones), now)

    def settle(self, seen: EvictionSnapshot, now: datetime = NOW) -> Admit:
        return self.settled(judge, seen, now)

    def marked(self, guard: DisruptionBudget) -> dict[str, object]:
        value, _ = self.records.get(guard.record, (b"", ""))
        return msgspec.json.decode(value, type=dict[str, object]) if value else {}


def three_zones(replicas: int = 3, **given: object) -> Live:
    """Zones a, b and c with every pod ready."""
    zones = [a_guarded_zone(letter, replicas, **given) for letter in "abc"]
    return Live(*zones, *(a_guarded_pod(zone, ordinal) for zone in zones for ordinal in range(replicas)))


def an_eviction(pod: str, **given: object) -> Review:
    """`body` is the Eviction; anything else is a field of the request."""
    body = given.pop("body", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}})
    review = Review(
        uid="review",
        resource=GroupVersionResource("", "v1", "pods"),
        sub_resource="eviction",
        name=pod,
        namespace=NAMESPACE,
        operation="CREATE",
        object=Raw(msgspec.json.encode(body)),
    )
    return structs.replace(review, **given)


def is_selected(selector: str, labels: Mapping[str, str]) -> bool:
    """As the API server understands it, of the forms `key=value` and `key in (value,…)`."""
    among = re.findall(r"(\S+) in \(([^)]*)\)", selector)
    equal = [each.split("=", 1) for each in re.sub(r"\S+ in \([^)]*\)", "", selector).split(",") if each]
    return all(labels.get(key) in values.split(",") for key, values in among) and all(
        labels.get(key) == value for key, value in equal
    )
