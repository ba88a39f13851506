"""Types of values in CEL: how they are written in declarations and complaints, and which goes in place of which."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache

from msgspec import Struct


class Type(Struct, frozen=True):
    """A type by its name, with those it is made of; one of objects has fields as well."""

    name: str
    params: tuple[Type, ...] = ()
    fields: Mapping[str, Field] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and (self.name, self.params) == (other.name, other.params)

    def __hash__(self) -> int:
        return hash((self.name, self.params))

    def __str__(self) -> str:
        """As complaints about a whole expression write it."""
        name = "dyn" if self.name == "_" else self.name
        return name + (f"({', '.join(map(str, self.params))})" if self.params else "")

    @property
    def is_variable(self) -> bool:
        return len(self.name) == 1

    @property
    def shown(self) -> str:
        """As complaints about a part of an expression write it."""
        name = _SHORT.get(self.name, self.name)
        return name + (f"({', '.join(each.shown for each in self.params)})" if self.params else "")


class Field(Struct, frozen=True):
    """A field of an object: its name in JSON, and what it holds."""

    name: str
    type: Type


BOOL, INT, UINT, DOUBLE, STRING, BYTES, DYN = map(Type, ("bool", "int", "uint", "double", "string", "bytes", "dyn"))
NULL = Type("null_type")
TIMESTAMP, DURATION = Type("google.protobuf.Timestamp"), Type("google.protobuf.Duration")
ERROR, FREE = Type("!error!"), Type("_")
"""What could not be typed; what an empty list holds."""
_SHORT = {
    "google.protobuf.Timestamp": "timestamp",
    "google.protobuf.Duration": "duration",
    "null_type": "null",
    "_": "dyn",
}
_WRITTEN = {"timestamp": TIMESTAMP, "duration": DURATION, "null": NULL}
_WORD = re.compile(r"[\w.]+|[(),]")
_NULLABLE = ("google.protobuf.Timestamp", "google.protobuf.Duration")


def list_of(item: Type) -> Type:
    return Type("list", (item,))


def map_of(key: Type, value: Type) -> Type:
    return Type("map", (key, value))


def optional_of(inner: Type) -> Type:
    return Type("optional_type", (inner,))


@cache
def read(text: str) -> Type:
    """A type as declarations write it: `map(string, list(A))`."""
    words = _WORD.findall(text)

    def taken(at: int) -> tuple[Type, int]:
        name, at = words[at], at + 1
        params: list[Type] = []
        if at < len(words) and words[at] == "(":
            while words[at] != ")":
                inner, at = taken(at + 1)
                params.append(inner)
            at += 1
        return (_WRITTEN.get(name) or Type(name, tuple(params))), at

    return taken(0)[0]


Bound = dict[str, Type]


def fits(given: Type, wanted: Type, bound: Bound) -> bool:
    """Whether a value of a type may be given where another is wanted; finds out what its variables stand for."""
    if wanted.is_variable and wanted.name != FREE.name:
        known = bound.get(wanted.name)
        if known is None or known == FREE:
            bound[wanted.name] = given
            return True
        if given in (DYN, ERROR) or known == DYN:
            bound[wanted.name] = DYN
            return True
        if fits(given, known, bound):
            if known == NULL:
                bound[wanted.name] = given
            return True
        if fits(known, given, bound):
            bound[wanted.name] = given
            return True
        return False
    if DYN in (given, wanted) or ERROR in (given, wanted) or FREE in (given, wanted):
        return True
    if given == NULL:
        return wanted == NULL or wanted.fields is not None or "." in wanted.name or wanted.name in _NULLABLE
    if wanted == NULL:
        return given.fields is not None or "." in given.name
    if given.name != wanted.name or len(given.params) != len(wanted.params) or given.name == "type":
        return given.name == wanted.name
    return all(fits(left, right, bound) for left, right in zip(given.params, wanted.params, strict=True))


def filled(kind: Type, bound: Bound) -> Type:
    """The type with what its variables stand for."""
    if kind.is_variable and kind != FREE:
        return bound.get(kind.name, DYN)
    if not kind.params:
        return kind
    return Type(kind.name, tuple(filled(each, bound) for each in kind.params), kind.fields)


class Overload(Struct, frozen=True):
    """One way to call a function."""

    is_member: bool
    takes: tuple[Type, ...]
    returns: Type


class Library(Struct, frozen=True):
    """Functions: how they are declared, and what they do; each is one for all its overloads, the target first."""

    declared: tuple[str, ...]
    """A line each: `string:find(string) -> string` (on a string), `size(list(A)) -> int`."""
    does: Mapping[str, Callable[..., object]]

    def overloads(self) -> dict[str, list[Overload]]:
        found: dict[str, list[Overload]] = {}
        for line in filter(None, self.declared):
            name, overload = _signature(line)
            found.setdefault(name, []).append(overload)
        return found


def _signature(line: str) -> tuple[str, Overload]:
    called, _, returns = line.partition(" -> ")
    depth, opening = 0, 0
    for index in range(len(called) - 1, -1, -1):  # the bracket that the last one closes
        depth += (called[index] == ")") - (called[index] == "(")
        if not depth:
            opening = index
            break
    head, args = called[:opening], called[opening + 1 : -1]
    takes = [read(part) for part in _split(args)]
    target, sign, name = head.partition(":")
    if sign and not head.startswith("_"):  # an operator has its own
        return name, Overload(True, (read(target), *takes), read(returns))
    return head, Overload(False, tuple(takes), read(returns))


def _split(args: str) -> list[str]:
    parts, depth, last = [], 0, 0
    for index, sign in enumerate(args):
        depth += (sign == "(") - (sign == ")")
        if sign == "," and not depth:
            parts.append(args[last:index].strip())
            last = index + 1
    return [*parts, args[last:].strip()] if args.strip() else []
