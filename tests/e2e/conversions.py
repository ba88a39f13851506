"""A custom resource in two versions with a conversion webhook, on both clusters.

A gadget of v1 has `spec.colour`, one of v2 `spec.paint.colour`; both have `size`, for which v2 alone
knows a default, and v2 has a `finish` that v1 cannot hold.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from kubeloop.calls import Call, Reply
from kubeloop.objects.meta import Resource
from kubeloop.request import path_of
from tests.e2e.clusters import CUSTOM_RESOURCES, Site
from tests.e2e.definitions import MERGE, Shop, Tree, a_definition, an_empty_shop, tree_of
from tests.e2e.webhooks import serve

GROUP = "shop.example.com"
V1, V2 = (Resource(GROUP, version, "gadgets", "Gadget") for version in ("v1", "v2"))
NAME = f"gadgets.{GROUP}"

Spoil = Callable[[Tree], Tree]
"""From the review that would be answered to the one that is."""


class Webhook:
    """Converts gadgets; `spoil` changes what it answers, `status` how."""

    def __init__(self) -> None:
        self.requests: list[Tree] = []
        self.spoil: Spoil = lambda review: review
        self.status = 200

    async def __call__(self, call: Call) -> Reply:
        review = json.loads(call.body)
        request = review["request"]
        self.requests.append(request)
        if self.status != 200:
            return Reply(self.status, b"out of order", (("Content-Type", "text/plain"),))
        made = [converted(tree, request["desiredAPIVersion"]) for tree in request["objects"]]
        response = {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": made}
        answer = self.spoil({"apiVersion": review["apiVersion"], "kind": "ConversionReview", "response": response})
        return Reply(200, json.dumps(answer).encode(), (("Content-Type", "application/json"),))


def converted(tree: Tree, desired: str) -> Tree:
    """A gadget in the other version."""
    tree = json.loads(json.dumps(tree)) | {"apiVersion": desired}
    spec = tree.get("spec") or {}
    if desired.endswith("/v2") and "colour" in spec:
        spec["paint"] = {"colour": spec.pop("colour")}
    elif desired.endswith("/v1") and "colour" in (spec.get("paint") or {}):
        spec["colour"] = spec.pop("paint")["colour"]
    tree.setdefault("metadata", {})
    return tree


def spoiling(**changes: Any) -> Spoil:
    """Changes the response."""
    return lambda review: review | {"response": review["response"] | changes}


def spoiling_objects(change: Callable[[Tree], object]) -> Spoil:
    """Changes every converted object in place."""

    def spoil(review: Tree) -> Tree:
        for tree in review["response"]["convertedObjects"]:
            change(tree)
        return review

    return spoil


def versions(storage: str = "v1", **fields: Tree) -> list[Tree]:
    """Both versions; `v1` and `v2` are more fields of them."""
    text, number = {"type": "string"}, {"type": "integer"}
    paint = {"type": "object", "properties": {"colour": text, "finish": text}}
    specs = {
        "v1": {"size": number, "colour": text, "grade": {"type": "string", "default": "one"}},
        "v2": {"size": number | {"default": 5}, "paint": paint, "grade": {"type": "string", "default": "two"}},
    }
    return [
        {
            "name": name,
            "served": True,
            "storage": name == storage,
            "schema": {
                "openAPIV3Schema": {
                    "type": "object",
                    "properties": {
                        "spec": {"type": "object", "properties": properties},
                        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                    },
                }
            },
            "subresources": {"status": {}},
        }
        | fields.get(name, {})
        for name, properties in specs.items()
    ]


def a_gadget(name: str = "one", version: str = "v1", **spec: Any) -> Tree:
    metadata = {"name": name}
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Gadget", "metadata": metadata, "spec": spec}


class Factory:
    """Gadgets, their definition, and their webhook."""

    def __init__(self, site: Site, shop: Shop, webhook: Webhook) -> None:
        self.site = site
        self.webhook = webhook
        self._shop = shop
        self.send = shop.send

    def at(self, resource: Resource, name: str = "", subresource: str = "") -> str:
        return self._shop.at(name, subresource, resource)

    async def create(self, tree: Tree) -> Tree:
        resource = V1 if tree["apiVersion"] == V1.api_version else V2
        answer = await self.send("POST", self.at(resource), tree)
        assert answer.status == 201, answer.body
        return tree_of(answer)

    async def get(self, resource: Resource, name: str = "one") -> Tree:
        answer = await self.send("GET", self.at(resource, name))
        assert answer.status == 200, answer.body
        return tree_of(answer)

    async def definition(self) -> Tree:
        return tree_of(await self.send("GET", path_of(CUSTOM_RESOURCES, name=NAME)))

    async def redefine(self, spec: Tree) -> None:
        """Changes the definition, and waits until what is served follows it."""
        answer = await self.send("PATCH", path_of(CUSTOM_RESOURCES, name=NAME), {"spec": spec}, kind=MERGE)
        assert answer.status == 200, answer.body


@asynccontextmanager
async def a_factory(site: Site, *defined: Tree, reviews: tuple[str, ...] = ("v1",)) -> AsyncIterator[Factory]:
    """At the end nothing is left that only the webhook could read."""
    webhook = Webhook()
    client = await serve(site, webhook, "convert.test.svc", "/convert")
    conversion = {
        "strategy": "Webhook",
        "webhook": {"clientConfig": client, "conversionReviewVersions": list(reviews)},
    }
    async with an_empty_shop(site) as shop:
        factory = Factory(site, shop, webhook)
        made = a_definition(*(defined or versions()), plural="gadgets", kind="Gadget", conversion=conversion)
        await shop.define(made)
        try:
            yield factory
        finally:
            webhook.status, webhook.spoil = 200, lambda review: review
            await factory.send("DELETE", path_of(CUSTOM_RESOURCES, name=NAME))
            gone = lambda: NAME not in site.history.objects(CUSTOM_RESOURCES)  # noqa: E731
            await site.until(gone, following=[CUSTOM_RESOURCES])
