"""What merging knows about the places of an object: which are one value, and which hold parts with owners of their own.

Places are made from OpenAPI schemas: those of built-in kinds come from a real server (`data/schemas.json`, written by
`tools.schemas`), those of custom resources from their definitions. A place may allow a map, a scalar and a list at
once; the value that is there decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from kubesim.store.versions import Tree

MAP, SCALAR, LIST = "map", "scalar", "list"
UNTYPED = "untyped"
_SCALARS = {"integer": "numeric", "number": "numeric", "boolean": "boolean"}
_OBJECT_META = "meta.v1.ObjectMeta"
_QUANTITY = "api.resource.Quantity"
_RAW = "runtime.RawExtension"
_STRING: Tree = {"type": "string"}


class MergePlace:
    """One place of a schema; the attributes are filled in later, because schemas contain themselves."""

    __slots__ = (
        "atomic_list",
        "atomic_map",
        "defaults",
        "fields",
        "has_list",
        "has_map",
        "items",
        "keys",
        "rest",
        "scalar",
    )

    def __init__(self) -> None:
        self.has_map = False
        self.fields: dict[str, MergePlace] = {}
        self.rest: MergePlace | None = None
        """Of keys that are not fields; None where there are none."""
        self.atomic_map = False
        self.scalar = ""
        """Which one is allowed; empty for none."""
        self.has_list = False
        self.items: MergePlace | None = None
        self.atomic_list = False
        self.keys: tuple[str, ...] = ()
        """What tells the items of a list apart; without any, the items themselves do."""
        self.defaults: Tree = {}
        """Values of keys that an item leaves out."""

    def child(self, key: str) -> MergePlace | None:
        """The place of a key of a map; None where the schema knows none."""
        return self.fields.get(key) or self.rest

    def shape(self, value: Any) -> str:
        """What a value is here; one that is not allowed, or null, is what the place has first."""
        if isinstance(value, dict):
            if self.has_map:
                return MAP
        elif isinstance(value, list):
            if self.has_list:
                return LIST
        elif value is not None and self.scalar:
            return SCALAR
        return self.first()

    def first(self) -> str:
        if self.has_map:
            return MAP
        return SCALAR if self.scalar else LIST

    @property
    def is_deduced(self) -> bool:
        """Whether nothing is known of a map: its values say what they are."""
        return not self.fields and self.rest is DEDUCED


def _untyped() -> MergePlace:
    """Anything, owned as a whole."""
    place = MergePlace()
    place.has_map = place.atomic_map = place.has_list = place.atomic_list = True
    place.scalar, place.rest, place.items = UNTYPED, place, place
    return place


def _deduced() -> MergePlace:
    """Anything: maps have parts, lists are owned as a whole."""
    place = MergePlace()
    place.has_map = place.has_list = place.atomic_list = True
    place.scalar, place.rest, place.items = UNTYPED, place, ATOMIC
    return place


ATOMIC = _untyped()
DEDUCED = _deduced()


class Schemas:
    """Named types, and the places that are made of them when they are asked for."""

    def __init__(self, types: dict[str, Tree]) -> None:
        self._types = types
        self._places: dict[str, MergePlace] = {}

    def named(self, name: str) -> MergePlace:
        """The place of a type."""
        found = self._places.get(name)
        if found is None:
            found = self._places[name] = MergePlace()
            if name == _QUANTITY:
                found.scalar = UNTYPED
            elif name == _RAW:
                _copy(ATOMIC, found)
            else:
                self._fill(found, self._types[name], spares=False)
        return found

    def place(self, schema: Tree, *, spares: bool = False) -> MergePlace:
        """The place of a schema; where it `spares` unknown fields, so does everything below."""
        name = schema.get("$ref")
        if isinstance(name, str):
            return self._overridden(self.named(name), schema.get("x-kubernetes-map-type"))
        made = MergePlace()
        self._fill(made, schema, spares=spares)
        return made

    @staticmethod
    def _overridden(place: MergePlace, map_type: str | None) -> MergePlace:
        """A field may say otherwise than its type whether it is owned as a whole."""
        if map_type is None or place.atomic_map == (map_type == "atomic"):
            return place
        made = MergePlace()
        _copy(place, made)
        made.atomic_map = map_type == "atomic"
        return made

    def _fill(self, place: MergePlace, schema: Tree, *, spares: bool) -> None:
        spares = spares or bool(schema.get("x-kubernetes-preserve-unknown-fields"))
        kind = schema.get("type") or ""
        if kind in ("object", ""):
            self._fill_map(place, schema, spares=spares)
        if kind in ("array", ""):
            self._fill_list(place, schema, spares=spares)
        if not kind:
            place.scalar = UNTYPED
        elif kind == "string":
            place.scalar = UNTYPED if schema.get("format") not in (None, "byte") else "string"
        elif kind in _SCALARS:
            place.scalar = _SCALARS[kind]

    def _fill_map(self, place: MergePlace, schema: Tree, *, spares: bool) -> None:
        place.has_map = True
        place.atomic_map = schema.get("x-kubernetes-map-type") == "atomic"
        fields = schema.get("properties") or {}
        place.fields = {name: self.place(each, spares=spares) for name, each in fields.items()}
        if schema.get("x-kubernetes-embedded-resource"):
            place.fields |= self._object_fields()
        rest = schema.get("additionalProperties")
        if isinstance(rest, dict):
            place.rest = self.place(rest, spares=spares)
        elif rest or (rest is None and (spares or not fields)):
            place.rest = DEDUCED

    def _fill_list(self, place: MergePlace, schema: Tree, *, spares: bool) -> None:
        place.has_list = True
        items = schema.get("items")
        place.items = ATOMIC if items is None else self.place(items, spares=spares)
        kind = schema.get("x-kubernetes-list-type")
        if kind is None:  # what strategic merge patches merge, apply merges too
            kind = "set" if "merge" in (schema.get("x-kubernetes-patch-strategy") or "").split(",") else "atomic"
            place.keys = (schema["x-kubernetes-patch-merge-key"],) if "x-kubernetes-patch-merge-key" in schema else ()
        else:
            place.keys = tuple(schema.get("x-kubernetes-list-map-keys") or ()) if kind == "map" else ()
        place.atomic_list = kind == "atomic"
        if place.keys and items is not None:
            place.defaults = self._defaults(items, place.keys)

    def _defaults(self, items: Tree, keys: tuple[str, ...]) -> Tree:
        properties = self._resolved(items).get("properties") or {}
        found = {key: (properties.get(key) or {}).get("default") for key in keys}
        return {key: value for key, value in found.items() if value is not None}

    def _resolved(self, schema: Tree) -> Tree:
        name = schema.get("$ref")
        return self._types[name] if isinstance(name, str) else schema

    def _object_fields(self) -> dict[str, MergePlace]:
        """What every object has besides what its schema says."""
        return {
            "apiVersion": self.place(_STRING),
            "kind": self.place(_STRING),
            "metadata": self.named(_OBJECT_META),
        }

    def custom(self, schema: Tree) -> MergePlace:
        """The place of the objects of a definition's version."""
        place = self.place(schema)
        place.fields |= self._object_fields()
        return place


def _copy(source: MergePlace, target: MergePlace) -> None:
    for name in MergePlace.__slots__:
        setattr(target, name, getattr(source, name))


class _File(msgspec.Struct):
    release: str
    kinds: dict[str, str]
    types: dict[str, Tree]


@cache
def _file() -> _File:
    return msgspec.json.decode(files("kubesim").joinpath("data/schemas.json").read_bytes(), type=_File)


@cache
def _schemas() -> Schemas:
    return Schemas(_file().types)


@cache
def built_in(api_version: str, kind: str) -> MergePlace | None:
    """The place of the objects of a built-in kind; None for one that the release does not have."""
    name = _file().kinds.get(f"{api_version} {kind}")
    return None if name is None else _schemas().named(name)


def struct_of(api_version: str, kind: str) -> str:
    """The name of the type of a built-in kind; empty for one that the release does not have."""
    return _file().kinds.get(f"{api_version} {kind}", "")


def fields_of(struct: str) -> dict[str, Tree]:
    """The schemas of the fields of a type, by name."""
    found: dict[str, Tree] = (_file().types.get(struct) or {}).get("properties") or {}
    return found


def custom(schema: Mapping[str, Any]) -> MergePlace:
    """The place of the objects of a custom resource in the version with this schema."""
    return _schemas().custom(dict(schema))
