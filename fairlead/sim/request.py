"""From a request to its answer, as bytes: the part of the server that knows paths, parameters and codes.

`Handler.answer` is a plain function of the request; `Handler.watch` opens a watch whose lines are then read one by
one. HTTP and the in-process transport wrap the same two.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from fairlead.kube import clock
from fairlead.kube.request import Request, Response
from fairlead.sim import discovery, views
from fairlead.sim.errors import (
    StatusError,
    bad_request,
    expired,
    invalid_options,
    method_not_allowed,
    no_such_resource,
    unknown_format,
    unsupported,
)
from fairlead.sim.listing import Query, watch
from fairlead.sim.patch import json_error
from fairlead.sim.registry import NAMESPACES, Kind
from fairlead.sim.store import Event, Tree, Watcher
from fairlead.sim.verbs import Verbs

JSON = {"content-type": "application/json"}
PLAIN = {"content-type": "text/plain; charset=utf-8"}
BOOKMARK_SECONDS = 60.0
# A watch that names no time-out is ended by the server after half an hour to an hour.
WATCH_SECONDS = (1800.0, 3600.0)
_SHOWN_BYTES = 30


class Target(Struct, frozen=True):
    """What a path names."""

    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""


class Watch:
    """An open watch, as lines."""

    def __init__(self, handler: Handler, kind: Kind, query: Query, options: Mapping[str, str]) -> None:
        self._handler = handler
        self._kind = kind
        self._bookmarks = options.get("allowWatchBookmarks") in ("1", "true")
        self._announce = query.initial_events is True and self._bookmarks
        wished = _number(options, "timeoutSeconds")
        seconds = float(wished) if wished else handler.verbs.store.draws("timeout").between(*WATCH_SECONDS)
        self._until = clock.monotonic() + seconds
        self._refusal: StatusError | None = None
        self._watcher: Watcher | None = None
        try:
            self._watcher = watch(handler.verbs.store, kind, query, handler.lag)
        except StatusError as error:
            # A version that is too old is told on the open watch, not by the status of the answer.
            if error.code != expired("").code:
                raise
            self._refusal = error

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """Events until the time-out, the end of the server or `close`."""
        if self._watcher is None:
            if self._refusal is not None:
                yield b'{"type":"ERROR","object":' + json.dumps(self._refusal.status()).encode() + b"}\n"
            return
        opened, backlog = self._watcher.revision, self._watcher.backlog
        if self._announce and not backlog:
            yield self._bookmark(opened, initial=True)
        tick = clock.monotonic() + BOOKMARK_SECONDS
        while True:
            event = await self._watcher.next(min(self._until, tick) if self._bookmarks else self._until)
            if event is not None:
                yield self._line(event)
                backlog -= 1
                if self._announce and backlog == 0:
                    yield self._bookmark(opened, initial=True)
                continue
            if self._watcher.closed:
                return
            if self._bookmarks:
                yield self._bookmark(self._seen(self._watcher))
            if clock.monotonic() >= self._until:
                return
            tick = clock.monotonic() + BOOKMARK_SECONDS

    def _seen(self, watcher: Watcher) -> int:
        """With nothing waiting, the watcher knows all there is."""
        return watcher.revision if len(watcher) else max(watcher.revision, self._handler.verbs.store.revision)

    def _line(self, event: Event) -> bytes:
        if self._kind.stored_as is None:
            return event.line()
        return b'{"type":"' + event.type.encode() + b'","object":' + views.body(self._kind, event.new) + b"}\n"

    def _bookmark(self, revision: int, *, initial: bool = False) -> bytes:
        metadata: Tree = {"resourceVersion": str(revision)}
        if initial:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        resource = self._kind.resource
        shown = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
        return msgspec.json.encode({"type": "BOOKMARK", "object": shown}) + b"\n"

    def close(self) -> None:
        if self._watcher is not None:
            self._watcher.close()


class Handler:
    """Answers requests from the verbs."""

    def __init__(self, verbs: Verbs, *, lag: tuple[float, float] = (0.0, 0.0)) -> None:
        self.verbs = verbs
        self.lag = lag

    def answer(self, request: Request, user: str) -> Response:
        """The answer to anything that is not a watch; failures are answers too."""
        try:
            return self._answer(request, user)
        except StatusError as error:
            return refusal(error)

    def watch(self, request: Request) -> Watch | None:
        """The watch that a request asks for, None when it asks for something else; raises StatusError."""
        options = dict(request.query)
        if request.method != "GET" or options.get("watch") not in ("1", "true"):
            return None
        target = self._target(request.path)
        if target is None or target.subresource:
            return None
        query = _query(target, options)
        if target.name:
            fields = f"metadata.name={target.name}"
            query = msgspec.structs.replace(query, fields=f"{query.fields},{fields}" if query.fields else fields)
        return Watch(self, target.kind, query, options)

    def _target(self, path: str) -> Target | None:
        """What the path names; None for a path that is not served."""
        match path.strip("/").split("/"):
            case ["api", version, *rest]:
                group = ""
            case ["apis", group, version, *rest]:
                pass
            case _:
                return None
        namespace = ""
        match [unquote(part) for part in rest]:
            case ["namespaces", namespace, plural, *tail] if plural not in ("status", "finalize"):
                pass
            case [plural, *tail]:
                namespace = ""
            case _:
                return None
        kind = self.verbs.registry.find(group, version, plural)
        if kind is None or len(tail) > 2 or (namespace and not kind.resource.namespaced):
            return None
        name, subresource = (*tail, "", "")[:2]
        if subresource and subresource not in kind.subresources:
            return None
        return Target(kind, namespace, name, subresource)

    def _is_below_a_version(self, path: str) -> bool:
        match path.strip("/").split("/"):
            case ["api", version, _, *_]:
                return bool(self.verbs.registry.served("", version))
            case ["apis", group, version, _, *_]:
                return bool(self.verbs.registry.served(group, version))
            case _:
                return False

    def _answer(self, request: Request, user: str) -> Response:
        if request.method == "GET" and request.path in discovery.HEALTH:
            return Response(200, b"ok", PLAIN)
        document = discovery.describe(self.verbs.registry, request.path)
        if document is not None:
            return _json(200, document)
        target = self._target(request.path)
        if target is None or (target.name and target.kind.resource.namespaced and not target.namespace):
            if self._is_below_a_version(request.path):
                raise no_such_resource()
            return Response(404, b"404 page not found\n", PLAIN)
        user = next((value for name, value in request.headers if name.lower() == "impersonate-user"), user)
        match request.method:
            case "GET":
                return self._read(target, dict(request.query))
            case "POST":
                return self._create(target, request, user)
            case "PUT" | "PATCH" if target.name and target.subresource not in ("binding", "eviction"):
                return self._change(target, request, user)
            case "DELETE" if not target.subresource:
                return self._delete(target, request, user)
            case _:
                raise method_not_allowed()

    def _read(self, target: Target, options: Mapping[str, str]) -> Response:
        if target.subresource in ("binding", "eviction"):
            raise method_not_allowed()
        if not target.name:
            return self._list(target, options)
        if target.subresource == "scale":
            resource = target.kind.resource
            return _json(200, self.verbs.read(resource, target.namespace, target.name, subresource="scale"))
        version = self.verbs.current(target.kind, target.namespace, target.name)
        return Response(200, views.body(target.kind, version), JSON)

    def _list(self, target: Target, options: Mapping[str, str]) -> Response:
        kind = target.kind
        listed = self.verbs.select(kind.resource, _query(target, options))
        metadata: Tree = {"resourceVersion": str(listed.revision)}
        if listed.continue_token:
            metadata["continue"] = listed.continue_token
        if listed.remaining is not None:
            metadata["remainingItemCount"] = listed.remaining
        head = {"kind": f"{kind.resource.kind}List", "apiVersion": kind.resource.api_version, "metadata": metadata}
        items = b",".join(_item(kind, views.body(kind, version)) for version in listed.versions)
        return Response(200, msgspec.json.encode(head)[:-1] + b',"items":[' + items + b"]}", JSON)

    def _create(self, target: Target, request: Request, user: str) -> Response:
        tree = _body(request, target.kind)
        match target.subresource:
            case "binding":
                made = self.verbs.bind(target.namespace, target.name, tree, user=user)
            case "eviction":
                made = self.verbs.evict(target.namespace, target.name, tree, user=user)
            case "" if not target.name:
                resource = target.kind.resource
                namespace = target.namespace or (tree.get("metadata") or {}).get("namespace") or ""
                if resource.namespaced and not target.namespace:
                    raise method_not_allowed()
                dry_run = _is_dry(request)
                made = self.verbs.create(resource, namespace, tree, user=user, dry_run=dry_run)
            case _:
                raise method_not_allowed()
        return _json(201, made)

    def _change(self, target: Target, request: Request, user: str) -> Response:
        kind = target.kind
        subresource, dry_run = target.subresource, _is_dry(request)
        place = kind.resource, target.namespace, target.name
        if request.method == "PATCH":
            content = request.content_type, request.body
            tree = self.verbs.patch(*place, *content, subresource=subresource, user=user, dry_run=dry_run)
            return _json(200, tree)
        existed = (target.namespace, target.name) in self.verbs.store.table(kind.storage).live
        sent = _body(request, kind)
        tree = self.verbs.update(*place, sent, subresource=subresource, user=user, dry_run=dry_run)
        return _json(200 if existed else 201, tree)

    def _delete(self, target: Target, request: Request, user: str) -> Response:
        options = dict(request.query)
        wishes = _body(request, target.kind) if request.body.strip() else {}
        preconditions = wishes.get("preconditions") or {}
        grace = wishes.get("gracePeriodSeconds")
        if grace is None and "gracePeriodSeconds" in options:
            grace = _number(options, "gracePeriodSeconds")
        names = [(target.namespace, target.name)]
        if not target.name:
            names = [
                version.key for version in self.verbs.select(target.kind.resource, _query(target, options)).versions
            ]
        tree: Tree = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        for namespace, name in names:
            tree = self.verbs.delete(
                target.kind.resource,
                namespace,
                name,
                uid=preconditions.get("uid") or "",
                resource_version=preconditions.get("resourceVersion") or "",
                grace=grace,
                propagation=wishes.get("propagationPolicy") or options.get("propagationPolicy") or "",
                user=user,
                dry_run=_is_dry(request) or wishes.get("dryRun") == ["All"],
            )
        return _json(200, tree)


def refusal(error: StatusError) -> Response:
    """A failure as an answer."""
    headers = dict(JSON)
    if error.retry_after is not None:
        headers["retry-after"] = str(error.retry_after)
    return Response(error.code, json.dumps(error.status()).encode(), headers)


def _json(code: int, tree: Mapping[str, object]) -> Response:
    return Response(code, msgspec.json.encode(tree), JSON)


def _item(kind: Kind, body: bytes) -> bytes:
    """An object inside a list, which says once for all what kind its items are."""
    opening = f'{{"kind":"{kind.resource.kind}","apiVersion":"{kind.resource.api_version}",'.encode()
    return b"{" + body[len(opening) :] if body.startswith(opening) else body


def _query(target: Target, options: Mapping[str, str]) -> Query:
    initial = options.get("sendInitialEvents")
    # The namespaces themselves lie in none.
    namespace = "" if target.kind.resource == NAMESPACES else target.namespace
    return Query(
        namespace=namespace,
        labels=options.get("labelSelector", ""),
        fields=options.get("fieldSelector", ""),
        limit=_number(options, "limit"),
        continue_token=options.get("continue", ""),
        resource_version=options.get("resourceVersion", ""),
        match=options.get("resourceVersionMatch", ""),
        initial_events=None if initial is None else initial in ("1", "true"),
    )


def _number(options: Mapping[str, str], name: str) -> int:
    text = options.get(name, "")
    if text and not text.lstrip("-").isdecimal():
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return int(text or 0)


def _is_dry(request: Request) -> bool:
    """Whether nothing is to be stored."""
    wish = dict(request.query).get("dryRun", "")
    if wish not in ("", "All"):
        kind = {"POST": "Create", "PUT": "Update", "PATCH": "Patch"}.get(request.method, "Delete")
        raise invalid_options(f"{kind}Options", [unsupported("dryRun", [wish], ("All",))])
    return wish == "All"


def _body(request: Request, kind: Kind) -> Tree:
    """The decoded body; 400 when it is not an object in JSON, 415 when it is said to be something else."""
    content_type = request.content_type.partition(";")[0].strip()
    if content_type not in ("", "application/json"):
        raise unknown_format(["application/json"])
    try:
        return msgspec.json.decode(request.body, type=Tree)
    except msgspec.DecodeError as error:
        start = request.body[:_SHOWN_BYTES]
        shown = start.decode(errors="replace") if start.startswith(b"{") else start.hex()
        reason = f"couldn't get version/kind; json parse error: {json_error(error)}"
        name = kind.resource.kind
        message = f"the object provided is unrecognized (must be of type {name}): {reason} ({shown})"
        raise bad_request(message) from None
