"""The writes of this family; each is bound to the version that it was decided on."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import Struct

from fairlead.contracts.plans.decide.applications.trees import Tree, mapping
from fairlead.contracts.plans.decide.reading import read, stored_names, written
from fairlead.contracts.plans.kinds import Json
from fairlead.core.act import Create, Delete, Does, Patch, PatchKind
from fairlead.core.merge_patch import merge_patch
from kubeloop.objects.meta import Ref, Resource

S = TypeVar("S", bound=Struct)


class Reported(Struct, frozen=True):
    """An object whose status is ours."""

    ref: Ref
    version: str
    status: object
    generation: int = 0

    def read(self, kind: type[S]) -> S:
        return read(kind, self.status, "status")[0]


def patched(tree: Tree, body: object, does: Does, said: tuple[str, str] = ("", ""), *, scope: str) -> Patch:
    return Patch(
        ref=tree.ref,
        kind=PatchKind.MERGE,
        body=encoded(body),
        resource_version=tree.version,
        does=does,
        scope=scope,
        change_from=said[0],
        change_to=said[1],
        contested=True,
        refusable=True,
    )


def created(resource: Resource, namespace: str, body: Json, does: Does, *, scope: str) -> Create:
    name = str(mapping(body.get("metadata")).get("name", ""))
    return Create(
        resource=resource,
        namespace=namespace,
        name=name,
        body=encoded(body),
        does=does,
        scope=scope,
        change_to=f"{resource.kind} {name}",
        contested=True,
        refusable=True,
    )


def deleted(tree: Tree, does: Does = Does.REMOVE_OBJECT, *, scope: str) -> Delete:
    return Delete(
        ref=tree.ref,
        does=does,
        scope=scope,
        change_from=tree.shown,
        propagation="Background",
        contested=True,
        refusable=True,
    )


def reported(given: Reported, status: Struct, said: str = "", *, scope: str) -> Patch | None:
    """None where nothing changed; fields that others keep in the status stay."""
    before = mapping(given.status)
    known = stored_names(type(status))
    foreign = {key: value for key, value in before.items() if key not in known}
    change = merge_patch(before, {**foreign, **written(status)})
    if not change:
        return None
    return Patch(
        ref=given.ref,
        kind=PatchKind.MERGE,
        body=encoded({"status": change}),
        subresource="status",
        resource_version=given.version,
        does=Does.REPORT_STATUS,
        scope=scope,
        change_to=said,
        contested=True,
    )


def encoded(body: object) -> bytes:
    return msgspec.json.encode(body, order="sorted")
