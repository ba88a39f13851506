"""How defaults are put into trees: where a field is absent, or where an empty one counts as absent."""

from __future__ import annotations

from kubesim.store.versions import Tree


def unset(tree: Tree, key: str, value: object) -> None:
    """Sets what is absent, empty or zero: such values are not told apart from absent ones."""
    if not tree.get(key):
        tree[key] = value


def absent(tree: Tree, key: str, value: object) -> None:
    """Sets what is not there; zero and nothing are values."""
    if tree.get(key) is None:
        tree[key] = value


def child(tree: Tree, key: str) -> Tree:
    """The tree at a key, an empty one where there is none."""
    found = tree.get(key)
    if isinstance(found, dict):
        return found
    made: Tree = {}
    tree[key] = made
    return made


def items(tree: Tree, key: str) -> list[Tree]:
    found = tree.get(key)
    return [item for item in found if isinstance(item, dict)] if found else []


def has(tree: Tree, key: str) -> bool:
    """Whether there is a tree at the key."""
    return isinstance(tree.get(key), dict)
