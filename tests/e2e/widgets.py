"""Widgets in two versions: colours are in another place in the newer one, and each holds what the other cannot.

Every scenario has a CRD of its own, in a group named after its namespace, so that scenarios share a cluster.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from fairlead.contracts.apiversions.decide.convert import KindConversion, convert
from fairlead.contracts.apiversions.decide.rule_sets import kind_of, read_rules
from fairlead.engine.command import Invocation
from fairlead.engine.contract import Room
from fairlead.engine.decide.registration import Tree
from fairlead.engine.hashes import Hashes
from kubeloop.client import Client
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import JSON, Request, create, get, path_of, path_to
from tests.e2e.clusters import CUSTOM_RESOURCES, Site

MERGE = "application/merge-patch+json"

STATUS: dict[str, Tree] = {
    "v1": {"phase": {"type": "string"}, "seen": {"type": "integer"}, "oldMark": {"type": "string"}},
    "v2": {"phase": {"type": "string"}, "observed": {"type": "object", "properties": {"seen": {"type": "integer"}}}},
}
SPEC: dict[str, Tree] = {
    "v1": {"size": {"type": "integer"}, "colour": {"type": "string"}, "legacyMode": {"type": "boolean"}},
    "v2": {
        "size": {"type": "integer"},
        "paint": {"type": "object", "properties": {"colour": {"type": "string"}, "finish": {"type": "string"}}},
        "parts": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "weight": {"type": "integer"}},
            },
        },
    },
}


class Widgets(Struct, frozen=True):
    """The kind of one scenario."""

    site: Site
    group: str
    is_namespaced: bool = True

    @property
    def name(self) -> str:
        return f"widgets.{self.group}"

    def resource(self, version: str = "v1") -> Resource:
        return Resource(self.group, version, "widgets", "Widget", self.is_namespaced)

    def definition(self, *versions: str, storage: str = "v1", conversion: Tree | None = None) -> Tree:
        return {
            "apiVersion": CUSTOM_RESOURCES.api_version,
            "kind": CUSTOM_RESOURCES.kind,
            "metadata": {"name": self.name},
            "spec": {
                "group": self.group,
                "scope": "Namespaced" if self.is_namespaced else "Cluster",
                "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
                "versions": [a_version(each, storage=each == storage) for each in versions or ("v1",)],
                **({"conversion": conversion} if conversion else {}),
            },
        }

    def rules(self) -> Tree:
        moves = [
            {"op": "move", "from": "/spec/colour", "to": "/spec/paint/colour"},
            {"op": "move", "from": "/status/seen", "to": "/status/observed/seen"},
        ]
        spokes = [{"version": "v1", "toHub": moves}]
        return {"kind": "ConversionRules", "crd": self.name, "hub": "v2", "spokes": spokes}

    def kind(self) -> KindConversion:
        return kind_of(read_rules(self.rules()), self.definition("v1", "v2", storage="v2"))

    def converted(self, tree: Tree, version: str = "v2") -> Tree:
        return convert(tree, version, self.kind()).tree

    async def define(self, *versions: str, storage: str = "v1", more: Mapping[str, Tree] = {}) -> Tree:
        """The CRD, which is there and established; `more` are properties of the specs of versions."""
        tree = self.definition(*versions, storage=storage)
        for each in tree["spec"]["versions"]:
            spec = each["schema"]["openAPIV3Schema"]["properties"]["spec"]
            spec["properties"] = spec["properties"] | more.get(each["name"], {})
        await self.site.client.call(create(CUSTOM_RESOURCES, "", msgspec.json.encode(tree)))

        async def is_served() -> bool:
            answer = await self.live_definition()
            conditions = (answer.get("status") or {}).get("conditions") or []
            return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)

        await self.site.until(is_served, every=0.05)

        async def is_listed() -> bool:
            try:
                await self.site.client.list(self.resource(storage), dict[str, Any], namespace=self.site.namespace)
            except Exception:  # noqa: BLE001  (not served yet)
                return False
            return True

        await self.site.until(is_listed, every=0.05)
        return await self.live_definition()

    async def live_definition(self) -> Tree:
        return tree_of((await self.site.client.call(get(Ref(CUSTOM_RESOURCES, "", self.name)))).body)

    async def make(self, name: str, version: str = "v1", *, status: Tree | None = None, **spec: Any) -> Tree:
        return await self.site.create(
            self.resource(version), {"metadata": {"name": name}, "spec": spec or {"size": 1}}, status=status
        )

    async def live(self, name: str, version: str = "v1") -> Tree:
        found = await self.site.get(self.resource(version), name)
        assert found is not None, f"{name} is not there"
        return found

    async def all(self, version: str = "v1") -> dict[str, Tree]:
        listed = await self.site.client.list(self.resource(version), dict[str, Any], namespace=self.site.namespace)
        return {each["metadata"]["name"]: each for each in listed.items}

    async def change(self, name: str, body: Tree, version: str = "v1", subresource: str = "") -> Tree:
        path = path_to(Ref(self.resource(version), self.site.namespace, name), subresource)
        sent = Request("PATCH", path, body=msgspec.json.encode(body), content_type=MERGE)
        return tree_of((await self.site.client.call(sent)).body)

    async def delete(self, name: str, version: str = "v1") -> None:
        path = path_of(self.resource(version), self.site.namespace, name)
        await self.site.client.call(Request("DELETE", path, body=b"{}", content_type=JSON))


def widgets(site: Site) -> Widgets:
    return Widgets(site, f"{site.namespace}.example.test")


def a_version(name: str, *, storage: bool, served: bool = True) -> Tree:
    properties = {
        "spec": {"type": "object", "properties": SPEC[name]},
        "status": {"type": "object", "properties": STATUS[name]},
    }
    return {
        "name": name,
        "served": served,
        "storage": storage,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
    }


def tree_of(body: bytes) -> Tree:
    tree: Tree = msgspec.json.decode(body)
    return tree


def body_of(tree: Tree) -> Tree:
    """What somebody wrote of an object."""
    metadata = {
        key: tree["metadata"][key] for key in ("name", "labels", "annotations", "finalizers") if key in tree["metadata"]
    }
    return {**{key: value for key, value in tree.items() if key != "metadata"}, "metadata": metadata}


async def called(module: str, client: Client, *words: str, hashes: tuple[Room[Hashes], ...] = ()) -> int:
    """The exit code of a command of `fairlead api`, by the name of its module."""
    command = importlib.import_module(f"fairlead.contracts.apiversions.commands.{module}").COMMAND
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    invocation = Invocation(arguments=parser.parse_args([*words]), connected=client, hashes=hashes)
    return int(await command.run(invocation))
