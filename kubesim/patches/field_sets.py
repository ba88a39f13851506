"""Sets of fields, as `metadata.managedFields` keeps them.

A path is a tuple of the words of FieldsV1: `f:spec`, `k:{"name":"web"}`, `v:80`. A set of fields is a frozenset of
paths, so that it can be united, cut and subtracted as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import msgspec

from kubesim.errors import quoted
from kubesim.store.versions import Tree

Path = tuple[str, ...]
Fields = frozenset[Path]
NOTHING: Fields = frozenset()
_SELF = "."
_KINDS = "fkvi"
_WORDS = 8192
_SETS = 1024
_ESCAPED = (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026"), ("\u2028", "\\u2028"), ("\u2029", "\\u2029"))
_RANKS = ((bool, 3), (float, 0), (int, 0), (str, 2), (list, 4), (dict, 5))


class Unreadable(ValueError):
    """A set of fields that is not one."""


def field(name: str) -> str:
    """The word of a field of a map."""
    return f"f:{name}"


def key(values: Tree) -> str:
    """The word of the item of a list that has these values."""
    if any(isinstance(value, dict | list) for value in values.values()):
        return "k:" + text(values)
    return _plain_key(tuple(values), *values.values())


@lru_cache(_WORDS, typed=True)
def _plain_key(names: tuple[str, ...], *values: object) -> str:
    return "k:" + text(dict(zip(names, values, strict=True)))


def item(value: object) -> str:
    """The word of a plain item of a list."""
    return "v:" + text(value) if isinstance(value, dict | list) else _plain_item(value)


@lru_cache(_WORDS, typed=True)
def _plain_item(value: object) -> str:
    return "v:" + text(value)


def text(value: object) -> str:
    """JSON as the server writes it: by keys, a whole number without a fraction, the signs of HTML escaped."""
    made = json.dumps(_whole(value), separators=(",", ":"), ensure_ascii=False, sort_keys=True)
    for sign, escape in _ESCAPED:
        if sign in made:
            made = made.replace(sign, escape)
    return made


def _whole(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _whole(each) for name, each in value.items()}
    return [_whole(each) for each in value] if isinstance(value, list) else value


# Reading and writing


def read(tree: object) -> Fields:
    """The set that a `fieldsV1` describes; raises Unreadable."""
    if not isinstance(tree, dict):
        raise Unreadable("it is not an object")
    return _known(msgspec.json.encode(tree))


@lru_cache(_SETS)
def _known(body: bytes) -> Fields:
    """The same set for the same text: objects are written again and again with the same owners."""
    return frozenset(_read(msgspec.json.decode(body), ()))


def _read(tree: Tree, path: Path) -> Iterator[Path]:
    for word, inner in tree.items():
        if word == _SELF:
            yield path
            continue
        known = _normal(word)
        if known is None:
            continue
        if not isinstance(inner, dict):
            raise Unreadable(f"{word} has no object")
        if inner:
            yield from _read(inner, (*path, known))
        else:
            yield (*path, known)


@lru_cache(_WORDS)
def _normal(word: str) -> str | None:
    """The word in the one form in which it can be compared; None for a kind that is not known, which is passed over."""
    if len(word) < 2 or word[1] != ":":
        raise Unreadable(f"{quoted(word)} is no path element")
    if word[0] not in _KINDS:
        return None
    if word[0] == "f":
        return word
    try:
        value = int(word[2:]) if word[0] == "i" else json.loads(word[2:])
    except ValueError:
        raise Unreadable(f"{quoted(word)} is no path element") from None
    if word[0] == "k":
        if not isinstance(value, dict):
            raise Unreadable(f"{quoted(word)} is no path element")
        return key(value)
    return item(value) if word[0] == "v" else word


def write(fields: Fields) -> Tree:
    """The `fieldsV1` of a set, in the order in which the server writes it."""
    return msgspec.json.decode(_text_of(fields), type=Tree)


@lru_cache(_SETS)
def _text_of(fields: Fields) -> bytes:
    return msgspec.json.encode(_written(_Node.of(fields)))


class _Node:
    """A set as a tree: whether the path up to here is in it, and what is below."""

    __slots__ = ("below", "is_member")

    def __init__(self) -> None:
        self.is_member = False
        self.below: dict[str, _Node] = {}

    @classmethod
    def of(cls, fields: Iterable[Path]) -> _Node:
        root = cls()
        for path in fields:
            node = root
            for word in path:
                found = node.below.get(word)
                if found is None:
                    found = node.below[word] = cls()
                node = found
            node.is_member = True
        return root


def _written(node: _Node) -> Tree:
    made: Tree = {_SELF: {}} if node.is_member and node.below else {}
    for word in sorted(node.below, key=order):
        made[word] = _written(node.below[word])
    return made


@lru_cache(_WORDS)
def order(word: str) -> tuple[Any, ...]:
    """Sorts the words of one level: fields, then keys, then items, then indices."""
    kind, value = word[0], word[2:]
    if kind == "f":
        return (0, value)
    if kind == "k":
        return (1, tuple((name, _rank(each)) for name, each in json.loads(value).items()))
    return (2, _rank(json.loads(value))) if kind == "v" else (3, int(value))


def _rank(value: object) -> tuple[int, Any]:
    """Numbers before text before truths before everything else."""
    rank = next((number for kind, number in _RANKS if isinstance(value, kind)), 6)
    return (rank, value if rank < 4 else text(value))


def listed(fields: Fields) -> list[Path]:
    """The paths in the order in which the server goes through a set: what is on a level, then what is below it."""
    return list(_walked(_Node.of(fields), ()))


def _walked(node: _Node, path: Path) -> Iterator[Path]:
    words = sorted(node.below, key=order)
    for word in words:
        if node.below[word].is_member:
            yield (*path, word)
    for word in words:
        yield from _walked(node.below[word], (*path, word))


def printed(path: Path) -> str:
    """A path as people read it: `.spec.ports[port=80,protocol="TCP"].name`."""
    return "".join(_printed(word) for word in path)


def _printed(word: str) -> str:
    kind, value = word[0], word[2:]
    if kind == "f":
        return f".{value}"
    if kind == "k":
        return f"[{','.join(f'{name}={_shown(each)}' for name, each in json.loads(value).items())}]"
    return f"[={_shown(json.loads(value))}]" if kind == "v" else f"[{value}]"


def _shown(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{','.join(_shown(each) for each in value)}]"
    if isinstance(value, dict):
        return "".join(f"{name}={_shown(each)}" for name, each in value.items())
    return quoted(value) if isinstance(value, str) else str(value)


def without(fields: Fields, roots: Fields) -> Fields:
    """The set without these paths and everything below them."""
    if not roots:
        return fields
    lengths = sorted({len(root) for root in roots})
    return frozenset(path for path in fields if not any(path[:length] in roots for length in lengths))
