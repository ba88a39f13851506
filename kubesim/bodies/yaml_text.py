"""YAML as the server reads it: what JSON could say as well, keys as text, and the keys that stand twice in a map."""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import Any

import yaml

from kubesim.bodies import yaml_scalars

_SUSPICIOUS_ALIASED, _SUSPICIOUS = 100, 1000
"""Fewer values than these, behind aliases and in all, are never too many."""
_FEW, _MANY = 400_000, 4_000_000
_SHARE_OF_FEW, _SHARE_OF_MANY = 0.99, 0.10
"""How much of a document may stand behind aliases: less, the larger it is."""


class YamlError(ValueError):
    """The text is not YAML, in the server's words."""


class _Loader(yaml.SafeLoader):
    """YAML as JSON knows it: keys are text, and dates are too."""

    twice: list[tuple[int, str]]
    """Lines, and the keys that stand there for the second time in their map."""
    aliases: dict[yaml.Node, str]
    """What is referred to, by which name."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if not self.check_event(yaml.AliasEvent):
            return super().compose_node(parent, index)
        name = str(self.peek_event().anchor)  # type: ignore[no-untyped-call]
        node = super().compose_node(parent, index)
        if node is not None:
            self.aliases[node] = name
        return node

    def resolve(self, kind: type[yaml.Node], value: str | None, implicit: Any) -> str:
        if kind is yaml.ScalarNode and implicit[0]:
            return yaml_scalars.tag(value or "")
        return str(super().resolve(kind, value, implicit))  # type: ignore[no-untyped-call]

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        self.flatten_mapping(node)
        made: dict[Hashable, Any] = {}
        for key_node, value_node in node.value:
            meant, value = (self.construct_object(each, deep=deep) for each in (key_node, value_node))
            key = yaml_scalars.key(meant, value)
            if key in made:
                self.twice.append((key_node.start_mark.line + 1, key))
            made[key] = value
        return made

    def construct_meant(self, node: yaml.ScalarNode) -> object:
        return yaml_scalars.meaning(self.construct_scalar(node))


for _tag in (yaml_scalars.NULL, yaml_scalars.BOOL, yaml_scalars.INT, yaml_scalars.FLOAT):
    _Loader.add_constructor(_tag, _Loader.construct_meant)


def said_twice(line: int, key: str) -> str:
    """The sentence about a key that a map has already."""
    return f"line {line}: key {json.dumps(key, ensure_ascii=False)} already set in map"


def read(body: bytes) -> tuple[object, list[str]]:
    """What the text says, and sentences about keys that it says twice."""
    loader = None
    try:
        loader = _Loader(body)
        loader.twice, loader.aliases = [], {}
        node = loader.get_single_node()
        if node is None:
            return None, []
        if loader.aliases:
            _check_aliases(node, loader.aliases)
        tree = _as_json(loader.construct_document(node))
        return tree, [said_twice(*each) for each in sorted(loader.twice)]
    except yaml_scalars.Meaningless as error:
        raise YamlError(str(error)) from None
    except YamlError:
        raise
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise YamlError(f"yaml: {_problem(body, error)}") from None
    finally:
        if loader is not None:
            loader.dispose()


def _as_json(value: object) -> object:
    """The value with its numbers as JSON has them."""
    if isinstance(value, dict):
        return {key: _as_json(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_as_json(each) for each in value]
    return yaml_scalars.number(value) if isinstance(value, float) else value


def _check_aliases(root: yaml.Node, aliases: dict[yaml.Node, str]) -> None:
    """Refuses a text whose aliases stand for far more than it says, or for themselves."""
    seen: dict[yaml.Node, None] = {}
    open_: dict[yaml.Node, None] = {}
    counted = aliased = 0
    waiting: list[tuple[yaml.Node, bool, bool]] = [(root, False, False)]
    while waiting:
        node, is_aliased, is_done = waiting.pop()
        if is_done:
            del open_[node]
            continue
        if node in open_:
            raise YamlError(f"yaml: anchor '{aliases[node]}' value contains itself")
        counted += 1
        aliased += is_aliased
        if node in aliases and node in seen:
            is_aliased = True
            counted += 1
            aliased += 1
        seen[node] = None
        if aliased > _SUSPICIOUS_ALIASED and counted > _SUSPICIOUS and aliased / counted > _allowed(counted):
            raise YamlError("yaml: document contains excessive aliasing")
        open_[node] = None
        waiting.append((node, is_aliased, True))
        waiting += [(each, is_aliased, False) for each in reversed(_within(node))]


def _within(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [each for pair in node.value for each in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _allowed(counted: int) -> float:
    """The share of values that may stand behind aliases: 0.99 of 1000, 0.545 of 2200000, 0.1 of 5000000."""
    part = min(max((counted - _FEW) / (_MANY - _FEW), 0.0), 1.0)
    return _SHARE_OF_FEW - (_SHARE_OF_FEW - _SHARE_OF_MANY) * part


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
