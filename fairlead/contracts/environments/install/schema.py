"""Structural schemas from types (section 2.2): what is optional may be null, and a default that is a value is stored.

A member that is declared without fields of its own is named in `SHAPES`; what a type cannot say is in `REFINED`.
"""

from __future__ import annotations

from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct, UnsetType
from msgspec.structs import FieldInfo

from fairlead.contracts.environments.install.core_schemas import ENV_VAR, RESOURCE_REQUIREMENTS
from fairlead.contracts.environments.install.descriptions import DESCRIPTIONS
from fairlead.contracts.environments.kinds import Json

SHAPES: dict[str, Json] = {
    "balancerdResourceRequirements": RESOURCE_REQUIREMENTS,
    "consoleResourceRequirements": RESOURCE_REQUIREMENTS,
    "environmentdExtraEnv": ENV_VAR,
    "environmentdResourceRequirements": RESOURCE_REQUIREMENTS,
    "resourceRequirements": RESOURCE_REQUIREMENTS,
}

_REPLICAS: Json = {"format": "int32", "minimum": 0}
_COUNTER: Json = {"format": "int64", "minimum": 0}
_SAME = "self.lowerAscii().replace('-', '') == oldSelf.lowerAscii().replace('-', '')"
REFINED: dict[str, Json] = {
    "activeGeneration": _COUNTER,
    "balancerdReplicas": _REPLICAS,
    "consoleReplicas": _REPLICAS,
    "environmentId": {
        # The length bounds what the rule may cost, which the API server works out beforehand.
        "maxLength": 36,
        "x-kubernetes-validations": [
            {
                "rule": f"{_SAME} || oldSelf.matches('^[0-]*$')",
                "message": "environmentId cannot change once it is set, as the environment's data are stored under it: "
                "put the former one back, or create another environment",
            }
        ],
    },
    "observedGeneration": _COUNTER,
    "privateKeySize": {"format": "int32"},
    "replicas": _REPLICAS,
}

_SIMPLE: dict[object, Json] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    datetime: {"type": "string", "format": "date-time"},
}


def schema_of(kind: type[Struct]) -> Json:
    """Of an object with the fields of that type."""
    fields = _fields(kind)
    required = [field.encode_name for field in fields if field.required]
    return {
        "type": "object",
        **({"required": required} if required else {}),
        "properties": {field.encode_name: _member(kind, field) for field in fields},
    }


@cache
def _fields(kind: type[Struct]) -> tuple[FieldInfo, ...]:
    """Resolving annotations is most of the work, and definitions are held against the cluster again and again."""
    return msgspec.structs.fields(kind)


def _member(owner: type[Struct], field: FieldInfo) -> Json:
    name = field.encode_name
    made = {"description": DESCRIPTIONS[owner][name], **_shape(field.type, name), **REFINED.get(name, {})}
    if isinstance(field.default, str | bool):
        made["default"] = field.default
    return made


def _shape(kind: Any, name: str) -> Json:
    arguments = get_args(kind)
    match get_origin(kind):
        case origin if origin is Annotated:
            base, *notes = arguments
            extra = [note.extra_json_schema or {} for note in notes if isinstance(note, Meta)]
            return {key: value for part in (_shape(base, name), *extra) for key, value in part.items()}
        case origin if origin in (Union, UnionType):
            (inner,) = (each for each in arguments if each not in (NoneType, UnsetType))
            return _nullable(_shape(inner, name)) if NoneType in arguments else _shape(inner, name)
        case origin if origin is Literal:
            return {"type": "string", "enum": list(arguments)}
        case origin if origin is tuple:
            return {"type": "array", "items": _shape(arguments[0], name)}
        case origin if origin is dict:
            texts = arguments == (str, str)
            return {"type": "object", "additionalProperties": {"type": "string"}} if texts else dict(SHAPES[name])
    if kind in _SIMPLE:
        return dict(_SIMPLE[kind])
    return schema_of(kind)


def _nullable(shape: Json) -> Json:
    """Listed values become a pattern: the API server holds nulls against a list, even against one with null in it."""
    match shape:
        case {"enum": list(values), **rest}:
            return {**rest, "pattern": f"^({'|'.join(values)})$", "nullable": True}
    return {**shape, "nullable": True}
