"""OpenAPI v2: one document of everything that is served, made of the documents of v3.

kubectl reads it, in protobuf alone, where v3 knows nothing of a kind: without it a manifest of an unknown kind is
refused for a reason that has nothing to do with it.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from kubeloop.request import Request, Response
from kubesim.discovery.groups import Document
from kubesim.discovery.negotiation import JSON, accepted
from kubesim.discovery.openapi import Descriptions
from kubesim.store.versions import Tree

PATH = "/openapi/v2"
PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_ASKED = (PROTOBUF, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
_WRITTEN_AS = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
_UNSAID = ("oneOf", "anyOf", "not", "nullable", "default")
"""What v2 has no word for, or what a real server leaves out of it."""
_METHODS = ("get", "put", "post", "delete", "patch")


class Overview:
    """The document of a registry, in both forms."""

    def __init__(self, descriptions: Descriptions) -> None:
        self._descriptions = descriptions
        self._made: dict[str, Document] = {}

    def answer(self, request: Request) -> Response:
        wanted = [part.partition(";")[0].strip() for part in accepted(request).split(",")]
        media = next((PROTOBUF if each in _ASKED else JSON for each in wanted if each in (*_ASKED, *_ANY)), "")
        if not media:
            return Response(406, b"", {"cache-control": "no-cache, private", "vary": "Accept"})
        document = self._document(media)
        headers = {"content-type": media, "etag": document.tag, "vary": "Accept", "cache-control": "no-cache, private"}
        known = next((value for name, value in request.headers if name.lower() == "if-none-match"), "")
        return Response(304, b"", headers) if known == document.tag else Response(200, document.body, headers)

    def _document(self, media: str) -> Document:
        paths = [each["serverRelativeURL"] for each in self._descriptions.index()["paths"].values()]
        tag = f'"{hashlib.sha512(" ".join(paths).encode()).hexdigest().upper()}"'
        known = self._made.get(media)
        if known is None or known.tag != tag:
            found = (self._descriptions.document(path.partition("?")[0]) for path in paths)
            tree = _tree(document for document in found if document is not None)
            body = msgspec.json.encode(tree) if media == JSON else _message("Document", tree)
            known = self._made[media] = Document(body, tag)
        return known


_ANY = ("", "*/*", "application/*", JSON)


# From v3 to v2


def _tree(documents: Iterator[Document]) -> Tree:
    info: Tree = {}
    paths: Tree = {}
    definitions: Tree = {}
    for document in documents:
        read: Tree = msgspec.json.decode(document.body)
        info = read["info"]
        paths |= {path: _item(item) for path, item in read["paths"].items()}
        definitions |= {name: _schema(schema) for name, schema in read["components"]["schemas"].items()}
    return {
        "swagger": "2.0",
        "info": info,
        "paths": dict(sorted(paths.items())),
        "definitions": dict(sorted(definitions.items())),
        "securityDefinitions": {
            "BearerToken": {
                "type": "apiKey",
                "name": "authorization",
                "in": "header",
                "description": "Bearer Token authentication",
            }
        },
        "security": [{"BearerToken": []}],
    }


def _item(item: Tree) -> Tree:
    made = {method: _operation(item[method]) for method in _METHODS if method in item}
    return made | {"parameters": [_parameter(each) for each in item.get("parameters", ())]}


def _operation(operation: Tree) -> Tree:
    sent = operation.get("requestBody", {}).get("content", {})
    parameters = [_parameter(each) for each in operation["parameters"]]
    for content in list(sent.values())[:1]:
        parameters.insert(0, {"name": "body", "in": "body", "required": True, "schema": _schema(content["schema"])})
    responses = {
        code: {"description": each["description"], "schema": _schema(each["content"][JSON]["schema"])}
        for code, each in operation["responses"].items()
    }
    extensions = {key: value for key, value in operation.items() if key.startswith("x-")}
    return {
        "consumes": list(sent) or ["*/*"],
        "produces": list(_WRITTEN_AS),
        "schemes": ["https"],
        "parameters": parameters,
        "responses": responses,
    } | extensions


def _parameter(parameter: Tree) -> Tree:
    return {key: value for key, value in parameter.items() if key != "schema"} | dict(parameter["schema"])


def _schema(schema: Any) -> Any:
    """A reference stands beside other words here, and what has several shapes is not told."""
    if not isinstance(schema, dict):
        return schema
    made = {key: value for key, value in schema.items() if key not in _UNSAID}
    is_open = schema.get("x-kubernetes-preserve-unknown-fields") is True
    if is_open or schema.get("nullable") is True:  # kubectl would take what is listed for all that there may be
        made = {key: value for key, value in made.items() if key not in ("properties", "items", "type")}
    if isinstance(made.get("$ref"), str):
        made["$ref"] = made["$ref"].replace("#/components/schemas/", "#/definitions/")
    if "properties" in made:
        made["properties"] = {name: _schema(each) for name, each in made["properties"].items()}
    for key in ("items", "additionalProperties"):
        if key in made:
            made[key] = _schema(made[key])
    parts = [_schema(each) for each in made.pop("allOf", ())]
    if len(parts) == 1 and "$ref" in parts[0]:
        return made | parts[0]
    return made | {"allOf": parts} if parts else made


# As protobuf: fields by their names in JSON, with number and type, of the messages that the format has for a document.

_ONCE, _EACH, _NAMED = "once", "each", "named"
_MESSAGES: dict[str, dict[str, tuple[int, str, str]]] = {
    "Document": {
        "swagger": (1, "string", _ONCE),
        "info": (2, "Info", _ONCE),
        "paths": (8, "Paths", _ONCE),
        "definitions": (9, "Schemas", _ONCE),
    },
    "Info": {"title": (1, "string", _ONCE), "version": (2, "string", _ONCE)},
    "Paths": {"": (2, "PathItem", _NAMED)},
    "PathItem": {
        "get": (2, "Operation", _ONCE),
        "put": (3, "Operation", _ONCE),
        "post": (4, "Operation", _ONCE),
        "delete": (5, "Operation", _ONCE),
        "patch": (8, "Operation", _ONCE),
        "parameters": (9, "ParametersItem", _EACH),
    },
    "Operation": {
        "produces": (6, "string", _EACH),
        "consumes": (7, "string", _EACH),
        "parameters": (8, "ParametersItem", _EACH),
        "responses": (9, "Responses", _ONCE),
        "schemes": (10, "string", _EACH),
        "x-": (13, "Any", _NAMED),
    },
    "BodyParameter": {
        "name": (2, "string", _ONCE),
        "in": (3, "string", _ONCE),
        "required": (4, "bool", _ONCE),
        "schema": (5, "Schema", _ONCE),
    },
    "QueryParameter": {
        "in": (2, "string", _ONCE),
        "name": (4, "string", _ONCE),
        "type": (6, "string", _ONCE),
        "uniqueItems": (20, "bool", _ONCE),
    },
    "PathParameter": {
        "required": (1, "bool", _ONCE),
        "in": (2, "string", _ONCE),
        "name": (4, "string", _ONCE),
        "type": (5, "string", _ONCE),
        "uniqueItems": (19, "bool", _ONCE),
    },
    "Responses": {"": (1, "ResponseValue", _NAMED)},
    "Response": {"description": (1, "string", _ONCE), "schema": (2, "SchemaItem", _ONCE)},
    "Schemas": {"": (1, "Schema", _NAMED)},
    "Schema": {
        "$ref": (1, "string", _ONCE),
        "format": (2, "string", _ONCE),
        "title": (3, "string", _ONCE),
        "description": (4, "string", _ONCE),
        "multipleOf": (6, "double", _ONCE),
        "maximum": (7, "double", _ONCE),
        "exclusiveMaximum": (8, "bool", _ONCE),
        "minimum": (9, "double", _ONCE),
        "exclusiveMinimum": (10, "bool", _ONCE),
        "maxLength": (11, "integer", _ONCE),
        "minLength": (12, "integer", _ONCE),
        "pattern": (13, "string", _ONCE),
        "maxItems": (14, "integer", _ONCE),
        "minItems": (15, "integer", _ONCE),
        "uniqueItems": (16, "bool", _ONCE),
        "maxProperties": (17, "integer", _ONCE),
        "minProperties": (18, "integer", _ONCE),
        "required": (19, "string", _EACH),
        "enum": (20, "Any", _EACH),
        "additionalProperties": (21, "AdditionalProperties", _ONCE),
        "type": (22, "Wrapped string", _ONCE),
        "items": (23, "Wrapped Schema", _ONCE),
        "allOf": (24, "Schema", _EACH),
        "properties": (25, "Schemas", _ONCE),
        "x-": (31, "Any", _NAMED),
    },
}


def _message(name: str, tree: Tree) -> bytes:
    fields = _MESSAGES[name]
    pieces = [_field(*fields[key], value) for key, value in tree.items() if key in fields]
    pieces += [
        _field(*fields[start], {key: each for key, each in tree.items() if key.startswith(start)})
        for start in ("", "x-")
        if start in fields
    ]
    return b"".join(pieces)


def _field(number: int, kind: str, how: str, value: Any) -> bytes:
    if how == _EACH:
        return b"".join(_encoded(number, kind, each) for each in value)
    if how == _NAMED:
        return b"".join(
            _bytes(number, _encoded(1, "string", key) + _encoded(2, kind, each)) for key, each in value.items()
        )
    return _encoded(number, kind, value)


def _encoded(number: int, kind: str, value: Any) -> bytes:
    if kind in ("bool", "integer"):
        return _varint(number << 3) + _varint(int(value))
    if kind == "double":
        return _varint(number << 3 | 1) + struct.pack("<d", value)
    if kind == "string":
        return _bytes(number, value.encode())
    shape = _SHAPES.get(kind)
    return _bytes(number, _message(kind, value) if shape is None else shape(value))


def _bytes(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    made = bytearray()
    value &= (1 << 64) - 1
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def _parameters_item(parameter: Tree) -> bytes:
    """One of several kinds of parameters, each within messages that name the kind."""
    if parameter["in"] == "body":
        return _bytes(1, _encoded(1, "BodyParameter", parameter))
    number, kind = (3, "QueryParameter") if parameter["in"] == "query" else (4, "PathParameter")
    return _bytes(1, _bytes(2, _encoded(number, kind, parameter)))


def _additional_properties(value: Any) -> bytes:
    return _encoded(2, "bool", value) if isinstance(value, bool) else _encoded(1, "Schema", value)


_SHAPES: dict[str, Callable[[Any], bytes]] = {
    # JSON is YAML, too.
    "Any": lambda value: _encoded(2, "string", msgspec.json.encode(value).decode() + "\n"),
    "ParametersItem": _parameters_item,
    "ResponseValue": lambda value: _encoded(1, "Response", value),
    "SchemaItem": lambda value: _encoded(1, "Schema", value),
    "AdditionalProperties": _additional_properties,
    "Wrapped string": lambda value: _encoded(1, "string", value),
    "Wrapped Schema": lambda value: _encoded(1, "Schema", value),
}
