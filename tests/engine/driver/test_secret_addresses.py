"""Calls to addresses that are secret, and through proxies that the question names; over real sockets."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
from aiohttp import web
from msgspec import structs

from fairlead.core.ask import Answer, Ask, Bad, Good, Http
from fairlead.core.written import written
from fairlead.engine.driver.questions import AskContext, asker
from kubeloop.calls import Caller
from kubeloop.client import Client
from kubeloop.sealing import seal
from kubesim.cluster import Cluster
from tests.kubeloop.called import a_caller, serving

GET = Http("GET", "http://metrics.svc/query")


async def asked_by(caller: Caller, call: Http) -> Answer:
    return await asker(AskContext(Client(Cluster(seed=1).transport()), caller=caller))(Ask(call, timeout=20))


def called_by(call: Http) -> Answer:
    async def script() -> Answer:
        async with a_caller() as caller:
            return await asked_by(caller, call)

    return asyncio.run(script())


@pytest.mark.parametrize(
    ("held", "ending", "path"),
    [
        ("/s3cret\n", "", "/s3cret"),
        ("/s3cret", "/slack", "/s3cret/slack"),
        ("/s3cret/slack", "/slack", "/s3cret/slack"),
    ],
)
def test_an_address_that_is_secret_is_opened_when_the_call_is_sent(held: str, ending: str, path: str) -> None:
    async def heard(request: web.Request) -> web.Response:
        return web.json_response(request.raw_path)

    async def script() -> tuple[Http, Answer]:
        async with serving(heard) as address, a_caller() as caller:
            sealed = seal(f"{address}{held}".encode())
            call = structs.replace(GET, url="the address of a Secret", sealed_url=sealed, ending=ending)
            return call, await asker(AskContext(Client(Cluster(seed=1).transport()), caller=caller))(
                Ask(call, timeout=20)
            )

    call, answer = asyncio.run(script())

    assert answer == Good(msgspec.json.encode(path))
    assert "s3cret" not in repr(call)
    assert b"s3cret" not in written(call, Http)


@pytest.mark.parametrize(
    ("held", "kind"),
    [
        (b"http://127.0.0.1:1/s3cret", "unreachable"),
        (b"s3cret", "unreachable"),
        (b"http://[s3cret", "sign-in"),
        ("http://s3cr\u00e9t".encode(), "sign-in"),
    ],
)
def test_an_address_that_is_secret_is_in_no_failure(held: bytes, kind: str) -> None:
    answer = called_by(structs.replace(GET, url="the address of a Secret", sealed_url=seal(held)))

    assert isinstance(answer, Bad)
    assert (answer.kind, "s3cr" in answer.text, "the address of" in answer.text) == (kind, False, True)


def test_a_redirect_of_a_secret_address_tells_nothing_of_it() -> None:
    async def away(request: web.Request) -> web.Response:
        raise web.HTTPTemporaryRedirect("/s3cret")

    async def script() -> Answer:
        async with serving(away) as address, a_caller() as caller:
            call = structs.replace(GET, url="the address of a Secret", sealed_url=seal(address.encode()))
            return await asked_by(caller, call)

    assert asyncio.run(script()) == Bad("failed", "it answered with status 307", 307)


def test_a_call_goes_through_the_proxy_that_it_names() -> None:
    async def proxied(request: web.Request) -> web.Response:
        return web.json_response(str(request.url))

    async def script() -> Answer:
        async with serving(proxied) as address, a_caller() as caller:
            call = structs.replace(GET, url="http://chat.example/hook", proxy=address)
            return await asked_by(caller, call)

    assert asyncio.run(script()) == Good(b'"http://chat.example/hook"')


@pytest.mark.parametrize("proxy", ["ftp://proxy", "http://[", "proxy"])
def test_a_proxy_that_is_no_address_is_said(proxy: str) -> None:
    answer = called_by(structs.replace(GET, proxy=proxy))

    assert isinstance(answer, Bad)
    assert "must be an http:// or https:// address" in answer.text
