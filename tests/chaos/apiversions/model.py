"""What people have asked for, leaf by leaf, whatever version they said it in: what each version must show.

Worked out by hand for this one kind; nothing of the rules, of what is carried or of the API server is used.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from msgspec import Struct, field

from kubesim.store.versions import Tree

Leaves: TypeAlias = dict[str, Any]
PART = "part "
"""Begins the leaf of an item of the list: its weight."""
WAIT = "wait"
"""A text of minutes and seconds in v1; v2 has the seconds, which several texts stand for."""
PLACES: dict[str, dict[str, tuple[str, ...]]] = {
    "v1": {"size": ("size",), "colour": ("colour",), "legacy": ("legacyMode",), WAIT: ("wait",)},
    "v2": {"size": ("size",), "colour": ("paint", "colour"), "finish": ("paint", "finish"), WAIT: ("waitSeconds",)},
    "v3": {"size": ("replicas",), "colour": ("colour",), "note": ("note",)},
}
"""By version: where a leaf stands; items of the list stand in v2 alone."""


def shown(leaf: str, value: Any, version: str) -> Any:
    """As this version says it."""
    if leaf != WAIT or version != "v2" or value is None:
        return value
    minutes, _, seconds = value.rpartition("m")
    return 60 * int(minutes or 0) + int(seconds.removesuffix("s"))


def shows(version: str, leaf: str) -> bool:
    return leaf in PLACES[version] or (version == "v2" and leaf.startswith(PART))


def spec_of(leaves: Leaves, version: str) -> Tree:
    """The leaves that this version can hold, as it holds them."""
    spec: Tree = {}
    for leaf, place in PLACES[version].items():
        if leaf in leaves:
            inner = spec
            for each in place[:-1]:
                inner = inner.setdefault(each, {})
            inner[place[-1]] = shown(leaf, leaves[leaf], version)
    parts = {leaf.removeprefix(PART): value for leaf, value in leaves.items() if leaf.startswith(PART)}
    if version == "v2" and parts:
        spec["parts"] = [{"name": name, "weight": weight} for name, weight in sorted(parts.items())]
    return spec


def leaves_of(spec: Tree | None, version: str) -> Leaves:
    """What a body of this version says; empty objects and lists say nothing."""
    found: Leaves = {}
    for leaf, place in PLACES[version].items():
        value: Any = spec or {}
        for each in place:
            value = value.get(each) if isinstance(value, dict) else None
        if value is not None:
            found[leaf] = value
    if version == "v2":
        found |= {f"{PART}{each['name']}": each.get("weight") for each in (spec or {}).get("parts") or ()}
    return found


def changed(spec: Tree, changes: Leaves, version: str) -> Tree:
    """What was read of this version, with other leaves."""
    held = {leaf: value for leaf, value in leaves_of(spec, version).items() if leaf not in changes}
    wait = {leaf: f"{held.pop(leaf)}s" for leaf in (WAIT,) if leaf in held and version == "v2"}
    given = {leaf: value for leaf, value in changes.items() if value is not None}
    return spec_of({**held, **wait, **given}, version)


class Kept(Struct):
    """One object: its leaves and who applied them, and what cannot be known."""

    leaves: Leaves = field(default_factory=dict)
    owners: dict[str, set[str]] = field(default_factory=dict)
    """By leaf: the managers that own it."""
    doubtful: dict[str, list[Any]] = field(default_factory=dict)
    """By leaf: what it may be as well, None where it may be gone; the next look settles it."""
    is_unowned: bool = False
    """Whether the record of owners may have been lost: what a manager leaves out may stay."""

    def updated(self, changes: Leaves, version: str, manager: str) -> None:
        """Somebody wrote these in this version; None takes a leaf away."""
        for leaf, value in changes.items():
            if value is None:
                self.doubtful.pop(leaf, None)
                self._drop(leaf)
            elif not self._says(leaf, value, version):
                self.doubtful.pop(leaf, None)
                self.leaves[leaf] = value
                self.owners[leaf] = {manager}

    def replaced(self, changes: Leaves, version: str, manager: str, *, keeps: bool) -> None:
        """The whole object was read and written in this version; without what it carried, the rest is lost."""
        gone = {} if keeps else {leaf: None for leaf in self.leaves if not shows(version, leaf)}
        if not keeps:
            if version == "v2" and WAIT in self.leaves:  # its text was carried as well
                self.leaves[WAIT] = f"{shown(WAIT, self.leaves[WAIT], version)}s"
            self.doubtful = {leaf: each for leaf, each in self.doubtful.items() if shows(version, leaf)}
        self.updated({**gone, **changes}, version, manager)

    def _says(self, leaf: str, value: Any, version: str) -> bool:
        """Whether the leaf says in this version what the value does."""
        now = shown(leaf, self.leaves.get(leaf), version)
        return leaf not in self.doubtful and now == shown(leaf, value, version)

    def applied(self, leaves: Leaves, version: str, manager: str) -> None:
        """With force: what this manager owned alone and does not say any more goes."""
        for leaf in [leaf for leaf, who in self.owners.items() if manager in who and leaf not in leaves]:
            self.owners[leaf].discard(manager)
            if self.is_unowned:
                self.doubtful.setdefault(leaf, []).append(None)
            elif not self.owners[leaf]:
                self._drop(leaf)
        for leaf, value in leaves.items():
            if not self._says(leaf, value, version):
                self.doubtful.pop(leaf, None)
                self.owners[leaf] = set()
                self.leaves[leaf] = value
            self.owners.setdefault(leaf, set()).add(manager)

    def maybe(self, other: Kept) -> None:
        """It is not known which of the two it is."""
        for leaf in {*self.leaves, *other.leaves}:
            one, two = self.leaves.get(leaf), other.leaves.get(leaf)
            if one != two:
                self.doubtful.setdefault(leaf, []).append(two)
        self.is_unowned = True

    def differences(self, found: Leaves, version: str) -> list[str]:
        """What this version shows and must not, or does not show and must."""
        return list(self._differences(found, version))

    def _differences(self, found: Leaves, version: str) -> Iterable[str]:
        for leaf in sorted({*self.leaves, *found, *self.doubtful}):
            if not shows(version, leaf):
                continue
            allowed = [shown(leaf, each, version) for each in (self.leaves.get(leaf), *self.doubtful.get(leaf, ()))]
            if found.get(leaf) not in allowed:
                yield f"{leaf} is {found.get(leaf)!r} and not {' or '.join(map(repr, allowed))}"

    def learn(self, found: Leaves, version: str) -> None:
        """A look has shown which of the possible ones it is."""
        for leaf in [each for each in self.doubtful if shows(version, each)]:
            possible = [self.leaves.get(leaf), *self.doubtful.pop(leaf)]
            left = [each for each in possible if shown(leaf, each, version) == found.get(leaf)]
            if len({*left}) > 1:
                self.doubtful[leaf] = left[1:]
            if left and left[0] is not None:
                self.leaves[leaf] = left[0]
            else:
                self._drop(leaf)

    def _drop(self, leaf: str) -> None:
        self.leaves.pop(leaf, None)
        self.owners.pop(leaf, None)
