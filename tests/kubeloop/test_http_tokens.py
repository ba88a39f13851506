"""The transport shows its token, and a renewed one once after a refusal."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from aiohttp import web

from kubeloop import request as requests
from kubeloop.client import Client
from kubeloop.errors import Unauthorized
from kubeloop.http_transport import HttpTransport
from kubeloop.kubeconfig import ClusterConfig
from kubeloop.objects.core import PODS
from tests.kubeloop.serving import GET, Handler, sent, serving


def tokens_accepted(*accepted: str) -> Handler:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(status=200 if request.headers.get("Authorization") in accepted else 401)

    return handler


def test_a_token_file_that_changed_is_tried_once_after_a_refusal(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old")

    async def scenario() -> tuple[int, int]:
        async with serving(tokens_accepted("Bearer new")) as address:
            transport = HttpTransport(ClusterConfig(server=address, token_file=str(token)))
            first = await transport.send(GET)
            token.write_text("new")
            second = await transport.send(GET)
            await transport.close()
            return first.status, second.status

    assert asyncio.run(scenario()) == (401, 200)


def test_a_watch_too_is_opened_again_with_a_renewed_token(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old")

    async def scenario() -> int:
        async with serving(tokens_accepted("Bearer new")) as address:
            client = Client(HttpTransport(ClusterConfig(server=address, token_file=str(token))))
            with pytest.raises(Unauthorized):
                await client.call(GET)
            token.write_text("new")
            async with client.stream(requests.watch(PODS)) as opened:
                status = opened.status
            await client.close()
            return status

    assert asyncio.run(scenario()) == 200


def test_a_fixed_token_is_sent_once() -> None:
    seen: list[str] = []

    async def refuse(request: web.Request) -> web.Response:
        seen.append(request.headers["Authorization"])
        return web.Response(status=401)

    [response] = sent(ClusterConfig(server="", token="t"), handler=refuse)

    assert response.status == 401
    assert seen == ["Bearer t"]
