"""Which versions an object names: who wrote its fields, what it carries, whom it belongs to.

Counted page by page; of the objects only a few names are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from fairlead.contracts.apiversions.decide.carry_entries import readable
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.kinds import CARRY_PREFIX

MOST_NAMED = 100


class Count(Struct):
    """How many objects, and the names of the first."""

    objects: int = 0
    names: list[str] = []

    def add(self, name: str) -> None:
        self.objects += 1
        if len(self.names) < MOST_NAMED:
            self.names.append(name)


def object_name(metadata: Tree) -> str:
    return "/".join(filter(None, (metadata.get("namespace"), metadata.get("name"))))


def managed_versions(metadata: Tree, group: str) -> set[str]:
    """In which managers of fields wrote it."""
    entries = metadata.get("managedFields") or ()
    return {found for each in entries if (found := _version(each.get("apiVersion"), group))}


def carried(metadata: Tree) -> dict[str, list[str]]:
    """The annotations with carried leaves, by the version that the leaf is of; unreadable ones are nobody's."""
    found: dict[str, list[str]] = {}
    for key, entry in readable(metadata.get("annotations") or {}).items():
        found.setdefault(entry.version, []).append(key)
    return found


def carry_bytes(metadata: Tree) -> int:
    annotations: Mapping[str, str] = metadata.get("annotations") or {}
    return sum(
        len(key.encode()) + len(value.encode()) for key, value in annotations.items() if key.startswith(CARRY_PREFIX)
    )


def counted(into: dict[str, Count], versions: Iterable[str], name: str) -> None:
    for each in versions:
        into.setdefault(each, Count()).add(name)


class Uses(Struct):
    """Of all objects of a kind, and of what belongs to them."""

    objects: int = 0
    managed: dict[str, Count] = {}
    carried: dict[str, Count] = {}
    owned: dict[str, Count] = {}
    """Dependents, by the version in which they name their owner."""
    untold: list[str] = []
    """Kinds whose objects nobody may list, so that it is not known what they name."""

    def see(self, metadata: Tree, group: str) -> None:
        """One object of the kind."""
        name = object_name(metadata)
        self.objects += 1
        counted(self.managed, managed_versions(metadata, group), name)
        counted(self.carried, carried(metadata), name)

    def see_dependent(self, versions: Iterable[str], name: str) -> None:
        """One object of whatever kind, with the versions in which it names its owners."""
        counted(self.owned, versions, name)


def _version(api_version: object, group: str) -> str:
    given, _, version = str(api_version or "").rpartition("/")
    return version if given == group else ""
