"""Answers as they go over HTTP: JSON in the letters of the Go library, indented for people, and the usual headers.

Within the process answers stay as they are: what reads them there takes JSON in any spelling.
"""

from __future__ import annotations

import uuid

import msgspec
from aiohttp import web
from multidict import CIMultiDict

from kubeloop.request import Response
from kubesim.api.writer import header_lines
from kubesim.draws import Draws
from kubesim.requests.handling import JSON

_ESCAPES = tuple((sign.encode()[:1], sign.encode(), f"\\u{ord(sign):04x}".encode()) for sign in "<>&\u2028\u2029")
"""Each sign with its first byte, which is found faster and is mostly missing."""
_READERS = ("curl", "Wget", "Mozilla/5.0")
_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_VERSION, _SCHEMAS = "/version", "/openapi"
"""What the server writes with other means: the first always for people, the second as it is kept."""
_AUDIT = "Audit-Id"
_STANDING = {"Cache-Control": "no-cache, private"}


def escaped(text: bytes) -> bytes:
    """JSON without the signs that mean something to HTML or to JavaScript; outside of strings there are none."""
    for first, sign, escape in _ESCAPES:
        if first in text:
            text = text.replace(sign, escape)
    return text


def sent(answer: Response, request: web.Request) -> web.Response:
    """The answer to a request."""
    return web.Response(
        status=answer.status, body=_body(answer, request), headers=CIMultiDict(header_lines(answer.headers))
    )


def _body(answer: Response, request: web.Request) -> bytes:
    kind = answer.headers.get("content-type", "").partition(";")[0]
    if not answer.body or kind != JSON["content-type"] or request.path.startswith(_SCHEMAS):
        return answer.body
    text = escaped(answer.body)
    if request.path == _VERSION or _is_for_people(request):
        return msgspec.json.format(text, indent=2)
    return text if text.endswith(b"\n") else text + b"\n"


def _is_for_people(request: web.Request) -> bool:
    """Whether JSON is to be indented: as the request says, else for what people read with."""
    asked = request.query.get("pretty", "")
    return asked in _TRUE if asked else request.headers.get("User-Agent", "").startswith(_READERS)


def sign(request: web.Request, response: web.StreamResponse, draws: Draws) -> None:
    """Gives an answer the headers that all of them have: by the first of them it is found in the audit log."""
    given = request.headers.get(_AUDIT, "")
    response.headers[_AUDIT] = given or str(uuid.UUID(int=draws.integer() << 64 | draws.integer(), version=4))
    response.headers.update(_STANDING)
    response.headers.pop("Server", None)
