"""Discovery: under which versions and names a kind is served."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import Struct

from fairlead.api.meta import Resource, Served
from fairlead.kube.client import Client
from fairlead.kube.errors import NotFound, TransportError
from fairlead.kube.request import Request, Response

T = TypeVar("T")


class _Version(Struct, frozen=True):
    version: str = ""


class _Group(Struct, frozen=True, rename="camel"):
    versions: tuple[_Version, ...] = ()
    preferred_version: _Version = _Version()


class _Entry(Struct, frozen=True):
    name: str
    kind: str = ""
    namespaced: bool = False


class _Entries(Struct, frozen=True):
    resources: tuple[_Entry, ...] = ()


async def discover(client: Client, group: str, kind: str) -> tuple[Served, ...]:
    """Every served version of the kind, the preferred one first; empty when the group or the kind is not served."""
    found = [await _in_version(client, group, version, kind) for version in await _versions(client, group)]
    return tuple(served for served in found if served is not None)


async def _versions(client: Client, group: str) -> list[str]:
    if not group:
        return ["v1"]
    try:
        answer = _decoded(await client.call(Request("GET", f"/apis/{group}")), _Group)
    except NotFound:
        return []
    names = [answer.preferred_version.version, *(each.version for each in answer.versions)]
    return list(dict.fromkeys(filter(None, names)))


async def _in_version(client: Client, group: str, version: str, kind: str) -> Served | None:
    base = f"/apis/{group}/{version}" if group else f"/api/{version}"
    try:
        entries = _decoded(await client.call(Request("GET", base)), _Entries).resources
    except NotFound:
        return None
    for entry in entries:
        if entry.kind == kind and "/" not in entry.name:
            inner = tuple(each.name.partition("/")[2] for each in entries if each.name.startswith(f"{entry.name}/"))
            return Served(Resource(group, version, entry.name, kind, entry.namespaced), inner)
    return None


def _decoded(answer: Response, into: type[T]) -> T:
    try:
        return msgspec.json.decode(answer.body, type=into)
    except msgspec.DecodeError as error:
        raise TransportError(f"discovery: the answer cannot be read: {error}") from error
