"""Live lists, whole or page by page, as the answer of a question has them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Raw, Struct

from fairlead.core.ask import Listing
from kubeloop.client import Client
from kubeloop.request import list_page

_OF_LIST = {"resource_version": "resourceVersion", "token": "continue", "remaining": "remainingItemCount"}


class _ListMeta(Struct, rename=_OF_LIST, omit_defaults=True):
    resource_version: str
    token: str = ""
    remaining: int | None = None


class _Partial(Struct):
    """All that is taken of an object where its metadata was asked for, whatever the server shows."""

    metadata: Raw


class _List(Struct):
    metadata: _ListMeta
    items: Sequence[Raw | _Partial]


async def listed(listing: Listing, client: Client) -> bytes:
    """The body of the answer; raises KubeError, Gone for a cursor that no longer serves."""
    return msgspec.json.encode(await _found(listing, client, _Partial if listing.metadata_only else Raw))


async def _found(listing: Listing, client: Client, into: type[Raw] | type[_Partial]) -> _List:
    resource, namespace, labels = listing.resource, listing.namespace, listing.labels
    metadata_only = listing.metadata_only
    if not listing.limit:
        every = await client.list(resource, into, namespace=namespace, labels=labels, metadata_only=metadata_only)
        return _List(_ListMeta(every.resource_version), every.items)
    asked = list_page(
        resource, namespace, labels, limit=listing.limit, token=listing.cursor, metadata_only=metadata_only
    )
    page = await client.page(asked, into)
    return _List(_ListMeta(page.resource_version, page.token, page.remaining), page.items)
