"""Trees with every field of a type of the contract, each with a value of its kind."""

from __future__ import annotations

from datetime import datetime
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
from msgspec import Struct

MOMENT = "2030-01-02T03:04:05Z"
_VALUES: dict[object, Any] = {str: "text", int: 7, bool: True, datetime: MOMENT}


def filled(kind: type[Struct]) -> dict[str, Any]:
    return {field.encode_name: _value(field.type) for field in msgspec.structs.fields(kind)}


def _value(kind: Any) -> Any:
    arguments = get_args(kind)
    match get_origin(kind):
        case origin if origin in (Union, UnionType):
            some = [each for each in arguments if each is not NoneType]
            return "20%" if some == [int, str] else _value(some[0])
        case origin if origin is tuple:
            return [_value(arguments[0])]
        case origin if origin is dict:
            return {"key": "value"}
    return _VALUES[kind] if kind in _VALUES else filled(kind)
