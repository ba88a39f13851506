"""A Secret that is read whole, so that everything in it that is not a certificate stays as it came."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping

import msgspec
from msgspec import Raw, structs

from kubeloop import request
from kubeloop.client import Client
from kubeloop.decoding import decoded
from kubeloop.errors import Garbled, NotFound
from kubeloop.objects.meta import Ref
from kubeloop.sealed import Unshown

_FIELDS = msgspec.json.Decoder(dict[str, Raw])
_DATA = msgspec.json.Decoder(dict[str, str] | None)


class WholeSecret(Unshown, frozen=True):
    fields: dict[str, Raw]
    data: dict[str, bytes]

    def body(self, entries: Mapping[str, bytes]) -> bytes:
        """With these entries beside what it holds, to be replaced at the version that was read."""
        return body_of(self.fields, {**self.data, **entries})


def body_of(fields: Mapping[str, object], data: Mapping[str, bytes]) -> bytes:
    return msgspec.json.encode({**fields, "data": {key: b64encode(value).decode() for key, value in data.items()}})


async def read_secret(client: Client, secret: Ref) -> WholeSecret | None:
    """None: there is none; raises KubeError."""
    try:
        answer = await client.call(request.get(structs.replace(secret, uid="")))
    except NotFound:
        return None
    what = str(secret)
    fields = decoded(answer.body, _FIELDS, what)
    if "metadata" not in fields:
        raise Garbled(f"{what}: the answer is no Secret")
    encoded = decoded(fields.get("data", Raw(b"null")), _DATA, what) or {}
    try:
        return WholeSecret(fields, {key: b64decode(value) for key, value in encoded.items()})
    except ValueError:
        raise Garbled(f"{what}: the answer is no Secret, as its data is not base64") from None
