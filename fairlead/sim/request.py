"""From a request to its answer, as bytes: the part of the server that knows paths, parameters and codes.

`Handler.answer` waits for nothing but admission webhooks; `Handler.watch` opens a watch whose lines are then read one
by one. HTTP and the in-process transport wrap the same two.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypedDict
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from fairlead.kube.calls import Caller
from fairlead.kube.request import Request, Response
from fairlead.sim import deletion, discovery, pod_requests, subresources, views
from fairlead.sim.access import Access, User, attributes_of
from fairlead.sim.access_reviews import AccessReviews
from fairlead.sim.admission import Admission
from fairlead.sim.clerk import Clerk
from fairlead.sim.converting import answered, shown
from fairlead.sim.errors import (
    StatusError,
    bad_request,
    invalid_options,
    method_not_allowed,
    no_such_resource,
    unknown_format,
    unsupported,
)
from fairlead.sim.fields import examiner
from fairlead.sim.impersonation import Impersonation
from fairlead.sim.listing import Query
from fairlead.sim.managers import complain, configuration_of, is_apply, manager_of
from fairlead.sim.patch import json_error
from fairlead.sim.registry import NAMESPACES, Kind
from fairlead.sim.store import Tree
from fairlead.sim.tokens import Tokens
from fairlead.sim.verbs import Verbs
from fairlead.sim.watching import Watch, Wish

JSON = {"content-type": "application/json"}
PLAIN = {"content-type": "text/plain; charset=utf-8"}
_SHOWN_BYTES = 30
_CREATED_ONLY = ("binding", "eviction", "token")


class _Wish(TypedDict):
    """What every write is told of its request."""

    user: str
    dry_run: bool


class Target(Struct, frozen=True):
    """What a path names."""

    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""


class Handler:
    """Answers requests from the verbs."""

    def __init__(self, verbs: Verbs, caller: Caller, *, lag: tuple[float, float] = (0.0, 0.0)) -> None:
        self.verbs = verbs
        self.admission = Admission(verbs.store, verbs.registry, caller)
        self.lag = lag
        self.access = Access(verbs.store)
        self._impersonation = Impersonation(self.access)
        self.tokens = Tokens(verbs.store)
        self._access_reviews = AccessReviews(verbs.store, self.access, self.tokens)

    async def answer(self, request: Request, user: User) -> Response:
        """The answer to anything that is not a watch; failures are answers too."""
        clerk: Clerk | None = None
        try:
            clerk = Clerk(self.admission, request, self._allowed(request, user))
            answer = await self._answer(request, clerk)
        except StatusError as error:
            answer = refusal(error)
        return answer if clerk is None else clerk.signed(answer)

    def _allowed(self, request: Request, user: User) -> User:
        """Whom the request is carried out as; whether they may is asked even before whether there is such a path."""
        user = self._impersonation.acting(user, request)
        if not user.is_master:
            self.access.demand(user, attributes_of(request))
        return user

    def watch(self, request: Request, user: User) -> Watch | None:
        """The watch that a request asks for, None when it asks for something else; raises StatusError."""
        options = dict(request.query)
        if request.method != "GET" or options.get("watch") not in ("1", "true"):
            return None
        target = self._target(request.path)
        if target is None or target.subresource or target.kind.answered:
            return None
        self._allowed(request, user)
        query = _query(target, options)
        if target.name:
            fields = f"metadata.name={target.name}"
            query = msgspec.structs.replace(query, fields=f"{query.fields},{fields}" if query.fields else fields)
        bookmarks = options.get("allowWatchBookmarks") in ("1", "true")
        wish = Wish(bookmarks, float(_number(options, "timeoutSeconds")), self.lag)
        return Watch(self.verbs.store, target.kind, query, wish, self.admission.converter)

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

    async def _answer(self, request: Request, clerk: Clerk) -> Response:
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
        if target.kind.answered and request.method != "POST":
            raise method_not_allowed()
        clerk.warnings += target.kind.warnings
        match request.method:
            case "GET":
                return await self._read(target, dict(request.query))
            case "POST":
                return await self._create(target, request, clerk)
            case "PUT" | "PATCH" if target.name and target.subresource not in _CREATED_ONLY:
                return await self._change(target, request, clerk)
            case "DELETE" if not target.subresource:
                return await self._delete(target, request, clerk)
            case _:
                raise method_not_allowed()

    async def _read(self, target: Target, options: Mapping[str, str]) -> Response:
        if target.subresource in _CREATED_ONLY:
            raise method_not_allowed()
        if not target.name:
            return await self._list(target, options)
        kind, convert = target.kind, self.admission.converter
        version = self.verbs.current(kind, target.namespace, target.name)
        if target.subresource == "scale":
            return _json(200, subresources.scale_shown(kind, await answered(shown(kind, version), convert)))
        return Response(200, await views.body(kind, version, convert), JSON)

    async def _list(self, target: Target, options: Mapping[str, str]) -> Response:
        kind = target.kind
        listed = self.verbs.select(kind.resource, _query(target, options))
        metadata: Tree = {"resourceVersion": str(listed.revision)}
        if listed.continue_token:
            metadata["continue"] = listed.continue_token
        if listed.remaining is not None:
            metadata["remainingItemCount"] = listed.remaining
        head = {"kind": f"{kind.resource.kind}List", "apiVersion": kind.resource.api_version, "metadata": metadata}
        # One by one, as the server decodes them: a list is as many questions as it has objects of other versions.
        bodies = [await views.item(kind, version, self.admission.converter) for version in listed.versions]
        items = b",".join(_item(kind, body) for body in bodies)
        return Response(200, msgspec.json.encode(head)[:-1] + b',"items":[' + items + b"]}", JSON)

    async def _create(self, target: Target, request: Request, clerk: Clerk) -> Response:
        tree = _body(request, target.kind)
        place = target.namespace, target.name
        wish: _Wish = {"user": clerk.user.name, "dry_run": _is_dry(request)}
        writes = self.verbs.writes
        match target.subresource:
            case "token":
                made = self._access_reviews.token_request(target.namespace, target.name, tree)
            case "binding":
                made = await clerk.carried_out(pod_requests.bind(writes, *place, tree, **wish))
            case "eviction":
                made = await clerk.carried_out(pod_requests.evict(writes, *place, tree, **wish))
            case "" if not target.name:
                resource = target.kind.resource
                namespace = target.namespace or (tree.get("metadata") or {}).get("namespace") or ""
                if resource.namespaced and not target.namespace:
                    raise method_not_allowed()
                examiner(request, target.kind, "", clerk.warnings)(tree)
                if target.kind.answered:
                    return _json(201, self._access_reviews.answer(target.kind, target.namespace, tree, clerk.user))
                manager = manager_of(request, clerk.warnings)
                made = await clerk.carried_out(writes.create(resource, namespace, tree, manager=manager, **wish))
            case _:
                raise method_not_allowed()
        return _json(201, made)

    async def _change(self, target: Target, request: Request, clerk: Clerk) -> Response:
        kind = target.kind
        subresource = target.subresource
        wish: _Wish = {"user": clerk.user.name, "dry_run": _is_dry(request)}
        place = kind.resource, target.namespace, target.name
        examine = examiner(request, kind, subresource, clerk.warnings)
        existed = (target.namespace, target.name) in self.verbs.store.table(kind.storage).live
        writes, manager = self.verbs.writes, manager_of(request, clerk.warnings)
        if is_apply(request):
            config, twice = configuration_of(request.body)
            complain(request, twice, clerk.warnings)
            write = writes.apply(*place, config, subresource=subresource, manager=manager, **wish)
        elif request.method == "PATCH":
            content = request.content_type, request.body
            write = writes.patch(*place, *content, subresource=subresource, examine=examine, manager=manager, **wish)
        else:
            sent = _body(request, kind)
            examine(sent)
            write = writes.update(*place, sent, subresource=subresource, manager=manager, **wish)
        creates = (
            not existed
            and not subresource
            and (is_apply(request) or (request.method == "PUT" and kind.create_on_update))
        )
        if creates:
            self.access.demand(clerk.user, msgspec.structs.replace(attributes_of(request), verb="create"))
        return _json(201 if creates else 200, await clerk.carried_out(write))

    async def _delete(self, target: Target, request: Request, clerk: Clerk) -> Response:
        options = dict(request.query)
        wishes = _body(request, target.kind) if request.body.strip() else {}
        preconditions = wishes.get("preconditions") or {}
        grace = wishes.get("gracePeriodSeconds")
        if grace is None and "gracePeriodSeconds" in options:
            grace = _number(options, "gracePeriodSeconds")
        wanted = deletion.Options(
            preconditions.get("uid") or "",
            preconditions.get("resourceVersion") or "",
            grace,
            wishes.get("propagationPolicy") or options.get("propagationPolicy") or "",
        )
        dry_run = _is_dry(request) or wishes.get("dryRun") == ["All"]
        wish: _Wish = {"user": clerk.user.name, "dry_run": dry_run}
        resource, delete = target.kind.resource, self.verbs.writes.removals.delete
        if target.name:
            write = delete(resource, target.namespace, target.name, wanted, **wish)
            return _json(200, await clerk.carried_out(write))
        for version in self.verbs.select(resource, _query(target, options)).versions:
            write = delete(resource, *version.key, wanted, collection=True, **wish)
            try:
                await clerk.carried_out(write, limited=False)
            except StatusError as error:
                if error.code != no_such_resource().code:
                    raise
        return _json(200, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"})


def refusal(error: StatusError) -> Response:
    """A failure as an answer."""
    headers = dict(JSON)
    if error.retry_after is not None:
        headers["retry-after"] = str(error.retry_after)
    return Response(error.code, json.dumps(error.status()).encode(), headers)


def _json(code: int, tree: Mapping[str, object]) -> Response:
    return Response(code, msgspec.json.encode(tree), JSON)


def _item(kind: Kind, body: bytes) -> bytes:
    """An object inside a list, which says once for all what kind its items are; custom resources say it each."""
    if kind.custom is not None:
        return body
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
