"""Values that are no structs, as Go decodes and writes them again: numbers, texts, bytes, times, quantities, raw JSON.

Each is a `Shape`: how a value is read, what stands for nothing, and what Go calls it.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any

from kubeloop import quantities
from kubesim.typed import times as typed_times
from kubesim.typed.faults import Faults, Path, Undecodable, literal, word_of

Walk = Callable[[Any, Path, Faults], Any]
"""Reads a value that is not null, at a path; what is wrong with it is told to the faults, or raised."""

_BITS = {"int": 64, "int32": 32, "int64": 64}
_base64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?").fullmatch
_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_LARGEST_PLAIN = 1e21
_LARGEST_BYTE = 0xFF


class Shape:
    """A Go type; what is in a struct is filled in when the struct is first used, because types contain themselves."""

    __slots__ = ("go", "kind", "plain", "walk", "zero")

    def __init__(
        self, kind: str, go: str, walk: Walk, zero: Callable[[], Any], plain: type[str | bool] | None = None
    ) -> None:
        self.kind = kind
        """What Go calls it regardless of its name: a scalar, `slice`, `map`, `struct`, or empty if it reads itself."""
        self.go = go
        self.walk = walk
        self.zero = zero
        """What is there when nothing was said; a new one each time."""
        self.plain = plain
        """Values of exactly this class are taken as they are."""

    @property
    def may_be_left_out(self) -> bool:
        """Whether Go knows an empty value of it."""
        return self.kind not in ("", "struct")


def scalar(kind: str, go: str) -> Shape:
    """A text, a number or a boolean, perhaps under a name of its own."""
    if kind in _BITS:
        return Shape(kind, go, _integer(kind, go), int)
    if kind == "float64":
        return Shape(kind, go, _float(go), int)
    plain: type[str | bool] = {"string": str, "bool": bool}[kind]

    def walk(value: Any, path: Path, faults: Faults) -> Any:
        if type(value) is plain:
            return value
        faults.mistyped(value, path, kind, go)
        return plain()

    return Shape(kind, go, walk, plain, plain)


def _integer(kind: str, go: str) -> Walk:
    bits = _BITS[kind]
    low, high, span = -(1 << bits - 1), (1 << bits - 1) - 1, 1 << bits

    def walk(value: Any, path: Path, faults: Faults) -> int:
        if type(value) is int and low <= value <= high:
            return value
        if not faults.is_json and (type(value) is int or (type(value) is float and value.is_integer())):
            whole = int(value)
            return (whole - low) % span + low  # Go converts without looking
        faults.mistyped(value, path, kind, go)
        return 0

    return walk


def _float(go: str) -> Walk:
    def walk(value: Any, path: Path, faults: Faults) -> int | float:
        if type(value) is int:
            return value
        if type(value) is float:
            return int(value) if value.is_integer() and abs(value) < _LARGEST_PLAIN else value
        faults.mistyped(value, path, "float64", go)
        return 0

    return walk


# Bytes


def _bytes(value: Any, path: Path, faults: Faults) -> str:
    if type(value) is list:
        return base64.b64encode(bytes(_byte(each, path, faults) for each in value)).decode()
    if type(value) is not str:
        faults.mistyped(value, path, "slice", "[]uint8")
        return ""
    text = value
    if not _base64(text):
        try:
            text = _checked(text)
        except ValueError as error:
            faults.refused(str(error))
            return ""
    return base64.b64encode(base64.b64decode(text)).decode()


def _byte(value: Any, path: Path, faults: Faults) -> int:
    if type(value) is int and (0 <= value <= _LARGEST_BYTE or not faults.is_json):
        return value & _LARGEST_BYTE
    if value is not None:
        faults.mistyped(value, path, "uint8", "uint8")
    return 0


def _checked(text: str) -> str:
    """The text without line breaks; ValueError says where it stops being base64, as Go counts."""
    signs = [(at, sign) for at, sign in enumerate(text) if sign not in "\r\n"]
    for index, (at, sign) in enumerate(signs):
        inside = index % 4
        if sign == "=":
            rest = signs[index + 1 :]
            if inside < 2:
                raise _corrupt(at)
            if inside == 2:
                if not rest:
                    raise _corrupt(len(text))
                if rest[0][1] != "=":
                    raise _corrupt(rest[0][0] - 1)
                rest = rest[1:]
            if rest:
                raise _corrupt(rest[0][0])
            break
        if sign not in _BASE64:
            raise _corrupt(at)
    else:
        if len(signs) % 4:
            raise _corrupt(len(text) - len(signs) % 4)
    return "".join(sign for _, sign in signs)


def _corrupt(at: int) -> ValueError:
    return ValueError(f"illegal base64 data at input byte {at}")


BYTES = Shape("slice", "[]uint8", _bytes, str)


# Types that read themselves


def _time(parse: Callable[[str], str | None]) -> Walk:
    def walk(value: Any, path: Path, faults: Faults) -> str | None:
        if type(value) is not str:
            raise faults.unread(word_of(value), path, "string")
        try:
            return parse(value)
        except ValueError as error:
            raise Undecodable(str(error)) from None

    return walk


def _int_or_string(value: Any, path: Path, faults: Faults) -> Any:
    if type(value) is str:
        return value
    if type(value) is int and -(2**31) <= value < 2**31:
        return value
    if type(value) is float and not faults.is_json and value.is_integer():
        return int(value)
    said = word_of(value)
    raise faults.unread(f"number {literal(value)}" if said == "number" else said, path, "int32")


def _quantity(canonical: Callable[[str], str]) -> Walk:
    def walk(value: Any, _path: Path, _faults: Faults) -> str:
        if type(value) is str:
            text = value.strip()
        elif type(value) in (int, float):
            text = literal(value)
        else:
            raise Undecodable(quantities.FORMAT)
        try:
            return canonical(text)
        except ValueError as error:
            raise Undecodable(str(error)) from None

    return walk


def _raw(value: Any, _path: Path, _faults: Faults) -> Any:
    return copied(value)


def copied(value: Any) -> Any:
    """A deep copy."""
    if isinstance(value, dict):
        return {key: copied(each) for key, each in dict.items(value)}
    return [copied(each) for each in value] if isinstance(value, list) else value


def _nothing() -> None:
    return None


_RAW = Shape("", "", _raw, _nothing)
QUANTITY_IN_MILLIS = Shape("", "resource.Quantity", _quantity(quantities.in_millis), lambda: "0")
OWN = {
    "api.resource.Quantity": Shape("", "resource.Quantity", _quantity(quantities.canonical), lambda: "0"),
    "apis.apiextensions.v1.JSON": _RAW,
    "meta.v1.FieldsV1": _RAW,
    "meta.v1.MicroTime": Shape("", "v1.MicroTime", _time(typed_times.micros), _nothing),
    "meta.v1.Time": Shape("", "v1.Time", _time(typed_times.seconds), _nothing),
    "runtime.RawExtension": _RAW,
    "util.intstr.IntOrString": Shape("", "intstr.IntOrString", _int_or_string, int),
}
"""Types that read themselves, by name."""
