"""The same requests to the embedded cluster and to a real one, and what differs in their answers."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from kubeloop.http_transport import HttpTransport
from kubeloop.request import Request, Response, Transport, path_of
from kubesim.cluster import Cluster
from tests.e2e.clusters import CUSTOM_RESOURCES, Site
from tests.e2e.definitions import Tree, tree_of

_OWN = ("uid", "resourceVersion", "creationTimestamp")
_ADDRESSES = ("clusterIP", "clusterIPs")
_AGENT = (("User-Agent", "twin/1.0 (test)"),)


class Twins:
    """Two clusters; what is sent goes to both."""

    def __init__(self, namespace: str, ours: Transport, theirs: Transport) -> None:
        self.namespace = namespace
        self.ours = ours
        self.theirs = theirs

    async def send(self, request: Request) -> tuple[Response, Response]:
        request = msgspec.structs.replace(request, headers=request.headers + _AGENT)
        return await self.ours.send(request), await self.theirs.send(request)

    async def each(self, ours: Request, theirs: Request) -> tuple[Response, Response]:
        """Where the two must be told different things, such as their own versions."""
        ours, theirs = (msgspec.structs.replace(each, headers=each.headers + _AGENT) for each in (ours, theirs))
        return await self.ours.send(ours), await self.theirs.send(theirs)


@asynccontextmanager
async def twins(site: Site, *definitions: Tree) -> AsyncIterator[Twins]:
    """The real cluster of the site and an embedded one beside it, both with these definitions."""
    cluster = Cluster(namespaces=[site.namespace])
    theirs = site.ground.transport("admin")
    assert isinstance(theirs, HttpTransport)
    try:
        yield await _defined(site, Twins(site.namespace, cluster.transport(), theirs), definitions)
    finally:
        await theirs.close()


async def _defined(site: Site, pair: Twins, definitions: Sequence[Tree]) -> Twins:
    for definition in definitions:
        body = msgspec.json.encode(definition)
        request = Request("POST", path_of(CUSTOM_RESOURCES), body=body, content_type="application/json")
        for answer in await pair.send(request):
            assert answer.status == 201, answer.body
        name = definition["metadata"]["name"]
        for transport in (pair.ours, pair.theirs):
            await site.until(lambda transport=transport, name=name: _established(transport, name), every=0.02)  # type: ignore[misc]
    return pair


async def _established(transport: Transport, name: str) -> bool:
    answer = await transport.send(Request("GET", path_of(CUSTOM_RESOURCES, name=name)))
    conditions = tree_of(answer).get("status", {}).get("conditions") or []
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def masked(response: Response) -> Any:
    """Status and body without what is each cluster's own: names of incarnations, times, addresses."""
    tree = tree_of(response)
    if tree.get("kind") == "Status":
        return response.status, _refusal(tree)
    metadata = {key: value for key, value in tree["metadata"].items() if key not in _OWN}
    if "managedFields" in metadata:
        metadata["managedFields"] = sorted((_timeless(each) for each in metadata["managedFields"]), key=_identity)
    made = tree | {"metadata": metadata}
    if tree["kind"] == "Service":
        made["spec"] = {key: value for key, value in tree["spec"].items() if key not in _ADDRESSES}
    return response.status, made


def _timeless(entry: Tree) -> Tree:
    return entry | {"time": "some"} if "time" in entry else entry


def _identity(entry: Tree) -> tuple[str, ...]:
    return tuple(entry.get(key, "") for key in ("operation", "manager", "apiVersion", "subresource"))


def _refusal(tree: Tree) -> Any:
    """What a refusal says; the causes come in any order."""
    details = tree.get("details") or {}
    causes = sorted(msgspec.json.encode(each, order="sorted") for each in details.get("causes") or ())
    message = tree.get("message", "")
    if len(causes) > 1 and tree.get("reason") == "Invalid":
        message = message.partition("[")[0]
    message = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID", message)
    return tree.get("reason"), message, causes
