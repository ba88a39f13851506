"""Structs, lists and maps as Go decodes them, each a walk over what was sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kubesim.store.versions import Tree
from kubesim.typed.faults import Again, Faults, Path, Spot
from kubesim.typed.values import BYTES, Shape, Walk

Field = tuple[type | None, bool, Walk, Spot]
"""Values that are taken as they are, whether the field is written although it is empty, how it is read, and where."""


Told = Iterable[tuple[Field, Shape, str]]
"""Fields of a struct, their shapes, and their types as they are written in the file."""


class _Blank:
    """What a struct is before anything is said; filled in when it is first used, because structs contain themselves."""

    def __init__(self) -> None:
        self.fields: dict[str, Field] = {}
        self.values: Tree = {}
        """What is written when nothing was said, as far as it need not be made anew each time."""
        self.structs: list[tuple[str, Callable[[], Any]]] = []
        """The structs among what is written when nothing was said."""

    def complete(self, told: Told) -> None:
        for field, shape, text in told:
            _, is_shown, _, spot = field
            self.fields[spot.name] = field
            is_pointer = text.startswith("*")
            if not is_shown or (is_pointer and text.endswith("?")):
                continue
            if shape.kind == "struct" and not is_pointer:
                self.structs.append((spot.name, shape.zero))
            else:
                self.values[spot.name] = None if is_pointer or shape.kind == "slice" else shape.zero()


def struct_of(go: str, told: Callable[[], Told]) -> Shape:
    blank = _Blank()
    fields, values, structs = blank.fields, blank.values, blank.structs

    def walk(value: Any, path: Path, faults: Faults) -> Tree:
        if not fields:
            blank.complete(told())
        made = values.copy()
        if not isinstance(value, dict):
            faults.mistyped(value, path, "struct", go)
            value = {}
        for key, each in _in_order(value, fields) if faults.is_ordered else value.items():
            try:
                plain, is_shown, read, spot = fields[key]
            except KeyError:
                _strange(key, path, faults, fields)
                continue
            if type(each) is plain:
                if each or is_shown:
                    made[key] = each
            elif each is not None:
                found = read(each, (path, spot), faults)
                if found or is_shown:
                    made[key] = found
        for key, zero in structs:
            if key not in made:
                made[key] = zero()
        return made

    return Shape("struct", go, walk, lambda: walk({}, None, Faults()))


def _strange(key: str, path: Path, faults: Faults, fields: dict[str, Field]) -> None:
    """A key that is no field, or has been seen before."""
    name = str.__str__(key)
    if type(key) is Again and name in fields:
        faults.repeated(path, name)
    else:
        faults.unknown(path, name)


def _in_order(value: Tree, fields: dict[str, Field]) -> list[tuple[str, Any]]:
    return [(name, value[name]) for name in fields if name in value]


def slice_of(go: str, item: Shape) -> Shape:
    plain = item.plain

    def walk(value: Any, path: Path, faults: Faults) -> list[Any] | None:
        if type(value) is not list:
            faults.mistyped(value, path, "slice", go)
            return None
        if not value:
            faults.empty.append(path)
            return None
        if plain is not None:
            for each in value:
                if type(each) is not plain:
                    break
            else:
                return value.copy()
        return [
            item.zero() if each is None else item.walk(each, (path, index), faults) for index, each in enumerate(value)
        ]

    return Shape("slice", go, walk, lambda: None)


def map_of(go: str, item: Shape) -> Shape:
    plain = item.plain

    def walk(value: Any, path: Path, faults: Faults) -> Tree | None:
        if not isinstance(value, dict):
            faults.mistyped(value, path, "map", go)
            return None
        if not value:
            faults.empty.append(path)
            return None
        if plain is not None and type(value) is dict:
            for each in value.values():
                if type(each) is not plain:
                    break
            else:
                return value.copy()
        made: Tree = {}
        for key, each in value.items():
            if type(key) is Again:
                faults.repeated(path, str.__str__(key))
            elif each is None:
                made[key] = item.zero()
                if item is BYTES:
                    faults.empty.append((path, key))
            else:
                made[key] = item.walk(each, (path, key), faults)
        return made

    return Shape("map", go, walk, lambda: None)
