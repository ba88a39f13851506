"""A live workload: a tree of some kind, and the paths under which that kind keeps what plans read and write.

What is missing or of another kind reads as the kind's controller reads it: a size as 1, anything else as nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from hashlib import sha256
from typing import Any

from msgspec import Struct

from fairlead.contracts.plans.decide.batches import pods_of
from fairlead.contracts.plans.decide.workloads.answers import Purpose, WorkloadChange
from fairlead.contracts.plans.kinds import Json, WorkloadReference
from fairlead.core.merge_patch import merge_patch
from kubeloop.go_json import go_json
from kubeloop.objects.meta import Ref, Resource

REPLICA_FAILURE = "ReplicaFailure"
"""A condition of Deployments."""
_UNNAMED = re.compile(r'^pods "[^"]*" is ')
"""What its message begins with: the pod would have had another name each time."""


class Style(Enum):
    PAIR = "pair"
    """The new pods are those of another object."""
    PARTITION = "partition"
    """A number of pods to keep old."""
    ORDINALS = "ordinals"
    """A StatefulSet: pods from an ordinal on are new."""
    NODES = "nodes"
    """A DaemonSet: pods are new once the old ones are deleted."""


class Paths(Struct, frozen=True):
    """Dotted; empty where the kind has none."""

    replicas: str = "spec.replicas"
    paused: str = ""
    partition: str = ""
    update_type: str = ""
    template: str = "spec.template"
    status_replicas: str = "status.replicas"
    ready: str = "status.readyReplicas"
    updated: str = "status.updatedReplicas"
    updated_ready: str = ""
    observed_generation: str = "status.observedGeneration"


class WorkloadKind(Struct, frozen=True):
    style: Style
    paths: Paths


class Workload(Struct, frozen=True):
    resource: Resource
    tree: Json
    kind: WorkloadKind

    @property
    def metadata(self) -> Json:
        found = self.tree.get("metadata")
        return found if isinstance(found, dict) else {}

    @property
    def name(self) -> str:
        return str(self.metadata.get("name", ""))

    @property
    def uid(self) -> str:
        return str(self.metadata.get("uid", ""))

    @property
    def ref(self) -> Ref:
        return Ref(self.resource, str(self.metadata.get("namespace", "")), self.name, self.uid)

    @property
    def reference(self) -> WorkloadReference:
        return WorkloadReference(self.resource.api_version, self.resource.kind, self.name)

    @property
    def shown(self) -> str:
        return f"{self.resource.kind} {self.name}"

    @property
    def annotations(self) -> dict[str, str]:
        found = self.metadata.get("annotations")
        return {key: value for key, value in found.items() if isinstance(value, str)} if isinstance(found, dict) else {}

    @property
    def owners(self) -> tuple[Json, ...]:
        found = self.metadata.get("ownerReferences")
        return tuple(each for each in found if isinstance(each, dict)) if isinstance(found, list) else ()

    @property
    def size(self) -> int:
        found = number_at(self.tree, self.kind.paths.replicas)
        return 1 if found is None else found

    @property
    def is_leaving(self) -> bool:
        """Whether it is being deleted: its controller does nothing about it any more, and its pods go with it."""
        return bool(self.metadata.get("deletionTimestamp"))

    @property
    def is_paused(self) -> bool:
        return at(self.tree, self.kind.paths.paused) is True

    @property
    def update_type(self) -> str:
        found = at(self.tree, self.kind.paths.update_type)
        return found if isinstance(found, str) else ""

    @property
    def template(self) -> object:
        return at(self.tree, self.kind.paths.template)

    @property
    def identifier(self) -> str:
        """Of the pod template: equal for templates that mean the same."""
        return sha256(go_json(self.template)).hexdigest()[:16]

    @property
    def status_size(self) -> int:
        return number_at(self.tree, self.kind.paths.status_replicas) or 0

    @property
    def ready(self) -> int:
        return number_at(self.tree, self.kind.paths.ready) or 0

    @property
    def updated(self) -> int:
        return number_at(self.tree, self.kind.paths.updated) or 0

    @property
    def updated_ready(self) -> int:
        return number_at(self.tree, self.kind.paths.updated_ready) or 0

    @property
    def partition(self) -> int:
        """How many pods stay old; a percentage is of its size, rounded up."""
        found = at(self.tree, self.kind.paths.partition)
        if isinstance(found, bool) or not isinstance(found, int | str):
            return 0
        return pods_of(found, self.size) or 0

    @property
    def is_observed(self) -> bool:
        """Whether its status is about its present spec (R-4)."""
        path = self.kind.paths.observed_generation
        if not path:
            return True
        return (number_at(self.tree, path) or 0) >= (number_at(self.tree, "metadata.generation") or 0)

    @property
    def pods_refused(self) -> str:
        """Why no more pods can be made of it, such as a quota; empty where it tells nothing of the kind."""
        found = at(self.tree, "status.conditions")
        for each in found if isinstance(found, list) else ():
            if at(each, "type") == REPLICA_FAILURE and at(each, "status") == "True":
                return _UNNAMED.sub("", str(at(each, "message") or ""))
        return ""

    @property
    def is_settled(self) -> bool:
        """Whether it has as many pods as it should, or may not (R-23)."""
        return self.is_paused or self.size == self.status_size

    def changed(
        self,
        values: Mapping[str, Any],
        purpose: Purpose,
        said: tuple[str, str] = ("", ""),
        note: tuple[str, str | None] | None = None,
    ) -> WorkloadChange:
        """With these values at these paths, and with this annotation; None takes away what was there."""
        after = self.tree
        for path, value in values.items():
            after = with_value(after, tuple(path.split(".")), value)
        if note is not None:
            after = with_value(after, ("metadata", "annotations", note[0]), note[1])
        body = merge_patch(self.tree, after)
        version = str(self.metadata.get("resourceVersion", ""))
        return WorkloadChange(self.ref, version, body if isinstance(body, dict) else {}, purpose, *said)


def at(tree: object, path: str) -> object:
    """What stands there; None for nothing and for no path."""
    if not path:
        return None
    for name in path.split("."):
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree


def number_at(tree: object, path: str) -> int | None:
    found = at(tree, path)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def with_value(tree: Json, names: tuple[str, ...], value: object) -> Json:
    """The same tree with this value; what stands in the way and is no object gives way."""
    name, rest = names[0], names[1:]
    if rest:
        inner = tree.get(name)
        value = with_value(inner if isinstance(inner, dict) else {}, rest, value)
    if value is None:
        return {key: kept for key, kept in tree.items() if key != name}
    return {**tree, name: value}
