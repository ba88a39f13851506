"""Taking a backup: every object of a CRD as it is served in its storage version, with the CRD (section 3.7.6).

All objects are listed twice: whatever has changed between the two lists is fetched again, until nothing has, so that a
backup holds no object of a moment before it. Only one page is in memory at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec import Raw, Struct

from fairlead.contracts.apiversions.backup_directory import NewBackup
from fairlead.contracts.apiversions.decide.offline.backup_format import (
    DEFINITION,
    BackedVersion,
    Dependent,
    Manifest,
    changed_meanwhile,
    path_of,
)
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.dependents import Search, as_dependents
from fairlead.engine.command import Precondition
from fairlead.engine.object_files import kind_of_scalar
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.errors import Gone, NotFound
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import get, list_page

MOST_LOOKS = 10
"""Lists after the first; a kind that is written all the time is as it was at the last of them."""


class _Dumper(yaml.SafeDumper):
    """Writes texts so that they are read as texts, also by readers who take `1e3` for a number."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None if kind_of_scalar(text) == "str" else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def yaml_of(tree: Any) -> bytes:
    """Comes back as it was."""
    text: str = yaml.dump(tree, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=False)
    return text.encode()


class _Meta(Struct, frozen=True, rename="camel"):
    name: str
    resource_version: str
    namespace: str = ""


class _Object(Struct, frozen=True):
    metadata: _Meta


_OBJECT = msgspec.json.Decoder(_Object)


def storage_of(definition: Tree) -> Resource:
    """Its objects in the storage version; raises Precondition where that is not served."""
    spec = definition["spec"]
    storage = next(each for each in spec["versions"] if each.get("storage"))
    if not storage.get("served"):
        name = definition["metadata"]["name"]
        raise Precondition(
            f"the storage version {storage['name']} of {name} is not served, so its objects cannot be read as they are:"
            f" serve it with `fairlead api serve {name} {storage['name']}`"
        )
    names = spec["names"]
    return Resource(spec["group"], storage["name"], names["plural"], names["kind"], spec["scope"] == "Namespaced")


class Backer:
    """Takes one backup."""

    def __init__(
        self, client: Client, definition: Tree, place: Path, *, page: int, told: Callable[[str, int], None]
    ) -> None:
        """`told` hears of the phase, and of how many objects are saved."""
        self._client, self._definition, self._page, self._told = client, definition, page, told
        self._resource = storage_of(definition)
        self._new = NewBackup(place)
        self._count = 0

    async def take(self, search: Search | None, extra: Mapping[str, bytes] = {}) -> Manifest:
        """The manifest of a backup that is in its place; nothing is there where this raises."""
        await asyncio.to_thread(self._new.begin)
        try:
            return await self._taken(search, extra)
        except BaseException:
            self._new.abandon()
            raise

    async def _taken(self, search: Search | None, extra: Mapping[str, bytes]) -> Manifest:
        for path, content in {DEFINITION: yaml_of(self._definition), **extra}.items():
            await asyncio.to_thread(self._new.save, path, content)
        held, version = await self._first_list()
        for _ in range(MOST_LOOKS):
            seen, latest = await self._versions()
            if seen == held:
                break
            version = latest
            await self._follow(held, seen)
        dependents = [each async for each in self._dependents(search)] if search is not None else []
        manifest = self._manifest(version, len(held), tuple(dependents), tuple(search.unlisted) if search else ())
        await asyncio.to_thread(self._new.finish, manifest)
        return manifest

    async def _first_list(self) -> tuple[dict[str, str], str]:
        held: dict[str, str] = {}
        version, token = "", ""
        while True:
            try:
                part = await self._client.page(list_page(self._resource, limit=self._page, token=token), Raw)
            except Gone:
                if not token:
                    raise
                token = ""  # what was saved is saved again
                continue
            for item in part.items:
                await self._save(bytes(item), held)
            version, token = version or part.resource_version, part.token
            if not token:
                return held, version

    async def _versions(self) -> tuple[dict[str, str], str]:
        """Resource versions by path, as they are now."""
        self._told("Compare", self._count)
        listed = await self._client.list(self._resource, _Object, page=self._page, metadata_only=True)
        found = {path_of(each.metadata.namespace, each.metadata.name): each.metadata for each in listed.items}
        self._places = found
        return {path: each.resource_version for path, each in found.items()}, listed.resource_version

    async def _follow(self, held: dict[str, str], seen: dict[str, str]) -> None:
        again, gone = changed_meanwhile(held, seen)
        for path in again:
            meta = self._places[path]
            try:
                answer = await self._client.call(get(Ref(self._resource, meta.namespace, meta.name)))
            except NotFound:
                if path in held:
                    gone.append(path)
                continue
            await self._save(answer.body, held)
        for path in gone:
            await asyncio.to_thread(self._new.drop, path)
            del held[path]

    async def _save(self, item: bytes, held: dict[str, str]) -> None:
        metadata = _OBJECT.decode(item).metadata
        path = path_of(metadata.namespace, metadata.name)
        tree: dict[str, Any] = msgspec.json.decode(item)
        # Items of a list may come without them.
        tree = {"apiVersion": self._resource.api_version, "kind": self._resource.kind, **tree}
        await asyncio.to_thread(self._new.save, path, msgspec.json.encode(tree))
        held[path] = metadata.resource_version
        self._count = len(held)
        self._told("Save", self._count)

    async def _dependents(self, search: Search) -> Any:
        self._told("Dependents", self._count)
        resource = self._resource
        async for found, meta in search.found(resource.group, resource.kind):
            for each in as_dependents(found, meta, resource.group, resource.kind):
                yield each

    def _manifest(
        self, version: str, objects: int, dependents: tuple[Dependent, ...], unlisted: tuple[str, ...]
    ) -> Manifest:
        metadata, spec = self._definition["metadata"], self._definition["spec"]
        return Manifest(
            crd=metadata["name"],
            uid=metadata["uid"],
            generation=metadata.get("generation", 0),
            stored_versions=tuple((self._definition.get("status") or {}).get("storedVersions") or ()),
            resource_version=version,
            version=self._resource.version,
            versions=tuple(
                BackedVersion(each["name"], bool(each.get("served")), bool(each.get("storage")))
                for each in spec["versions"]
            ),
            objects=objects,
            created_at=clock.now().strftime("%Y-%m-%dT%H:%M:%SZ"),
            dependents=dependents,
            unlisted=unlisted,
            files=dict(self._new.hashes),
        )
