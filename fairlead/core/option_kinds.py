"""Kinds of values of our own options: texts, durations and switches, in words or in a section of a file."""

from __future__ import annotations

from math import inf

from fairlead.core.flag_kinds import BOOL
from fairlead.core.flags import FlagKind
from kubeloop.durations import parse_go


def _option(texts: tuple[str, ...]) -> str:
    return texts[-1]


def _written_option(value: object) -> tuple[str, ...]:
    if not isinstance(value, str):
        raise ValueError("is of the wrong kind: write a text, in quotes where YAML needs them")  # noqa: TRY004
    return (value,)


def _written_duration(value: object) -> tuple[str, ...]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise ValueError(f"is {value}: write a duration such as {value}s")  # noqa: TRY004
    return _written_option(value)


def _written_switch(value: object) -> tuple[str, ...]:
    if not isinstance(value, bool):
        raise ValueError("is of the wrong kind: write true or false")  # noqa: TRY004
    return (str(value).lower(),)


def option(word: str) -> FlagKind[str]:
    """A text of our own options, which may be empty."""
    return FlagKind(word, _option, str, _written_option)


def seconds_of(place: str, text: str, *, positive: bool = False) -> float:
    """Of a duration among our own options; ValueError is the whole sentence."""
    try:
        seconds = parse_go(text)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from error
    if seconds < 0 or (positive and not seconds):
        raise ValueError(f"{place} is {text}: set it to {'a time longer than 0s' if positive else '0s or longer'}")
    return seconds


def _real(texts: tuple[str, ...]) -> float:
    try:
        number = float(texts[-1])
    except ValueError:
        number = -1.0
    if not 0 <= number < inf:
        raise ValueError(f'is "{texts[-1]}": set it to a number of 0 or more')
    return number


def _written_number(value: object) -> tuple[str, ...]:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("is no number: set it to one of 0 or more")  # noqa: TRY004
    return (str(value),)


NUMBER: FlagKind[float] = FlagKind("NUMBER", _real, "{:g}".format, _written_number)
DURATION: FlagKind[str] = FlagKind("DURATION", _option, str, _written_duration)
CHOICE: FlagKind[bool] = FlagKind(
    "true|false", BOOL.read, lambda value: str(value).lower(), _written_switch, alone="true"
)
"""A switch that may be on already."""
SWITCH: FlagKind[bool] = FlagKind("", BOOL.read, BOOL.show, _written_switch)
