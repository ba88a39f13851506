"""Patches that webhooks answer with: read, applied, and the server's words where that does not work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from kubesim.errors import StatusError, internal_error, quoted
from kubesim.patches import patch
from kubesim.store.versions import Tree

_READING = "error decoding patch: "


class Undecodable(Exception):
    """What was sent is no patch; the text says why."""


def reader(body: bytes) -> Callable[[Tree], Tree]:
    """What the patch makes of an object; raises Undecodable, and the function a StatusError."""
    try:
        whole = patch.reader(patch.JSON_PATCH, body)
    except StatusError as error:
        text = error.message.removeprefix(_READING).replace("[]handlers.jsonPatchOp", "jsonpatch.Patch")
        raise Undecodable(text) from None

    def applied(tree: Tree) -> Tree:
        try:
            return whole(tree)
        except StatusError:
            raise internal_error(_trouble(tree, msgspec.json.decode(body))) from None

    return applied


def _trouble(tree: Tree, operations: list[Tree]) -> str:
    """Why a patch does not apply, by the first of its operations that fails."""
    for operation in operations:
        try:
            tree = patch.reader(patch.JSON_PATCH, msgspec.json.encode([operation]))(tree)
        except StatusError:
            return _words(tree, operation)
    return "the patch does not apply"


def _words(tree: Tree, operation: Tree) -> str:
    name, path = operation.get("op") or "", operation.get("path") or ""
    key = path.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
    has_place = isinstance(_found(tree, path.split("/")[1:-1]), dict | list)
    match name:
        case "test":
            return f"testing value {path} failed: test failed"
        case "replace":
            what = "key" if has_place else "path"
            return f"replace operation does not apply: doc is missing {what}: {path}: missing value"
        case "remove" if has_place:
            return f"error in remove for path: '{path}': Unable to remove nonexistent key: {key}: missing value"
        case _:
            return f"{name} operation does not apply: doc is missing path: {quoted(path)}: missing value"


def _found(tree: Any, parts: list[str]) -> Any:
    for part in parts:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(tree, dict):
            tree = tree.get(key)
        elif isinstance(tree, list) and key.isdecimal() and int(key) < len(tree):
            tree = tree[int(key)]
        else:
            return None
    return tree
