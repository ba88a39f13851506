"""Kinds of values as Go's `flag` package reads and prints them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import TypeVar

from fairlead.core.flags import FlagKind
from kubeloop.durations import format_go, parse_go, parse_prometheus

T = TypeVar("T")

TRUE = ("1", "t", "T", "true", "TRUE", "True")
FALSE = ("0", "f", "F", "false", "FALSE", "False")

_INT = re.compile(r"[+-]?(0[xX](_?[0-9a-fA-F])+|0[bB](_?[01])+|0[oO]?(_?[0-7])+|[1-9](_?[0-9])*|0)")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_HEXADECIMAL = re.compile(r"[+-]?0[xX](_?[0-9a-fA-F]+(_[0-9a-fA-F]+)*\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+")
_ENDLESS = re.compile(r"[+-]?inf(inity)?|nan", re.IGNORECASE)


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


def _show_list(value: tuple[str, ...]) -> str:
    return ",".join(value)


def _list(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (word.strip() for word in text.split(","))))


def _show_prometheus(seconds: float) -> str:
    """The largest unit that divides it, which is how defaults are written: 1y, 30d, 20s."""
    sizes = (("y", 31536000), ("w", 604800), ("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
    return next((f"{round(seconds / size)}{unit}" for unit, size in sizes if seconds % size == 0), f"{seconds}s")


def _show_bool(value: bool) -> str:
    return "true" if value else "false"


def quoted(text: str) -> str:
    """As Go prints a text in a message."""
    return json.dumps(text, ensure_ascii=False)


def _kind(word: str, read: Callable[[str], T], show: Callable[[T], str], zero: T) -> FlagKind[T]:
    """The last of several values counts."""
    return FlagKind(word, lambda texts: read(texts[-1]), show, zero=zero)


BOOL: FlagKind[bool] = _kind("", _bool, _show_bool, zero=False)
STRING: FlagKind[str] = _kind("string", str, str, zero="")
INT: FlagKind[int] = _kind("int", _int, str, zero=0)
FLOAT: FlagKind[float] = _kind("float", _float, "{:g}".format, zero=0.0)
DURATION: FlagKind[float] = _kind("duration", _duration, format_go, zero=0.0)
PROMETHEUS: FlagKind[float] = _kind("value", parse_prometheus, _show_prometheus, zero=0.0)
LIST: FlagKind[tuple[str, ...]] = _kind("value", _list, _show_list, zero=())
