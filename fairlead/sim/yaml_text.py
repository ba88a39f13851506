"""YAML as the server reads it: what JSON could say as well, keys as text, and the keys that stand twice in a map."""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import Any, cast

import yaml


class YamlError(ValueError):
    """The text is not YAML, in the server's words."""


class _Loader(yaml.SafeLoader):
    """YAML as JSON knows it: keys are text, and dates are too."""

    twice: list[tuple[int, str]]
    """Lines, and the keys that stand there for the second time in their map."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        self.flatten_mapping(node)
        made: dict[Hashable, Any] = {}
        for key_node, value_node in node.value:
            key = _text(self.construct_object(key_node, deep=deep))
            if key in made:
                self.twice.append((key_node.start_mark.line + 1, key))
            made[key] = self.construct_object(value_node, deep=deep)
        return made


_Loader.yaml_implicit_resolvers = {
    sign: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for sign, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _text(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return str(key)


def said_twice(line: int, key: str) -> str:
    """The sentence about a key that a map has already."""
    return f"line {line}: key {json.dumps(key, ensure_ascii=False)} already set in map"


def read(body: bytes) -> tuple[object, list[str]]:
    """What the text says, and sentences about keys that it says twice."""
    loader = None
    try:
        loader = _Loader(body)
        loader.twice = []
        tree = cast("object", loader.get_single_data())
        return tree, [said_twice(*each) for each in sorted(loader.twice)]
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise YamlError(f"yaml: {_problem(body, error)}") from None
    finally:
        if loader is not None:
            loader.dispose()


def _problem(body: bytes, error: Exception) -> str:
    """What is wrong in the words of libyaml, which the server's library was made from, where that is installed."""
    try:
        for _ in yaml.parse(body, getattr(yaml, "CSafeLoader", _Loader)):
            pass
    except yaml.MarkedYAMLError as found:
        mark = found.problem_mark or found.context_mark
        line = 0 if mark is None else mark.line
        if isinstance(found, yaml.scanner.ScannerError):
            line += 1
        return f"line {max(line, 1)}: {found.problem}"
    except yaml.YAMLError as found:
        return " ".join(str(found).split())
    return " ".join(str(error).split())
