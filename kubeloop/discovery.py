"""Discovery: under which versions and names a kind is served."""

from __future__ import annotations

import asyncio
import re
from typing import TypeVar

from msgspec import Struct

from kubeloop.client import Client
from kubeloop.decoding import decoded
from kubeloop.errors import NotFound, ServerError
from kubeloop.objects.meta import Resource, ServedVersion
from kubeloop.request import Request

T = TypeVar("T")

BETWEEN_TRIES = (0.5, 1.0, 2.0)
"""Seconds after which a group is asked again whose server fails."""
_GROUP = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*", re.ASCII)
"""Names of groups are names in DNS. Anything else, such as `apps/v1/deployments`, would be the path of something else,
which is then asked for with the rights of whoever discovers."""


class _Version(Struct, frozen=True):
    version: str = ""


class _Group(Struct, frozen=True, rename="camel"):
    versions: tuple[_Version, ...]
    preferred_version: _Version = _Version()


class _Entry(Struct, frozen=True):
    name: str
    kind: str = ""
    namespaced: bool = False
    verbs: tuple[str, ...] = ()


class _Groups(Struct, frozen=True):
    groups: tuple[_NamedGroup, ...]


class _NamedGroup(Struct, frozen=True, rename="camel"):
    name: str
    preferred_version: _Version = _Version()


class _Entries(Struct, frozen=True):
    resources: tuple[_Entry, ...] | None
    """Must be there: what lacks it does not say that nothing is served."""


async def discover(client: Client, group: str, kind: str) -> tuple[ServedVersion, ...]:
    """Every served version of the kind, the preferred one first; empty when the group or the kind is not served.

    The group may be any text: for what can be none, nothing is asked.
    """
    if group and not _GROUP.fullmatch(group):
        return ()
    found = [await _in_version(client, group, version, kind) for version in await _versions(client, group)]
    return tuple(served for served in found if served is not None)


async def served_names(client: Client, group: str, version: str) -> tuple[str, ...]:
    """Plural names of what one version of a group serves, subresources included; none where it is not served."""
    try:
        return tuple(each.name for each in (await _asked(client, f"/apis/{group}/{version}", _Entries)).resources or ())
    except NotFound:
        return ()


class Listable(Struct, frozen=True):
    """Every kind that can be listed, in the preferred version of its group."""

    kinds: tuple[Resource, ...]
    unasked: tuple[str, ...] = ()
    """Groups whose kinds are not among these, because whoever serves them fails, as `group/version`."""


async def listable(client: Client) -> Listable:
    """A group whose server fails is asked again for some seconds, lest a passing fault leaves half a cluster out."""
    groups = (await _asked(client, "/apis", _Groups)).groups
    found: list[Resource] = []
    unasked: list[str] = []
    for group, version in [("", "v1"), *((each.name, each.preferred_version.version) for each in groups)]:
        try:
            entries = await _entries(client, f"/apis/{group}/{version}" if group else f"/api/{version}")
        except NotFound:
            continue
        except ServerError:
            unasked.append(f"{group}/{version}" if group else version)
            continue
        found += [
            Resource(group, version, each.name, each.kind, each.namespaced)
            for each in entries.resources or ()
            if "list" in each.verbs and "/" not in each.name
        ]
    return Listable(tuple(found), tuple(unasked))


async def _entries(client: Client, path: str) -> _Entries:
    for pause in BETWEEN_TRIES:
        try:
            return await _asked(client, path, _Entries)
        except ServerError:
            await asyncio.sleep(pause)
    return await _asked(client, path, _Entries)


async def _versions(client: Client, group: str) -> list[str]:
    if not group:
        return ["v1"]
    try:
        answer = await _asked(client, f"/apis/{group}", _Group)
    except NotFound:
        return []
    names = [answer.preferred_version.version, *(each.version for each in answer.versions)]
    return list(dict.fromkeys(filter(None, names)))


async def _in_version(client: Client, group: str, version: str, kind: str) -> ServedVersion | None:
    base = f"/apis/{group}/{version}" if group else f"/api/{version}"
    try:
        entries = (await _asked(client, base, _Entries)).resources or ()
    except NotFound:
        return None
    for entry in entries:
        if entry.kind == kind and "/" not in entry.name:
            inner = tuple(each.name.partition("/")[2] for each in entries if each.name.startswith(f"{entry.name}/"))
            return ServedVersion(Resource(group, version, entry.name, kind, entry.namespaced), inner)
    return None


async def _asked(client: Client, path: str, into: type[T]) -> T:
    return decoded((await client.call(Request("GET", path))).body, into, f"discovery at {path}")
