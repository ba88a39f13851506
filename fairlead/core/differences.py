"""What differs between two trees of JSON, leaf by leaf, with paths that people can read.

Entries of a list are told apart by their `name` where all of them have one, as containers and variables do, else by
their place: `spec.containers[ingester].image`.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

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
    return tuple(Difference(path, old.get(path), new.get(path)) for path in paths)


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
    names = [entry.get("name") for entry in entries if isinstance(entry, dict)]
    texts = [name for name in names if isinstance(name, str)]
    if len(texts) == len(entries) == len(set(texts)):
        return texts
    return [str(place) for place in range(len(entries))]


def shown(value: object) -> str:
    text = " ".join(str(value).split()) if value != "" else '""'
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def _place(path: str) -> tuple[bool, str]:
    return "ontainers[" not in path, path
