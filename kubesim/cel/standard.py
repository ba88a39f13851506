"""Functions and operators that CEL itself has: arithmetic, order, conversions, text, times, lists, optionals."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from kubeloop.schemas.patterns import BadPattern, compiled
from kubesim.cel.conversions import (
    PARTS,
    part_of,
    to_bool,
    to_bytes,
    to_double,
    to_duration,
    to_int,
    to_string,
    to_timestamp,
    to_uint,
)
from kubesim.cel.types import Library
from kubesim.cel.values import (
    NONE,
    Failed,
    NoOverload,
    Optional,
    TypeName,
    Uint,
    compared,
    equal,
    integer,
    optional,
    type_name,
    unsigned,
)

_NUMERIC = ("int", "uint", "double")
_ORDERED = (*_NUMERIC, "string", "bytes", "bool", "timestamp", "duration")
_RELATIONS = ("<", "<=", ">", ">=")
_FIXED = """
!_(bool) -> bool
_&&_(bool, bool) -> bool
_||_(bool, bool) -> bool
_?_:_(bool, A, A) -> A
_==_(A, A) -> bool
_!=_(A, A) -> bool
-_(int) -> int
-_(double) -> double
_+_(list(A), list(A)) -> list(A)
_+_(timestamp, duration) -> timestamp
_+_(duration, timestamp) -> timestamp
_+_(duration, duration) -> duration
_+_(string, string) -> string
_+_(bytes, bytes) -> bytes
_-_(timestamp, timestamp) -> duration
_-_(timestamp, duration) -> timestamp
_-_(duration, duration) -> duration
_%_(int, int) -> int
_%_(uint, uint) -> uint
@in(A, list(A)) -> bool
@in(A, map(A, B)) -> bool
_[_](list(A), int) -> A
_[_](map(A, B), A) -> B
_[_](optional_type(list(A)), int) -> optional_type(A)
_[_](optional_type(map(A, B)), A) -> optional_type(B)
_[?_](list(A), int) -> optional_type(A)
_[?_](map(A, B), A) -> optional_type(B)
_[?_](optional_type(list(A)), int) -> optional_type(A)
_[?_](optional_type(map(A, B)), A) -> optional_type(B)
type(A) -> type(A)
dyn(A) -> dyn
bool(bool) -> bool
bool(string) -> bool
bytes(bytes) -> bytes
bytes(string) -> bytes
timestamp(timestamp) -> timestamp
timestamp(string) -> timestamp
timestamp(int) -> timestamp
duration(duration) -> duration
duration(string) -> duration
duration(int) -> duration
string:contains(string) -> bool
string:startsWith(string) -> bool
string:endsWith(string) -> bool
string:matches(string) -> bool
matches(string, string) -> bool
optional.of(A) -> optional_type(A)
optional.ofNonZeroValue(A) -> optional_type(A)
optional.none() -> optional_type(A)
optional_type(A):hasValue() -> bool
optional_type(A):value() -> A
optional_type(A):or(optional_type(A)) -> optional_type(A)
optional_type(A):orValue(A) -> A
optional.unwrap(list(optional_type(A))) -> list(A)
list(optional_type(A)):unwrapOpt() -> list(A)
"""
_DECLARED = (
    *_FIXED.splitlines(),
    *(f"_{sign}_({kind}, {kind}) -> {kind}" for sign in "+-*/" for kind in _NUMERIC),
    *(f"_{sign}_({kind}, {kind}) -> bool" for sign in _RELATIONS for kind in _ORDERED),
    *(
        f"_{sign}_({kind}, {other}) -> bool"
        for sign in _RELATIONS
        for kind in _NUMERIC
        for other in _NUMERIC
        if kind != other
    ),
    *(f"size({kind}) -> int" for kind in ("string", "bytes", "list(A)", "map(A, B)")),
    *(f"{kind}:size() -> int" for kind in ("string", "bytes", "list(A)", "map(A, B)")),
    *(f"int({kind}) -> int" for kind in (*_NUMERIC, "string", "timestamp", "duration")),
    *(f"{name}({kind}) -> {name}" for name in ("uint", "double") for kind in (*_NUMERIC, "string")),
    *(f"string({kind}) -> string" for kind in (*_ORDERED, "net.IP", "net.CIDR")),
    *(f"timestamp:{part}({zone}) -> int" for part in PARTS for zone in ("", "string")),
    *(f"duration:{part}() -> int" for part in PARTS[6:]),
)


# Arithmetic


def _both(left: Any, right: Any, *kinds: type) -> bool:
    return type(left) is type(right) and type(left) in kinds


def _add(left: Any, right: Any) -> Any:
    if _both(left, right, int):
        return integer(left + right)
    if _both(left, right, str, float, list, bytes, timedelta):
        return left + right
    if _both(left, right, Uint):
        return unsigned(int(left) + int(right))
    if {type(left), type(right)} == {datetime, timedelta}:
        return left + right
    raise NoOverload


def _subtract(left: Any, right: Any) -> Any:
    if _both(left, right, int):
        return integer(left - right)
    if _both(left, right, float, datetime, timedelta):
        return left - right
    if _both(left, right, Uint):
        return unsigned(int(left) - int(right))
    if isinstance(left, datetime) and isinstance(right, timedelta):
        return left - right
    raise NoOverload


def _multiply(left: Any, right: Any) -> Any:
    if _both(left, right, int):
        return integer(left * right)
    if _both(left, right, float):
        return left * right
    if _both(left, right, Uint):
        return unsigned(int(left) * int(right))
    raise NoOverload


def _quotient(left: int, right: int) -> int:
    """Towards zero."""
    found = abs(left) // abs(right)
    return found if (left < 0) == (right < 0) else -found


def _divide(left: Any, right: Any) -> Any:
    if _both(left, right, float):
        if right:
            return left / right
        return float("nan") if not left or left != left else float("inf") * (1 if left > 0 else -1)
    if not _both(left, right, int, Uint):
        raise NoOverload
    if not right:
        raise Failed("division by zero")
    return integer(_quotient(left, right)) if type(left) is int else Uint(int(left) // int(right))


def _remainder(left: Any, right: Any) -> Any:
    if not _both(left, right, int, Uint):
        raise NoOverload
    if not right:
        raise Failed("modulus by zero")
    return left - right * _quotient(left, right) if type(left) is int else Uint(int(left) % int(right))


def _negate(value: Any) -> Any:
    if type(value) is int:
        return integer(-value)
    if type(value) is float:
        return -value
    raise NoOverload


def _not(value: Any) -> bool:
    if not isinstance(value, bool):
        raise NoOverload
    return not value


# Lists and maps


def _contained(item: Any, items: Any) -> bool:
    if isinstance(items, dict):
        return isinstance(item, str | int | float) and item in items
    if isinstance(items, list):
        return any(equal(item, each) for each in items)
    raise NoOverload


def _index(value: Any, key: Any) -> Any:
    if isinstance(value, Optional):
        return _index_optional(value, key)
    if isinstance(value, list):
        if type(key) is float and key.is_integer():
            key = int(key)
        if type(key) not in (int, Uint):
            raise Failed(f"unsupported index type '{type_name(key)}' in list")
        if not 0 <= key < len(value):
            raise Failed(f"index out of bounds: {key}")
        return value[key]
    if isinstance(value, dict) and isinstance(key, str | int | float) and key in value:
        return value[key]
    raise Failed(f"no such key: {to_string(key)}")


def _index_optional(value: Any, key: Any) -> Optional:
    if isinstance(value, Optional):
        return _index_optional(value.value, key) if value.is_set else NONE
    try:
        return optional(_index(value, key))
    except Failed:
        return NONE


def _size(value: Any) -> int:
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    raise NoOverload


# Text


def _texts(does: Callable[[str, str], Any]) -> Callable[[Any, Any], Any]:
    def checked(left: Any, right: Any) -> Any:
        if isinstance(left, str) and isinstance(right, str):
            return does(left, right)
        raise NoOverload

    return checked


def _matches(text: str, pattern: str) -> bool:
    try:
        return compiled(pattern).is_in(text)
    except BadPattern as error:
        raise Failed(str(error)) from None


# Optionals


def _taken(value: Any) -> Any:
    if not isinstance(value, Optional):
        raise NoOverload
    if not value.is_set:
        raise Failed("optional.none() dereference")
    return value.value


def _has_value(value: Any) -> bool:
    if not isinstance(value, Optional):
        raise NoOverload
    return value.is_set


def _is_zero(value: Any) -> bool:
    return value is None or (not isinstance(value, datetime | Optional | TypeName) and not value)


STANDARD = Library(
    _DECLARED,
    {
        "!_": _not,
        "_==_": equal,
        "_!=_": lambda left, right: not equal(left, right),
        "_<_": lambda left, right: compared(left, right) < 0,
        "_<=_": lambda left, right: compared(left, right) <= 0,
        "_>_": lambda left, right: compared(left, right) > 0,
        "_>=_": lambda left, right: compared(left, right) >= 0,
        "_+_": _add,
        "_-_": _subtract,
        "_*_": _multiply,
        "_/_": _divide,
        "_%_": _remainder,
        "-_": _negate,
        "@in": _contained,
        "_[_]": _index,
        "_[?_]": _index_optional,
        "type": lambda value: TypeName(type_name(value)),
        "dyn": lambda value: value,
        "size": _size,
        "int": to_int,
        "uint": to_uint,
        "double": to_double,
        "string": to_string,
        "bool": to_bool,
        "bytes": to_bytes,
        "timestamp": to_timestamp,
        "duration": to_duration,
        "contains": _texts(lambda text, part: part in text),
        "startsWith": _texts(str.startswith),
        "endsWith": _texts(str.endswith),
        "matches": _texts(_matches),
        **{name: part_of(name) for name in PARTS},
        "optional.of": optional,
        "optional.ofNonZeroValue": lambda value: NONE if _is_zero(value) else optional(value),
        "optional.none": lambda: NONE,
        "hasValue": _has_value,
        "value": _taken,
        "or": lambda value, other: value if _has_value(value) else other,
        "orValue": lambda value, other: value.value if _has_value(value) else other,
        "optional.unwrap": lambda items: [each.value for each in items if each.is_set],
        "unwrapOpt": lambda items: [each.value for each in items if each.is_set],
    },
)
