"""Watches over a real socket: whole lines, and an end that is told from a break."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from aiohttp import web

from kubeloop import http_transport
from kubeloop import request as requests
from kubeloop.client import Client
from kubeloop.errors import TransportError
from kubeloop.http_transport import HttpTransport
from kubeloop.kubeconfig import ClusterConfig
from kubeloop.objects.core import PODS
from kubeloop.request import Request
from tests.kubeloop.certificates import ca, server_context
from tests.kubeloop.serving import GET, Handler, hang, serving


def streaming(*chunks: bytes | None) -> Handler:
    """Sends the chunks; None breaks the connection in the middle."""

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for chunk in chunks:
            if chunk is None:
                assert request.transport is not None
                request.transport.close()
                return response
            await response.write(chunk)
        return response

    return handler


def lines(handler: Handler, request: Request | None = None) -> list[bytes]:
    async def scenario() -> list[bytes]:
        async with serving(handler) as address:
            transport = HttpTransport(ClusterConfig(server=address))
            try:
                async with transport.stream(request or requests.watch(PODS, timeout_seconds=5)) as opened:
                    return [line async for line in opened]
            finally:
                await transport.close()

    return asyncio.run(scenario())


def test_lines_of_a_watch_come_whole_however_they_are_cut() -> None:
    assert lines(streaming(b"one\ntw", b"o\n", b"th", b"re", b"e\nfour\n")) == [b"one", b"two", b"three", b"four"]


def test_a_line_of_a_watch_may_be_long() -> None:
    long = b"x" * 300_000

    assert lines(streaming(b"short\n", long + b"\n", b"end\n")) == [b"short", long, b"end"]


def test_a_watch_that_breaks_is_a_transport_error() -> None:
    with pytest.raises(TransportError, match="broke the connection"):
        lines(streaming(b"one\n", None))


def test_a_refused_watch_has_the_answer_as_its_lines() -> None:
    async def gone(_request: web.Request) -> web.Response:
        return web.Response(status=410, body=b'{"reason":"Expired"}', headers={"Retry-After": "1"})

    async def scenario() -> tuple[int, str, list[bytes]]:
        async with serving(gone) as address:
            transport = HttpTransport(ClusterConfig(server=address))
            async with transport.stream(requests.watch(PODS)) as opened:
                found = opened.status, opened.headers["retry-after"], [line async for line in opened]
            await transport.close()
            return found

    assert asyncio.run(scenario()) == (410, "1", [b'{"reason":"Expired"}'])


def test_a_silent_watch_ends_shortly_after_its_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_transport, "SILENCE_SECONDS", 0.1)

    async def silent(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"one\n")
        return await hang(request)

    with pytest.raises(TransportError, match="was silent for too long: the connection is taken as broken"):
        lines(silent, requests.watch(PODS, timeout_seconds=0))


def test_leaving_a_watch_early_does_not_disturb_the_next_request() -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            return web.Response(body=b"pod")
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"one\ntwo\n")
        return await hang(request)

    async def scenario() -> list[bytes]:
        async with serving(endless) as address:
            transport = HttpTransport(ClusterConfig(server=address))
            seen: list[bytes] = []
            async with transport.stream(requests.watch(PODS)) as opened:
                async for line in opened:
                    seen.append(line)
                    break
            seen.append((await transport.send(GET)).body)
            await transport.close()
            return seen

    assert asyncio.run(scenario()) == [b"one", b"pod"]


def test_every_part_together_over_tls(tmp_path: Path) -> None:
    """A typed list and a watch through the client, as the operator uses them."""

    async def api(request: web.Request) -> web.StreamResponse:
        if "watch" in request.query:
            return await streaming(b'{"type":"ADDED"}\n')(request)
        return web.json_response({"metadata": {"resourceVersion": "5"}, "items": []})

    async def scenario() -> tuple[str, list[bytes]]:
        async with serving(api, server_context(tmp_path, "127.0.0.1")) as address:
            client = Client(HttpTransport(ClusterConfig(server=address, ca=ca(), token="t")))
            listed = await client.list(PODS, dict)
            async with client.stream(requests.watch(PODS)) as opened:
                seen = [line async for line in opened]
            await client.close()
            return listed.resource_version, seen

    assert asyncio.run(scenario()) == ("5", [b'{"type":"ADDED"}'])
