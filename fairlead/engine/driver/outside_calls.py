"""Calls outside of the API server: with headers and credentials, sent again as the question says, answered by code."""

from __future__ import annotations

import asyncio
import re
from base64 import b64encode
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from fairlead.core.ask import Answer, Ask, Bad, Credential, Good, Http
from fairlead.engine.driver.ask_context import AskContext, pass_gate, timed
from fairlead.engine.driver.secrets import entries_of
from fairlead.engine.driver.sessions import SignInFailed
from kubeloop import clock
from kubeloop.calls import Call, Reply
from kubeloop.client import Client
from kubeloop.errors import KubeError
from kubeloop.redirects import told
from kubeloop.sealed import Sealed
from kubeloop.unreadable import UNREADABLE

JSON_CALL = ("Content-Type", "application/json")
WRONG_CLUSTER = 511


async def called(call: Http, question: Ask, outside: AskContext, deadline: float | None) -> Answer:
    """Sends it until it is accepted or as its retry rule says, each time with the time of the question."""

    async def once(client: Client) -> Answer:
        return await _sent(call, question, outside, client.uncounted())

    rule, spacing = call.retry, call.retry.spacing_seconds
    answer = await timed(once, outside, question.timeout, deadline)
    for _ in range(rule.tries - 1):
        if isinstance(answer, Good) or answer.kind == "not-sent" or not rule.covers(answer):
            break
        if deadline is not None and clock.monotonic() + spacing >= deadline:
            break
        await asyncio.sleep(spacing)
        spacing *= rule.growth
        answer = await timed(once, outside, question.timeout, deadline)
    return answer


async def _sent(call: Http, question: Ask, outside: AskContext, client: Client) -> Answer:
    caller = outside.caller
    if caller is None:
        raise TypeError("a decision asks for an outside call where none can be made")

    async def gated(message: Call) -> Reply:
        if question.effect:
            pass_gate(outside)
        return await caller(message)

    try:
        secret = (*_opened(call), *await _credentials(call, client))
        sent = _message(call, outside, secret, client.timeout)
        if call.sign_in is None:
            return _of(call, sent, await gated(sent))
        if outside.sessions is None:
            raise TypeError("a decision asks for a call in a session where none are kept")
        return _of(call, sent, await outside.sessions.call(sent, call.sign_in, gated, client))
    except SignInFailed as error:
        return Bad("sign-in", str(error))


def _message(call: Http, outside: AskContext, credentials: tuple[tuple[str, str], ...], timeout: float) -> Call:
    """What the question says of its headers goes before what all calls have."""
    own = (*call.headers, *credentials)
    named = {name.lower() for name, _ in own}
    usual = tuple(each for each in (JSON_CALL, *outside.headers) if each[0].lower() not in named)
    return Call(
        method=call.method,
        url=call.url if call.sealed_url is None else _address(call.sealed_url, call.ending),
        shown_as="" if call.sealed_url is None else call.url,
        proxy=call.proxy,
        headers=(*usual, *own),
        body=call.body,
        timeout=timeout,
        largest=call.largest,
        heeds_body=call.heeds_body,
        verified=call.verified,
        # Whoever shows a credential means this server, and no other that it is sent to.
        follows=call.follows and not credentials,
    )


def _address(sealed: Sealed, ending: str) -> str:
    """Raises SignInFailed, whose text has nothing of what is secret."""
    try:
        text = sealed.open().decode("ascii").strip()  # files end with a line break
        parts = urlsplit(text)
    except ValueError:
        raise SignInFailed("the address of the Secret cannot be called: write it in one line of ASCII") from None
    if parts.path.endswith(ending):
        return text
    return parts._replace(path=parts.path.rstrip("/") + ending).geturl()


async def _credentials(call: Http, client: Client) -> tuple[tuple[str, str], ...]:
    """The header with the credential; raises SignInFailed, whose text has nothing of what is secret."""
    wanted = call.credential
    if wanted is None:
        return ()
    try:
        found = (await entries_of(wanted.secret, client)).sealed
    except KubeError as error:
        raise SignInFailed(f"{wanted.secret} cannot be read: {error}") from error
    for key in filter(None, (wanted.username_key, wanted.key)):
        if key not in found:
            raise SignInFailed(f"{wanted.secret} has no {key}: add it, or name another key")
    username = found[wanted.username_key].open() if wanted.username_key else wanted.username.encode()
    return ((wanted.header, _value(wanted, username, found[wanted.key].open())),)


def _value(wanted: Credential, username: bytes, content: bytes) -> str:
    if username:
        return "Basic " + b64encode(username + b":" + content).decode()
    try:
        text = content.decode("ascii").strip()  # files end with a line break, headers hold none
    except UnicodeDecodeError:
        text = ""
    if not text or not text.isprintable():
        raise SignInFailed(f"{wanted.key} of {wanted.secret} cannot be sent in a header: write it in one line of ASCII")
    return wanted.prefix + text


_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def _opened(call: Http) -> tuple[tuple[str, str], ...]:
    """The sealed headers; raises SignInFailed, whose text has nothing of what is secret."""
    if call.sealed_headers is None:
        return ()
    try:
        given = msgspec.json.decode(call.sealed_headers.open(), type=dict[str, str | list[str]])
    except UNREADABLE:
        raise SignInFailed("the headers cannot be sent: write a text or a list of texts for each name") from None
    found = tuple((name, each) for name, held in given.items() for each in ([held] if isinstance(held, str) else held))
    if not all(_NAME.fullmatch(name) and value.isascii() and value.isprintable() for name, value in found):
        raise SignInFailed("the headers cannot be sent: write names of headers, and values in one line of ASCII")
    return found


class WrongCluster(Struct, frozen=True):
    """What a server says that a request was not meant for."""

    cluster_validation_error_message: str
    route: str = ""


def wrong_cluster(reply: Reply) -> WrongCluster | None:
    """Whether the reply says that the request was meant for another cluster."""
    if reply.status != WRONG_CLUSTER:
        return None
    try:
        return msgspec.json.decode(reply.body, type=WrongCluster)
    except UNREADABLE:
        return None


def _of(call: Http, sent: Call, reply: Reply) -> Answer:
    body = reply.body if call.heeds_body else b""
    if call.accepts:
        if reply.status in call.accepts:
            return Good(body, code=reply.status)
    elif 200 <= reply.status < 300:
        return Good(body)
    if (wrong := wrong_cluster(reply)) is not None:
        return Bad("failed", f"it rejected the request: {wrong.cluster_validation_error_message}", reply.status)
    return Bad("failed", told(sent, reply), reply.status)
