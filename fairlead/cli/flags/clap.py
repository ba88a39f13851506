"""Flags as clap reads them: on the command line, as variables, or in a file's section.

`--flag value` or `--flag=value`; a boolean is set by its name alone, or by `--flag=true` and `=false`; what may have
several values is repeated. A variable, and a key of a section, is the flag by another name, read by the same functions.
The first mistake is raised as a FlagError, one sentence that names its place and says what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from fairlead import __version__
from fairlead.cli import exits
from fairlead.cli.flags.leave import Leave
from fairlead.core.flags import Flag, FlagError, Given, meant

if TYPE_CHECKING:
    from fairlead.engine.program import Program

T = TypeVar("T")


def given(program: Program, words: Sequence[str], variables: Mapping[str, str]) -> Given:
    """What command line and variables give; raises Leave for what is only to be told, and FlagError."""
    if "--help" in words or "-h" in words:
        raise Leave(exits.OK, usage(program.name, program.flags, program.variables), is_asked_for=True)
    if "--version" in words or "-V" in words:
        raise Leave(exits.OK, f"{program.name} {__version__}", is_asked_for=True)
    return parse(program.name, program.flags, words, variables, program.variables)


def parsed(program: Program, words: Sequence[str]) -> Given:
    """What the words alone give; raises FlagError."""
    return parse(program.name, program.flags, words, {}, program.variables)


def refused(program: Program, error: FlagError) -> Leave:
    """How the process ends whose flags are wrong."""
    return Leave(exits.USAGE, f"{program.name}: {error}")


def parse(
    process: str, flags: Sequence[Flag[Any]], words: Sequence[str], variables: Mapping[str, str], prefix: str
) -> Given:
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
    return _complete(flags, Given(values, places))


def parse_section(
    flags: Sequence[Flag[Any]],
    section: Mapping[str, object],
    place_of: Callable[[str], str],
    defaults: Mapping[str, object],
    *,
    nulls: bool = True,
) -> Given:
    """A section of a file; `place_of` names a key in sentences. A null counts as not given, if nulls may be there."""
    known = {flag.name: flag for flag in flags}
    values: dict[str, object] = {}
    places: dict[str, str] = {}
    for key, value in section.items():
        flag = known.get(key)
        place = place_of(key)
        if flag is None:
            raise FlagError(f"{place} is unknown{meant(key, known)}: remove it or correct its name")
        if value is None and nulls:
            continue
        places[key] = place
        try:
            texts = flag.kind.written(value)
        except ValueError as error:
            raise FlagError(f"{place} {error}") from error
        values[key] = _read(flag, texts, place)
    return _complete(flags, Given(values, places, place_of(""), defaults))


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


def _complete(flags: Sequence[Flag[Any]], parsed: Given) -> Given:
    for flag in flags:
        if flag.needed and not parsed.has(flag) and flag.name not in parsed.defaults:
            raise FlagError(f"{parsed.place(flag)} is missing: set it to {flag.needed}")
    return parsed


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
