"""Sessions with servers that want a sign-in: a password goes from a Secret to the server and is shown nowhere.

A session is opened when a call first needs it and serves all calls until the server refuses it or the Secret changes.
"""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie

import msgspec
from msgspec import Struct, structs

from fairlead.core.ask import SignIn
from fairlead.engine.driver.secrets import entries_of
from kubeloop.calls import Call, Caller, NoReply, Reply
from kubeloop.client import Client
from kubeloop.errors import KubeError
from kubeloop.redirects import told
from kubeloop.sealed import Sealed
from kubeloop.sealing import seal
from kubeloop.urls import origin_of, shown_url

REFUSED = (401, 403)
MOST = 1024
"""Sessions kept; the oldest go first, and are opened again when they are needed."""


class SignInFailed(Exception):
    """No session can be had; the text says why, without what is secret."""


class _Session(Struct, frozen=True):
    version: str
    """Of the Secret that it was opened with."""
    cookies: Sealed
    """As a header has them."""


class Sessions:
    """Belongs to one process."""

    def __init__(self) -> None:
        self._open: dict[SignIn, _Session] = {}

    async def call(self, sent: Call, sign_in: SignIn, caller: Caller, client: Client) -> Reply:
        """The reply to the call within a session; one that the server refuses is opened anew, once.

        Raises SignInFailed, and NoReply when the call itself is not answered.
        """
        if not _same_origin(sent.url, sign_in.url):
            raise SignInFailed(f"{sent.shown}: a session of {shown_url(sign_in.url)} holds for that server alone")
        # Whoever signs in means this server: neither the password nor the session follows a redirect.
        sent = structs.replace(sent, follows=False)
        password, version = await self._password(sign_in, client)
        if password is None:
            return await caller(sent)
        session = self._open.get(sign_in)
        if session is not None and session.version == version:
            reply = await caller(_within(sent, session))
            if reply.status not in REFUSED:
                return reply
        session = _Session(version, await _signed_in(sign_in, password, sent, caller))
        self._open.pop(sign_in, None)
        self._open[sign_in] = session
        while len(self._open) > MOST:
            del self._open[next(iter(self._open))]
        return await caller(_within(sent, session))

    async def _password(self, sign_in: SignIn, client: Client) -> tuple[Sealed | None, str]:
        """The password, None where the Secret has none, and the version of the Secret."""
        try:
            found = await entries_of(sign_in.secret, client)
        except KubeError as error:
            raise SignInFailed(f"{sign_in.secret} cannot be read: {error}") from error
        return found.sealed.get(sign_in.key), found.version


async def _signed_in(sign_in: SignIn, password: Sealed, sent: Call, caller: Caller) -> Sealed:
    """The cookies of a new session."""
    message = structs.replace(sent, method="POST", url=sign_in.url)
    try:
        reply = await caller(structs.replace(message, body=_body(sign_in, password)))
    except NoReply as error:
        raise SignInFailed(str(error)) from error
    if not 200 <= reply.status < 300:
        raise SignInFailed(f"{message.shown}: {told(message, reply)}")
    return _cookies(sign_in.url, reply)


def _body(sign_in: SignIn, password: Sealed) -> bytes:
    try:
        return msgspec.json.encode({"username": sign_in.username, "password": password.open().decode()})
    except UnicodeDecodeError:
        raise SignInFailed(f"{sign_in.key} of {sign_in.secret} is no text: write it as UTF-8") from None


def _cookies(url: str, reply: Reply) -> Sealed:
    """What the reply sets; without what must not be sent back over the connection it came by."""
    is_open = origin_of(url).scheme != "https"
    jar: SimpleCookie = SimpleCookie()
    for name, value in reply.headers:
        if name.lower() == "set-cookie":
            try:
                jar.load(value)
            except CookieError:
                continue  # one that cannot be read cannot be sent back either
    kept = ((name, morsel) for name, morsel in jar.items() if not (is_open and morsel["secure"]))
    return seal("; ".join(f"{name}={morsel.coded_value}" for name, morsel in kept).encode(errors="surrogateescape"))


def _within(sent: Call, session: _Session) -> Call:
    cookies = session.cookies.open().decode(errors="surrogateescape")
    return structs.replace(sent, headers=(*sent.headers, ("Cookie", cookies))) if cookies else sent


def _same_origin(one: str, other: str) -> bool:
    try:
        return origin_of(one) == origin_of(other)
    except ValueError:
        return False
