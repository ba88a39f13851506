"""Files with objects in them, read as kubectl reads them: JSON or YAML, several documents, lists."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import yaml

STDIN = "-"

_TRUE = ("y", "yes", "true", "on")
_FALSE = ("n", "no", "false", "off")
_NUMBERS = {
    "int": re.compile(r"[-+]?(0|[1-9][0-9_]*|0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+)"),
    "float": re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"),
}


class UnreadableFile(Exception):
    """A file holds no objects; the text is a sentence that says what would help."""


def objects_in(name: str) -> list[object]:
    """What is in the file, or in standard input if the name is `-`; the items of a list one by one."""
    try:
        text = sys.stdin.read() if name == STDIN else Path(name).read_text(encoding="utf-8")
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise UnreadableFile(f"{shown(name)} cannot be read: {why}; {_instead(error)}") from error
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"{shown(name)} is not text in UTF-8: give YAML or JSON") from error
    return [each for tree in documents_in(text, name) for each in _items(tree)]


def documents_in(text: str, name: str) -> list[object]:
    """The documents of a text, lists as they are; `name` is that of its file. Raises UnreadableFile."""
    try:
        return [_plain(tree) for tree in yaml.load_all(text, Loader=_Loader)]
    except yaml.YAMLError as error:
        raise UnreadableFile(f"{shown(name)} is neither YAML nor JSON{_place(error)}") from error
    except RecursionError as error:
        raise UnreadableFile(f"{shown(name)} is nested too deeply: no object is") from error


def shown(name: str) -> str:
    """The file, as sentences name it."""
    return "standard input" if name == STDIN else name


def _instead(error: OSError) -> str:
    match error:
        case IsADirectoryError():
            return "name the files in it"
        case PermissionError():
            return "ask its owner for the right to read it"
    return "correct the path"


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Takes a plain scalar for what kubectl takes it for: dates are texts, and there are no numbers to base 60.

    Keys are texts before they meet, as 1 and yes would be the same key.
    """

    def resolve(self, kind: type[yaml.Node], value: str, implicit: Any) -> str:
        if kind is yaml.ScalarNode and implicit[0]:
            return f"tag:yaml.org,2002:{kind_of_scalar(value)}"
        tag: str = super().resolve(kind, value, implicit)
        return tag

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[str, object]:
        self.flatten_mapping(node)
        return {
            _key(self.construct_object(key, deep=True)): self.construct_object(value, deep) for key, value in node.value
        }


def kind_of_scalar(scalar: str) -> str:
    """What a plain scalar is taken for: null, bool, int, float, str, or the key of a merge."""
    if scalar in ("", "~", "null", "Null", "NULL"):
        return "null"
    if scalar.lower() in _TRUE + _FALSE and scalar in (scalar.lower(), scalar.upper(), scalar.capitalize()):
        return "bool"
    if scalar == "<<":
        return "merge"
    return next((kind for kind, pattern in _NUMBERS.items() if pattern.fullmatch(scalar)), "str")


def _truth(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> bool:
    return str(loader.construct_scalar(node)).lower() in _TRUE


_Loader.add_constructor("tag:yaml.org,2002:bool", _truth)


def _plain(tree: object) -> object:
    """As the API server stores it: numbers without a fraction are whole."""
    match tree:
        case dict():
            return {key: _plain(value) for key, value in tree.items()}
        case list():
            return [_plain(each) for each in tree]
        case float() if tree.is_integer():
            return int(tree)
    return tree


def _key(key: object) -> str:
    return str(key).lower() if isinstance(key, bool) else str(_plain(key))


def _items(tree: object) -> list[object]:
    """Nothing for an empty document."""
    if tree is None:
        return []
    if isinstance(tree, dict) and str(tree.get("kind")).endswith("List") and isinstance(tree.get("items"), list):
        return list(tree["items"])
    return [tree]


def _place(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    return "" if mark is None else f": see line {mark.line + 1}, column {mark.column + 1}"
