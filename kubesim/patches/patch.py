"""The patches that clients send: JSON patch, merge patch, strategic merge patch.

`accepted` refuses bodies of types that are no patches. `reader` decodes a body once; what it returns turns one tree
into another and may be called again. Applying is more than a patch (`applying`).
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from kubesim.bodies import go_json
from kubesim.bodies.equality import same
from kubesim.errors import (
    StatusError,
    bad_request,
    invalid_patch,
    too_large,
    unknown_format,
    unprocessable,
    unsupported_patch,
)
from kubesim.patches import strategic as merging
from kubesim.schema import numbers
from kubesim.store.versions import Tree

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
_CUSTOM_PATCHES = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
_MOST_OPERATIONS = 10000
_MOST_COPIED = 3 * 1024 * 1024
_OBJECT = "map[string]interface {}"
_OPERATION = "handlers.jsonPatchOp"

Patch = Callable[[Tree], Tree]


class Operation(Struct, frozen=True, rename={"source": "from"}):
    """One step of a JSON patch."""

    op: str = ""
    path: str = ""
    source: str = ""
    value: Any | UnsetType = UNSET


class _Impossible(Exception):
    """An operation does not fit the document."""


def kind_of(content_type: str) -> str:
    """The type of a patch without its parameters."""
    return content_type.partition(";")[0].strip()


def accepted(content_type: str, *, custom: bool) -> None:
    """Refuses what is no patch; custom resources take no strategic merge patches."""
    kind = kind_of(content_type)
    if custom and kind not in _CUSTOM_PATCHES:
        raise unknown_format(_CUSTOM_PATCHES)
    if kind not in (*_CUSTOM_PATCHES, STRATEGIC_PATCH):
        raise unsupported_patch()


def reader(content_type: str, body: bytes, *, strategic: bool = True) -> Patch:
    """The patch that a body of this type describes."""
    accepted(content_type, custom=not strategic)
    if kind_of(content_type) == APPLY_PATCH:
        raise unsupported_patch()
    read = {JSON_PATCH: _json_patch, MERGE_PATCH: _merge_patch}.get(kind_of(content_type), _strategic_patch)
    return read(body)


def _merge_patch(body: bytes) -> Patch:
    changes = _object(body, "error decoding patch: ")
    if changes is None:
        raise bad_request("Invalid JSON Patch")
    return lambda tree: merged(tree, changes)


def _strategic_patch(body: bytes) -> Patch:
    changes = _object(body, "") or {}
    return lambda tree: merging.merge(tree, copy.deepcopy(changes))


def _object(body: bytes, prefix: str) -> Tree | None:
    """The object that a patch is; None when it is null."""
    try:
        return msgspec.json.decode(body, type=Tree)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found = _decoded(body, prefix)
    if not isinstance(found, dict | None):
        raise bad_request(f"{prefix}json: cannot unmarshal {go_json.kind_of(found)} into Go value of type {_OBJECT}")
    return found


def _decoded(body: bytes, prefix: str) -> Any:
    """Whatever a body says that is JSON; refuses all else."""
    if why := go_json.problem(body):
        raise bad_request(prefix + why)
    if number := numbers.impossible(body):
        raise bad_request(f"{prefix}json: cannot unmarshal number {number} into Go value of type float64")
    try:
        return json.loads(body.decode(errors="replace"))
    except RecursionError:
        raise bad_request(f"{prefix}exceeded max depth") from None


def merged(target: object, changes: Tree) -> Tree:
    """RFC 7386: null removes, objects merge, everything else replaces."""
    made: Tree = dict(target) if isinstance(target, dict) else {}
    for key, value in changes.items():
        current = made.get(key)
        if value is None:
            made.pop(key, None)
        elif isinstance(current, dict):
            made[key] = merged(current, value) if isinstance(value, dict) else value
        else:
            made[key] = _without_nulls(value)
    return made


def _without_nulls(value: Any) -> Any:
    """What a merge patch sets anew: no field of it is null, not even within lists, whose own items may be."""
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value


def _json_patch(body: bytes) -> Patch:
    operations = _operations(body)
    if len(operations) > _MOST_OPERATIONS:
        most = f"The allowed maximum operations in a JSON patch is {_MOST_OPERATIONS}, got {len(operations)}"
        raise too_large(most)

    def apply(tree: Tree) -> Tree:
        document = copy.deepcopy(tree)
        copied = 0
        try:
            for operation in operations:
                copied += _step(document, operation)
                if copied > _MOST_COPIED:
                    raise _Impossible
        except _Impossible:
            raise unprocessable() from None
        last = operations[-1] if operations else Operation()
        if (last.op, last.path) == ("replace", "") and isinstance(last.value, list):
            why = f"couldn't get version/kind; json parse error: {go_json.not_an_object(last.value)}"
            raise invalid_patch(msgspec.json.encode(last.value).decode(), why)
        return document

    return apply


def _operations(body: bytes) -> list[Operation]:
    try:
        return msgspec.json.decode(body, type=list[Operation])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found = _decoded(body, "error decoding patch: ")
    if not isinstance(found, list | None):
        raise _mistyped(found, f"value of type []{_OPERATION}")
    for step in found or ():
        if not isinstance(step, dict | None):
            raise _mistyped(step, f"value of type {_OPERATION}")
        for key in ("op", "path", "from"):
            value = (step or {}).get(key)
            if not isinstance(value, str | None):
                raise _mistyped(value, f"struct field {_OPERATION.partition('.')[2]}.{key} of type string")
    return [
        Operation(step.get("op") or "", step.get("path") or "", step.get("from") or "", step.get("value", UNSET))
        for step in ((each or {}) for each in found or ())
    ]


def _mistyped(value: object, what: str) -> StatusError:
    return bad_request(f"error decoding patch: json: cannot unmarshal {go_json.kind_of(value)} into Go {what}")


def _step(document: Tree, operation: Operation) -> int:
    """Carries out one operation and tells how many bytes it copied; what a map lacks is null in it."""
    value = None if operation.value is UNSET else copy.deepcopy(operation.value)
    if operation.op == "replace" and not operation.path and isinstance(value, dict | list):
        document.clear()
        document.update(value if isinstance(value, dict) else {})  # no step finds anything in a list by its name
        return 0
    node, key = _place(document, operation.path)
    match operation.op:
        case "add":
            _add(node, key, value)
        case "replace":
            _found(node, key)
            _set(node, key, value)
        case "remove":
            _remove(node, key)
        case "move":
            source = _place(document, operation.source)
            value = _found(*source)
            _remove(*source)
            _add(*_place(document, operation.path), value)
        case "copy":
            text = msgspec.json.encode(_found(*_place(document, operation.source)))
            _add(node, key, msgspec.json.decode(text))
            return len(text)
        case "test" if same(_found(node, key), value):
            pass
        case _:
            raise _Impossible
    return 0


def _place(document: Tree, path: str) -> tuple[Any, str]:
    """The map or list that a path ends in, and the last key; what stands before the first slash is not looked at."""
    _, *parts = path.split("/")
    if not parts:
        raise _Impossible
    *inner, last = (part.replace("~1", "/").replace("~0", "~") for part in parts)
    node: Any = document
    for part in inner:
        node = _found(node, part)
    if not isinstance(node, dict | list):
        raise _Impossible
    return node, last


def _found(node: Any, key: str) -> Any:
    if isinstance(node, dict):
        return node.get(key)
    if isinstance(node, list):
        return node[_index(key, len(node))]
    raise _Impossible


def _index(key: str, length: int) -> int:
    """A place in a list; negative ones count from its end."""
    digits = key[1:] if key[:1] in ("+", "-") else key
    if not (digits.isascii() and digits.isdecimal()) or not -length <= int(key) < length:
        raise _Impossible
    return int(key) % length


def _set(node: Any, key: str, value: Any) -> None:
    node[_index(key, len(node)) if isinstance(node, list) else key] = value


def _add(node: Any, key: str, value: Any) -> None:
    if isinstance(node, dict):
        node[key] = value
    else:
        node.insert(len(node) if key == "-" else _index(key, len(node) + 1), value)


def _remove(node: Any, key: str) -> None:
    if isinstance(node, list):
        del node[_index(key, len(node))]
    elif key in node:
        del node[key]
    else:
        raise _Impossible
