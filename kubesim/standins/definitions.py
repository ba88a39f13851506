"""How the kinds that stand-ins serve come into a cluster."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import msgspec

from kubeloop.client import Client
from kubeloop.errors import AlreadyExists
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import create

DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
_POLL_SECONDS = 0.05

Tree = dict[str, Any]


class _Condition(msgspec.Struct, frozen=True):
    type: str
    status: str


class _Status(msgspec.Struct, frozen=True):
    conditions: tuple[_Condition, ...] | None = None


class _Definition(msgspec.Struct, frozen=True):
    status: _Status = _Status()


async def install_definitions(client: Client, *definitions: Tree) -> None:
    """The kinds are served afterwards; a definition that is there already is left as it is."""
    for each in definitions:
        with suppress(AlreadyExists):
            await client.call(create(DEFINITIONS, "", msgspec.json.encode(each)))
    for each in definitions:
        name = each["metadata"]["name"]
        while True:
            found = await client.read(Ref(DEFINITIONS, "", name), _Definition)
            if _Condition("Established", "True") in (found.status.conditions or ()):
                break
            await asyncio.sleep(_POLL_SECONDS)
