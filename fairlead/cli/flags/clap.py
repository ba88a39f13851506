"""Flags as the environment contract's process takes them: on the command line, as variables, or in a file's section.

`--flag value` or `--flag=value`; a boolean is set by its name alone, or by `--flag=true` and `=false`; what may have
several values is repeated. A variable, and a key of a section, is the flag by another name, read by the same functions.
The first mistake is raised as a FlagError, one sentence that names its place and says what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

T = TypeVar("T")

FALSE = ("false", "f", "no", "n", "off", "0")
TRUE = ("true", "t", "yes", "y", "on", "1")


class FlagError(ValueError):
    """One sentence about what was given."""


@dataclass(frozen=True)
class Kind(Generic[T]):
    """How the values of a flag are read and shown."""

    word: str
    """What the usage calls the value; empty for a boolean."""
    read: Callable[[tuple[str, ...]], T]
    """Of all that was given, in order; ValueError is what follows the name of the flag in the sentence."""
    show: Callable[[T], str]
    """For the usage; empty: there is nothing to show."""
    written: Callable[[object], tuple[str, ...]]
    """The same words for a value of a file; ValueError as above."""
    split: Callable[[str], tuple[str, ...]] = lambda text: (text,)
    """The values in a variable."""
    repeats: bool = False


@dataclass(frozen=True)
class Flag(Generic[T]):
    name: str
    kind: Kind[T]
    default: T
    usage: str
    needed: str = ""
    """Of a flag that must be given: what to set it to."""

    def variable(self, prefix: str) -> str:
        return prefix + self.name.upper().replace("-", "_")


@dataclass(frozen=True)
class Parsed:
    """Values by flag, and where each was given."""

    values: Mapping[str, object]
    places: Mapping[str, str]
    prefix: str = "--"
    """Before the name of a flag that was not given."""
    defaults: Mapping[str, object] = field(default_factory=dict)
    """Instead of a flag's own."""

    def __getitem__(self, flag: Flag[T]) -> T:
        value: Any = self.values.get(flag.name, self.defaults.get(flag.name, flag.default))
        return value  # type: ignore[no-any-return]

    def has(self, flag: Flag[Any]) -> bool:
        return flag.name in self.values

    def place(self, flag: Flag[Any]) -> str:
        """What the user calls this flag: where it was given, or where it would be."""
        return self.places.get(flag.name, f"{self.prefix}{flag.name}")


def parse(
    process: str, flags: Sequence[Flag[Any]], words: Sequence[str], variables: Mapping[str, str], prefix: str
) -> Parsed:
    """The command line, which wins, over the variables whose names begin with the prefix; empty ones do not count."""
    given = _collected(process, {flag.name: flag for flag in flags}, list(words))
    values: dict[str, object] = {}
    places: dict[str, str] = {}
    for flag in flags:
        variable = flag.variable(prefix)
        if flag.name in given:
            places[flag.name], texts = f"--{flag.name}", tuple(given[flag.name])
        elif variables.get(variable):
            places[flag.name], texts = variable, flag.kind.split(variables[variable])
        else:
            continue
        values[flag.name] = _read(flag, texts, places[flag.name])
    return _complete(flags, Parsed(values, places))


def parse_section(
    flags: Sequence[Flag[Any]], section: Mapping[str, object], prefix: str, defaults: Mapping[str, object]
) -> Parsed:
    """A section of a file; `prefix` comes before the keys in sentences. A null counts as not given."""
    known = {flag.name: flag for flag in flags}
    values: dict[str, object] = {}
    places: dict[str, str] = {}
    for key, value in section.items():
        flag = known.get(key)
        if flag is None:
            raise FlagError(f"{prefix}{key} is unknown{meant(key, known)}: remove it or correct its name")
        if value is None:
            continue
        place = places[key] = f"{prefix}{key}"
        try:
            texts = flag.kind.written(value)
        except ValueError as error:
            raise FlagError(f"{place} {error}") from error
        values[key] = _read(flag, texts, place)
    return _complete(flags, Parsed(values, places, prefix, defaults))


def _collected(process: str, known: Mapping[str, Flag[Any]], left: list[str]) -> dict[str, list[str]]:
    given: dict[str, list[str]] = {}
    while left:
        word = left.pop(0)
        # What is no flag is not repeated in the message: it may be half of a secret that was not quoted.
        if not word.startswith("--") or word == "--":
            raise FlagError(
                f"a word that belongs to no flag follows {_last(given, process)}: remove it, or put a value with"
                f" spaces in quotes; `{process} --help` lists the flags"
            )
        name, equals, value = word[2:].partition("=")
        flag = known.get(name)
        if flag is None:
            raise FlagError(f"unknown flag --{name}{meant(name, known)}; `{process} --help` lists the flags")
        if not equals:
            value = _next(flag, left)
        texts = given.setdefault(name, [])
        if texts and not flag.kind.repeats:
            raise FlagError(f"--{name} is given more than once: give it once")
        texts.append(value)
    return given


def _last(given: Mapping[str, object], process: str) -> str:
    return f"--{list(given)[-1]}" if given else process


def _next(flag: Flag[Any], left: list[str]) -> str:
    if not flag.kind.word:
        return "true"
    if not left or left[0].startswith("-"):
        raise FlagError(f"--{flag.name} has no value: write --{flag.name}=VALUE")
    return left.pop(0)


def _read(flag: Flag[T], texts: tuple[str, ...], place: str) -> T:
    try:
        return flag.kind.read(texts)
    except ValueError as error:
        raise FlagError(f"{place} {error}") from error


def _complete(flags: Sequence[Flag[Any]], parsed: Parsed) -> Parsed:
    for flag in flags:
        if flag.needed and not parsed.has(flag) and flag.name not in parsed.defaults:
            raise FlagError(f"{parsed.place(flag)} is missing: set it to {flag.needed}")
    return parsed


def meant(name: str, known: Iterable[str]) -> str:
    """` (did you mean x?)`, or nothing where nothing is near."""
    from difflib import get_close_matches

    close = get_close_matches(name, list(known), 1)
    return f" (did you mean {close[0]}?)" if close else ""


def usage(process: str, flags: Sequence[Flag[Any]], prefix: str) -> str:
    """Every flag with its default, and how it is called as a variable."""
    lines = [
        f"usage: {process} [--flag value]...",
        "",
        f"A flag may be a variable instead, as in {flags[0].variable(prefix)} for --{flags[0].name}; the flag wins.",
        "",
        "flags:",
    ]
    for flag in flags:
        word = f" {flag.kind.word}" if flag.kind.word else ""
        several = "..." if flag.kind.repeats else ""
        lines += [f"  --{flag.name}{word}{several}", f"      {flag.usage}{_default(flag)}"]
    return "\n".join(lines)


def _default(flag: Flag[Any]) -> str:
    if flag.needed:
        return " Required."
    shown = flag.kind.show(flag.default)
    return f" (default {shown})" if shown else ""
