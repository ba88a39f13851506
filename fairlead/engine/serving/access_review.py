"""Answers only those whom the API server knows by their token and lets read the path.

A verdict serves for a while, so that a scrape costs no review each time; a token is kept as its digest only. Where the
API server does not answer, nobody is let in who was not let in lately.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from typing import TypeVar

import msgspec
from msgspec import Struct, structs
from structlog.types import FilteringBoundLogger

from fairlead.engine.serving.routes import path_of, text
from kubeloop import clock, request
from kubeloop.calls import Call, Handler, Reply
from kubeloop.client import Client
from kubeloop.decoding import decoded
from kubeloop.errors import KubeError
from kubeloop.objects.meta import Resource

T = TypeVar("T")

TOKEN_REVIEWS = Resource("authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False)
ACCESS_REVIEWS = Resource("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False)
TIMEOUT = 10.0
"""Seconds for the reviews of a request, the wait for those of others included."""
LET_SECONDS = 60.0
REFUSED_SECONDS = 30.0
"""For which a verdict serves."""
MOST_VERDICTS = 256
AT_ONCE = 4
"""Reviews under way together: whoever makes up tokens must not use up what the API server gives the operator."""


class _User(Struct, frozen=True):
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}


class _TokenStatus(Struct, frozen=True):
    authenticated: bool = False
    user: _User = _User()


class _TokenReview(Struct, frozen=True):
    status: _TokenStatus = _TokenStatus()


class _AccessStatus(Struct, frozen=True):
    allowed: bool = False


class _AccessReview(Struct, frozen=True):
    status: _AccessStatus = _AccessStatus()


class _Verdict(Struct, frozen=True):
    refusal: Reply | None
    """None: the request is answered."""
    until: float
    """Loop time."""


class AuthorizedHandler:
    """A handler behind the two reviews of a request: whose token it has, and whether that user may."""

    def __init__(self, handler: Handler, client: Client, log: FilteringBoundLogger) -> None:
        self._handler = handler
        self._client = client
        self._log = log
        self._verdicts: dict[tuple[bytes, str, str], _Verdict] = {}
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._said = ""
        """Why reviews fail, until one succeeds."""

    async def __call__(self, call: Call) -> Reply:
        token = bearer_of(call)
        if not token:
            return _unknown("send the token of an account that may read this: Authorization: Bearer TOKEN")
        try:
            async with asyncio.timeout(TIMEOUT):
                refusal = await self._refusal(token, call.method.lower(), path_of(call))
        except (KubeError, TimeoutError) as error:
            said = str(error) or self._said or f"no review within {TIMEOUT:g} seconds"
            if said != self._said:
                self._said = said
                help_ = "grant create of tokenreviews and subjectaccessreviews, and see that the API server answers"
                self._log.warning("requests cannot be reviewed", error=self._said, help=help_)
            return text(500, "the API server cannot be asked about the token now; try again later")
        return await self._handler(call) if refusal is None else refusal

    async def _refusal(self, token: str, verb: str, path: str) -> Reply | None:
        key = hashlib.sha256(token.encode()).digest(), verb, path
        if (known := self._known(key)) is not None:
            return known.refusal
        async with self._turns:
            if (known := self._known(key)) is not None:  # another request was faster
                return known.refusal
            refusal = await self._asked(token, verb, path)
        self._said = ""
        seconds = LET_SECONDS if refusal is None else REFUSED_SECONDS
        self._verdicts.pop(key, None)
        self._verdicts[key] = _Verdict(refusal, clock.monotonic() + seconds)
        if len(self._verdicts) > MOST_VERDICTS:
            del self._verdicts[self._least_missed()]
        return refusal

    def _least_missed(self) -> tuple[bytes, str, str]:
        """The oldest refusal, as anybody can make up tokens, or else the oldest verdict."""
        refused = (key for key, verdict in self._verdicts.items() if verdict.refusal is not None)
        return next(refused, next(iter(self._verdicts)))

    def _known(self, key: tuple[bytes, str, str]) -> _Verdict | None:
        """The verdict that still serves, if there is one."""
        known = self._verdicts.get(key)
        return known if known is not None and clock.monotonic() < known.until else None

    async def _asked(self, token: str, verb: str, path: str) -> Reply | None:
        known = await self._review(TOKEN_REVIEWS, {"token": token}, _TokenReview)
        if not known.status.authenticated:
            return _unknown("the API server does not know the token: it may have ended")
        user = known.status.user
        who = {"user": user.username, "uid": user.uid, "groups": user.groups, "extra": user.extra}
        asked = who | {"nonResourceAttributes": {"path": path, "verb": verb}}
        if not (await self._review(ACCESS_REVIEWS, asked, _AccessReview)).status.allowed:
            return text(403, f"{user.username} may not {verb} {path}: grant it the verb for this nonResourceURL")
        return None

    async def _review(self, resource: Resource, spec: Mapping[str, object], into: type[T]) -> T:
        tree = {"apiVersion": resource.api_version, "kind": resource.kind, "spec": spec}
        sent = request.create(resource, "", msgspec.json.encode(tree))
        answer = await self._client.call(structs.replace(sent, timeout=TIMEOUT))
        return decoded(answer.body, into, f"create a {resource.kind}")


def bearer_of(call: Call) -> str:
    """The token of a request; empty where there is none, more than one, or what cannot be one."""
    match call.header("Authorization"):
        case [only]:
            scheme, _, token = only.strip().partition(" ")
            return token.strip() if scheme.lower() == "bearer" and token.isascii() else ""
    return ""


def _unknown(words: str) -> Reply:
    refused = text(401, words)
    return Reply(refused.status, refused.body, (*refused.headers, ("WWW-Authenticate", "Bearer")))
