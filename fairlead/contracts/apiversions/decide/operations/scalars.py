"""Operations on one scalar: another type, another word, another scale, alone or as a list of one."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import msgspec

from fairlead.contracts.apiversions.decide.operations.base import BadRule, Change, Here, NoWayBack, Op, Step, changed_at
from fairlead.contracts.apiversions.decide.trees import Absent

STRING, INTEGER, NUMBER, BOOLEAN = "string", "integer", "number", "boolean"
TYPES = (STRING, INTEGER, NUMBER, BOOLEAN)
_WORDS = {"true": True, "false": False}


class Cast(Op, frozen=True, tag="cast"):
    path: str
    to: Literal["string", "integer", "number", "boolean"]

    def step(self, here: Here) -> Step:
        return changed_at(here.pointer(self.path), cast(self.to))

    def back(self, here: Here) -> Op:
        match here.type_at(here.before(self.path)):
            case "string" | "integer" | "number" | "boolean" as before:
                return Cast(self.path, before)
        raise NoWayBack(f"what is at {self.path} is not of one type in the schema, so it cannot be cast back")


class MapValues(Op, frozen=True, tag="mapValues"):
    path: str
    table: dict[str, Any]
    """Keys are texts of scalars."""
    otherwise: Literal["keep", "drop"] = "keep"

    def step(self, here: Here) -> Step:
        return changed_at(here.pointer(self.path), mapped(self.table, keeps=self.otherwise == "keep"))

    def back(self, here: Here) -> Op:
        """Which scalars the keys of the table were, the schema says."""
        kind = here.type_at(here.before(self.path))
        back = {text_of(value): self._scalar(name, kind) for name, value in self.table.items()}
        if len(back) != len(self.table):
            raise NoWayBack(f"mapValues at {self.path} gives one value for two: write fromHub")
        return MapValues(self.path, back, self.otherwise)

    def _scalar(self, name: str, kind: str) -> Any:
        found = cast(kind)(name) if kind in TYPES else name
        if found is Absent:
            raise NoWayBack(f"mapValues at {self.path} has the key {name}, which is no {kind} as the schema wants it")
        return found


class Scale(Op, frozen=True, tag="scale"):
    path: str
    by: int | float
    divides: bool = False

    def step(self, here: Here) -> Step:
        if not self.by:
            raise BadRule(f"scale at {self.path} is by 0, from which nothing comes back")
        factor = Fraction(str(self.by))
        is_integer = here.type_at(here.after(self.path)) == INTEGER
        change = scaled(1 / factor if self.divides else factor, is_integer=is_integer)
        return changed_at(here.pointer(self.path), change)

    def back(self, _: Here) -> Op:
        return Scale(self.path, self.by, not self.divides)


class Wrap(Op, frozen=True, tag="wrap"):
    path: str

    def step(self, here: Here) -> Step:
        return changed_at(here.pointer(self.path), lambda value: [value])

    def back(self, _: Here) -> Op:
        return Unwrap(self.path)


class Unwrap(Op, frozen=True, tag="unwrap"):
    """The first of a list; the rest is carried."""

    path: str

    def step(self, here: Here) -> Step:
        return changed_at(
            here.pointer(self.path), lambda value: value[0] if isinstance(value, list) and value else Absent
        )

    def back(self, _: Here) -> Op:
        return Wrap(self.path)


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else Absent


def kind_of(value: Any) -> str:
    """The JSON type of a scalar; empty for anything else."""
    match value:
        case bool():
            return BOOLEAN
        case int():
            return INTEGER
        case float():
            return NUMBER
        case str():
            return STRING
    return ""


def cast(to: str) -> Change:
    def change(value: Any) -> Any:
        kind = kind_of(value)
        if kind == to or (to == NUMBER and kind == INTEGER):
            return value
        if to == STRING:
            return msgspec.json.encode(value).decode() if kind else Absent
        if kind == STRING:
            return _read(value, to)
        if to == INTEGER and kind == NUMBER and value.is_integer():
            return int(value)
        return Absent

    return change


def _read(text: str, to: str) -> Any:
    if to == BOOLEAN:
        return _WORDS.get(text, Absent)
    try:
        found = msgspec.json.decode(text.encode())
    except (msgspec.DecodeError, UnicodeError):
        return Absent
    kind = kind_of(found)
    is_wanted = kind == INTEGER or (to == NUMBER and kind == NUMBER)
    return found if is_wanted and text == text.strip() else Absent


def text_of(value: Any) -> str:
    """A scalar as a table names it: a string is its own text, the others are their JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def mapped(table: Mapping[str, Any], *, keeps: bool) -> Change:
    """By the texts of scalars; `keeps` those that the table does not have."""

    def change(value: Any) -> Any:
        if not kind_of(value):
            return value if keeps else Absent
        return table.get(text_of(value), value if keeps else Absent)

    return change


def scaled(by: Fraction, *, is_integer: bool) -> Change:
    """`is_integer`: the other version has no fractions there."""

    def change(value: Any) -> Any:
        kind = kind_of(value)
        if kind not in (INTEGER, NUMBER):
            return Absent
        made = Fraction(Decimal(repr(value))) * by
        if made.denominator == 1 and (kind == INTEGER or is_integer):
            return int(made)
        return Absent if is_integer else float(made)

    return change
