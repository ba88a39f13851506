"""Several managers at one embedded cluster: their requests, and who owns what afterwards."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from kubeloop.request import APPLY, JSON, MERGE_PATCH, Request, Response
from kubesim.cluster import Cluster
from kubesim.time import run

Tree = dict[str, Any]
MAP = "/api/v1/namespaces/default/configmaps/settings"
Script = Callable[["Desk"], Awaitable[Any]]


class Desk:
    """Requests of several managers to one cluster."""

    def __init__(self, cluster: Cluster, user: str = "admin") -> None:
        self.cluster = cluster
        self._transport = cluster.transport(user)

    async def send(self, method: str, path: str, tree: object = None, kind: str = JSON, **query: str) -> Response:
        body = tree if isinstance(tree, bytes) else b"" if tree is None else msgspec.json.encode(tree)
        agent = (("User-Agent", "program/1.0 (test)"),)
        return await self._transport.send(Request(method, path, tuple(query.items()), body, kind, headers=agent))

    async def apply(self, tree: object, manager: str = "one", path: str = MAP, **query: str) -> Response:
        return await self.send("PATCH", path, tree, APPLY, fieldManager=manager, **query)

    async def merge(self, tree: Tree, manager: str = "other", path: str = MAP, **query: str) -> Response:
        return await self.send("PATCH", path, tree, MERGE_PATCH, fieldManager=manager, **query)

    async def read(self, path: str = MAP) -> Tree:
        return decoded(await self.send("GET", path))

    async def owned(self, path: str = MAP) -> dict[str, Tree]:
        """What each manager owns."""
        return owners_in(await self.read(path))


def played(script: Script) -> Any:
    async def scenario() -> Any:
        return await script(Desk(Cluster()))

    return run(scenario())


def decoded(answer: Response) -> Tree:
    tree: Tree = msgspec.json.decode(answer.body)
    return tree


def owners_in(tree: Tree) -> dict[str, Tree]:
    entries = tree["metadata"].get("managedFields") or []
    return {f"{entry['manager']} {entry['operation']}": entry["fieldsV1"] for entry in entries}


def a_map(data: Tree | None = None, **metadata: Any) -> Tree:
    tree: Tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", **metadata}}
    return tree if data is None else tree | {"data": data}


def a_deployment(**spec: Any) -> Tree:
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "web:1"}]},
    }
    selected = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    metadata = {"name": "web"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": selected | spec}
