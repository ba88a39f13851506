"""Protobuf bodies as trees, read by the table that `tools.protos` makes from the release's sources.

The tree is the one that the same object has in JSON: what Go leaves out there is left out, and the types that JSON
writes in a form of their own (times, quantities, numbers or text) are in that form. Answers are never protobuf: a
client that prefers it takes JSON as well.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from kubesim.store.versions import Tree

MARK = b"k8s\x00"
_TABLE = files("kubesim").joinpath("data/wire.json")
_LENGTHS = {1: 8, 5: 4}
_BITS = 64
_META = "meta.k8s.io/v1"
_BY_LENGTH = 2
_OTHERS = 2
_NO_MARK = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"

Value: TypeAlias = Callable[[Any], Any]


class WireError(ValueError):
    """The body is not what it is said to be, in the server's words."""


class Table(Struct, frozen=True):
    """What the file says."""

    kinds: dict[str, list[str]]
    """By API version: the package that its types are of, and the kinds that there are."""
    types: dict[str, dict[int, list[str]]]


class Envelope(Struct, frozen=True):
    """What an object is wrapped in."""

    api_version: str
    kind: str
    raw: bytes


@cache
def table() -> Table:
    return msgspec.json.decode(_TABLE.read_bytes(), type=Table, strict=False)


def is_registered(api_version: str, kind: str) -> bool:
    """Whether the release knows such a kind; every version has options of its own."""
    kinds = table().kinds
    return api_version in kinds and (kind in kinds[api_version][1:] or kind in kinds[_META][1:])


def opened(body: bytes) -> Envelope:
    """Takes an object out of its envelope."""
    if not body:
        raise WireError("empty data")
    if not body.startswith(MARK):
        raise WireError(_NO_MARK)
    if len(body) == len(MARK):
        raise WireError("empty body")
    found = dict(_fields(body[len(MARK) :]))
    said = dict(_fields(found.get(1, b"")))
    return Envelope(said.get(1, b"").decode(), said.get(2, b"").decode(), found.get(2, b""))


def object_of(api_version: str, kind: str, raw: bytes) -> Tree:
    """An object of a kind of the table."""
    package, *kinds = table().kinds.get(api_version) or ["", ""]
    name = f"{package if kind in kinds else table().kinds[_META][0]}.{kind}"
    tree: Tree = _reader(name)(raw)
    return {"apiVersion": api_version, "kind": kind} | tree


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Numbers and what stands under them: a number, or bytes."""
    at, end = 0, len(data)
    while at < end:
        key, at = _number(data, at)
        field, form = key >> 3, key & 7
        if not field:
            raise WireError(f"proto: illegal tag {field} (wire type {form})")
        if form == 0:
            value: Any
            value, at = _number(data, at)
        elif form == _BY_LENGTH:
            length, at = _number(data, at)
            value, at = data[at : at + length], at + length
        elif form in _LENGTHS:
            value, at = data[at : at + _LENGTHS[form]], at + _LENGTHS[form]
        else:
            raise WireError(f"proto: illegal wireType {form}")
        if at > end:
            raise WireError("unexpected EOF")
        yield field, value


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data):
            raise WireError("unexpected EOF")
        if shift >= _BITS:
            raise WireError("proto: integer overflow")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


class _Field(Struct, frozen=True):
    """How one field is put into the tree."""

    name: str
    """Empty: its own fields are put there."""
    form: str
    """`[]` for one of several, `{}` for an entry of a map."""
    read: Value
    omits_zero: bool


@cache
def _reader(name: str) -> Value:
    """Reads a message of this type; made at first use."""
    if name in _FORMS:
        return _FORMS[name]
    described = table().types[name]
    if described == {1: ["items", "[]string"]}:  # Go has a list of texts here, and a message around it
        return lambda data: [item.decode() for _, item in _fields(data)]
    fields: dict[int, _Field] = {}

    def read(data: bytes) -> Tree:
        if not fields:  # not before: types contain themselves
            fields.update({number: _described(entry) for number, entry in described.items()})
        return _message(fields, data)

    return read


def _described(entry: list[str]) -> _Field:
    name, kind, *omits = entry
    form = kind[:2] if kind[:2] in ("[]", "{}") else ""
    kind = kind.removeprefix(form)
    return _Field(name, form, _SCALARS.get(kind) or _reader(kind), bool(omits))


def _message(fields: dict[int, _Field], data: bytes) -> Tree:
    tree: Tree = {}
    for number, raw in _fields(data):
        field = fields.get(number)
        if field is None:
            continue
        if field.form == "[]":
            tree.setdefault(field.name, []).append(_read(field, raw))
        elif field.form == "{}":
            entry = dict(_fields(raw))
            tree.setdefault(field.name, {})[_text(entry.get(1, b""))] = _read(field, entry.get(2, b""))
        else:
            value = _read(field, raw)
            if not field.name:
                tree.update(value)
            elif value is not None and (value or not field.omits_zero):
                tree[field.name] = value
    return tree


def _read(field: _Field, raw: Any) -> Any:
    try:
        return field.read(raw)
    except (TypeError, AttributeError, struct.error):
        raise WireError(f"proto: wrong wireType for field {field.name[:1].upper()}{field.name[1:]}") from None


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _signed(value: int) -> int:
    if not isinstance(value, int):
        raise TypeError
    return value - (1 << _BITS) if value >> (_BITS - 1) else value


def _double(data: bytes) -> float:
    found: float = struct.unpack("<d", data)[0]
    return found


_SCALARS: dict[str, Value] = {
    "string": _text,
    "bytes": lambda data: base64.b64encode(data).decode(),
    "bool": bool,
    "int32": _signed,
    "int64": _signed,
    "uint32": _signed,
    "uint64": _signed,
    "double": _double,
}


# Types that JSON writes in a form of their own


def _time(data: bytes) -> str | None:
    """Without fractions; a message without anything in it is no time at all."""
    found = dict(_fields(data))
    if not found:
        return None
    return datetime.fromtimestamp(_signed(found.get(1, 0)), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _micro_time(data: bytes) -> str | None:
    found = dict(_fields(data))
    if not found:
        return None
    whole = datetime.fromtimestamp(_signed(found.get(1, 0)), UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{whole}.{_signed(found.get(2, 0)) // 1000:06d}Z"


def _duration(data: bytes) -> str:
    """As Go prints it: 90 seconds are 1m30s."""
    nanoseconds = _signed(dict(_fields(data)).get(1, 0))
    sign, left = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if not left:
        return "0s"
    for unit, size in (("ns", 1), ("µs", 10**3), ("ms", 10**6)):
        if left < size * 1000:
            return f"{sign}{left / size:.9f}".rstrip("0").rstrip(".") + unit
    minutes, left = divmod(left, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{left / 10**9:.9f}".rstrip("0").rstrip(".") + "s"
    return sign + (f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else "") + seconds


def _quantity(data: bytes) -> str:
    return _text(dict(_fields(data)).get(1, b"0"))


def _int_or_string(data: bytes) -> int | str:
    found = dict(_fields(data))
    return _text(found.get(3, b"")) if found.get(1) else _signed(found.get(2, 0))


def _json(data: bytes) -> Any:
    raw = dict(_fields(data)).get(1, b"")
    if not raw:
        return None
    try:
        return json.loads(raw)
    except ValueError as error:
        raise WireError(str(error)) from None


def _schema_or(several: Value) -> Value:
    """One schema, or several things of another type in its place."""

    def read(data: bytes) -> Any:
        found = list(_fields(data))
        others = [several(raw) for number, raw in found if number == _OTHERS]
        schemas = [_schema(raw) for number, raw in found if number == 1]
        return others or (schemas[0] if schemas else None)

    return read


def _schema_or_bool(data: bytes) -> Any:
    found = dict(_fields(data))
    return _schema(found[_OTHERS]) if _OTHERS in found else bool(found.get(1))


def _schema(data: bytes) -> Any:
    return _reader("apiextensions.v1.JSONSchemaProps")(data)


_FORMS: dict[str, Value] = {
    "meta.v1.Time": _time,
    "meta.v1.MicroTime": _micro_time,
    "meta.v1.Duration": _duration,
    "meta.v1.FieldsV1": _json,
    "resource.Quantity": _quantity,
    "intstr.IntOrString": _int_or_string,
    "runtime.RawExtension": _json,
    "apiextensions.v1.JSON": _json,
    "apiextensions.v1.JSONSchemaPropsOrArray": _schema_or(_schema),
    "apiextensions.v1.JSONSchemaPropsOrBool": _schema_or_bool,
    "apiextensions.v1.JSONSchemaPropsOrStringArray": _schema_or(_text),
}
