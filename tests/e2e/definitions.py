"""A custom resource to try definitions with: every kind of constraint once, two versions, status and scale."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from kubeloop.http_transport import HttpTransport
from kubeloop.objects.meta import Resource
from kubeloop.request import Request, Response, Transport, path_of
from tests.e2e.clusters import CUSTOM_RESOURCES, Site

Tree = dict[str, Any]
GROUP = "shop.example.com"
WIDGETS = Resource(GROUP, "v1", "widgets", "Widget")
WIDGETS_BETA = Resource(GROUP, "v1beta1", "widgets", "Widget")
NAME = f"widgets.{GROUP}"
MERGE = "application/merge-patch+json"

SPEC: Tree = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "format": "int32", "minimum": 0, "maximum": 10},
        "replicas": {"type": "integer", "minimum": 0, "default": 1},
        "ratio": {"type": "number", "minimum": 0, "exclusiveMinimum": True, "maximum": 1, "exclusiveMaximum": True},
        "half": {"type": "number", "multipleOf": 0.5},
        "color": {"type": "string", "enum": ["red", "green"], "default": "red"},
        "code": {"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^[a-z]+$"},
        "note": {"type": "string", "nullable": True},
        "since": {"type": "string", "format": "date-time"},
        "limit": {"x-kubernetes-int-or-string": True},
        "on": {"type": "boolean"},
        "tags": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "string"}},
        "kinds": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "parts": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "count": {"type": "integer", "default": 2}},
            },
        },
        "labels": {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 2,
            "additionalProperties": {"type": "string", "maxLength": 1},
        },
        "free": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"n": {"type": "integer"}},
        },
        "template": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "properties": {"data": {"type": "object", "additionalProperties": {"type": "string"}}},
        },
        "either": {
            "type": "object",
            "properties": {"left": {"type": "integer"}, "right": {"type": "integer"}},
            "oneOf": [{"required": ["left"]}, {"required": ["right"]}],
        },
    },
}
STATUS: Tree = {
    "type": "object",
    "properties": {
        "replicas": {"type": "integer", "minimum": 0},
        "selector": {"type": "string"},
        "phase": {"type": "string", "enum": ["Good", "Bad"]},
    },
}


def a_schema(**properties: Tree) -> Tree:
    return {"openAPIV3Schema": {"type": "object", "properties": {"spec": SPEC, "status": STATUS} | properties}}


def a_version(name: str = "v1", *, storage: bool = True, schema: Tree | None = None, **fields: Any) -> Tree:
    scale = {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": schema or a_schema(),
        "subresources": {"status": {}, "scale": scale},
    } | fields


def a_definition(*versions: Tree, plural: str = "widgets", kind: str = "Widget", **spec: Any) -> Tree:
    return {
        "apiVersion": CUSTOM_RESOURCES.api_version,
        "kind": CUSTOM_RESOURCES.kind,
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, "shortNames": [plural[:2]], "categories": ["goods"]},
            "versions": list(versions) or [a_version(), a_version("v1beta1", storage=False)],
        }
        | spec,
    }


def a_widget(name: str = "one", **spec: Any) -> Tree:
    return {"apiVersion": WIDGETS.api_version, "kind": "Widget", "metadata": {"name": name}, "spec": {"size": 1} | spec}


class Shop:
    """Raw requests to a cluster, and what matters of the answers."""

    def __init__(self, site: Site, transport: Transport) -> None:
        self._site = site
        self._transport = transport

    async def send(
        self, method: str, path: str, tree: object = None, *, kind: str = "application/json", **query: str
    ) -> Response:
        body = b"" if tree is None else msgspec.json.encode(tree)
        return await self._transport.send(Request(method, path, tuple(query.items()), body=body, content_type=kind))

    def at(self, name: str = "", subresource: str = "", resource: Resource = WIDGETS) -> str:
        return path_of(resource, self._site.namespace if resource.namespaced else "", name, subresource)

    async def define(self, definition: Tree) -> None:
        """Creates the definition and waits until its resource is served."""
        name = definition["metadata"]["name"]
        made = await self.send("POST", path_of(CUSTOM_RESOURCES), definition)
        assert made.status == 201, made.body
        await self._site.until(
            lambda: is_established(self._site.history.objects(CUSTOM_RESOURCES).get(name)),
            following=[CUSTOM_RESOURCES],
        )


@asynccontextmanager
async def an_empty_shop(site: Site) -> AsyncIterator[Shop]:
    transport = site.ground.transport("admin")
    try:
        yield Shop(site, transport)
    finally:
        if isinstance(transport, HttpTransport):
            await transport.close()


@asynccontextmanager
async def a_shop(site: Site, *versions: Tree) -> AsyncIterator[Shop]:
    """A shop in which widgets are defined."""
    async with an_empty_shop(site) as shop:
        await shop.define(a_definition(*versions))
        yield shop


def is_established(definition: Tree | None) -> bool:
    conditions = ((definition or {}).get("status") or {}).get("conditions") or []
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def tree_of(response: Response) -> Tree:
    found: Tree = msgspec.json.decode(response.body)
    return found


def refusal(response: Response) -> tuple[int, str, list[tuple[str, str, str]]]:
    """Code, reason and causes, in an order of their own."""
    status = tree_of(response)
    causes = (status.get("details") or {}).get("causes") or []
    told = sorted((each.get("field", ""), each.get("reason", ""), each["message"]) for each in causes)
    return response.status, status.get("reason", ""), told
