"""Requests for what the server says of itself: its health, its groups and resources, their OpenAPI documents."""

from __future__ import annotations

import msgspec

from kubeloop.request import Request, Response
from kubesim.discovery import health, openapi_v2
from kubesim.discovery.groups import Document, Documents, takes
from kubesim.discovery.negotiation import GROUPS, JSON, accepted, document_form, route_json
from kubesim.discovery.openapi import PREFIX, Descriptions
from kubesim.errors import method_not_allowed, no_such_resource
from kubesim.kinds.registry import Registry, is_built_in_group
from kubesim.requests.forms import rewritten

_PLAIN = {"content-type": "text/plain; charset=utf-8"}
_GROUPED = f"{JSON};g=apidiscovery.k8s.io;v=v2;as={GROUPS}"
_ALL_GROUPS = ("api", "apis")
_DEEPEST = 4
"""How many slashes the path of a document has at most: `/apis/group/version/`."""


class Publishing:
    """Answers such requests for one registry."""

    def __init__(self, registry: Registry) -> None:
        self._documents = Documents(registry)
        self._descriptions = Descriptions(registry)

    def answer(self, request: Request) -> Response | None:
        """The answer; None for a path that is about something else."""
        path = request.path
        if path.startswith("/api") and path.count("/") > _DEEPEST:
            return None  # objects and collections, which most requests are about
        if (said := health.answer(path, request.query)) is not None:
            return Response(200, said, _PLAIN)
        if path.startswith(PREFIX):
            return self._description(request)
        if path == openapi_v2.PATH:
            return openapi_v2.answer(request)
        name = path.strip("/")
        if name in _ALL_GROUPS:
            form = document_form(accepted(request), is_grouped=True)
            if form.view == GROUPS and (groups := self._documents.grouped(path)) is not None:
                return _tagged(request, groups, {"content-type": _GROUPED, "cache-control": "public"})
        document = self._documents.plain(path, _address(request))
        if document is None:
            self._refuse_version(name)
            return None
        if not takes(path, request.method):
            raise method_not_allowed()
        return self._plain(request, document)

    def _refuse_version(self, name: str) -> None:
        """A version that a group of built-in kinds has not got is told as a resource that there is not."""
        match name.split("/"):
            case ["api", _]:
                raise no_such_resource()
            case ["apis", group, _] if is_built_in_group(group):
                raise no_such_resource()

    @staticmethod
    def _plain(request: Request, document: Document) -> Response:
        answer = Response(200, document.body, {"content-type": JSON})
        if request.path.strip("/") in ("", "version"):
            route_json(accepted(request))
            return answer
        return rewritten(answer, document_form(accepted(request)).media)

    def _description(self, request: Request) -> Response | None:
        if request.path.rstrip("/") == PREFIX:
            return Response(200, msgspec.json.encode(self._descriptions.index()), {"content-type": JSON})
        document = self._descriptions.document(request.path)
        if document is None:
            return Response(404, b"", {})
        is_named = dict(request.query).get("hash")
        headers = {"content-type": JSON, "cache-control": "public, immutable" if is_named else "no-cache, private"}
        return _tagged(request, document, headers)


def _tagged(request: Request, document: Document, headers: dict[str, str]) -> Response:
    """A document, or the word that the client has it."""
    tags = {"etag": document.tag, "vary": "Accept"}
    known = next((value for name, value in request.headers if name.lower() == "if-none-match"), "")
    if known == document.tag:
        return Response(304, b"", {**tags, "cache-control": headers["cache-control"]})
    return Response(200, document.body, {**headers, **tags})


def _address(request: Request) -> str:
    return next((value for name, value in request.headers if name.lower() == "host"), "")
