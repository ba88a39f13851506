"""A pod that wants to be created, as far as admission reads it, and the tree that becomes the pod of a group.

The tree is never changed in place: what a step replaces is new, everything else is shared with the pod as it came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from fairlead.contracts.leaderworker.kinds import NAME, SIZE, WORKER_INDEX, Json
from fairlead.core.integers import parse_integer

CONTAINERS = ("containers", "initContainers")


class PodRefusal(ValueError):
    """The pod cannot be one of a group; the text says why."""


class _EnvVar(Struct, frozen=True):
    name: str | None = None
    value: str | None = None


class _Resources(Struct, frozen=True):
    limits: dict[str, Any] | None = None
    requests: dict[str, Any] | None = None


class _Container(Struct, frozen=True):
    env: list[_EnvVar] | None = None
    resources: _Resources | None = None


class _Term(Struct, frozen=True, rename="camel"):
    topology_key: str | None = None


class _Terms(Struct, frozen=True):
    required: list[_Term] | None = msgspec.field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")


class _Affinity(Struct, frozen=True, rename="camel"):
    pod_affinity: _Terms | None = None
    pod_anti_affinity: _Terms | None = None


class _Spec(Struct, frozen=True, rename="camel"):
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None
    subdomain: str | None = None
    affinity: _Affinity | None = None


class _Meta(Struct, frozen=True):
    name: str | None = None
    namespace: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _Shape(Struct, frozen=True):
    """Where admission reads and writes, so that a tree of this shape can be followed without asking at each step."""

    metadata: _Meta | None = None
    spec: _Spec | None = None


class PodView:
    """A pod in the course of admission."""

    def __init__(self, tree: Json, namespace: str = "") -> None:
        """Raises PodRefusal for what has no shape of a pod; `namespace` is where it is created."""
        try:
            msgspec.convert(tree, _Shape)
        except msgspec.ValidationError as error:
            raise PodRefusal(f"the object is no pod that can be read: {error}") from None
        self.tree = tree
        self._namespace = namespace

    @property
    def name(self) -> str:
        return self._metadata.get("name") or ""

    @property
    def namespace(self) -> str:
        return self._metadata.get("namespace") or self._namespace

    @property
    def labels(self) -> Mapping[str, str]:
        return self._metadata.get("labels") or {}

    @property
    def annotations(self) -> Mapping[str, str]:
        return self._metadata.get("annotations") or {}

    @property
    def subdomain(self) -> str:
        return self._spec.get("subdomain") or ""

    @property
    def is_of_a_set(self) -> bool:
        return NAME in self.labels

    @property
    def is_leader(self) -> bool:
        return self.labels.get(WORKER_INDEX) == "0"

    @property
    def size(self) -> int:
        """Pods of the group."""
        if SIZE not in self.annotations:
            raise PodRefusal(f"size annotation is unexpectedly missing for pod {self.name}")
        return self.number(SIZE, self.annotations[SIZE], "annotation")

    def number(self, key: str, value: str, what: str) -> int:
        try:
            return parse_integer(value)
        except ValueError as error:
            raise PodRefusal(f"{what} {key} of pod {self.name}: {error}") from None

    @property
    def containers(self) -> list[Json]:
        """Those of the pod, then those that run before them."""
        return [each for kind in CONTAINERS for each in self._spec.get(kind) or ()]

    @property
    def affinity(self) -> Json:
        return self._spec.get("affinity") or {}

    def label(self, key: str, value: str) -> None:
        self._put("metadata", "labels", {**self.labels, key: value})

    def annotate(self, key: str, value: str) -> None:
        self._put("metadata", "annotations", {**self.annotations, key: value})

    def put_subdomain(self, subdomain: str) -> None:
        self._put("spec", "subdomain", subdomain)

    def put_affinity(self, affinity: Json) -> None:
        self._put("spec", "affinity", affinity)

    def put_environment(self, made: Callable[[Json], Iterable[Json]]) -> None:
        """Gives every container the variables that are made for it."""
        for kind in CONTAINERS:
            if self._spec.get(kind):
                self._put("spec", kind, [_with_environment(each, list(made(each))) for each in self._spec[kind]])

    @property
    def _metadata(self) -> Json:
        return self.tree.get("metadata") or {}

    @property
    def _spec(self) -> Json:
        return self.tree.get("spec") or {}

    def _put(self, part: str, name: str, value: object) -> None:
        self.tree = {**self.tree, part: {**(self.tree.get(part) or {}), name: value}}


def environment_of(container: Json) -> list[Json]:
    return container.get("env") or []


def _with_environment(container: Json, variables: list[Json]) -> Json:
    return container if environment_of(container) == variables else {**container, "env": variables}
