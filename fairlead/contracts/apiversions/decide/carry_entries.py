"""One leaf that the other version cannot hold, as an annotation of the object (section 3.2).

One annotation for each leaf: server-side apply decides by the key of an annotation whether a value still exists when
managers of several versions own parts of an object.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from fairlead.contracts.apiversions.decide.pointers import RESERVED
from fairlead.contracts.apiversions.decide.shapes import Key
from fairlead.contracts.apiversions.decide.trees import Absent
from fairlead.contracts.apiversions.kinds import CARRY_PREFIX
from kubeloop.unreadable import UNREADABLE

LONGEST_PLAIN = 1024
"""Bytes of a value that is not compressed."""
MOST_UNPACKED = 4 << 20
"""Bytes that the compressed values of an object may come to in all: more than an object has."""
_PACKED = "z:"
_FIELDS = frozenset({"v", "p", "w", "g", "a", "o"})
Segment: TypeAlias = str | Key
"""A property or a key of a map; or the fields by which an item of a list is known."""
Path: TypeAlias = tuple[Segment, ...]


class CarryEntry(Struct, frozen=True):
    version: str
    """The one that the leaf is of."""
    path: Path
    wanted: Any = Absent
    """What the leaf was; Absent: there was none. Of an order: the keys of the items in their order."""
    guard: Any = Absent
    """What stands there without it: while that is so, nobody has changed what it was derived from."""
    ancestor: int = 0
    """So many segments of the path must be there, so that nothing comes back inside of what somebody removed."""
    is_order: bool = False

    @property
    def place(self) -> str:
        """For people: `/spec/parts[name=web]/weight`."""
        return "".join(
            f"/{each}" if isinstance(each, str) else f"[{','.join(f'{name}={value}' for name, value in each)}]"
            for each in self.path
        )

    @property
    def name(self) -> str:
        """Of its annotation."""
        return _plain_name(self.version, self.path) if _is_plain(self.path) else _name(self.version, self.path)


def _name(version: str, path: Path) -> str:
    digest = hashlib.sha256(version.encode() + b"\0" + _path_json(path))
    return f"{CARRY_PREFIX}{digest.hexdigest()[:16]}"


_plain_name = lru_cache(maxsize=4096)(_name)
"""Objects of a kind carry the same leaves."""


def _is_plain(path: Path) -> bool:
    """Whether it goes through no item of a list: 1 and true are the same key of a dictionary, and not of an item."""
    return all(type(segment) is str for segment in path)


def written(entry: CarryEntry) -> str:
    """The value of its annotation."""
    tree: dict[str, Any] = {"v": entry.version, "p": _path_tree(entry.path), "a": entry.ancestor}
    if entry.wanted is not Absent:
        tree["w"] = entry.wanted
    if entry.guard is not Absent:
        tree["g"] = entry.guard
    if entry.is_order:
        tree["o"] = True
    text = msgspec.json.encode(tree, order="sorted")
    if len(text) <= LONGEST_PLAIN:
        return text.decode()
    return _PACKED + base64.b64encode(zlib.compress(text)).decode()


class TooMuchCarried(Exception):
    """Compressed values come to more than any object has: people may write them as well."""


def read(annotations: Mapping[str, Any]) -> dict[str, CarryEntry]:
    """By annotation; what is none of ours, or was changed by somebody, counts for nothing. Raises TooMuchCarried."""
    found, room = {}, MOST_UNPACKED
    for name, value in annotations.items():
        if not name.startswith(CARRY_PREFIX) or not isinstance(value, str):
            continue
        try:
            text, spent = _unpacked(value, room)
            entry = _entry(msgspec.json.decode(text))
        except (*UNREADABLE, ValueError, TypeError, KeyError, zlib.error):
            continue
        room -= spent
        if entry.name == name:
            found[name] = entry
    return found


def readable(annotations: Mapping[str, Any]) -> dict[str, CarryEntry]:
    """The same for reports: of an object that carries too much nothing can be said."""
    try:
        return read(annotations)
    except TooMuchCarried:
        return {}


def _unpacked(value: str, room: int) -> tuple[bytes, int]:
    """The text, and how much of the room its unpacking took."""
    if not value.startswith(_PACKED):
        return value.encode(), 0
    unpacking = zlib.decompressobj()
    data = unpacking.decompress(base64.b64decode(value[len(_PACKED) :], validate=True), room + 1)
    if len(data) > room:
        raise TooMuchCarried
    if not unpacking.eof:
        raise ValueError("cut short")
    return data, len(data)


def _entry(tree: Mapping[str, Any]) -> CarryEntry:
    version, path, ancestor = tree["v"], tree["p"], tree.get("a", 0)
    is_order = tree.get("o", False)
    if (
        not isinstance(version, str)
        or type(ancestor) is not int
        or type(is_order) is not bool
        or not {*tree} <= _FIELDS
    ):
        raise ValueError("no entry")
    segments = tuple(map(_segment, path))
    if not segments or not 0 <= ancestor <= len(segments):
        raise ValueError("no path")
    if not isinstance(segments[0], str) or segments[0] in RESERVED:
        raise ValueError("outside of the body")  # the API server would refuse the object, and every list with it
    return CarryEntry(version, segments, tree.get("w", Absent), tree.get("g", Absent), ancestor, is_order)


def _segment(tree: Any) -> Segment:
    if isinstance(tree, str):
        return tree
    if isinstance(tree, dict) and tree and all(isinstance(each, str | int | float) for each in tree.values()):
        return tuple(sorted(tree.items()))
    raise ValueError("no segment")


def key_tree(key: Key) -> dict[str, Any]:
    return dict(key)


def _path_tree(path: Path) -> list[Any]:
    return [each if isinstance(each, str) else key_tree(each) for each in path]


def _path_json(path: Path) -> bytes:
    return msgspec.json.encode(_path_tree(path), order="sorted")


def in_order(entry: CarryEntry) -> tuple[bool, int, bytes]:
    """The order in which entries are laid over a body: what is nearer to its root first, orders of lists last."""
    return entry.is_order, len(entry.path), _path_json(entry.path)
