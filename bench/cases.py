"""What is rolled: the cases, their bound, and the objects they are made of."""

from __future__ import annotations

from collections.abc import Iterator
from string import ascii_lowercase

from msgspec import Struct

from fairlead.contracts.zones.kinds import GROUP_LABEL, MAX_UNAVAILABLE, NAME_LABEL

READY_AFTER = 0.5
GONE_AFTER = 0.1
POD_TIME = READY_AFTER + GONE_AFTER
"""Seconds from the deletion of a pod until its successor can be ready, if nothing else took any time."""


class Zone(Struct, frozen=True):
    """One StatefulSet as the case asks for it."""

    group: str
    name: str
    pods: int
    budget: int

    @property
    def pod_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}-{ordinal}" for ordinal in range(self.pods))


class Case(Struct, frozen=True):
    """Groups of zones of pods, and how many pods of a zone may be out at once."""

    key: str
    groups: int
    zones: int
    pods: int
    budget: int

    @property
    def waves(self) -> int:
        """Per zone: ten pods, three at a time, are four waves."""
        return -(-self.pods // self.budget)

    @property
    def bound(self) -> float:
        """Seconds below which no correct operator can stay: zones one after the other, waves one after the other.

        Groups do not wait for one another, so their number is not in it: 3 zones of 10 pods, two at a time, are
        3 * 5 * 0.6 = 9 seconds for one group and for thirty, on a machine without limits.
        """
        return self.zones * self.waves * POD_TIME

    @property
    def all_pods(self) -> int:
        return self.groups * self.zones * self.pods

    @property
    def all_sets(self) -> int:
        return self.groups * self.zones

    @property
    def title(self) -> str:
        groups = f"{self.groups} groups of " if self.groups > 1 else ""
        return f"{groups}{self.zones} zones of {self.pods} pods, {self.budget} at a time"

    def all_zones(self) -> Iterator[Zone]:
        for group in range(self.groups):
            for letter in ascii_lowercase[: self.zones]:
                yield Zone(f"group-{group:02}", f"group-{group:02}-zone-{letter}", self.pods, self.budget)


ONE_GROUP = Case("a", groups=1, zones=3, pods=10, budget=1)
THIRTY_GROUPS = Case("b", groups=30, zones=3, pods=10, budget=2)
QUICK = Case("quick", groups=2, zones=3, pods=4, budget=1)


def statefulset(zone: Zone) -> dict[str, object]:
    """As the zone contract wants it: OnDelete, Parallel, labelled with its group, its pods with its name."""
    labels = {NAME_LABEL: zone.name, GROUP_LABEL: zone.group}
    annotations = {MAX_UNAVAILABLE: str(zone.budget)} if zone.budget > 1 else {}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": zone.name, "labels": {GROUP_LABEL: zone.group}, "annotations": annotations},
        "spec": {
            "replicas": zone.pods,
            "serviceName": zone.group,
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "OnDelete"},
            "selector": {"matchLabels": {NAME_LABEL: zone.name}},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "app", "image": "app:1"}]},
            },
        },
    }


def template_with(image: str) -> dict[str, object]:
    """A strategic merge patch that changes the template and with it the revision."""
    return {"spec": {"template": {"spec": {"containers": [{"name": "app", "image": image}]}}}}


NEW_TEMPLATE = template_with("app:2")
