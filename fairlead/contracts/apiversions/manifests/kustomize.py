"""References to a kind in a kustomization: targets of patches, which name a version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import yaml
from msgspec import Struct

from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.manifests import positions

if TYPE_CHECKING:
    from fairlead.contracts.apiversions.manifests.conversions import ManifestWish

KUSTOMIZATION = ("Kustomization", "Component")
FIELDS = ("patches", "patchesJson6902", "patchesStrategicMerge", "replacements", "vars", "resources")
"""A file without a kind is a kustomization where it has one of these."""


class FileReference(Struct, frozen=True, kw_only=True):
    tree: Tree
    what: str
    version: str
    line: int
    start: int
    end: int
    """Where the version stands."""
    problem: str = ""


def references(node: yaml.Node, tree: object, wish: ManifestWish) -> Iterator[FileReference]:
    """All that name another version of a kind that is converted."""
    if isinstance(tree, dict) and is_kustomization(tree):
        yield from _below(node, tree, wish, None)
        yield from _inline(node, tree, wish)


def is_kustomization(tree: Tree) -> bool:
    kind = tree.get("kind")
    return kind in KUSTOMIZATION or (kind is None and any(name in tree for name in FIELDS))


def _below(node: yaml.Node, tree: Any, wish: ManifestWish, holder: Tree | None) -> Iterator[FileReference]:
    if isinstance(tree, dict) and isinstance(node, yaml.MappingNode):
        kind = wish.kinds.get((str(tree.get("group")), str(tree.get("kind"))))
        version = positions.value_at(node, "version")
        if kind is not None and version is not None and tree.get("version") != wish.version:
            yield FileReference(
                tree=tree,
                what=f"target {tree['kind']}",
                version=str(tree["version"]),
                line=version.start_mark.line + 1,
                start=version.start_mark.index,
                end=version.end_mark.index,
                problem="" if _is_merged(holder, wish) else _PATHS,
            )
        for key, value in node.value:
            if key.value in tree:
                yield from _below(value, tree[key.value], wish, tree)
    elif isinstance(tree, list) and isinstance(node, yaml.SequenceNode):
        for item, each in zip(node.value, tree, strict=True):
            yield from _below(item, each, wish, holder)


_PATHS = "what is done to the target is written in fields of the old version: rewrite it by hand, with the version"


def _is_merged(holder: Tree | None, wish: ManifestWish) -> bool:
    """Whether the patch is a part of an object in a file of its own, which is converted as others are."""
    path = holder.get("path") if isinstance(holder, dict) else None
    documents = wish.beside(path) if isinstance(path, str) else []
    return bool(documents) and all(isinstance(each, dict) and "kind" in each for each in documents)


def _inline(node: yaml.Node, tree: Any, wish: ManifestWish) -> Iterator[FileReference]:
    """Patches that are texts inside of the kustomization."""
    if isinstance(node, yaml.ScalarNode) and isinstance(tree, str):
        for group, kind in wish.kinds:
            for version in wish.kinds[group, kind].versions:
                if version != wish.version and f"apiVersion: {group}/{version}" in tree and f"kind: {kind}" in tree:
                    yield FileReference(
                        tree={},
                        what=f"patch of {kind}",
                        version=version,
                        line=node.start_mark.line + 1,
                        start=0,
                        end=0,
                        problem="the patch is a text inside of the kustomization: put it into a file of its own",
                    )
    for below, each in _pairs(node, tree):
        yield from _inline(below, each, wish)


def _pairs(node: yaml.Node, tree: Any) -> Iterator[tuple[yaml.Node, Any]]:
    if isinstance(node, yaml.MappingNode) and isinstance(tree, Mapping):
        yield from ((value, tree[key.value]) for key, value in node.value if key.value in tree)
    elif isinstance(node, yaml.SequenceNode) and isinstance(tree, list):
        yield from zip(node.value, tree, strict=True)
