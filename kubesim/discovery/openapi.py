"""OpenAPI v3 of everything that is served: an index, and one document for every version of a group.

Clients learn from it which parameters a request may have, and people what fields an object has. The types of built-in
kinds are those of a real server (`data/schemas.json`) without their descriptions, those of custom resources come from
their definitions. A document is made when somebody reads it; its name in the index changes with what it says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
from msgspec import Struct

from kubesim.discovery.groups import RELEASE, Document, part_of
from kubesim.kinds.registry import NAMESPACES, Kind, Registry
from kubesim.store.versions import Tree

PREFIX = "/openapi/v3"
INFO = {"title": "Kubernetes", "version": ".".join(RELEASE.removeprefix("v").split(".")[:2])}
_REFERENCE = "#/components/schemas/"
_OBJECT_META = "meta.v1.ObjectMeta"
_DELETE_OPTIONS = "meta.v1.DeleteOptions"
_LIST_META = "meta.v1.ListMeta"
_STRING: Tree = {"type": "string"}
_MORE_TYPES: dict[str, Tree] = {
    _LIST_META: {
        "type": "object",
        "properties": {
            "continue": _STRING,
            "remainingItemCount": {"type": "integer", "format": "int64"},
            "resourceVersion": _STRING,
            "selfLink": _STRING,
        },
    },
}
"""Types that objects do not have, but lists of them."""
_PACKAGES = (
    ("meta.", "io.k8s.apimachinery.pkg.apis."),
    ("api.resource.", "io.k8s.apimachinery.pkg."),
    ("runtime.", "io.k8s.apimachinery.pkg."),
    ("util.", "io.k8s.apimachinery.pkg."),
    ("apis.", "io.k8s.apiextensions-apiserver.pkg."),
    ("", "io.k8s.api."),
)
"""What the names of types begin with when they are told in full, by how they begin here."""
_KEPT = ("type", "format", "default", "required")
_QUERY = {
    "allowWatchBookmarks": "boolean",
    "continue": "string",
    "dryRun": "string",
    "fieldManager": "string",
    "fieldSelector": "string",
    "fieldValidation": "string",
    "force": "boolean",
    "gracePeriodSeconds": "integer",
    "labelSelector": "string",
    "limit": "integer",
    "orphanDependents": "boolean",
    "pretty": "string",
    "propagationPolicy": "string",
    "resourceVersion": "string",
    "resourceVersionMatch": "string",
    "sendInitialEvents": "boolean",
    "timeoutSeconds": "integer",
    "watch": "boolean",
}
_WRITTEN = ("dryRun", "fieldManager", "fieldValidation")
_SELECTED = (
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
    "watch",
)
_DELETED = ("dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy")
_DELETED_TOGETHER = (*_DELETED, *(name for name in _SELECTED if name not in ("allowWatchBookmarks", "watch")))
_VERBS = (("get", "get", "get"), ("create", "post", "post"), ("update", "put", "put"))
"""Verbs of subresources that are not simply changed, with the method and the action of each."""
_PATCHES = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)


class _Types(Struct):
    """What the file says of built-in kinds; it holds more, for others."""

    kinds: dict[str, str]
    types: dict[str, Tree]


@cache
def _raw() -> bytes:
    return files("kubesim").joinpath("data/schemas.json").read_bytes()


@cache
def _types() -> _Types:
    return msgspec.json.decode(_raw(), type=_Types)


@cache
def _edition() -> str:
    return hashlib.sha512(RELEASE.encode() + _raw()).hexdigest()


class Descriptions:
    """The documents of a registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._made: dict[str, Document] = {}

    def index(self) -> Tree:
        """Where the document of each version of each group is found."""
        paths = {}
        for group, versions in sorted(self._registry.versions().items()):
            for version in sorted(versions):
                name = _name(group, version)
                paths[name] = {"serverRelativeURL": f"{PREFIX}/{name}?hash={self._hash(group, version)}"}
        return {"paths": paths}

    def document(self, path: str) -> Document | None:
        """The document at a path below the index; None where there is none."""
        match path.removeprefix(f"{PREFIX}/").strip("/").split("/"):
            case ["api", version]:
                group = ""
            case ["apis", group, version]:
                pass
            case _:
                return None
        if not self._registry.served(group, version):
            return None
        tag = self._hash(group, version)
        name = _name(group, version)
        known = self._made.get(name)
        if known is None or known.tag != f'"{tag}"':
            tree = _Writer(group, version, self._registry.served(group, version)).tree()
            known = self._made[name] = Document(msgspec.json.encode(tree), f'"{tag}"')
        return known

    def _hash(self, group: str, version: str) -> str:
        """Another one whenever the document is; it is told without making the document."""
        kinds = self._registry.served(group, version)
        told = [
            [kind.resource.plural, kind.resource.kind, kind.subresources, kind.custom and kind.custom.published]
            for kind in kinds
        ]
        content = msgspec.json.encode([_edition(), group, version, told])
        return hashlib.sha512(content).hexdigest().upper()


def _name(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


class _Writer:
    """Writes one document."""

    def __init__(self, group: str, version: str, kinds: tuple[Kind, ...]) -> None:
        self._group = group
        self._version = version
        self._kinds = sorted(kinds, key=lambda kind: kind.resource.plural)
        self._schemas: dict[str, Tree] = {}

    def tree(self) -> Tree:
        paths: Tree = {}
        for kind in self._kinds:
            paths |= dict(self._paths(kind))
        return {
            "openapi": "3.0.0",
            "info": INFO,
            "paths": paths,
            "components": {"schemas": dict(sorted(self._schemas.items()))},
        }

    # Paths

    def _paths(self, kind: Kind) -> Iterator[tuple[str, Tree]]:
        resource = kind.resource
        prefix = f"/{_name(self._group, self._version)}"
        shown = self._object(kind)
        scoped = f"{prefix}/namespaces/{{namespace}}/{resource.plural}" if resource.namespaced else None
        collection = scoped or f"{prefix}/{resource.plural}"
        scope = ["namespace"] if scoped else []
        if kind.answered:
            operation = self._operation(kind, "post", shown, _WRITTEN, body=(("*/*",), shown))
            yield collection, {"post": operation} | self._shared(*scope)
            return
        listed = self._list(kind, shown)
        if scoped:
            everywhere = {"get": self._operation(kind, "list", listed, ())}
            yield f"{prefix}/{resource.plural}", everywhere | self._shared(*_SELECTED)
        yield collection, self._collection(kind, shown, listed) | self._shared(*scope)
        yield f"{collection}/{{name}}", self._item(kind, shown) | self._shared("name", *scope)
        for part in sorted(kind.subresources):
            yield f"{collection}/{{name}}/{part}", self._part(kind, part, shown) | self._shared("name", *scope)

    def _collection(self, kind: Kind, shown: str, listed: str) -> Tree:
        operations = {
            "get": self._operation(kind, "list", listed, _SELECTED),
            "post": self._operation(kind, "post", shown, _WRITTEN, body=(("*/*",), shown)),
        }
        if kind.resource != NAMESPACES:
            query = _DELETED_TOGETHER if kind.custom is None else _SELECTED
            operations["delete"] = self._operation(kind, "deletecollection", listed, query)
        return operations

    def _item(self, kind: Kind, shown: str) -> Tree:
        options = self._named(_DELETE_OPTIONS)
        return self._changes(kind, shown) | {
            "delete": self._operation(kind, "delete", shown, _DELETED, body=(("*/*",), options))
        }

    def _changes(self, kind: Kind, shown: str, part: str = "") -> Tree:
        patches = _PATCHES if kind.custom is None else _PATCHES[:-1]
        return {
            "get": self._operation(kind, "get", shown, () if kind.custom is None else ("resourceVersion",), part),
            "put": self._operation(kind, "put", shown, _WRITTEN, part, body=(("*/*",), shown)),
            "patch": self._operation(kind, "patch", shown, (*_WRITTEN, "force"), part, body=(patches, "")),
        }

    def _part(self, kind: Kind, part: str, shown: str) -> Tree:
        """What may be done with a subresource."""
        group, version, name, verbs = part_of(kind, part)
        if name != kind.resource.kind:
            own = f"{group}/{version}" if group else kind.resource.api_version
            short = _types().kinds.get(f"{own} {name}")
            shown = self._named(short) if short is not None else ""
        if "patch" in verbs and "create" not in verbs:
            return self._changes(kind, shown, part)
        operations: Tree = {}
        for verb, method, action in _VERBS:
            if verb in verbs:
                body = None if method == "get" else (("*/*",), shown)
                query = () if method == "get" else _WRITTEN
                operations[method] = self._operation(kind, action, shown, query, part, body=body)
        return operations

    @staticmethod
    def _shared(*names: str) -> Tree:
        return {"parameters": [_parameter(name) for name in (*names, "pretty")]}

    def _operation(
        self,
        kind: Kind,
        action: str,
        shown: str,
        query: tuple[str, ...],
        part: str = "",
        *,
        body: tuple[tuple[str, ...], str] | None = None,
    ) -> Tree:
        made: Tree = {
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": _subject(kind, part),
            "parameters": [_parameter(name) for name in query],
            "responses": {"200": {"description": "OK", "content": {"application/json": _content(shown)}}},
        }
        if body is not None:
            media, sent = body
            made["requestBody"] = {"required": True, "content": {each: _content(sent) for each in media}}
        return made

    # Types

    def _object(self, kind: Kind) -> str:
        """The name of the type of a kind's objects."""
        resource = kind.resource
        if kind.custom is not None:
            name = ".".join([*reversed(resource.group.split(".")), resource.version, resource.kind])
            schema = _custom_schema(kind.custom.published["version"], self._named(_OBJECT_META))
        else:
            short = _types().kinds.get(f"{resource.api_version} {resource.kind}", "")
            if not short:
                return ""
            name = self._named(short)
            schema = self._schemas[name]
        self._schemas[name] = schema | {_GROUP_VERSION_KIND: [_told(kind, resource.kind)]}
        return name

    def _list(self, kind: Kind, shown: str) -> str:
        """The name of the type of lists of them."""
        if not shown:
            return ""
        listed = kind.list_kind
        name = f"{shown.rpartition('.')[0]}.{listed}"
        self._schemas[name] = {
            "type": "object",
            "required": ["items"],
            "properties": {
                "apiVersion": _STRING,
                "items": {"type": "array", "items": {"$ref": _REFERENCE + shown}},
                "kind": _STRING,
                "metadata": {"allOf": [{"$ref": _REFERENCE + self._named(_LIST_META)}]},
            },
            _GROUP_VERSION_KIND: [_told(kind, listed)],
        }
        return name

    def _named(self, short: str) -> str:
        """The name of a type in full; it and all that it is made of become part of the document."""
        name = next(package + short for start, package in _PACKAGES if short.startswith(start))
        if name not in self._schemas:
            self._schemas[name] = {}
            known = _types().types
            self._schemas[name] = self._schema(known[short] if short in known else _MORE_TYPES[short])
        return name

    def _schema(self, schema: Tree) -> Tree:
        made: Tree = {key: schema[key] for key in _KEPT if key in schema}
        made |= {key: value for key, value in schema.items() if key.startswith("x-kubernetes-")}
        if "properties" in schema:
            made["properties"] = {key: self._schema(each) for key, each in schema["properties"].items()}
        for key in ("items", "additionalProperties"):
            if isinstance(schema.get(key), dict):
                made[key] = self._schema(schema[key])
        reference = schema.get("$ref")
        if isinstance(reference, str):
            target = {"$ref": _REFERENCE + self._named(reference)}
            return made | {"allOf": [target]} if made else target
        return made


_GROUP_VERSION_KIND = "x-kubernetes-group-version-kind"


def _subject(kind: Kind, part: str) -> Tree:
    """What an operation is about: objects of the kind, or a part of them that is of another kind."""
    group, version, name = kind.resource.group, kind.resource.version, kind.resource.kind
    if part and kind.custom is None:
        other_group, other_version, name, _ = part_of(kind, part)
        group, version = (other_group, other_version) if other_version else (group, version)
    return {"group": group, "version": version, "kind": name}


def _told(kind: Kind, name: str) -> Tree:
    return {"group": kind.resource.group, "kind": name, "version": kind.resource.version}


def _content(name: str) -> Tree:
    return {"schema": {"$ref": _REFERENCE + name} if name else {"type": "object"}}


def _parameter(name: str) -> Tree:
    if name in ("name", "namespace"):
        return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "uniqueItems": True}}
    return {"name": name, "in": "query", "schema": {"type": _QUERY[name], "uniqueItems": True}}


def _custom_schema(version: Tree, metadata: str) -> Tree:
    """The schema of a version of a definition, with what every object has."""
    schema: Tree = _without_rules(version["schema"]["openAPIV3Schema"])
    own = schema.get("properties") or {}
    common = {"apiVersion": _STRING, "kind": _STRING, "metadata": {"allOf": [{"$ref": _REFERENCE + metadata}]}}
    made = schema | {"type": "object", "properties": {**own, **common}}
    fields = [{"fieldPath": each["jsonPath"].removeprefix(".")} for each in version.get("selectableFields") or ()]
    return made | {"x-kubernetes-selectable-fields": fields} if fields else made


def _without_rules(schema: Any) -> Any:
    """What OpenAPI can say of a schema: a number or a text is either of two."""
    if isinstance(schema, list):
        return [_without_rules(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _without_rules(value) for key, value in schema.items()}
    if schema.get("x-kubernetes-int-or-string") is True and "anyOf" not in schema:
        made["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    return made
