"""What is secret in the cluster, read live and sealed before anybody else sees it."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Raw, Struct

from fairlead.core.ask import Good
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


def with_entries(body: bytes, sealed: Iterable[tuple[str, Sealed]]) -> bytes:
    """The body of a Secret with these entries opened in its data; for whoever sends it, at that moment."""
    opened = {key: b64encode(each.open()).decode() for key, each in sealed}
    if not opened:
        return body
    fields = msgspec.json.decode(body, type=dict[str, Raw])
    data = msgspec.json.decode(fields.get("data", b"{}"), type=dict[str, Raw])
    return msgspec.json.encode({**fields, "data": {**data, **opened}})


def without(body: bytes, path: str) -> Good:
    """The body without the field at this dotted path, and what the field held as sealed JSON, where it is there."""
    tree = msgspec.json.decode(body)
    *above, name = path.split(".")
    inside = tree
    for each in above:
        inside = inside.get(each) if isinstance(inside, dict) else None
    if not isinstance(inside, dict) or inside.get(name) is None:
        return Good(body)
    held = seal(msgspec.json.encode(inside.pop(name)))
    return Good(msgspec.json.encode(tree), sealed=((path, held),))


class _Partial(Struct, frozen=True):
    metadata: Raw = Raw(b"{}")


_PARTIAL = msgspec.json.Decoder(_Partial)


def metadata_in(body: bytes, doing: str) -> bytes:
    """An object with nothing but its metadata, whatever the server shows."""
    try:
        return msgspec.json.encode(_PARTIAL.decode(body))
    except (ValueError, RecursionError):
        # What was wrong may quote what is secret.
        raise Garbled(f"{doing}: the answer is no object") from None
