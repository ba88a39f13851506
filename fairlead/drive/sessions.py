"""Sessions with servers that want a sign-in: a password goes from a Secret to the server and is shown nowhere.

A session is opened when a call first needs it and serves all calls until the server refuses it or the Secret changes.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NotBase64
from http.cookies import CookieError, SimpleCookie

import msgspec
from msgspec import Struct, structs

from fairlead.api.urls import origin_of, shown_url
from fairlead.decide.ask import SignIn
from fairlead.kube import request
from fairlead.kube.calls import Call, Caller, NoReply, Reply
from fairlead.kube.client import Client
from fairlead.kube.errors import KubeError
from fairlead.kube.redirects import told

REFUSED = (401, 403)
MOST = 1024
"""Sessions kept; the oldest go first, and are opened again when they are needed."""


class SignInFailed(Exception):
    """No session can be had; the text says why, without what is secret."""


class _Meta(Struct, frozen=True, rename="camel"):
    resource_version: str = ""


class _Secret(Struct, frozen=True):
    metadata: _Meta = _Meta()
    data: dict[str, str] = {}


class _Session(Struct, frozen=True):
    version: str
    """Of the Secret that it was opened with."""
    cookies: str


_SECRET = msgspec.json.Decoder(_Secret)


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

    async def _password(self, sign_in: SignIn, client: Client) -> tuple[str | None, str]:
        """The password, None where the Secret has none, and the version of the Secret."""
        try:
            found = _SECRET.decode((await client.call(request.get(sign_in.secret))).body)
            encoded = found.data.get(sign_in.key)
            password = None if encoded is None else b64decode(encoded, validate=True).decode()
        except KubeError as error:
            raise SignInFailed(f"{sign_in.secret} cannot be read: {error}") from error
        except (msgspec.DecodeError, NotBase64, UnicodeDecodeError):
            raise SignInFailed(f"{sign_in.key} of {sign_in.secret} is no text: write it as UTF-8") from None
        return password, found.metadata.resource_version


async def _signed_in(sign_in: SignIn, password: str, sent: Call, caller: Caller) -> str:
    """The cookies of a new session, as a header has them."""
    body = msgspec.json.encode({"username": sign_in.username, "password": password})
    message = structs.replace(sent, method="POST", url=sign_in.url, body=body, follows=False)
    try:
        reply = await caller(message)
    except NoReply as error:
        raise SignInFailed(str(error)) from error
    if not 200 <= reply.status < 300:
        raise SignInFailed(f"{message.shown}: {told(message, reply)}")
    return _cookies(sign_in.url, reply)


def _cookies(url: str, reply: Reply) -> str:
    """What the reply sets, as a header has it; without what must not be sent back over the connection it came by."""
    is_open = origin_of(url).scheme != "https"
    jar: SimpleCookie = SimpleCookie()
    for name, value in reply.headers:
        if name.lower() == "set-cookie":
            try:
                jar.load(value)
            except CookieError:
                continue  # one that cannot be read cannot be sent back either
    kept = ((name, morsel) for name, morsel in jar.items() if not (is_open and morsel["secure"]))
    return "; ".join(f"{name}={morsel.coded_value}" for name, morsel in kept)


def _within(sent: Call, session: _Session) -> Call:
    return structs.replace(sent, headers=(*sent.headers, ("Cookie", session.cookies))) if session.cookies else sent


def _same_origin(one: str, other: str) -> bool:
    try:
        return origin_of(one) == origin_of(other)
    except ValueError:
        return False
