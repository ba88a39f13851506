"""Requests are values: built without I/O, sent in one place by a transport.

A transport is `send` for an answer and `stream` for the lines of a watch; the real cluster, the embedded one and the
fault layer are interchangeable behind it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Struct

from fairlead.api.meta import Ref, Resource


class Request(Struct, frozen=True):
    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    content_type: str = ""
    timeout: float | None = None
    """Seconds until the caller gives up; None leaves it to the client."""
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def target(self) -> str:
        """Path and query as sent."""
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path


class Response(Struct, frozen=True):
    status: int
    body: bytes
    headers: Mapping[str, str] = {}
    """Names in lower case."""


class Transport(Protocol):
    """Raises TransportError when there is no answer; a failure status is an answer."""

    async def send(self, request: Request) -> Response: ...

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]: ...


class Stream(Protocol):
    """An open watch: its status, and its lines while the server keeps it open.

    With a status of 400 or more the lines are the body. Iteration ends when the server ends the watch and raises
    TransportError when the connection breaks.
    """

    status: int
    headers: Mapping[str, str]

    def __aiter__(self) -> AsyncIterator[bytes]: ...


def path_of(resource: Resource, namespace: str = "", name: str = "", subresource: str = "") -> str:
    """Path of a collection or an object; an empty namespace means all namespaces of a namespaced resource."""
    prefix = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    parts = [prefix]
    if resource.namespaced and namespace:
        parts += ["namespaces", quote(namespace, safe="")]
    parts.append(resource.plural)
    if name:
        parts.append(quote(name, safe=""))
    if subresource:
        parts.append(subresource)
    return "/".join(parts)


def path_to(ref: Ref, subresource: str = "") -> str:
    """Path of the object that `ref` names."""
    return path_of(ref.resource, ref.namespace, ref.name, subresource)


def get(ref: Ref, subresource: str = "") -> Request:
    return Request("GET", path_to(ref, subresource))


def create(resource: Resource, namespace: str, body: bytes) -> Request:
    return Request("POST", path_of(resource, namespace), body=body, content_type="application/json")


def replace(ref: Ref, body: bytes, subresource: str = "") -> Request:
    return Request("PUT", path_to(ref, subresource), body=body, content_type="application/json")


def patch(ref: Ref, content_type: str, body: bytes, subresource: str = "") -> Request:
    return Request("PATCH", path_to(ref, subresource), body=body, content_type=content_type)


def apply(ref: Ref, body: bytes, manager: str, *, force: bool = False, subresource: str = "") -> Request:
    """Server-side apply; body is JSON (which is YAML)."""
    query = (("fieldManager", manager), ("force", "true" if force else "false"))
    content_type = "application/apply-patch+yaml"
    return Request("PATCH", path_to(ref, subresource), query=query, body=body, content_type=content_type)


def delete(ref: Ref, *, resource_version: str = "", propagation: str = "") -> Request:
    """Deletes what `ref` names; its UID and the resource version, where given, are preconditions."""
    options: dict[str, object] = {"kind": "DeleteOptions", "apiVersion": "v1"}
    preconditions = {"uid": ref.uid, "resourceVersion": resource_version}
    if given := {key: value for key, value in preconditions.items() if value}:
        options["preconditions"] = given
    if propagation:
        options["propagationPolicy"] = propagation
    return Request("DELETE", path_to(ref), body=msgspec.json.encode(options), content_type="application/json")
