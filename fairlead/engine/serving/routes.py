"""Paths and who answers them, apart from any server: bytes to bytes, in real or virtual time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

from kubeloop.calls import Call, Handler, Reply

LARGEST_BODY = 8 * 1024 * 1024
"""Bytes; an object and its predecessor, each of at most 1.5 MB as stored, come to far less."""
OTHER = "other"
_NOT_WORDS = re.compile(r"[^a-z0-9]+")

Routes: TypeAlias = Mapping[str, Handler]
"""Handlers by their exact path."""


def path_of(call: Call) -> str:
    return call.url.partition("?")[0]


def route_name(path: str, routes: Routes) -> str:
    """As metrics show a path: `/admission/no-downscale` is `admission_no_downscale`, an unknown one `other`."""
    return _NOT_WORDS.sub("_", path.lower()).strip("_") if path in routes else OTHER


def dispatching(routes: Routes) -> Handler:
    """The handler of all paths together."""

    async def handle(call: Call) -> Reply:
        handler = routes.get(path_of(call))
        return await handler(call) if handler is not None else text(404, "there is nothing here")

    return handle


def text(status: int, words: str) -> Reply:
    return Reply(status, f"{words}\n".encode(), (("Content-Type", "text/plain; charset=utf-8"),))
