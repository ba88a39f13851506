"""Requests are values: built without I/O, sent in one place by a transport.

A transport is `send` for an answer and `stream` for the lines of a watch; the real cluster, the embedded one and the
fault layer are interchangeable behind it.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol
from urllib.parse import quote, unquote, urlencode

import msgspec
from msgspec import Raw, Struct

from kubeloop.objects.meta import Ref, Resource
from kubeloop.unreadable import UNREADABLE

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
METADATA = f"{JSON};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST = f"{JSON};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_PLAIN = re.compile(r"[A-Za-z0-9_.~-]*")


class Request(Struct, frozen=True):
    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    content_type: str = ""
    timeout: float | None = None
    """Seconds until the caller gives up; None leaves it to the client."""
    retry_when_throttled: bool = True
    """Whether a server that asks to come back later is asked again; what rests on a decision must be decided anew."""
    headers: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        """Without what may be secret."""
        return f"Request({self.method} {self.target}, {len(self.body)} bytes)"

    @property
    def target(self) -> str:
        """Path and query as sent."""
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path

    @property
    def verb(self) -> str:
        """As role rules spell it: get, list, watch, create, update, patch, delete, deletecollection."""
        named = bool(place_of(self.path).name)
        match self.method:
            case "GET":
                return "watch" if ("watch", "true") in self.query else "get" if named else "list"
            case "DELETE":
                return "delete" if named else "deletecollection"
            case "POST":
                return "create"
            case "PUT":
                return "update"
            case method:
                return method.lower()

    @property
    def doing(self) -> str:
        """What is being done to which object, as the beginning of a sentence for people."""
        place = place_of(self.path)
        if not place.plural:
            return f"{self.method} {self.path}"
        verb = "apply" if self.content_type == APPLY else self.verb
        object_ = "/".join(part for part in (place.plural, place.name or name_in(self.body)) if part)
        where = f" in namespace {place.namespace}" if place.namespace else ""
        return f"{verb} {place.subresource + ' of ' if place.subresource else ''}{object_}{where}"


class _Meta(Struct):
    name: str = ""


class _Named(Struct):
    metadata: _Meta | None = None


def name_in(body: bytes) -> str:
    """Name of the object in a body, which only a creation's path does not have."""
    try:
        metadata = msgspec.json.decode(body, type=_Named).metadata
    except UNREADABLE:
        return ""
    return metadata.name if metadata else ""


class Response(Struct, frozen=True):
    status: int
    body: bytes
    headers: Mapping[str, str] = {}
    """Names in lower case."""

    def __repr__(self) -> str:
        """Without what may be secret: the body may be that of a Secret."""
        return f"Response({self.status}, {len(self.body)} bytes)"


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
        parts += ["namespaces", _quoted(namespace)]
    parts.append(resource.plural)
    if name:
        parts.append(_quoted(name))
    if subresource:
        parts.append(subresource)
    return "/".join(parts)


def _quoted(name: str) -> str:
    """As a part of a path; most names need no quoting, and finding that out is quicker."""
    return name if _PLAIN.fullmatch(name) else quote(name, safe="")


def path_to(ref: Ref, subresource: str = "") -> str:
    """Path of the object that `ref` names."""
    return path_of(ref.resource, ref.namespace, ref.name, subresource)


class ResourcePath(Struct, frozen=True):
    """What a path names; `plural` is empty for paths outside of the resources (discovery, health)."""

    group: str = ""
    version: str = ""
    namespace: str = ""
    plural: str = ""
    name: str = ""
    subresource: str = ""


NAMESPACE_SUBRESOURCES = ("status", "finalize")


def place_of(path: str) -> ResourcePath:
    """The inverse of `path_of`."""
    match [unquote(part) for part in path.strip("/").split("/")]:
        case ["api", version, *rest]:
            group = ""
        case ["apis", group, version, *rest]:
            pass
        case _:
            return ResourcePath()
    namespace = ""
    match rest:
        case ["namespaces", name, plural, *inner] if group or plural not in NAMESPACE_SUBRESOURCES:
            namespace, rest = name, [plural, *inner]
    plural, name, subresource, *_ = [*rest, "", "", ""]
    return ResourcePath(group, version, namespace, plural, name, subresource)


def get(ref: Ref, subresource: str = "", *, metadata_only: bool = False) -> Request:
    headers = (("Accept", METADATA),) if metadata_only else ()
    return Request("GET", path_to(ref, subresource), headers=headers)


def create(resource: Resource, namespace: str, body: bytes, *, manager: str = "") -> Request:
    return Request("POST", path_of(resource, namespace), query=_managed(manager), body=body, content_type=JSON)


def replace(ref: Ref, body: bytes, subresource: str = "", *, manager: str = "") -> Request:
    return Request("PUT", path_to(ref, subresource), query=_managed(manager), body=body, content_type=JSON)


def _managed(manager: str) -> tuple[tuple[str, str], ...]:
    return (("fieldManager", manager),) if manager else ()


def patch(ref: Ref, content_type: str, body: bytes, subresource: str = "", *, resource_version: str = "") -> Request:
    """With a resource version it is carried out on that version of the object only, and on no other UID."""
    bound = _bound(body, content_type, ref.uid, resource_version) if resource_version else body
    return Request("PATCH", path_to(ref, subresource), body=bound, content_type=content_type)


def apply(
    ref: Ref, body: bytes, manager: str, *, force: bool = False, subresource: str = "", resource_version: str = ""
) -> Request:
    """Server-side apply; body is JSON (which is YAML). A resource version is a precondition as of a patch."""
    query = (("fieldManager", manager), ("force", "true" if force else "false"))
    bound = _bound(body, APPLY, ref.uid, resource_version) if resource_version else body
    return Request("PATCH", path_to(ref, subresource), query=query, body=bound, content_type=APPLY)


def dry(request: Request) -> Request:
    """The same, of which the server only says what would become of it."""
    return msgspec.structs.replace(request, query=(*request.query, ("dryRun", "All")))


def _bound(body: bytes, content_type: str, uid: str, resource_version: str) -> bytes:
    """The body with the precondition, which servers take from the object itself: another version is a Conflict then.

    A `test` of a JSON patch would be answered as an invalid object.
    """
    wanted = {name: value for name, value in (("uid", uid), ("resourceVersion", resource_version)) if value}
    if content_type == JSON_PATCH:
        steps = [{"op": "add", "path": f"/metadata/{name}", "value": value} for name, value in wanted.items()]
        return msgspec.json.encode([*steps, *msgspec.json.decode(body, type=list[Raw])])
    fields = msgspec.json.decode(body, type=dict[str, Raw])
    metadata = msgspec.json.decode(fields.get("metadata", b"{}"), type=dict[str, Raw])
    return msgspec.json.encode({**fields, "metadata": {**metadata, **wanted}})


def delete(ref: Ref, *, resource_version: str = "", propagation: str = "") -> Request:
    """Deletes what `ref` names; its UID and the resource version, where given, are preconditions."""
    options: dict[str, object] = {"kind": "DeleteOptions", "apiVersion": "v1"}
    preconditions = {"uid": ref.uid, "resourceVersion": resource_version}
    if given := {key: value for key, value in preconditions.items() if value}:
        options["preconditions"] = given
    if propagation:
        options["propagationPolicy"] = propagation
    return Request("DELETE", path_to(ref), body=msgspec.json.encode(options), content_type=JSON)


def list_page(
    resource: Resource,
    namespace: str = "",
    labels: str = "",
    fields: str = "",
    *,
    limit: int = 0,
    token: str = "",
    resource_version: str = "",
    metadata_only: bool = False,
) -> Request:
    """One page of a list, from the start or from the `continue` token of the page before; limit 0 asks for all.

    A resource version asks for a list "not older than" it, which the server may answer from its cache. With
    `metadata_only` the server leaves out everything else, which it need not convert either.
    """
    query = _selection(labels, fields)
    if limit:
        query += (("limit", str(limit)),)
    if token:
        query += (("continue", token),)
    elif resource_version:
        query += (("resourceVersion", resource_version), ("resourceVersionMatch", "NotOlderThan"))
    headers = (("Accept", METADATA_LIST),) if metadata_only else ()
    return Request("GET", path_of(resource, namespace), query=query, headers=headers)


def watch(
    resource: Resource,
    namespace: str = "",
    labels: str = "",
    fields: str = "",
    resource_version: str = "",
    *,
    bookmarks: bool = True,
    timeout_seconds: int = 300,
) -> Request:
    """A watch from a resource version on; the server ends it after `timeout_seconds`."""
    query = (("watch", "true"), *_selection(labels, fields))
    if resource_version:
        query += (("resourceVersion", resource_version),)
    if bookmarks:
        query += (("allowWatchBookmarks", "true"),)
    query += (("timeoutSeconds", str(timeout_seconds)),)
    return Request("GET", path_of(resource, namespace), query=query)


def _selection(labels: str, fields: str) -> tuple[tuple[str, str], ...]:
    return tuple((key, value) for key, value in (("labelSelector", labels), ("fieldSelector", fields)) if value)
