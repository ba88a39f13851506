"""What differs from run to run, replaced by what does not.

Names of incarnations become ordinals in order of appearance, so that equal ones stay equal: `rv1`, `uid1`. Times,
tokens, addresses and ports that the server chose become words. What a case itself says is never replaced. Lists stay
in order, except for managers of fields, whose order depends on the second in which they wrote, and for the rules of a
SelfSubjectRulesReview, which come as the server's caches hold them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

Tree = dict[str, Any]

HOOKS = "https://hook.test.svc"
"""Where handlers are reached, as recorded."""

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_AGE = re.compile(r"(\d+[smhdy]){1,2}")
_ACCOUNT_VOLUME = re.compile(r"kube-api-access-[a-z0-9]{5}")
_ADDRESS = re.compile(r"\d+\.\d+\.\d+\.\d+")
_VERSIONS_IN_TEXT = re.compile(
    r"((?:in record|in the precondition) \(|resource version: \d+, current: "
    r"|too old resource version: \d+ \()\d+\b(?!-)"
)
_QUOTED = re.compile(r'(?<=Invalid value: )"(?:[^"\\]|\\.)*"(?=: )')
_STRUCT = re.compile(r'Invalid value: [\[{].*"Volumes":.*[\]}]: ')
_DIFFERENCE = re.compile(r"\n@@ -\d.*", re.DOTALL)
_LOOPBACK = re.compile(r"https://127\.0\.0\.1:\d+(?=/)")
_CHOSEN = ("clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort")
_CREDENTIAL = "authentication.kubernetes.io/credential-id"
_SUFFIX = "[bcdfghjklmnpqrstvwxz2456789]{5}"
_MANAGER = ("operation", "manager", "apiVersion", "subresource")


class Mask:
    """For one case: `given` are the texts and numbers that the case itself says, `starts` those of generated names."""

    def __init__(self, given: Iterable[object], starts: Iterable[str] = ()) -> None:
        self._given = frozenset(given)
        self._generated = [re.compile(f"({re.escape(start)}){_SUFFIX}") for start in starts]
        self._versions: dict[str, str] = {}
        self._uids: dict[str, str] = {}
        self._names: dict[str, str] = {}

    def body(self, tree: Any) -> Any:
        """An answer, or one event of a watch."""
        return self._masked(tree, "")

    def text(self, text: str) -> str:
        """A text that may name what is masked."""
        text = _QUOTED.sub(self._quoted, text)
        text = _UUID.sub(lambda found: self._uid(found[0]), text)
        text = _TIME.sub(self._time, text)
        text = _ACCOUNT_VOLUME.sub("kube-api-access-GENERATED", text)
        text = _VERSIONS_IN_TEXT.sub(r"\1RV", text)
        text = _LOOPBACK.sub(HOOKS, text)
        # A real server tells of a pod as it has it inside: Go structs.
        text = _STRUCT.sub("Invalid value: ", _DIFFERENCE.sub("", text))
        for pattern in self._generated:
            text = pattern.sub(self._name, text)
        return text

    def _quoted(self, found: re.Match[str]) -> str:
        """JSON that a message quotes, with its fields in order."""
        try:
            tree = json.loads(json.loads(found[0]))
        except ValueError:
            return found[0]
        return json.dumps(_text(self.body(tree))) if isinstance(tree, dict) else found[0]

    def _name(self, found: re.Match[str]) -> str:
        return self._names.setdefault(found[0], f"{found[1]}GENERATED{len(self._names) + 1}")

    def _uid(self, uid: str) -> str:
        return uid if uid in self._given else self._uids.setdefault(uid, f"uid{len(self._uids) + 1}")

    def _time(self, found: re.Match[str]) -> str:
        return found[0] if found[0] in self._given else "MICROTIME" if found[1] else "TIME"

    def _version(self, version: str) -> str:
        if version in ("", "0") or version in self._given:
            return version
        return self._versions.setdefault(version, f"rv{len(self._versions) + 1}")

    def _masked(self, value: Any, key: str) -> Any:
        match value:
            case {"kind": "Table", "columnDefinitions": [*_]}:
                return self._fields(self._table(value) | {"metadata": self._listed(value.get("metadata"))})
            case {"items": [*_] | None, "metadata": {}}:
                return self._fields({**value, "metadata": self._listed(value["metadata"])})
            case {"type": "BOOKMARK", "object": {"metadata": metadata} as shown}:
                return self._fields({**value, "object": {**shown, "metadata": self._listed(metadata)}})
            case {"nonResourceRules": [*others], "resourceRules": [*rules]}:
                ordered = {"nonResourceRules": sorted(others, key=_text), "resourceRules": sorted(rules, key=_text)}
                return self._fields(value | ordered)
            case {"extra": dict(extra), "username": _}:
                rest = {name: extra[name] for name in extra if name != _CREDENTIAL}
                return self._fields(_without(value, "extra") | ({"extra": rest} if rest else {}))
            case dict():
                return self._fields(value)
            case list():
                made = [self._masked(each, key) for each in value]
                return sorted(made, key=_manager) if key == "managedFields" else made
            case _ if key in _CHOSEN:
                return self._chosen(value)
            case str():
                return self._told(value, key)
            case _:
                return value

    def _fields(self, tree: Tree) -> Tree:
        return {
            key: self._field(key, tree[key]) for key in sorted(tree) if key not in ("caBundle", "storageVersionHash")
        }

    def _field(self, key: str, value: Any) -> Any:
        if key == "fieldsV1":
            return self.text(json.dumps(value, sort_keys=True, separators=(",", ":")))
        return self._masked(value, key)

    def _told(self, text: str, key: str) -> str:
        if key == "resourceVersion" and text != "RV":
            return self._version(text)
        if key in ("continue", "token") and text and text not in self._given:
            return "TOKEN"
        return self.text(text)

    def _chosen(self, value: Any) -> Any:
        if value in self._given or not (isinstance(value, int) or _ADDRESS.fullmatch(value)):
            return value
        return "CHOSEN"

    def _table(self, table: Tree) -> Tree:
        """Without the prose of its columns, and with words for ages and chosen addresses."""
        columns = [_without(each, "description") for each in table["columnDefinitions"]]
        rows = [{**row, "cells": [self._cell(cell) for cell in row["cells"]]} for row in table.get("rows") or ()]
        return {**table, "columnDefinitions": columns, "rows": rows}

    def _cell(self, cell: Any) -> Any:
        if not isinstance(cell, str):
            return cell
        return "AGE" if _AGE.fullmatch(cell) else self._chosen(cell)

    def _listed(self, metadata: Any) -> Any:
        """Of a list: its version is that of the whole store, which others write to as well."""
        return {**metadata, "resourceVersion": "RV"} if metadata and "resourceVersion" in metadata else metadata


def _text(tree: Any) -> str:
    return json.dumps(tree, sort_keys=True)


def _without(tree: Tree, name: str) -> Tree:
    return {key: tree[key] for key in tree if key != name}


def _manager(entry: Tree) -> tuple[str, ...]:
    return tuple(entry.get(key, "") for key in _MANAGER)


def sorted_causes(status: Tree) -> Tree:
    """A refusal whose causes are in alphabetical order, and its message as if they had been found so."""
    details = status.get("details") or {}
    causes = details.get("causes") or []
    if len(causes) < 2:
        return status
    ordered = sorted(causes, key=_text)
    before, after = (f"[{', '.join(_complaint(cause) for cause in each)}]" for each in (causes, ordered))
    message = status["message"].replace(before, after)
    return {**status, "message": message, "details": {**details, "causes": ordered}}


def _complaint(cause: Tree) -> str:
    return f"{cause['field']}: {cause['message']}" if cause.get("field") else str(cause["message"])
