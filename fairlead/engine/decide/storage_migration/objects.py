"""Objects of a page by their metadata, and the write that stores one in the storage version without changing it."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from fairlead.core.act import Apply, Does, Patch, PatchKind
from fairlead.core.ask import Bad, Good
from fairlead.engine.decide.storage_migration.journal import ObjectFailure
from kubeloop.objects.meta import Ref, Resource
from kubeloop.unreadable import UNREADABLE

MANAGER = "fairlead-storage-migration"
LONGEST_VERSION = 20
"""Digits: they are numbers of 64 bits."""


class _Meta(Struct, frozen=True, rename="camel"):
    name: str
    uid: str
    resource_version: str
    namespace: str = ""
    managed_fields: list[dict[str, Any]] | None = None


class _Item(Struct, frozen=True):
    metadata: _Meta


_OF_LIST = {"resource_version": "resourceVersion", "token": "continue", "remaining": "remainingItemCount"}


class _ListMeta(Struct, frozen=True, rename=_OF_LIST):
    resource_version: str = ""
    token: str = ""
    remaining: int | None = None


class ListPage(Struct, frozen=True):
    items: list[_Item]
    metadata: _ListMeta = _ListMeta()


_PAGE = msgspec.json.Decoder(ListPage)


class _Written(Struct, frozen=True):
    metadata: _Meta


_WRITTEN = msgspec.json.Decoder(_Written)


class Stored(Struct, frozen=True):
    """An object as a list shows it."""

    ref: Ref
    """With its UID."""
    version: str
    managed: tuple[dict[str, Any], ...]

    @property
    def key(self) -> str:
        """Its place in lists, which are in this order."""
        return f"{self.ref.namespace}/{self.ref.name}" if self.ref.namespace else self.ref.name

    def touched(self, *, via_status: bool) -> Apply | Patch:
        """Names the object and the version that was seen, and no field.

        An object that nobody tracks stays so: an apply would begin to.
        """
        resource = self.ref.resource
        subresource = "status" if via_status else ""
        if not self.managed:
            return Patch(
                ref=self.ref,
                kind=PatchKind.MERGE,
                body=b"{}",
                subresource=subresource,
                resource_version=self.version,
                does=Does.REWRITE_OBJECT,
                change_to=resource.version,
            )
        named = {"name": self.ref.name, **({"namespace": self.ref.namespace} if self.ref.namespace else {})}
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": named}
        return Apply(
            ref=self.ref,
            body=msgspec.json.encode(body),
            manager=MANAGER,
            subresource=subresource,
            resource_version=self.version,
            does=Does.REWRITE_OBJECT,
            change_to=resource.version,
        )


def page_of(resource: Resource, body: bytes) -> tuple[list[Stored], str, int | None, str]:
    """The objects, the token of the next page, how many are behind it, and the list's version.

    Raises one of UNREADABLE.
    """
    page = _PAGE.decode(body)
    found = [_stored(resource, each.metadata) for each in page.items]
    return found, page.metadata.token, page.metadata.remaining, page.metadata.resource_version


def _stored(resource: Resource, metadata: _Meta) -> Stored:
    ref = Ref(resource, metadata.namespace, metadata.name, metadata.uid)
    return Stored(ref, metadata.resource_version, tuple(metadata.managed_fields or ()))


def version_of(answer: Good) -> str:
    """Of the object that was written; empty where the answer does not say."""
    try:
        return _WRITTEN.decode(answer.value).metadata.resource_version
    except UNREADABLE:
        return ""


def is_gone(answer: Bad) -> bool:
    return answer.kind == "absent" or answer.code == 404


def is_contested(answer: Bad) -> bool:
    """Whether somebody else wrote it meanwhile, be it another object of its name, or so it is said."""
    return answer.kind == "conflict" or answer.code == 409


def failure_of(stored: Stored, answer: Bad) -> ObjectFailure:
    return ObjectFailure(stored.key, answer.text or answer.kind)


def is_newer(version: str, than: str) -> bool:
    """By number; versions that are no numbers say nothing."""
    return _is_number(version) and _is_number(than) and int(version) > int(than)


def _is_number(version: str) -> bool:
    return version.isascii() and version.isdigit() and len(version) <= LONGEST_VERSION
