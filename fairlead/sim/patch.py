"""The patches that clients send: JSON patch, merge patch, strategic merge patch.

`reader` checks the type and decodes the body once; what it returns turns one tree into another and may be called
again. Applying is more than a patch (`applying`).
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from fairlead.sim import strategic as merging
from fairlead.sim.errors import bad_request, unknown_format, unprocessable, unsupported_patch
from fairlead.sim.store import Tree

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

Patch = Callable[[Tree], Tree]


class Operation(Struct, frozen=True, rename={"source": "from"}):
    """One step of a JSON patch."""

    op: str
    path: str
    source: str = ""
    value: Any | UnsetType = UNSET


def json_error(error: msgspec.DecodeError) -> str:
    """What is wrong with a body, in the server's words where clients meet them."""
    text = str(error)
    return "unexpected end of JSON input" if "truncated" in text else text


class _Impossible(Exception):
    """An operation does not fit the document."""


_CUSTOM_PATCHES = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)


def reader(content_type: str, body: bytes, *, strategic: bool = True) -> Patch:
    """The patch that a body of this type describes; custom resources take no strategic merge patches."""
    match content_type.partition(";")[0].strip():
        case "application/json-patch+json":
            return _json_patch(body)
        case "application/merge-patch+json":
            changes = _object(body)
            return lambda tree: _merged(tree, changes)
        case "application/strategic-merge-patch+json":
            if not strategic:
                raise unknown_format(_CUSTOM_PATCHES)
            changes = _object(body)
            return lambda tree: merging.merge(tree, copy.deepcopy(changes))
        case _:
            raise unsupported_patch()


def _object(body: bytes) -> Tree:
    try:
        return msgspec.json.decode(body, type=Tree)
    except msgspec.DecodeError as error:
        raise bad_request(f"error decoding patch: {json_error(error)}") from None


def _merged(target: object, changes: Tree) -> Tree:
    """RFC 7386: null removes, objects merge, everything else replaces."""
    merged: Tree = dict(target) if isinstance(target, dict) else {}
    for key, value in changes.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            merged[key] = _merged(merged.get(key), value)
        else:
            merged[key] = value
    return merged


def _json_patch(body: bytes) -> Patch:
    try:
        operations = msgspec.json.decode(body, type=list[Operation])
    except msgspec.DecodeError as error:
        raise bad_request(f"error decoding patch: {json_error(error)}") from None

    def apply(tree: Tree) -> Tree:
        document: Any = copy.deepcopy(tree)
        try:
            for operation in operations:
                document = _step(document, operation)
        except _Impossible:
            raise unprocessable() from None
        if not isinstance(document, dict):
            raise unprocessable()
        return document

    return apply


def _step(document: Any, operation: Operation) -> Any:
    match operation.op:
        case "add":
            return _add(document, operation.path, _value(operation))
        case "replace":
            _get(document, operation.path)
            return _add(_remove(document, operation.path), operation.path, _value(operation))
        case "remove":
            return _remove(document, operation.path)
        case "move":
            value = _get(document, operation.source)
            return _add(_remove(document, operation.source), operation.path, value)
        case "copy":
            return _add(document, operation.path, copy.deepcopy(_get(document, operation.source)))
        case "test":
            return _tested(document, operation)
        case _:
            raise _Impossible


def _value(operation: Operation) -> Any:
    if operation.value is UNSET:
        raise _Impossible
    return copy.deepcopy(operation.value)


def _tested(document: Any, operation: Operation) -> Any:
    """The document if the value is there; null also stands for absent."""
    wanted = None if operation.value is UNSET else operation.value
    try:
        found = _get(document, operation.path)
    except _Impossible:
        found = None
    if not same(found, wanted):
        raise _Impossible
    return document


def same(left: Any, right: Any) -> bool:
    """Equality of JSON, in which true is not 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(same(*pair) for pair in zip(left, right, strict=True))
    return bool(left == right)


def _parts(path: str) -> list[str]:
    if not path:
        return []
    if not path.startswith("/"):
        raise _Impossible
    return [part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/")]


def _get(document: Any, path: str) -> Any:
    for part in _parts(path):
        document = _child(document, part)
    return document


def _child(node: Any, part: str) -> Any:
    if isinstance(node, dict) and part in node:
        return node[part]
    if isinstance(node, list):
        return node[_index(part, len(node) - 1)]
    raise _Impossible


def _index(part: str, last: int) -> int:
    if not part.isdecimal() or (len(part) > 1 and part[0] == "0") or int(part) > last:
        raise _Impossible
    return int(part)


def _add(document: Any, path: str, value: Any) -> Any:
    parts = _parts(path)
    if not parts:
        return value
    node = document
    for part in parts[:-1]:
        node = _child(node, part)
    if isinstance(node, dict):
        node[parts[-1]] = value
    elif isinstance(node, list):
        node.insert(len(node) if parts[-1] == "-" else _index(parts[-1], len(node)), value)
    else:
        raise _Impossible
    return document


def _remove(document: Any, path: str) -> Any:
    parts = _parts(path)
    if not parts:
        return None
    node = document
    for part in parts[:-1]:
        node = _child(node, part)
    _child(node, parts[-1])
    del node[int(parts[-1]) if isinstance(node, list) else parts[-1]]
    return document
