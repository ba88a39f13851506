"""Trees of built-in kinds as the server decodes them into typed objects and writes them again.

Unknown fields go, values of the wrong type are refused, and what Go leaves out when it writes is absent: empty texts,
numbers, lists and maps that are optional and no pointers. What Go writes in any case is there, empty or null: structs,
and fields that are not optional. Quantities, times and bytes are in the form that the server gives them.

The types come from the Go sources (`data/schemas.json`, written by `tools.schemas`). Each becomes a walk when it is
first used. What the cluster's own controllers write is not decoded: it has never been anything but a tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from kubesim.store.versions import Tree
from kubesim.typed.faults import BOUNDARY, Faults, Path, Spot, Undecodable, Words, words_of
from kubesim.typed.gates import DROPPED, TOLD_EMPTY
from kubesim.typed.shapes import Told, map_of, slice_of, struct_of
from kubesim.typed.values import BYTES, OWN, QUANTITY_IN_MILLIS, Shape, Walk, scalar

_SCALARS = ("bool", "float64", "int", "int32", "int64", "string")
_RESOURCES = "core.v1.ResourceList"
_METADATA = "meta.v1.ObjectMeta"
_SCHEMA = "apis.apiextensions.v1.JSONSchemaProps"
_NOTED: dict[Words, Callable[[], Any]] = {
    ("metadata", "managedFields"): list,
    ("spec", "template", "metadata", "labels"): dict,
}
"""What counts although it is empty, and is never stored so: no entries mean to forget all owners, no labels of pods are
refused in other words than labels that are not there."""


class Wording(msgspec.Struct, frozen=True):
    """What decoding loses (`wordings`)."""

    has_blanks: bool = False
    """There are lists or maps without anything in them."""
    data: bytes = b""
    """The text of the data of a revision."""


class Typed(dict[str, Any]):
    """A tree that has been decoded, or needs not to be."""

    wording: Wording | None = None
    """Of kinds for which it counts."""
    empty: tuple[Words, ...] = ()
    """Where there are lists and maps without anything in them, or bytes that are null: they count, though nothing is
    written of them."""


class Type:
    """The objects of one kind."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape

    def read(self, tree: Tree, *, is_patched: bool = False) -> tuple[Typed, list[str]]:
        """A tree that came as JSON, and what a strict server would refuse; Undecodable for one of another type.

        A patched one has been written by the server, which sorts the fields of what it changes.
        """
        try:
            made, strict = self._walked(tree, Faults())
        except Undecodable:
            if not is_patched:
                raise
            strict = ["?"]
        if strict and is_patched:
            made, strict = self._walked(_sorted(tree), Faults())
        return made, strict

    def restore(self, tree: Tree) -> tuple[Typed, list[str]]:
        """The same for a tree that the server has made by merging, which it never writes as JSON."""
        try:
            made, strict = self._walked(tree, Faults(is_json=False))
        except Undecodable:
            made, strict = self._walked(tree, Faults(is_json=False, is_ordered=True))
        return made, sorted(strict)

    def blank(self) -> Tree:
        """An object of which nothing has been said."""
        made: Tree = self._shape.zero()
        return made

    def _walked(self, tree: Tree, faults: Faults) -> tuple[Typed, list[str]]:
        made: Tree = self._shape.walk(tree, None, faults)
        if faults.first is not None:
            raise Undecodable(faults.first)
        typed = Typed(made)
        if faults.empty:
            typed.empty = tuple(map(words_of, faults.empty))
            for words, blank in _NOTED.items():
                if words in typed.empty:
                    inside(made, words)[words[-1]] = blank()
        return typed, faults.strict


def inside(tree: Any, words: Words) -> Any:
    """What the value at the end of a path is in; an empty map where the path leads nowhere."""
    try:
        for word in words[:-1]:
            tree = tree[word]
    except (IndexError, KeyError, TypeError):  # a field of a feature that is off is gone
        return {}
    return tree


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(each) for each in value] if isinstance(value, list) else value


class _Types:
    """The types of the file, and the shapes that are made of them when they are asked for."""

    def __init__(self, types: dict[str, dict[str, str] | str]) -> None:
        self._types = types
        self._shapes: dict[str, Shape] = {}

    def named(self, name: str) -> Shape:
        found = self._shapes.get(name)
        if found is None:
            found = self._shapes[name] = self._made(name)
        return found

    def _made(self, name: str) -> Shape:
        go = ".".join(name.split(".")[-2:])
        definition = self._types[name]
        if isinstance(definition, dict):
            return struct_of(go, lambda: self._told(name, go))
        if definition == "!":
            return OWN[name] if name in OWN else self._choice(name)
        if definition in _SCALARS:
            return scalar(definition, go)
        if name == _RESOURCES:
            return map_of(go, QUANTITY_IN_MILLIS)
        package = name.rpartition(".")[0]
        if definition.startswith("map["):
            return map_of(go, self.written(definition.partition("]")[2], package))
        return slice_of(go, self.written(definition.removeprefix("[]"), package))

    def written(self, text: str, package: str) -> Shape:
        """The shape of a type as it is written in the file, within a package; whether it is a pointer is left out."""
        text = text.rstrip("?").lstrip("*")
        if text in _SCALARS:
            return _scalar(text)
        if text == "bytes":
            return BYTES
        if text.startswith("[]"):
            item = self.written(text[2:], package)
            return slice_of(f"[]{item.go}", item)
        if text.startswith("map["):
            key, _, value = text[4:].partition("]")
            item = self.written(value, package)
            return map_of(f"map[{self.written(key, package).go}]{item.go}", item)
        return self.named(package + text if text.startswith(".") else text)

    def _fields(self, name: str, before: str = "") -> Iterable[tuple[str, str, str, str]]:
        """Names, places, types and packages of the fields, with those of structs that are embedded."""
        definition = self._types[name]
        if not isinstance(definition, dict):
            raise TypeError(f"{name} is no struct")
        package = name.rpartition(".")[0]
        for field, text in definition.items():
            if field.startswith("+"):
                inner = package + text if text.startswith(".") else text
                yield from self._fields(inner, f"{before}{field[1:]}.")
            else:
                yield field, before + field, text, package

    def _told(self, name: str, go: str) -> Told:
        for field, stack, text, package in self._fields(name):
            shape, spot = self.written(text, package), Spot(field, stack, go.rpartition(".")[2])
            if field in DROPPED.get(name, ()):
                yield (None, False, _ignored(shape.walk), spot), shape, text
                continue
            if field in TOLD_EMPTY.get(name, ()):
                yield (None, True, _empty_or_not(shape.walk), spot), shape, f"*{text}" if text.endswith("?") else text
                continue
            may_be_left_out = shape.may_be_left_out and text.endswith("?") and not text.startswith("*")
            is_shown = not may_be_left_out and not text.endswith("??")
            yield (shape.plain, is_shown, shape.walk, spot), shape, text

    def _choice(self, name: str) -> Shape:
        """A schema, or what may stand in its place: they are read on their own, and nobody is told what is unknown."""
        schema = self.written(_SCHEMA, "")
        others: dict[str, Walk] = {
            "JSONSchemaPropsOrArray": slice_of(f"[]{schema.go}", schema).walk,
            "JSONSchemaPropsOrBool": _only_boolean,
            "JSONSchemaPropsOrStringArray": slice_of("[]string", _scalar("string")).walk,
        }
        other = others[name.rpartition(".")[2]]

        def walk(value: Any, path: Path, faults: Faults) -> Any:
            inside, place = Faults(), (path, BOUNDARY) if faults.is_json else None
            if isinstance(value, dict):
                found = schema.walk(value, place, inside)
            elif isinstance(value, list) or other is _only_boolean:
                found = other(value, place, inside)
                found = None if found == [] else found
            else:
                found = None
            if inside.first is not None:
                raise Undecodable(inside.first)
            return found

        return Shape("", "", walk, lambda: None)


def _ignored(walk: Walk) -> Walk:
    def ignored(value: Any, path: Path, faults: Faults) -> None:
        walk(value, path, faults)

    return ignored


def _empty_or_not(walk: Walk) -> Walk:
    def told(value: Any, path: Path, faults: Faults) -> Any:
        return [] if value == [] else walk(value, path, faults)

    return told


@cache
def _scalar(kind: str) -> Shape:
    return scalar(kind, kind)


def _only_boolean(value: Any, _path: Path, _faults: Faults) -> bool:
    if type(value) is bool:
        return value
    raise Undecodable("boolean or JSON schema expected")


class _File(msgspec.Struct):
    kinds: dict[str, str]
    go: dict[str, dict[str, str] | str]


@cache
def _file() -> _File:
    return msgspec.json.decode(files("kubesim").joinpath("data/schemas.json").read_bytes(), type=_File)


@cache
def _types() -> _Types:
    return _Types(_file().go)


@cache
def type_of(api_version: str, kind: str) -> Type:
    """The type of the objects of a built-in kind."""
    return Type(_types().named(_file().kinds[f"{api_version} {kind}"]))


def is_typed(api_version: str, kind: str) -> bool:
    """Whether the type of a built-in kind is known."""
    return f"{api_version} {kind}" in _file().kinds


@cache
def type_named(name: str) -> Type:
    """A type by its name, such as that of the metadata of all kinds."""
    return Type(_types().named(name))


def metadata_read(metadata: Any) -> tuple[Tree, list[str]]:
    """The metadata of an object whose other fields have no type, and what a strict server would refuse.

    The server writes them as JSON before it reads them, so their fields come by name.
    """
    return type_named(_METADATA).read(_sorted(metadata))


def metadata_problem(metadata: Any) -> str:
    """Why something cannot be the metadata of an object; empty when it can."""
    try:
        type_named(_METADATA).read(metadata)
    except Undecodable:
        try:
            metadata_read(metadata)
        except Undecodable as error:
            return str(error)
    return ""
