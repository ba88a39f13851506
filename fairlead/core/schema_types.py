"""Structural schemas of types, for the definitions of kinds: the fields that are read are the fields that are stored.

A field's name is the same everywhere in a kind's types, so what a type cannot say of it is said by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct, UnsetType
from msgspec.structs import FieldInfo

from fairlead.core.schema_parts import INT_OR_PERCENT, TEXT, Json

_SIMPLE: dict[object, Json] = {
    str: TEXT,
    bool: {"type": "boolean"},
    datetime: {"type": "string", "format": "date-time"},
}


class SchemaTypes(Struct, frozen=True, kw_only=True):
    """How the types of a contract become schemas."""

    descriptions: Mapping[type[Struct], Mapping[str, str]]
    """By type and field; every field has one."""
    shapes: Mapping[str, Json] = {}
    """By the name of a field, instead of what its type says of one member."""
    refined: Mapping[str, Json] = {}
    """By the name of a field, besides what its type says."""
    required: Mapping[type[Struct], tuple[str, ...]] = {}
    """Fields that must be given although the type, which reads whatever is stored, can do without."""
    integer_format: str = ""
    """Of numbers that nothing else is said of."""
    takes_null: bool = False
    """Whether what is optional may be null."""
    stores_defaults: bool = False
    """Whether a default that is a text or a boolean is stored where the field is absent."""

    def schema_of(self, kind: type[Struct]) -> Json:
        """Of an object with the fields of that type."""
        fields = _fields(kind)
        demanded = self.required.get(kind, ())
        required = [each.encode_name for each in fields if each.required or each.encode_name in demanded]
        return {
            "type": "object",
            **({"required": required} if required else {}),
            "properties": {field.encode_name: self._member(kind, field) for field in fields},
        }

    def _member(self, owner: type[Struct], field: FieldInfo) -> Json:
        name = field.encode_name
        description = {"description": self.descriptions[owner][name]}
        made = {**description, **self._shape(field.type, name), **self.refined.get(name, {}), **description}
        if self.stores_defaults and isinstance(field.default, str | bool):
            made["default"] = field.default
        return made

    def _shape(self, kind: Any, name: str) -> Json:
        arguments = get_args(kind)
        match get_origin(kind):
            case origin if origin is Annotated:
                base, *notes = arguments
                extra = [note.extra_json_schema or {} for note in notes if isinstance(note, Meta)]
                return {key: value for part in (self._shape(base, name), *extra) for key, value in part.items()}
            case origin if origin in (Union, UnionType):
                return self._union(arguments, name)
            case origin if origin is tuple:
                return {"type": "array", "items": self._shape(arguments[0], name)}
        return dict(self.shapes[name]) if name in self.shapes else self._one(kind)

    def _one(self, kind: Any) -> Json:
        arguments = get_args(kind)
        if get_origin(kind) is Literal:
            return {"type": "string", "enum": list(arguments)}
        if arguments == (str, str):
            return {"type": "object", "additionalProperties": dict(TEXT)}
        if kind is int:
            return {"type": "integer", **({"format": self.integer_format} if self.integer_format else {})}
        return dict(_SIMPLE[kind]) if kind in _SIMPLE else self.schema_of(kind)

    def _union(self, members: tuple[Any, ...], name: str) -> Json:
        some = tuple(each for each in members if each not in (NoneType, UnsetType))
        shape = dict(INT_OR_PERCENT) if some == (int, str) else self._shape(some[0], name)
        return _nullable(shape) if self.takes_null and NoneType in members else shape


@cache
def _fields(kind: type[Struct]) -> tuple[FieldInfo, ...]:
    """Resolving annotations is most of the work, and definitions are held against the cluster again and again."""
    return msgspec.structs.fields(kind)


def _nullable(shape: Json) -> Json:
    """Listed values become a pattern: the API server holds nulls against a list, even against one with null in it."""
    match shape:
        case {"enum": list(values), **rest}:
            return {**rest, "pattern": f"^({'|'.join(values)})$", "nullable": True}
    return {**shape, "nullable": True}
