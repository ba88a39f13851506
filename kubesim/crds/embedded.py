"""Objects within custom resources, where a schema says that there are some: what they are, and what they are called."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from kubeloop.schemas.structural import Node
from kubesim.errors import Cause, required, wrong
from kubesim.schema.values import old_label
from kubesim.store.versions import Tree
from kubesim.typed.types import metadata_problem

_IDENTITY = ("apiVersion", "kind")
_NAMELESS = "fakename"


def causes_of(tree: Tree, root: Node) -> list[Cause]:
    """Broken rules of all objects within an object."""
    return [cause for value, path in _within(tree, root, "") for cause in _causes(value, path)]


def problem(tree: Tree, root: Node) -> str:
    """Why the metadata of an object within cannot be decoded; empty when they can."""
    for value, path in _within(tree, root, ""):
        metadata = value.get("metadata")
        if metadata is not None and (why := metadata_problem(metadata)):
            told = msgspec.json.encode(metadata, order="sorted").decode()
            return f"{path}.metadata: Invalid value: {told}: {why}"
    return ""


def _within(value: Any, node: Node, path: str) -> Iterator[tuple[Tree, str]]:
    """The objects and where they are."""
    if isinstance(value, dict):
        if path and node.embedded:
            yield value, path
        for key, item in value.items():
            child = node.properties.get(key)
            if child is not None:
                yield from _within(item, child, f"{path}.{key}" if path else key)
            elif node.rest is not None:
                yield from _within(item, node.rest, f"{path}[{key}]")
    elif isinstance(value, list) and node.items is not None:
        for index, item in enumerate(value):
            yield from _within(item, node.items, f"{path}[{index}]")


def _causes(value: Tree, path: str) -> Iterator[Cause]:
    yield from (required(f"{path}.{key}") for key in _IDENTITY if key not in value)
    for key in _IDENTITY:
        said = value.get(key, key)
        if not isinstance(said, str):
            yield wrong(f"{path}.{key}", said, "must be a string")
        elif not said:
            yield wrong(f"{path}.{key}", said, "must not be empty")
        elif key == "apiVersion" and said.count("/") > 1:
            yield wrong(f"{path}.{key}", said, f"unexpected GroupVersion string: {said}")
        elif key == "kind" and (problems := old_label(said.lower())):
            yield wrong(f"{path}.{key}", said, f"may have mixed case, but should otherwise match: {','.join(problems)}")
    metadata = value.get("metadata")
    if isinstance(metadata, dict):
        # Imported here: the rules know kinds, which know their custom resources.
        from kubesim.rules import metadata as rules_metadata  # noqa: PLC0415

        # Their names are checked no further than that they fit into a path.
        named = {"kind": rules_metadata.LOOSE[0], "metadata": metadata | {"name": metadata.get("name") or _NAMELESS}}
        for cause in rules_metadata.of_new(named):
            yield Cause(cause.reason, cause.message, f"{path}.{cause.field}")
