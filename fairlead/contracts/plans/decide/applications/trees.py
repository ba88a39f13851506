"""Objects of the cluster as trees: what stands where, whoever wrote it."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from fairlead.contracts.plans.decide.workloads.live import at, with_value
from fairlead.contracts.plans.kinds import Json, WorkloadReference
from kubeloop.objects.meta import Ref, Resource
from kubeloop.unreadable import UNREADABLE

__all__ = ["Tree", "at", "decoded", "mapping", "texts", "with_path", "with_value"]


class Tree(Struct, frozen=True):
    """An object that was read, under the resource that it was read by."""

    resource: Resource
    tree: Json

    @property
    def metadata(self) -> Json:
        return mapping(self.tree.get("metadata"))

    @property
    def name(self) -> str:
        return str(self.metadata.get("name", ""))

    @property
    def namespace(self) -> str:
        return str(self.metadata.get("namespace", ""))

    @property
    def uid(self) -> str:
        return str(self.metadata.get("uid", ""))

    @property
    def version(self) -> str:
        return str(self.metadata.get("resourceVersion", ""))

    @property
    def generation(self) -> int:
        found = self.metadata.get("generation")
        return found if isinstance(found, int) else 0

    @property
    def labels(self) -> dict[str, str]:
        return texts(self.metadata.get("labels"))

    @property
    def annotations(self) -> dict[str, str]:
        return texts(self.metadata.get("annotations"))

    @property
    def owners(self) -> tuple[Json, ...]:
        found = self.metadata.get("ownerReferences")
        return tuple(each for each in found if isinstance(each, dict)) if isinstance(found, list) else ()

    @property
    def controller(self) -> Json | None:
        return next((each for each in self.owners if each.get("controller") is True), None)

    @property
    def is_leaving(self) -> bool:
        return bool(self.metadata.get("deletionTimestamp"))

    @property
    def ref(self) -> Ref:
        return Ref(self.resource, self.namespace, self.name, self.uid)

    @property
    def reference(self) -> WorkloadReference:
        return WorkloadReference(self.resource.api_version, self.resource.kind, self.name)

    @property
    def shown(self) -> str:
        return f"{self.resource.kind} {self.name}"


def mapping(found: object) -> Json:
    return found if isinstance(found, dict) else {}


def texts(found: object) -> dict[str, str]:
    """The entries that are texts."""
    return {key: value for key, value in mapping(found).items() if isinstance(value, str)}


def decoded(text: str | bytes) -> Any:
    """None for what cannot be read."""
    try:
        return msgspec.json.decode(text)
    except UNREADABLE:
        return None


def with_path(tree: Json, path: str, value: object) -> Json:
    """With this value at a dotted path, in which `[2]` after a name is an entry of a list; the list grows to hold it.

    For example `spec.template.spec.containers[0].image`.
    """
    names: list[str | int] = []
    for part in path.split("."):
        name, _, rest = part.partition("[")
        names.append(name)
        names.extend(int(each.rstrip("]")) for each in rest.split("[") if each.rstrip("]").isdigit())
    return mapping(_placed(tree, tuple(names), value))


def _placed(tree: object, names: tuple[str | int, ...], value: object) -> object:
    if not names:
        return value
    name, rest = names[0], names[1:]
    if isinstance(name, int):
        entries = list(tree) if isinstance(tree, list) else []
        entries += [{}] * (name + 1 - len(entries))
        entries[name] = _placed(entries[name], rest, value)
        return entries
    found = mapping(tree)
    return {**found, name: _placed(found.get(name), rest, value)}
