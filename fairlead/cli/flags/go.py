"""Flags as Go's `flag` package reads them, for process names whose contract has such flags.

One dash or two; `-f=v` or `-f v`; a boolean is set by its name alone and unset only by `-b=false`; `--` or the first
word that is no flag ends the flags. Parsing is a function: what should be printed and with which code to leave is
raised as `Leave`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairlead.cli import exits
from fairlead.cli.flags.leave import Leave
from fairlead.core.flags import Flag, FlagError, Given
from fairlead.core.go_flag_kinds import STRING, quoted

if TYPE_CHECKING:
    from fairlead.engine.program import Program


def given(program: Program, words: Sequence[str], _: Mapping[str, str]) -> Given:
    """What the command line gives; raises Leave. Variables are none of this dialect's."""
    return parse(program.name, program.flags, words)


def parsed(program: Program, words: Sequence[str]) -> Given:
    """What the words alone give; raises FlagError."""
    try:
        return parse(program.name, program.flags, words)
    except Leave as leave:
        raise FlagError(leave.text.partition("\n")[0]) from leave


def refused(_: Program, error: FlagError) -> Leave:
    """How the process ends whose flags do not fit each other."""
    return Leave(exits.ERROR, str(error))


def parse(process: str, flags: Sequence[Flag[Any]], arguments: Sequence[str]) -> Given:
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
    return Given(values, prefix="-", rest=tuple(left))


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
    if not flag.kind.word:
        _read_bool(flag, value if equals else "true", values)
        return
    if not equals:
        if not left:
            raise ValueError(f"flag needs an argument: -{name}")
        value = left.pop(0)
    try:
        values[name] = flag.kind.read((value,))
    except ValueError as error:
        raise ValueError(f"invalid value {quoted(value)} for flag -{name}: {error}") from error


def _read_bool(flag: Flag[bool], value: str, values: dict[str, object]) -> None:
    try:
        values[flag.name] = flag.kind.read((value,))
    except ValueError as error:
        raise ValueError(f"invalid boolean value {quoted(value)} for -{flag.name}: {error}") from error


def usage(process: str, flags: Sequence[Flag[Any]]) -> str:
    """What Go prints: every flag by name, its default unless that is the zero of its type."""
    lines = [f"Usage of {process}:"]
    for flag in sorted(flags, key=lambda flag: flag.name):
        word = f" {flag.kind.word}" if flag.kind.word else ""
        default = ""
        if flag.default != flag.kind.zero:
            shown = flag.kind.show(flag.default)
            default = f" (default {quoted(shown) if flag.kind is STRING else shown})"
        lines.append(f"  -{flag.name}{word}\n    \t{flag.usage}{default}")
    return "\n".join(lines)
