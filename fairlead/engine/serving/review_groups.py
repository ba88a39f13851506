"""One path for conversion reviews of several parts: each answers those of its own API group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from fairlead.engine.serving.routes import Routes
from kubeloop.calls import Call, Handler, Reply
from kubeloop.unreadable import UNREADABLE

if TYPE_CHECKING:
    from fairlead.engine.part import SharedRoutes


class _Request(Struct, rename={"wanted": "desiredAPIVersion"}):
    wanted: str = ""


class _Review(Struct):
    request: _Request | None = None


_REVIEW = msgspec.json.Decoder(_Review)


def handlers_of(shared: Sequence[SharedRoutes]) -> Routes:
    """What they answer together, for a cluster in the same process."""
    return joined_routes([(each.group, each.handlers) for each in shared])


def joined_routes(found: Sequence[tuple[str, Routes]]) -> Routes:
    """By group, empty for all others: routes, of which several may have the same path for reviews of their groups."""
    general = {path: handler for group, routes in found if not group for path, handler in routes.items()}
    grouped: dict[str, dict[str, Handler]] = {}
    for group, routes in found:
        for path, handler in routes.items() if group else ():
            grouped.setdefault(path, {})[group] = handler
    return {**general, **{path: _by_group(each, general[path]) for path, each in grouped.items()}}


def _by_group(groups: Mapping[str, Handler], otherwise: Handler) -> Handler:
    """Reviews go by the group of the version that is wanted; what is no review is nobody's."""

    async def handle(call: Call) -> Reply:
        return await groups.get(_group_in(call.body), otherwise)(call)

    return handle


def _group_in(body: bytes) -> str:
    try:
        request = _REVIEW.decode(body).request
    except UNREADABLE:
        return ""
    return request.wanted.rpartition("/")[0] if request is not None else ""
