"""Flags as Go's `flag` package reads them, for process names whose contract has such flags.

One dash or two; `-f=v` or `-f v`; a boolean is set by its name alone and unset only by `-b=false`; `--` or the first
word that is no flag ends the flags. Parsing is a function: what should be printed and with which code to leave is
raised as `Leave`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kubeloop.durations import format_go, parse_go, parse_prometheus

T = TypeVar("T")

TRUE = ("1", "t", "T", "true", "TRUE", "True")
FALSE = ("0", "f", "F", "false", "FALSE", "False")

_INT = re.compile(r"[+-]?(0[xX](_?[0-9a-fA-F])+|0[bB](_?[01])+|0[oO]?(_?[0-7])+|[1-9](_?[0-9])*|0)")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_HEXADECIMAL = re.compile(r"[+-]?0[xX](_?[0-9a-fA-F]+(_[0-9a-fA-F]+)*\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+")
_ENDLESS = re.compile(r"[+-]?inf(inity)?|nan", re.IGNORECASE)


class Leave(Exception):
    """The process is to print this on stderr and to exit with the code."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


@dataclass(frozen=True)
class Kind(Generic[T]):
    """How values of a type are read and printed; `word` names the value in the usage text."""

    word: str
    read: Callable[[str], T]
    show: Callable[[T], str]
    zero: T


@dataclass(frozen=True)
class Flag(Generic[T]):
    name: str
    kind: Kind[T]
    default: T
    usage: str


@dataclass(frozen=True)
class Parsed:
    """Values by flag, which flags were given, and the words after the flags."""

    values: dict[str, object]
    given: frozenset[str]
    rest: tuple[str, ...]

    def __getitem__(self, flag: Flag[T]) -> T:
        value: Any = self.values.get(flag.name, flag.default)
        return value  # type: ignore[no-any-return]

    def has(self, flag: Flag[Any]) -> bool:
        """Whether the flag was given, be it with its default value."""
        return flag.name in self.given


def parse(process: str, flags: Sequence[Flag[Any]], arguments: Sequence[str]) -> Parsed:
    """The flags of the command line; raises Leave for a mistake (2, message and usage) and for help (0, usage)."""
    known = {flag.name: flag for flag in flags}
    left = list(arguments)
    values: dict[str, object] = {}
    try:
        while left and len(left[0]) > 1 and left[0].startswith("-"):
            word = left.pop(0)
            if word == "--":
                break
            _read_one(word, left, known, values)
    except _Help:
        raise Leave(0, usage(process, flags)) from None
    except ValueError as error:
        raise Leave(2, f"{error}\n{usage(process, flags)}") from None
    return Parsed(values, frozenset(values), tuple(left))


class _Help(Exception):
    pass


def _read_one(word: str, left: list[str], known: dict[str, Flag[Any]], values: dict[str, object]) -> None:
    body = word[2:] if word.startswith("--") else word[1:]
    if body[:1] in ("", "-", "="):
        raise ValueError(f"bad flag syntax: {word}")
    name, equals, value = body.partition("=")
    flag = known.get(name)
    if flag is None:
        if name in ("h", "help"):
            raise _Help
        raise ValueError(f"flag provided but not defined: -{name}")
    if flag.kind is BOOL:
        _read_bool(flag, value if equals else "true", values)
        return
    if not equals:
        if not left:
            raise ValueError(f"flag needs an argument: -{name}")
        value = left.pop(0)
    try:
        values[name] = flag.kind.read(value)
    except ValueError as error:
        raise ValueError(f"invalid value {_quoted(value)} for flag -{name}: {error}") from error


def _read_bool(flag: Flag[bool], value: str, values: dict[str, object]) -> None:
    try:
        values[flag.name] = flag.kind.read(value)
    except ValueError as error:
        raise ValueError(f"invalid boolean value {_quoted(value)} for -{flag.name}: {error}") from error


def usage(process: str, flags: Sequence[Flag[Any]]) -> str:
    """What Go prints: every flag by name, its default unless that is the zero of its type."""
    lines = [f"Usage of {process}:"]
    for flag in sorted(flags, key=lambda flag: flag.name):
        word = f" {flag.kind.word}" if flag.kind.word else ""
        default = ""
        if flag.default != flag.kind.zero:
            shown = flag.kind.show(flag.default)
            default = f" (default {_quoted(shown) if flag.kind is STRING else shown})"
        lines.append(f"  -{flag.name}{word}\n    \t{flag.usage}{default}")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _bool(text: str) -> bool:
    if text not in TRUE + FALSE:
        raise ValueError("parse error")
    return text in TRUE


def _int(text: str) -> int:
    """Base by prefix: 0x, 0o or a bare 0, 0b, else ten."""
    if not _INT.fullmatch(text):
        raise ValueError("parse error")
    octal = re.fullmatch(r"([+-]?)0_?([0-7_]+)", text)
    value = int(octal[1] + octal[2].replace("_", ""), 8) if octal else _int_by_prefix(text)
    if not -(2**63) <= value < 2**63:
        raise ValueError("value out of range")
    return value


def _int_by_prefix(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError as error:  # Python converts no more than some thousands of digits
        raise ValueError("value out of range") from error


def _float(text: str) -> float:
    if _ENDLESS.fullmatch(text):
        return float(text)
    if _DECIMAL.fullmatch(text):
        value = float(text)
    elif _HEXADECIMAL.fullmatch(text):
        value = _hexadecimal(text.replace("_", ""))
    else:
        raise ValueError("parse error")
    if math.isinf(value):
        raise ValueError("value out of range")
    return value


def _hexadecimal(text: str) -> float:
    try:
        return float.fromhex(text)
    except OverflowError:
        return math.inf


def _duration(text: str) -> float:
    try:
        return parse_go(text)
    except ValueError as error:
        raise ValueError("parse error") from error


def _show_bool(value: bool) -> str:
    return "true" if value else "false"


def _show_list(value: tuple[str, ...]) -> str:
    return ",".join(value)


def _list(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (word.strip() for word in text.split(","))))


def _show_prometheus(seconds: float) -> str:
    """The largest unit that divides it, which is how defaults are written: 1y, 30d, 20s."""
    sizes = (("y", 31536000), ("w", 604800), ("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
    return next((f"{round(seconds / size)}{unit}" for unit, size in sizes if seconds % size == 0), f"{seconds}s")


BOOL: Kind[bool] = Kind("", _bool, _show_bool, zero=False)
STRING: Kind[str] = Kind("string", str, str, zero="")
INT: Kind[int] = Kind("int", _int, str, zero=0)
FLOAT: Kind[float] = Kind("float", _float, "{:g}".format, zero=0.0)
DURATION: Kind[float] = Kind("duration", _duration, format_go, zero=0.0)
PROMETHEUS: Kind[float] = Kind("value", parse_prometheus, _show_prometheus, zero=0.0)
LIST: Kind[tuple[str, ...]] = Kind("value", _list, _show_list, zero=())
