"""OpenAPI v2: a document without a single schema, since all are in those of v3.

kubectl asks for it, in protobuf alone, where v3 knows nothing of a kind: with no answer, a manifest of an unknown kind
would be refused for a reason that has nothing to do with it.
"""

from __future__ import annotations

import msgspec

from kubeloop.request import Request, Response
from kubesim.discovery.negotiation import JSON, accepted
from kubesim.discovery.openapi import INFO

PATH = "/openapi/v2"
PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_ASKED = (PROTOBUF, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
_ANY = ("", "*/*", "application/*", JSON)
_VERSION = "2.0"
_HEADERS = {"vary": "Accept", "cache-control": "no-cache, private"}


def _field(number: int, content: bytes) -> bytes:
    """A field of a protobuf message; all that there are here have fewer than 128 bytes."""
    return bytes((number << 3 | 2, len(content))) + content


_INFO = _field(1, INFO["title"].encode()) + _field(2, INFO["version"].encode())
_BODIES = {
    JSON: msgspec.json.encode({"swagger": _VERSION, "info": INFO, "paths": {}}),
    PROTOBUF: _field(1, _VERSION.encode()) + _field(2, _INFO) + _field(8, b""),
}


def answer(request: Request) -> Response:
    """The document in the form that is asked for."""
    wanted = [part.partition(";")[0].strip() for part in accepted(request).split(",")]
    media = next((PROTOBUF if each in _ASKED else JSON for each in wanted if each in (*_ASKED, *_ANY)), "")
    if not media:
        return Response(406, b"", _HEADERS)
    return Response(200, _BODIES[media], {"content-type": media, **_HEADERS})
