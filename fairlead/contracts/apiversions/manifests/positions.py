"""Where things stand in the text of a manifest: entries, ends without what follows, comments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import yaml
from msgspec import Struct

Entry: TypeAlias = tuple[yaml.ScalarNode, yaml.Node]
_BLOCKS = ("|", ">")


class Comment(Struct, frozen=True):
    start: int
    end: int
    text: str


def entries(node: yaml.Node) -> list[Entry]:
    return node.value if isinstance(node, yaml.MappingNode) else []


def children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [each for entry in node.value for each in entry]
    return node.value if isinstance(node, yaml.SequenceNode) else []


def is_block(node: yaml.Node) -> bool:
    return isinstance(node, yaml.CollectionNode) and not node.flow_style


def end_of(node: yaml.Node, text: str) -> int:
    """Behind its last character; those of collections reach to whatever comes next."""
    if is_block(node) and (below := children(node)):
        return max(node.start_mark.index, *(end_of(each, text) for each in below[-2:]))
    end: int = node.end_mark.index
    if isinstance(node, yaml.ScalarNode) and node.style in _BLOCKS:
        return node.start_mark.index + len(text[node.start_mark.index : end].rstrip())
    return end


def value_at(node: yaml.Node, name: str) -> yaml.Node | None:
    return next((value for key, value in entries(node) if key.value == name), None)


def line_start(text: str, position: int) -> int:
    return text.rfind("\n", 0, position) + 1


def line_end(text: str, position: int) -> int:
    """Before the line break."""
    found = text.find("\n", position)
    return len(text) if found < 0 else found


def is_first(text: str, position: int) -> bool:
    """Whether only spaces are before it on its line."""
    return not text[line_start(text, position) : position].strip()


def comments(text: str, roots: list[yaml.Node]) -> list[Comment]:
    """All of them, in their order."""
    spans = sorted((node.start_mark.index, end_of(node, text)) for root in roots for node in _scalars(root))
    found: list[Comment] = []
    done = 0
    for start, end in (*spans, (len(text), len(text))):
        found += _between(text, done, start)
        done = max(done, end)
    return found


def _between(text: str, start: int, end: int) -> Iterator[Comment]:
    here = start
    while (at := text.find("#", here, end)) >= 0:
        here = at + 1
        if at == 0 or text[at - 1].isspace():
            here = min(line_end(text, at), end)
            yield Comment(at, here, text[at:here].rstrip())


def _scalars(node: yaml.Node) -> Iterator[yaml.ScalarNode]:
    if isinstance(node, yaml.ScalarNode):
        yield node
    for each in children(node):
        yield from _scalars(each)


def twice(node: yaml.Node) -> Iterator[yaml.ScalarNode]:
    """Keys that their mapping has had already."""
    seen: set[Any] = set()
    for key, _ in entries(node):
        if key.value in seen and isinstance(key, yaml.ScalarNode):
            yield key
        seen.add(key.value if isinstance(key, yaml.ScalarNode) else id(key))
    for each in children(node):
        yield from twice(each)
