"""Values as YAML in block style, at a column of a text that is there already."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import yaml
from msgspec import Struct

from fairlead.contracts.apiversions.decide.pointers import Place
from fairlead.engine.object_files import kind_of_scalar


class Leaf(Struct, frozen=True):
    """A value as it stood elsewhere in the text, with the comments that go with it."""

    text: str
    above: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()


Leaves: TypeAlias = Callable[[Place], Leaf | None]


class Style(Struct, frozen=True):
    indent: int = 2
    list_indent: int = 2
    """How far a list stands in from its key."""


def entry(key: str, value: Any, place: Place, column: int, style: Style, leaves: Leaves) -> str:
    """`key: value`; the first line without the spaces before it."""
    return "\n".join(_indented(_entry(key, value, (*place, key), style, leaves), column))


def value_text(value: Any, place: Place, column: int, style: Style, leaves: Leaves) -> str:
    """The value alone."""
    return "\n".join(_indented(_lines(value, place, style, leaves), column))


def _indented(lines: list[str], column: int) -> list[str]:
    return [line if not index or not line else " " * column + line for index, line in enumerate(lines)]


def _entry(key: str, value: Any, place: Place, style: Style, leaves: Leaves) -> list[str]:
    name = scalar(key)
    if is_leaf(value):
        above, text = _leaf(value, place, leaves)
        return [*above, f"{name}: {text[0]}".rstrip(), *text[1:]]
    inset = style.list_indent if isinstance(value, list) else style.indent
    return [f"{name}:", *(" " * inset + line for line in _lines(value, place, style, leaves))]


def _lines(value: Any, place: Place, style: Style, leaves: Leaves) -> list[str]:
    if is_leaf(value):
        above, text = _leaf(value, place, leaves)
        return [*above, *text]
    if isinstance(value, Mapping):
        return [line for key, each in value.items() for line in _entry(key, each, (*place, key), style, leaves)]
    lines = []
    for index, item in enumerate(value):
        first, *rest = _lines(item, (*place, index), style, leaves)
        lines += [f"- {first}", *(f"  {line}" if line else line for line in rest)]
    return lines


def _leaf(value: Any, place: Place, leaves: Leaves) -> tuple[tuple[str, ...], list[str]]:
    found = leaves(place)
    if found is None:
        return (), [scalar(value)]
    first, *rest = found.text.split("\n")
    beside = "".join(f" {each}" for each in found.beside)
    return found.above, [f"{first}{beside}", *_outdented(rest)]


def _outdented(lines: list[str]) -> list[str]:
    """Of a text in several lines: two spaces in from its key, wherever that was."""
    inset = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return [f"  {line[inset:]}" if line.strip() else "" for line in lines]


def is_leaf(value: Any) -> bool:
    return not (isinstance(value, Mapping | list) and value)


def scalar(value: Any, quotes: str = "") -> str:
    """A scalar or an empty collection, on one line; a text in these quotes, where they can hold it."""
    if isinstance(value, str):
        is_plain = value.isprintable() and not {*value} & {"\\", '"', "'"}
        return f"{quotes}{value}{quotes}" if quotes in ("'", '"') and quotes and is_plain else _text(value)
    return json.dumps(value, ensure_ascii=False)


def flow(value: Any) -> str:
    """A collection on one line."""
    if is_leaf(value):
        return scalar(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(key)}: {flow(each)}" for key, each in value.items()) + "}"
    return "[" + ", ".join(map(flow, value)) + "]"


def _text(value: str) -> str:
    if not _is_shown(value):
        made: str = yaml.safe_dump(value, default_style='"', allow_unicode=True, width=len(value) * 10 + 80)
        return made.rstrip("\n")
    if not value or kind_of_scalar(value) != "str" or not _reads_plain(value):
        return "'" + value.replace("'", "''") + "'"
    return value


def _is_shown(value: str) -> bool:
    """Whether all of it can be seen, or stands for a template."""
    return all(each.isprintable() or "\ue000" <= each <= "\uf8ff" for each in value)


def _reads_plain(value: str) -> bool:
    """Whether it may stand without quotes, inside of brackets too."""
    try:
        nodes = [yaml.compose(f"{before}{value}{after}", Loader=yaml.SafeLoader) for before, after in _AROUND]
    except yaml.YAMLError:
        return False
    block, listed = nodes
    found = [block.value[0][1] if isinstance(block, yaml.MappingNode) else None]
    found.append(listed.value[0] if isinstance(listed, yaml.SequenceNode) and len(listed.value) == 1 else None)
    return all(isinstance(each, yaml.ScalarNode) and each.value == value for each in found)


_AROUND = (("k: ", "\n"), ("[", "]"))
