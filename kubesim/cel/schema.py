"""What rules see of a schema: the types of its values, under names that an expression can say.

Times, lengths of time, bytes and numbers have other values in expressions than in JSON, or none at all; where a schema
has none of them, values are given to rules as they are.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from operator import is_
from typing import Any

from kubeloop.schemas.structural import Node
from kubesim.cel.types import BOOL, BYTES, DOUBLE, DURATION, DYN, INT, STRING, TIMESTAMP, Field, Type, list_of, map_of
from kubesim.cel.values import Broken, Failed, date, moment, period

Convert = Callable[[Any], Any]
_RESERVED = re.compile(
    "true|false|null|in|as|break|const|continue|else|for|function|if|import|let|loop|package|namespace|return|var|void|"
    "while"
)
_SIGNS = {"__": "__underscores__", "-": "__dash__", ".": "__dot__", "/": "__slash__"}
_ESCAPED = re.compile(r"__|[-./]")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TEXT = Node(types=("string",))
_METADATA = Node(types=("object",), properties={"name": _TEXT, "generateName": _TEXT})
ROOT_FIELDS = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": _METADATA}
"""What rules see of every whole object, whatever its schema says."""
SIMPLE = {"boolean": BOOL, "integer": INT, "number": DOUBLE}
FORMATS = {"byte": BYTES, "date": TIMESTAMP, "date-time": TIMESTAMP, "duration": DURATION}
_REMEMBERED = 4096


def escaped(name: str) -> str:
    """How a rule names a field; empty where it cannot."""
    if _RESERVED.fullmatch(name):
        return f"__{name}__"
    made = _ESCAPED.sub(lambda sign: _SIGNS[sign[0]], name)
    return made if _NAME.fullmatch(made) else ""


def typed(node: Node, *, is_root: bool = False, name: str = "object") -> Type | None:
    """The type that rules see; None where there is none they could know."""
    if len(node.types) > 1:
        return DYN
    kind = node.types[0] if node.types else ""
    match kind:
        case "string":
            return FORMATS.get(node.format, STRING)
        case "array":
            inner = typed(node.items, name=f"{name}.@idx") if node.items is not None else None
            return list_of(inner) if inner is not None else None
        case "object" if node.rest is not None:
            inner = typed(node.rest, name=f"{name}.@elem")
            return map_of(STRING, inner) if inner is not None else None
        case "object":
            return Type(name, fields=_fields(node, name, is_root=is_root or node.embedded))
        case _:
            return SIMPLE.get(kind)


def _fields(node: Node, name: str, *, is_root: bool) -> dict[str, Field]:
    known = {**node.properties, **(ROOT_FIELDS if is_root else {})}
    found: dict[str, Field] = {}
    for key, each in known.items():
        said, kind = escaped(key), typed(each, name=f"{name}.{key}")
        if said and kind is not None:
            found[said] = Field(key, kind)
    return found


def bound(node: Node, value: Any) -> Any:
    """A value as rules see it."""
    convert = _conversion(node)
    return value if convert is None else convert(value)


@lru_cache(_REMEMBERED)
def _conversion(node: Node) -> Convert | None:
    """What makes a value of JSON one of expressions; None where it is one already."""
    if node.types == ("number",):
        return lambda value: float(value) if type(value) is int else value
    if node.types == ("integer",):
        return lambda value: Broken("int", "float64") if type(value) is float else value
    if node.types == ("string",):
        return _of_text(node.format)
    if node.items is not None:
        item = _conversion(node.items)
        return None if item is None else partial(_each, item)
    if node.rest is not None:
        entry = _conversion(node.rest)
        return None if entry is None else partial(_every, entry)
    fields = {name: each for name, child in node.properties.items() if (each := _conversion(child)) is not None}
    return partial(_some, fields) if fields else None


def _each(convert: Convert, value: Any) -> Any:
    if not isinstance(value, list):
        return value
    made = [convert(item) for item in value]
    return value if all(map(is_, made, value)) else made


def _every(convert: Convert, value: Any) -> Any:
    return _changed(value, ((key, convert) for key in value)) if isinstance(value, dict) else value


def _some(fields: dict[str, Convert], value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return _changed(value, ((key, convert) for key, convert in fields.items() if key in value))


def _changed(value: dict[str, Any], converts: Iterable[tuple[str, Convert]]) -> dict[str, Any]:
    """A copy only where something is another value in expressions."""
    made = {key: convert(value[key]) for key, convert in converts}
    return value if all(each is value[key] for key, each in made.items()) else value | made


def _of_text(name: str) -> Convert | None:
    """Of one with a format, in whose place the server lets lists stand."""
    makers: dict[str, Convert] = {"byte": _decoded, "date": date, "date-time": moment, "duration": period}
    return partial(_made, makers.get(name, str)) if name else None


def _made(maker: Convert, value: Any) -> Any:
    """The schema has its own rule for text of the wrong form."""
    if not isinstance(value, str):
        return Broken("string", "[]interface {}") if isinstance(value, list) else value
    try:
        return maker(value)
    except Failed:
        return value


def _decoded(value: str) -> bytes | str:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return value
