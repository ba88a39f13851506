"""Flags as options of our own commands: `--name VALUE`, in words of the command line, or in a section of its file.

What the command line leaves open the section says, and what both leave open is the flag's default.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from fairlead.cli.flags.clap import parse, parse_section
from fairlead.core.flags import Flag, FlagError, Given

OF_SERVICES = ("tcp://", "udp://", "sctp://")
"""How variables begin that kubelets set for Services: that of `fairlead-webhook` is FAIRLEAD_WEBHOOK_PORT."""


def add(parser: argparse._ActionsContainer, flags: Sequence[Flag[Any]]) -> None:
    """Adds those that are not there yet; what is not given is None afterwards."""
    for flag in flags:
        name = f"--{flag.name}"
        if name in parser._option_string_actions:  # noqa: SLF001  argparse shows them nowhere else
            continue
        if not flag.kind.word:
            parser.add_argument(name, action="store_true", default=None, help=flag.usage)
        elif flag.kind.alone:
            word, alone = flag.kind.word, flag.kind.alone
            parser.add_argument(name, metavar=word, nargs="?", const=alone, default=None, help=flag.usage)
        else:
            action = "append" if flag.kind.repeats else "store"
            parser.add_argument(name, metavar=flag.kind.word, action=action, default=None, help=flag.usage)


def says_something(arguments: argparse.Namespace, flag: Flag[Any]) -> bool:
    """Whether it is given, and not as an empty text, which is what a variable that is not set leaves."""
    return bool(_value(arguments, flag))


def given(arguments: argparse.Namespace, flags: Sequence[Flag[Any]]) -> Given:
    """What the command line says; raises FlagError."""
    values: dict[str, object] = {}
    for flag in flags:
        value = _value(arguments, flag)
        if value is not None:
            values[flag.name] = _read(flag, value)
    return Given(values)


def given_in_variables(flags: Sequence[Flag[Any]], variables: Mapping[str, str], prefix: str) -> Given:
    """What variables say whose names begin with the prefix; empty ones say nothing. Raises FlagError."""
    ours = {name: value for name, value in variables.items() if not value.startswith(OF_SERVICES)}
    return parse("", flags, (), ours, prefix)


def given_in_section(flags: Sequence[Flag[Any]], section: Mapping[str, object], part: str, file: str) -> Given:
    """What the section of a part says, in a file; raises FlagError."""
    found = parse_section(flags, section, lambda key: f"{part}.{key} of {file}", {}, nulls=False)
    return Given(found.values)


def over(first: Given, second: Given) -> Given:
    """What both say; the first wins."""
    places = {name: place for name, place in second.places.items() if name not in first.values}
    return Given({**second.values, **first.values}, {**places, **first.places})


def _value(arguments: argparse.Namespace, flag: Flag[Any]) -> Any:
    return getattr(arguments, flag.name.replace("-", "_"))


def _read(flag: Flag[Any], value: object) -> object:
    texts = tuple(value) if isinstance(value, list) else (str(value).lower() if value is True else str(value),)
    try:
        return flag.kind.read(texts)
    except ValueError as error:
        raise FlagError(f"--{flag.name} {error}") from error
