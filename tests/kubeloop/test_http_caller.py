"""The Caller over real sockets: servers on the loopback that are slow, hang, break off or are not trusted."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from aiohttp import web

from kubeloop import http_caller
from kubeloop.calls import Call, NoReply, Reply
from kubesim.pki import Authority
from tests.kubeloop.called import a_caller, authority, called, echo, refused, server_context, serving


def test_any_status_is_a_reply_with_body_and_all_headers() -> None:
    reply = called(echo, "/path?a=b", method="POST", body=b"body", headers=(("X-Sent", "yes"),))

    assert (reply.status, reply.body) == (418, b"POST /path?a=b body")
    assert [value for name, value in reply.headers if name == "X-Twice"] == ["1", "2"]
    assert ("X-Seen", "yes") in reply.headers


def test_a_server_that_never_answers_is_given_up() -> None:
    async def hanging(_request: web.Request) -> web.Response:
        await asyncio.Event().wait()
        return web.Response()

    assert refused(hanging, timeout=0.2).endswith("no answer in 0.2 seconds")


def test_a_server_that_trickles_is_given_up_as_a_whole() -> None:
    """The limit is on the whole call, not on each piece."""

    async def trickling(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b".")
            await asyncio.sleep(0.02)

    assert refused(trickling, timeout=0.3).endswith("no answer in 0.3 seconds")


def test_an_answer_that_is_cut_off_is_none() -> None:
    async def cut(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "100"})
        await response.prepare(request)
        await response.write(b"only this")
        assert request.transport is not None
        request.transport.abort()
        return response

    assert refused(cut).endswith("the connection was cut off before the whole answer was there")


def test_a_connection_that_ends_without_an_answer_is_not_tried_again() -> None:
    tries: list[str] = []

    async def ended(request: web.Request) -> web.Response:
        tries.append(request.method)
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    assert "cut off" in refused(ended)
    assert tries == ["GET"]


def test_a_body_past_the_limit_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_caller, "LARGEST_BODY", 2**20)

    async def huge(_request: web.Request) -> web.Response:
        return web.Response(body=b"x" * (2**20 + 1))

    async def just(_request: web.Request) -> web.Response:
        return web.Response(body=b"x" * 2**20)

    assert refused(huge).endswith("the answer is larger than 1 MB")
    assert len(called(just).body) == 2**20


def test_a_call_may_ask_for_less() -> None:
    async def large(_request: web.Request) -> web.Response:
        return web.Response(body=b"x" * (2**20 + 1))

    assert refused(large, largest=2**20).endswith("the answer is larger than 1 MB")
    assert len(called(large, largest=2**21).body) == 2**20 + 1


def test_a_body_that_nobody_wants_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_caller, "LARGEST_BODY", 1)

    async def huge(_request: web.Request) -> web.Response:
        return web.Response(status=202, body=b"x" * 2**20)

    reply = called(huge, heeds_body=False)
    assert (reply.status, reply.body) == (202, b"")


def test_the_limit_of_a_body() -> None:
    assert http_caller.LARGEST_BODY == 16 * 1024 * 1024


def test_the_authority_of_the_call_is_trusted_and_no_other() -> None:
    context = server_context("127.0.0.1")
    trusted = authority().certificate

    assert called(echo, context=context, authority=trusted).status == 418
    assert "the certificate is not trusted (" in refused(echo, context=context, authority=Authority().certificate)
    assert "the certificate is not trusted (" in refused(echo, context=context)


def test_a_certificate_for_another_name_is_not_trusted() -> None:
    text = refused(echo, context=server_context("elsewhere.example"), authority=authority().certificate)

    assert "the certificate is not trusted (" in text
    assert text.endswith("check its authority and the names in it")


def test_authorities_of_the_machine_that_changed_are_read_again_after_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a company's authority is mounted, and exchanged while the process runs."""
    file = tmp_path / "authorities.pem"
    file.write_bytes(Authority().certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))

    async def script() -> int:
        async with serving(echo, server_context("127.0.0.1")) as address, a_caller() as caller:
            call = Call(method="GET", url=address, timeout=20.0)
            with pytest.raises(NoReply, match="not trusted"):
                await caller(call)
            file.write_bytes(authority().certificate)
            return (await caller(call)).status

    assert asyncio.run(script()) == 418


def test_an_authority_that_is_none_is_told() -> None:
    text = refused(echo, context=server_context("127.0.0.1"), authority=b"no certificate")

    assert "holds no certificate that can be used" in text


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://127.0.0.1:1/", "no connection (connection refused)"),
        ("http://host.invalid/", "no such host"),
        ("ftp://127.0.0.1/", "the address must be http:// or https:// with a host"),
        ("http:///path", "the address must be http:// or https:// with a host"),
        ("https://127.0.0.1:port/", "the address must be http:// or https:// with a host"),
    ],
)
def test_what_cannot_be_reached_has_a_sentence(url: str, says: str) -> None:
    async def script() -> None:
        async with a_caller() as caller:
            await caller(Call(method="GET", url=url))

    with pytest.raises(NoReply, match=f"GET {url}".replace("?", r"\?")) as caught:
        asyncio.run(script())
    assert str(caught.value).endswith(says)


@pytest.mark.parametrize("url", ["http://me:s3cret@127.0.0.1:1/p?token=t0ken", "ftp://me:s3cret@host/?token=t0ken"])
def test_what_an_address_hides_is_not_told_when_it_fails(url: str) -> None:
    async def script() -> None:
        async with a_caller() as caller:
            await caller(Call(method="GET", url=url))

    with pytest.raises(NoReply) as caught:
        asyncio.run(script())
    assert "s3cret" not in str(caught.value)
    assert "t0ken" not in str(caught.value)


def test_tls_to_a_server_without_it_has_a_sentence() -> None:
    async def script() -> None:
        async with serving(echo) as address, a_caller() as caller:
            await caller(Call(method="GET", url=address.replace("http:", "https:")))

    with pytest.raises(NoReply, match=r"no agreement on TLS \((?!operation not permitted)"):
        asyncio.run(script())


def test_a_proxy_of_the_environment_is_used_unless_exempt(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, str]] = []

    async def proxy(request: web.Request) -> web.Response:
        seen.append((str(request.url), request.headers.get("Proxy-Authorization", "")))
        return web.Response(text="by proxy")

    async def script() -> Reply:
        async with serving(proxy) as address, serving(echo) as direct, a_caller() as caller:
            monkeypatch.setenv("HTTP_PROXY", address.replace("://", "://me:secret@"))
            monkeypatch.setenv("NO_PROXY", "exempt.invalid")
            reply = await caller(Call(method="GET", url="http://pod-0.ns.invalid:8080/prepare"))
            assert (await caller(Call(method="GET", url=direct))).status == 418, "this machine is not proxied"
            with pytest.raises(NoReply, match="no such host"):
                await caller(Call(method="GET", url="http://exempt.invalid/"))
            return reply

    assert asyncio.run(script()).body == b"by proxy"
    assert seen == [("http://pod-0.ns.invalid:8080/prepare", "Basic bWU6c2VjcmV0")]


def test_a_proxy_that_refuses_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://me:secret@127.0.0.1:1")

    async def script() -> None:
        async with a_caller() as caller:
            await caller(Call(method="GET", url="https://pod-0.ns.invalid/"))

    with pytest.raises(NoReply, match=r"the proxy http://127\.0\.0\.1:1 does not let us through") as caught:
        asyncio.run(script())
    assert "secret" not in str(caught.value)


def test_at_most_so_many_connections_to_one_host_and_all_calls_are_answered() -> None:
    most = http_caller.PER_HOST + 8
    busy: list[int] = []
    now = 0

    async def script() -> list[Reply]:
        gate = asyncio.Event()

        async def counting(_request: web.Request) -> web.Response:
            nonlocal now
            now += 1
            busy.append(now)
            if now == http_caller.PER_HOST:
                gate.set()
            await gate.wait()
            now -= 1
            return web.Response()

        async with serving(counting) as address, a_caller() as caller:
            call = Call(method="GET", url=address, timeout=20)
            return await asyncio.gather(*(caller(call) for _ in range(most)))

    replies = asyncio.run(script())

    assert [reply.status for reply in replies] == [200] * most
    assert max(busy) == http_caller.PER_HOST


def test_a_closed_caller_opens_again_when_called() -> None:
    async def script() -> list[int]:
        async with serving(echo) as address, a_caller() as caller:
            first = await caller(Call(method="GET", url=address))
            await caller.close()
            second = await caller(Call(method="GET", url=address))
            return [first.status, second.status]

    assert asyncio.run(script()) == [418, 418]
