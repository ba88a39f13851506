"""What differs between two trees of JSON, leaf by leaf, with paths that people can read.

Entries of a list are told apart by their `name` where all of them have one, as containers and variables do, else by
their place: `spec.containers[ingester].image`. Entries with names that only changed places are one difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from fairlead.core.printable import on_one_line

LONGEST_VALUE = 60
"""Characters of a value that are shown."""


class Difference(Struct, frozen=True):
    path: str
    before: object
    """None where there was nothing."""
    after: object

    def __str__(self) -> str:
        if self.before is None:
            return f"{self.path}: {shown(self.after)} added"
        if self.after is None:
            return f"{self.path}: {shown(self.before)} removed"
        return f"{self.path}: {shown(self.before)} -> {shown(self.after)}"


def differences(before: object, after: object) -> tuple[Difference, ...]:
    """In the order of the paths, those of containers first: they are what most changes are about."""
    old, new = dict(leaves(before)), dict(leaves(after))
    paths = sorted((path for path in old.keys() | new.keys() if old.get(path) != new.get(path)), key=_place)
    found = [Difference(path, old.get(path), new.get(path)) for path in paths]
    was, becomes = dict(orders(before)), dict(orders(after))
    moved = [Difference(path, ", ".join(was[path]), ", ".join(becomes[path])) for path in reordered(was, becomes)]
    return (*found, *moved)


def reordered(before: Mapping[str, tuple[str, ...]], after: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """Paths of the lists that have the same entries in another order."""
    for path, names in before.items():
        if path in after and after[path] != names and set(after[path]) == set(names):
            yield path


def orders(tree: object, path: str = "") -> Iterator[tuple[str, tuple[str, ...]]]:
    """The names of the entries of every list whose entries have them."""
    match tree:
        case dict():
            for key, value in tree.items():
                yield from orders(value, f"{path}.{key}" if path else str(key))
        case list():
            names = _names(tree)
            if names is not None:
                yield path, tuple(names)
            for key, value in zip(_keys(tree), tree, strict=True):
                yield from orders(value, f"{path}[{key}]")


def leaves(tree: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Every value that is neither an object nor a list, and every empty one of these; nothing for null."""
    match tree:
        case dict() if tree:
            for key, value in tree.items():
                yield from leaves(value, f"{path}.{key}" if path else str(key))
        case list() if tree:
            for key, value in zip(_keys(tree), tree, strict=True):
                yield from leaves(value, f"{path}[{key}]")
        case None:
            return
        case _:
            yield path, tree


def _keys(entries: list[object]) -> list[str]:
    names = _names(entries)
    return [str(place) for place in range(len(entries))] if names is None else names


def _names(entries: list[object]) -> list[str] | None:
    """None where they do not tell all entries apart."""
    names = [entry.get("name") for entry in entries if isinstance(entry, dict)]
    texts = [name for name in names if isinstance(name, str)]
    return texts if len(texts) == len(entries) == len(set(texts)) else None


def shown(value: object) -> str:
    """On one line and short."""
    text = on_one_line(" ".join(str(value).split())) if value != "" else '""'
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def _place(path: str) -> tuple[bool, str]:
    return "ontainers[" not in path, path
