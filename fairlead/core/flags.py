"""Flags as values: what a process or a command can be told, by name, with the kind of its values and a default.

A contract declares its flags once, in a table. How they are written is a dialect's: Go's `flag` package, clap, our own
options, or a section of a file. Whatever the dialect, values come out as Given, and a mistake is a FlagError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")


class FlagError(ValueError):
    """One sentence about what was given."""


def as_text(value: object) -> tuple[str, ...]:
    if not isinstance(value, str):
        raise ValueError("is no text: put it in quotes")  # noqa: TRY004  all mistakes of a user are ValueErrors here
    return (value,)


class FlagKind(Struct, Generic[T], frozen=True):
    """How the values of a flag are read and shown."""

    word: str
    """What the usage calls the value; empty for a boolean."""
    read: Callable[[tuple[str, ...]], T]
    """Of all that was given, in order; ValueError is what follows the name of the flag in the sentence."""
    show: Callable[[T], str]
    """For the usage; empty: there is nothing to show."""
    written: Callable[[object], tuple[str, ...]] = as_text
    """The same words for a value of a file; ValueError as above."""
    split: Callable[[str], tuple[str, ...]] = lambda text: (text,)
    """The values in a variable."""
    repeats: bool = False
    alone: str = ""
    """What the name of the flag says without a value; empty: it needs one, or takes none."""
    zero: T | None = None
    """In dialects whose types have one: a default that need not be shown."""


class Flag(Struct, Generic[T], frozen=True):
    name: str
    kind: FlagKind[T]
    default: T
    usage: str
    needed: str = ""
    """Of a flag that must be given: what to set it to."""

    def variable(self, prefix: str) -> str:
        return prefix + self.name.upper().replace("-", "_")


class Given(Struct, frozen=True):
    """Values by flag, and where each was given."""

    values: Mapping[str, object]
    places: Mapping[str, str] = {}
    prefix: str = "--"
    """Before the name of a flag that was not given."""
    defaults: Mapping[str, object] = {}
    """Instead of a flag's own."""
    rest: tuple[str, ...] = ()
    """The words after the flags, where the dialect has such."""

    def __getitem__(self, flag: Flag[T]) -> T:
        value: Any = self.values.get(flag.name, self.defaults.get(flag.name, flag.default))
        return value  # type: ignore[no-any-return]

    def has(self, flag: Flag[Any]) -> bool:
        """Whether the flag was given, be it with its default value."""
        return flag.name in self.values

    def place(self, flag: Flag[Any]) -> str:
        """What the user calls this flag: where it was given, or where it would be."""
        return self.places.get(flag.name, f"{self.prefix}{flag.name}")


def meant(name: str, known: Iterable[str]) -> str:
    """` (did you mean x?)`, or nothing where nothing is near."""
    close = get_close_matches(name, list(known), 1)
    return f" (did you mean {close[0]}?)" if close else ""
