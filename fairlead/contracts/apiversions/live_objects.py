"""Live objects of a kind, page by page: never more than one page is held."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from copy import copy
from typing import Any

from fairlead.contracts.apiversions.decide.trees import Tree
from kubeloop.client import Client
from kubeloop.errors import Gone
from kubeloop.objects.meta import Resource
from kubeloop.rate_limit import Limiter
from kubeloop.request import list_page

PAGE = 500


def paced(client: Client, qps: float, burst: int) -> Client:
    """The same client, which asks each API group no faster than this; a `qps` of 0 is no limit."""
    limited = copy(client)
    limited.limiter = Limiter(qps, burst)
    return limited


async def objects(
    client: Client,
    resource: Resource,
    *,
    namespaces: Sequence[str] = (),
    page: int = PAGE,
    metadata_only: bool = False,
    most: int = 0,
) -> AsyncIterator[Tree]:
    """Each object once, `most` of them where that is not 0; raises KubeError."""
    given = 0
    for namespace in namespaces or ("",):
        async for each in _listed(client, resource, namespace, page=page, metadata_only=metadata_only):
            yield each
            given += 1
            if most and given >= most:
                return


async def _listed(
    client: Client, resource: Resource, namespace: str, *, page: int, metadata_only: bool
) -> AsyncIterator[Tree]:
    token, behind = "", ("", "")
    while True:
        asked = list_page(resource, namespace, limit=page, token=token, metadata_only=metadata_only)
        try:
            part = await client.page(asked, dict[str, Any])
        except Gone as error:
            if not token:
                raise
            token = error.token  # without one it begins again, and goes on behind what was given
            continue
        for each in part.items:
            place = (each["metadata"].get("namespace") or "", each["metadata"]["name"])
            if place > behind:
                behind = place
                yield each
        token = part.token
        if not token:
            return
