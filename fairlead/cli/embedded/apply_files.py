"""Puts the objects of files into a cluster, definitions and namespaces before what needs them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from fairlead.engine.object_files import STDIN, UnreadableFile, objects_in, shown
from kubeloop import request
from kubeloop.client import Client
from kubeloop.discovery import discover
from kubeloop.errors import ApiError, NotFound
from kubeloop.objects.meta import Ref, Resource

MANAGER = "fairlead-up"
FIRST = ("Namespace", "CustomResourceDefinition")
DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
ESTABLISHED_WITHIN = 10.0
_LOOK_EVERY = 0.01
_SUFFIXES = (".yaml", ".yml", ".json")

Tree = dict[str, Any]


class ApplyRefused(Exception):
    """An object could not be applied; the text is a sentence that says which one and why."""


class FileObject(Struct, frozen=True):
    """An object of a file."""

    place: str
    """For sentences: the file and which of its objects."""
    tree: Tree

    @property
    def title(self) -> str:
        return f"{self.tree['kind']} {self.tree['metadata']['name']}"


def found_in(names: Iterable[str]) -> list[FileObject]:
    """The objects of files and of all manifests in folders, in order; raises UnreadableFile."""
    return [found for name in names for found in _found(name)]


def _found(name: str) -> list[FileObject]:
    found = [each for file in _files(name) for each in _objects(file)]
    if not found:
        raise UnreadableFile(f"{shown(name)} holds no objects: leave it out, or put some into it")
    return found


def _files(name: str) -> list[str]:
    if name == STDIN or not Path(name).is_dir():
        return [name]
    files = sorted(str(path) for path in Path(name).iterdir() if path.suffix in _SUFFIXES and path.is_file())
    if not files:
        raise UnreadableFile(f"{name} holds no file that ends in {', '.join(_SUFFIXES)}")
    return files


def _objects(name: str) -> list[FileObject]:
    found = []
    for number, tree in enumerate(objects_in(name), start=1):
        place = f"object {number} of {shown(name)}"
        match tree:
            case {"apiVersion": str(), "kind": str(), "metadata": {"name": str() as called, **rest}}:
                if not _is_name(called) or not _is_name(rest.get("namespace") or "default"):
                    raise UnreadableFile(f"{place} has a name or namespace that cannot be one: see its metadata")
                found.append(FileObject(place, cast("Tree", tree)))
            case _:
                raise UnreadableFile(f"{place} is no Kubernetes object: it needs apiVersion, kind and metadata.name")
    return found


def _is_name(value: object) -> bool:
    """Whether a path can name it; which names a kind takes is up to the cluster."""
    return isinstance(value, str) and value not in ("", ".", "..") and "/" not in value and "%" not in value


async def apply_all(client: Client, objects: Iterable[FileObject]) -> int:
    """Applies them and answers with how many they were; raises ApplyRefused."""
    ordered = sorted(objects, key=lambda each: FIRST.index(each.tree["kind"]) if each.tree["kind"] in FIRST else 2)
    for found in ordered:
        try:
            ref = await _apply(client, found)
            if ref.resource == DEFINITIONS:
                await _established(client, ref, found)
        except ApiError as error:
            raise ApplyRefused(f"{found.place}, {found.title}, was refused: {error}") from error
    return len(ordered)


async def _apply(client: Client, found: FileObject) -> Ref:
    tree = found.tree
    group, _, version = tree["apiVersion"].rpartition("/")
    served = {each.resource.version: each.resource for each in await discover(client, group, tree["kind"])}
    resource = served.get(version)
    if resource is None:
        known = f"; there is {', '.join(served)}" if served else _unknown(group)
        raise ApplyRefused(f"{found.place}: the cluster serves no {tree['kind']} in {tree['apiVersion']}{known}")
    namespace = (tree["metadata"].get("namespace") or "default") if resource.namespaced else ""
    ref = Ref(resource, namespace, tree["metadata"]["name"])
    await client.call(request.apply(ref, msgspec.json.encode(tree), MANAGER, force=True))
    return ref


def _unknown(group: str) -> str:
    """What would help with a kind that no version of a group has."""
    return "; give its definition with -f too" if "." in group else ": check the spelling of both"


class _Status(Struct, frozen=True):
    conditions: tuple[dict[str, Any], ...] | None = None


class _Definition(Struct, frozen=True):
    status: _Status = _Status()


async def _established(client: Client, ref: Ref, found: FileObject) -> None:
    """Objects of a kind can be made once its definition says so."""
    try:
        async with asyncio.timeout(ESTABLISHED_WITHIN):
            while True:
                seen = await client.read(ref, _Definition)
                if any(
                    each.get("type") == "Established" and each.get("status") == "True"
                    for each in seen.status.conditions or ()
                ):
                    return
                await asyncio.sleep(_LOOK_EVERY)
    except (TimeoutError, NotFound):
        raise ApplyRefused(
            f"{found.place}, {found.title}, is not established: does another kind have its names?"
        ) from None
