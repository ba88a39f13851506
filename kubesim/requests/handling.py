"""From a request to its answer, as bytes: the part of the server that knows paths, parameters and codes.

`Handler.answer` waits for nothing but admission webhooks; `Handler.watch` opens a watch whose lines are then read one
by one. HTTP and the in-process transport wrap the same two.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from kubeloop.calls import Caller
from kubeloop.request import Request, Response
from kubesim.api.pod_shortcuts import Shortcuts
from kubesim.api.verbs import Verbs
from kubesim.api.writer import Writer, shown_options
from kubesim.auth.impersonation import Impersonation
from kubesim.auth.rbac import Access, User, attributes_of
from kubesim.auth.tokens import Tokens
from kubesim.discovery.negotiation import OFFERED, STREAMED, Form, accepted, object_form, refusal_media, watch_form
from kubesim.errors import StatusError
from kubesim.requests import pod_logs
from kubesim.requests.access_reviews import AccessReviews
from kubesim.requests.discovery import Publishing
from kubesim.requests.forms import Dress, rewritten
from kubesim.requests.paths import Target, Unserved, find, is_broken, permit
from kubesim.requests.pod_proxy import proxied
from kubesim.requests.reading import Reading, check_deadline, flag_of, modern, options_of, query_of
from kubesim.requests.watching import Watch
from kubesim.requests.writing import Writing

JSON = {"content-type": "application/json"}
PLAIN = {"content-type": "text/plain; charset=utf-8"}


class Handler:
    """Answers requests from the verbs."""

    def __init__(self, verbs: Verbs, pods: Caller, *, lag: tuple[float, float] = (0.0, 0.0)) -> None:
        """`pods` reaches what answers at the addresses of pods."""
        self.verbs = verbs
        self._pods = pods
        self.admission = verbs.admission
        self.lag = lag
        self.access = Access(verbs.store)
        self._impersonation = Impersonation(self.access)
        self._publishing = Publishing(verbs.registry)
        self._reading = Reading(verbs, self.admission)
        self.tokens = Tokens(verbs.store)
        self.shortcuts = Shortcuts(verbs.store, verbs.registry, self.admission)
        reviews = AccessReviews(verbs.store, self.access, self.tokens)
        self._writing = Writing(verbs, self.access, reviews, self.shortcuts)

    async def answer(self, request: Request, user: User) -> Response:
        """The answer to anything that is not a watch; failures are answers too."""
        writer: Writer | None = None
        try:
            if user.is_inside and (done := self.shortcuts.answer(request, user.name)) is not None:
                return done
            check_deadline(request)
            writer = Writer(self.admission, self._allowed(request, user), shown_options(request))
            answer = await self._answer(request, writer)
        except StatusError as error:
            answer = rewritten(refusal(error), refusal_media(accepted(request)))
            if writer is not None:
                writer.warnings += error.warnings
        return answer if writer is None else writer.signed(answer)

    def _allowed(self, request: Request, user: User) -> User:
        """Whom the request is carried out as; whether they may is asked even before whether there is such a path."""
        user = self._impersonation.acting(user, request)
        if not user.is_master:
            self.access.demand(user, attributes_of(request))
        return user

    def watch(self, request: Request, user: User) -> Watch | None:
        """The watch that a request asks for, None when it asks for something else; raises StatusError."""
        request = modern(request)
        options = options_of(request)
        if request.method != "GET" or not flag_of(options, "watch"):
            return None
        target = self._target(request)
        if target is None or target.name or target.kind.answered:
            return None
        self._allowed(request, user)
        form = watch_form(accepted(request), is_custom=target.kind.custom is not None)
        return self._reading.watch(target, options, form, self.lag)

    def follow(self, request: Request, user: User) -> pod_logs.Follow | None:
        """The log that a request wants to follow, None when it asks for something else; raises StatusError."""
        if request.method != "GET" or not request.path.endswith("/log"):
            return None
        options, target = options_of(request), self._target(request)
        if target is None or target.subresource != "log" or not flag_of(options, "follow"):
            return None
        self._allowed(request, user)
        return pod_logs.Follow(self.verbs, target.namespace, target.name, pod_logs.options_of(options, target.name))

    def _said(self, target: Target, request: Request) -> Response:
        """What a container has said; nobody can be connected with one."""
        query = options_of(request)
        options = pod_logs.options_of(query, target.name) if target.subresource == "log" else pod_logs.Options()
        pod = self.verbs.current(target.kind, target.namespace, target.name).tree()
        if target.subresource in pod_logs.CONNECTIONS:
            raise pod_logs.refuse_connection(pod, target.subresource)
        text = pod_logs.read(pod, options)
        return Response(204, b"", {}) if text is None else Response(200, text, {"content-type": "text/plain"})

    def _target(self, request: Request) -> Target | None:
        """What the path names; None for a path that is not served."""
        try:
            return find(self.verbs.registry, request.path, request.method)
        except Unserved:
            return None

    async def _answer(self, request: Request, writer: Writer) -> Response:
        if is_broken(request.path):
            return Response(400, b"400 Bad Request", PLAIN)
        published = self._publishing.answer(request)
        if published is not None:
            return published
        target = self._target(request)
        if target is None:
            return Response(404, b"404 page not found\n", PLAIN)
        permit(target, request.method)
        if target.subresource == "proxy":
            return await proxied(self.verbs, self._pods, target, request)
        if target.subresource == "log" or target.subresource in pod_logs.CONNECTIONS:
            return self._said(target, request)
        form = _form(target, request)
        writer.warnings += target.kind.warnings
        if form.is_plain:
            return await self._carried_out(target, request, writer)
        dress = Dress(form, target.kind, target.subresource, options_of(request).get("includeObject", ""))
        is_stored = dress.wants_stored and request.method == "GET"
        return dress.answer(await self._carried_out(target, request, writer, as_stored=is_stored), is_stored=is_stored)

    async def _carried_out(
        self, target: Target, request: Request, writer: Writer, *, as_stored: bool = False
    ) -> Response:
        match request.method:
            case "GET":
                read = self._reading.one if target.name else self._reading.page
                return await read(target, options_of(request), as_stored=as_stored)
            case "POST":
                return _json(201, await self._writing.create(target, request, writer))
            case "DELETE":
                return await self._delete(target, request, writer)
            case _:
                created, made = await self._writing.change(target, request, writer)
                return _json(201 if created else 200, made)

    async def _delete(self, target: Target, request: Request, writer: Writer) -> Response:
        """An object, or all of a collection that a query selects; the answer to the latter is what there was."""
        if target.name:
            return _json(*await self._writing.delete(target, request, writer))
        options = options_of(request)
        listed = await self._reading.page(target, options)
        versions = self.verbs.select(target.kind.resource, query_of(target, options)).versions
        await self._writing.delete_all(target, request, writer, list(versions))
        return listed


def refusal(error: StatusError) -> Response:
    """A failure as an answer."""
    headers = dict(JSON)
    if error.retry_after is not None:
        headers["retry-after"] = str(error.retry_after)
    return Response(error.code, msgspec.json.encode(error.status()), headers)


def _json(code: int, made: Mapping[str, object] | bytes) -> Response:
    return Response(code, made if isinstance(made, bytes) else msgspec.json.encode(made), JSON)


def _form(target: Target, request: Request) -> Form:
    """How the answer is to be written; a list may also be accepted as a stream."""
    routed = OFFERED if target.name or request.method != "GET" else (*OFFERED, *STREAMED)
    return object_form(accepted(request), routed=routed, is_custom=target.kind.custom is not None)
