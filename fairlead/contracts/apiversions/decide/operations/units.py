"""Operations on texts with units: durations and quantities as whole numbers, and back."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

from fairlead.contracts.apiversions.decide.operations.base import BadRule, Change, Here, Op, Step, changed_at
from fairlead.contracts.apiversions.decide.operations.scalars import INTEGER, kind_of
from fairlead.contracts.apiversions.decide.trees import Absent
from kubeloop import durations, quantities

DURATION_UNITS = {"ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000, "h": 3_600_000_000_000}
"""In nanoseconds."""
_SMALLER = {"us": 1_000, "ns": 1}
QUANTITY_UNITS = ("", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


class Duration(Op, frozen=True, tag="duration"):
    path: str
    unit: Literal["ms", "s", "m", "h"]
    to_text: bool = False
    """From a number to a text."""

    def step(self, here: Here) -> Step:
        return changed_at(here.pointer(self.path), from_units(self.unit) if self.to_text else to_units(self.unit))

    def back(self, _: Here) -> Op:
        return Duration(self.path, self.unit, not self.to_text)


class Quantity(Op, frozen=True, tag="quantity"):
    path: str
    unit: str
    to_text: bool = False
    """As of a Duration."""

    def step(self, here: Here) -> Step:
        if self.unit not in QUANTITY_UNITS:
            units = ", ".join(QUANTITY_UNITS[1:])
            raise BadRule(
                f'quantity at {self.path} has the unit "{self.unit}": leave it empty, or write one of {units}'
            )
        change = from_quantity_units(self.unit) if self.to_text else to_quantity_units(self.unit)
        return changed_at(here.pointer(self.path), change)

    def back(self, _: Here) -> Op:
        return Quantity(self.path, self.unit, not self.to_text)


def to_units(unit: str) -> Change:
    """A Go duration as a whole number of units."""

    def change(value: Any) -> Any:
        try:
            nanoseconds = durations.go_nanoseconds(value) if isinstance(value, str) else None
        except ValueError:
            nanoseconds = None
        if nanoseconds is None or nanoseconds % DURATION_UNITS[unit]:
            return Absent
        return nanoseconds // DURATION_UNITS[unit]

    return change


def from_units(unit: str) -> Change:
    def change(value: Any) -> Any:
        if kind_of(value) != INTEGER:
            return Absent
        text = shortest_duration(value * DURATION_UNITS[unit])
        try:
            durations.go_nanoseconds(text)
        except ValueError:  # longer than Go's durations last
            return Absent
        return text

    return change


def shortest_duration(nanoseconds: int) -> str:
    """The shortest text that Go reads as this; of several, the one with the largest units."""
    if not nanoseconds:
        return "0s"
    sign, left = ("-" if nanoseconds < 0 else ""), abs(nanoseconds)
    parts = []
    for name, size in (*reversed(DURATION_UNITS.items()), *_SMALLER.items()):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count}{name}")
    texts = ["".join(parts)]
    for name, size in DURATION_UNITS.items():
        whole, rest = divmod(abs(nanoseconds), size)
        if not rest:
            texts.append(f"{whole}{name}")
    return sign + min(texts, key=len)


def to_quantity_units(unit: str) -> Change:
    one = quantities.number(f"1{unit}")

    def change(value: Any) -> Any:
        text = str(value) if kind_of(value) == INTEGER else value
        if not isinstance(text, str):
            return Absent
        try:
            number = quantities.number(text)
        except ValueError:
            return Absent
        found = Fraction(number) / Fraction(one)
        return int(found) if found.denominator == 1 else Absent

    return change


def from_quantity_units(unit: str) -> Change:
    def change(value: Any) -> Any:
        if kind_of(value) != INTEGER:
            return Absent
        return quantities.canonical(f"{value}{unit}")

    return change
