"""Redirects over real sockets: who follows them, where to, and what goes along."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from kubeloop.calls import Call, Reply
from kubeloop.redirects import MOST_SHOWN, next_call, told
from tests.kubeloop.called import Handler, a_caller, authority, called, echo, refused, server_context, serving

REDIRECTS = (301, 302, 303, 307, 308)
SECRETS = (("Authorization", "Bearer s3cret"), ("Cookie", "session=s3cret"), ("Proxy-Authorization", "Basic s3cret"))


def pointing(status: int, location: str) -> Handler:
    """Sends everything at `/` elsewhere; whatever comes to another path is told."""

    async def handler(request: web.Request) -> web.Response:
        if request.path == "/":
            return web.Response(status=status, headers={"Location": location})
        return await echo(request)

    return handler


class Elsewhere:
    """Another server, and all that it heard."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.text()
        self.heard.append(f"{request.method} {request.raw_path} {dict(request.headers)} {body}")
        return web.Response(text="from elsewhere")


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize("status", REDIRECTS)
def test_a_call_that_does_not_ask_for_it_follows_nothing(status: int, method: str) -> None:
    assert called(pointing(status, "/new"), method=method).status == status


@pytest.mark.parametrize("status", [307, 308])
def test_a_redirect_that_keeps_the_method_is_followed_with_the_body(status: int) -> None:
    reply = called(pointing(status, "/new?x=1"), method="POST", body=b"body", follows=True)

    assert reply.body == b"POST /new?x=1 body"


@pytest.mark.parametrize("status", [301, 302, 303])
def test_other_redirects_are_followed_for_reading_only(status: int) -> None:
    moved = pointing(status, "/new")

    assert called(moved, follows=True).body.strip() == b"GET /new"
    assert called(moved, method="POST", body=b"body", follows=True).status == status
    assert called(moved, method="DELETE", follows=True).status == status


def test_redirects_without_end_are_given_up() -> None:
    visits: list[str] = []

    async def moved(request: web.Request) -> web.Response:
        visits.append(request.path)
        return web.Response(status=307, headers={"Location": "/again?token=s3cret"})

    text = refused(moved, follows=True)

    assert "redirected more than 10 times" in text
    assert "s3cret" not in text
    assert len(visits) == 11


def test_a_redirect_to_nowhere_is_a_reply() -> None:
    async def moved(_request: web.Request) -> web.Response:
        return web.Response(status=308)

    assert called(moved, follows=True).status == 308


@pytest.mark.parametrize("location", ["http://[::1", "//[", "http://me:s3cret@[x", "http://pod:port/"])
def test_a_redirect_to_what_is_no_address_is_no_reply(location: str) -> None:
    text = refused(pointing(307, location), follows=True)

    assert "redirected to what is no address" in text
    assert "s3cret" not in text


def sent_on(status: int, elsewhere: Elsewhere, *, first_tls: bool, second_tls: bool) -> Reply:
    """The reply to a call whose server points to another one on the same host."""

    async def script() -> Reply:
        first, second = (server_context("127.0.0.1") if tls else None for tls in (first_tls, second_tls))
        async with (
            serving(elsewhere.answer, second) as there,
            serving(pointing(status, f"{there}/new"), first) as here,
            a_caller() as caller,
        ):
            url = here.replace("://", "://me:s3cret@") + "/"
            headers, trusted = (("X-Plain", "kept"), *SECRETS[1:]), authority().certificate
            return await caller(Call(method="GET", url=url, headers=headers, authority=trusted, follows=True))

    return asyncio.run(script())


@pytest.mark.parametrize("status", REDIRECTS)
@pytest.mark.parametrize(("first_tls", "second_tls"), [(False, False), (True, True), (False, True)])
def test_no_credentials_go_to_another_port_of_the_host(status: int, *, first_tls: bool, second_tls: bool) -> None:
    elsewhere = Elsewhere()

    reply = sent_on(status, elsewhere, first_tls=first_tls, second_tls=second_tls)

    assert reply.body == b"from elsewhere"
    (heard,) = elsewhere.heard
    assert "kept" in heard
    assert not any(secret in heard for secret in ("s3cret", "Authorization", "Cookie"))


@pytest.mark.parametrize("status", REDIRECTS)
def test_nothing_leads_from_https_to_http(status: int) -> None:
    elsewhere = Elsewhere()

    assert sent_on(status, elsewhere, first_tls=True, second_tls=False).status == status
    assert elsewhere.heard == []


@pytest.mark.parametrize(
    ("url", "location", "same"),
    [
        ("http://one/", "/two", True),
        ("http://one/", "http://one:80/two", True),
        ("http://one/", "http://ONE./two", True),
        ("https://one/", "https://one:443/two", True),
        ("http://one/", "//one/two", True),
        ("http://one/", "http://two/", False),
        ("http://one/", "http://one:81/", False),
        ("http://one/", "https://one/", False),
        ("http://one:443/", "https://one/", False),
        ("http://one/", "http://one.example/", False),
        ("http://me:s3cret@one/", "http://one@two/", False),
    ],
)
def test_credentials_stay_with_scheme_host_and_port(url: str, location: str, *, same: bool) -> None:
    call = Call(method="GET", url=url, headers=(*SECRETS, ("Accept", "*/*")), follows=True)

    further = next_call(call, Reply(307, b"", (("location", location),)))

    assert further is not None
    assert further.headers == (call.headers if same else (("Accept", "*/*"),))
    assert same or "@" not in further.url


def test_a_redirect_does_not_give_itself_credentials() -> None:
    call = Call(method="GET", url="http://one/", follows=True)

    further = next_call(call, Reply(302, b"", (("Location", "http://me:s3cret@two:8080/x?y=1"),)))

    assert further is not None
    assert further.url == "http://two:8080/x?y=1"


@pytest.mark.parametrize(
    ("location", "says"),
    [
        ("https://me:s3cret@two/path?token=s3cret#s3cret", "a redirect to https://two/path that is not followed"),
        ("/login?next=s3cret", "a redirect to http://one/login that is not followed"),
        ("http://[", "a redirect to http://[ that is not followed"),
        ("/\udcff", "a redirect to http://one/\\udcff that is not followed"),
        (f"/{'x' * 9000}", f"a redirect to http://one/{'x' * (MOST_SHOWN - 11)}... that is not followed"),
    ],
)
def test_where_a_redirect_pointed_is_told_without_what_is_secret(location: str, says: str) -> None:
    call = Call(method="POST", url="http://one/")

    assert told(call, Reply(302, b"", (("Location", location),))) == f"it answered with status 302, {says}"


def test_what_is_no_redirect_points_nowhere() -> None:
    call = Call(method="POST", url="http://one/")

    assert told(call, Reply(201, b"", (("Location", "http://two/"),))) == "it answered with status 201"
    assert told(call, Reply(302)) == "it answered with status 302"
