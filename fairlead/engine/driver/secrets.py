"""Secrets of the cluster, read live and sealed before anybody else sees them."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from kubeloop import request
from kubeloop.client import Client
from kubeloop.errors import Garbled
from kubeloop.objects.meta import Ref
from kubeloop.sealed import Sealed, Unshown
from kubeloop.sealing import seal


class Entries(Struct, frozen=True):
    """What a Secret holds, and its version."""

    sealed: Mapping[str, Sealed] = {}
    version: str = ""


class _Meta(Struct, frozen=True, rename="camel"):
    resource_version: str = ""


class _Secret(Unshown, frozen=True):
    metadata: _Meta
    data: dict[str, str] | None = None


_SECRET = msgspec.json.Decoder(_Secret)


async def entries_of(secret: Ref, client: Client) -> Entries:
    """Raises KubeError."""
    asked = request.get(secret)
    body = (await client.call(asked)).body
    try:
        found = _SECRET.decode(body)
        sealed = {key: seal(b64decode(value, validate=True)) for key, value in (found.data or {}).items()}
    except (ValueError, RecursionError):
        # What was wrong may quote what is secret.
        raise Garbled(f"{asked.doing}: the answer is no Secret") from None
    return Entries(sealed, found.metadata.resource_version)
