"""How the kinds of routes say which Service gets how much: one value for each kind, and what all of them share.

A route is a tree of somebody else's. Nothing here looks at more of it than the entries that send requests to the two
Services of a rollout, and nothing else of it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from fairlead.contracts.plans.kinds import Json, TrafficMatch
from kubeloop.objects.meta import Resource

ALL = 100
"""Weights are of a hundred."""


class Services(Struct, frozen=True):
    """The two Services that a rollout shares requests between; both are in the namespace of the rollout."""

    namespace: str
    source: str
    target: str
    port: int | None = None
    """With one, a backend with another port is none of theirs."""


class RouteFault(Struct, frozen=True):
    """Why a route cannot be read or written, and what helps."""

    text: str


class Backend(Struct, frozen=True):
    """What a backend of an entry says, in the words of all kinds."""

    service: str
    namespace: str
    port: int | None = None


class Dialect(Struct, frozen=True):
    """One kind of routes."""

    provider: str
    """As a plan names it."""
    group: str
    kind: str
    versions: tuple[str, ...]
    """Those that can be read and written, the preferred one first."""
    lists: tuple[str, ...]
    """Fields of the spec that hold entries; none where the spec itself is the one entry."""
    backends: str
    """The field of an entry that holds its backends."""
    read: Callable[[Json, str], Backend | None]
    """A backend of a route in this namespace; None for what is no Service."""
    renamed: Callable[[Json, str], Json]
    """The same backend for another Service."""
    weight: Callable[[Json, bool], int]
    """Of a backend, and whether it is the only one of its entry."""
    copied: Callable[[Json, TrafficMatch], Json | None] = lambda _entry, _match: None
    """An entry that asks for a header besides; None where none of its matches can."""
    copied_in: str = ""
    """The list whose entries can ask for headers; empty where none can."""
    matches: str = ""
    """The field of such an entry that holds its matches."""
    is_created: bool = False
    """Whether one that is missing is made."""
    crosses: bool = True
    """Whether it may name Services of other namespaces than its own."""

    def entries(self, tree: Json) -> Iterator[tuple[str, int, Json]]:
        """Each entry with its place; the list is empty where the spec is the entry."""
        spec = tree.get("spec")
        if not isinstance(spec, dict):
            return
        if not self.lists:
            yield "", 0, spec
        for name in self.lists:
            found = spec.get(name)
            for place, entry in enumerate(found if isinstance(found, list) else ()):
                if isinstance(entry, dict):
                    yield name, place, entry

    def backends_of(self, entry: Json) -> list[Json]:
        found = entry.get(self.backends)
        return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []

    def resource(self, version: str, plural: str) -> Resource:
        return Resource(self.group, version, plural, self.kind)


def number(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


def text(value: object) -> str:
    return value if isinstance(value, str) else ""


def namespace_of(tree: Json) -> str:
    metadata = tree.get("metadata")
    return text(metadata.get("namespace")) if isinstance(metadata, dict) else ""
