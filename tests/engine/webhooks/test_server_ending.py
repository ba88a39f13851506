"""How the server ends: who is still answered, and that no connection outlasts it."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
import warnings
from contextlib import suppress

import aiohttp
import pytest

from fairlead.engine.serving.server import ServerTerms, serving
from kubeloop.calls import Call, Reply
from tests.engine.webhooks.test_server import LONG, Counts, certificate, connected, staged
from tests.engine.world import Log


def test_a_request_under_way_is_answered_before_the_server_ends() -> None:
    begun = asyncio.Event()

    async def handler(_: Call) -> Reply:
        begun.set()
        await asyncio.sleep(0.05)
        return Reply(200, b"in time")

    async def scenario() -> bytes:
        async with aiohttp.ClientSession() as session:
            async with staged(ServerTerms(ending=5), routes={"/x": handler}) as stage:
                waiting = asyncio.ensure_future(session.get(stage.url("/x")))
                await begun.wait()
            async with await waiting as answer:
                return await answer.read()

    assert asyncio.run(scenario()) == b"in time"


def test_a_client_whose_handshake_outlasts_the_server_is_not_kept_waiting() -> None:
    async def scenario() -> bytes:
        trust, context = certificate()
        async with staged(ServerTerms(timeout=3 * LONG, tls=context.context)) as stage:
            reader, writer = await asyncio.open_connection("127.0.0.1", stage.port)
            async with connected(stage, trust):
                pass  # whoever came before has been accepted by now
        try:
            async with asyncio.timeout(LONG):
                with suppress(ConnectionError):
                    await writer.start_tls(trust, server_hostname="localhost")
                    return await reader.read()
                return b""
        finally:
            writer.transport.abort()

    assert asyncio.run(scenario()) == b""


@pytest.mark.parametrize("header", ["", "Connection: close\r\n"], ids=["kept open", "closed with the answer"])
def test_a_client_that_stays_does_not_keep_its_connection_beyond_the_server(header: str) -> None:
    """Though it says nothing to the end of TLS, nothing of it is left when the loop is closed."""
    trust, context = certificate()
    clients: list[ssl.SSLSocket] = []

    async def scenario() -> None:
        async with staged(ServerTerms(tls=context.context)) as stage:

            def connect() -> None:
                plain = socket.create_connection(("127.0.0.1", stage.port), timeout=LONG)
                clients.append(trust.wrap_socket(plain, server_hostname="localhost"))
                clients[0].sendall(
                    f"POST /echo HTTP/1.1\r\nHost: localhost\r\n{header}Content-Length: 1\r\n\r\nx".encode()
                )
                clients[0].recv(1)

            await asyncio.to_thread(connect)

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        asyncio.run(scenario())
        gc.collect()
    clients[0].close()

    assert [str(each.message) for each in warned if each.category is ResourceWarning] == []


def test_who_is_cancelled_while_requests_are_waited_for_leaves_no_connection_either() -> None:
    async def scenario() -> bytes:
        begun = asyncio.Event()

        async def endless(_: Call) -> Reply:
            begun.set()
            await asyncio.Event().wait()
            raise AssertionError

        ready, end = asyncio.Event(), asyncio.Event()
        ports: list[int] = []

        async def serve() -> None:
            terms = ServerTerms(timeout=3 * LONG, ending=3 * LONG)
            async with serving(0, {"/endless": endless}, Counts(), Log().logger(), terms) as port:
                ports.append(port)
                ready.set()
                await end.wait()

        server = asyncio.create_task(serve())
        async with asyncio.timeout(LONG):
            await ready.wait()
            reader, writer = await asyncio.open_connection("127.0.0.1", ports[0])
            try:
                writer.write(b"POST /endless HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
                await begun.wait()
                end.set()
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                server.cancel()
                with suppress(asyncio.CancelledError):
                    await server
                with suppress(ConnectionError):
                    return await reader.read()
                return b""
            finally:
                writer.transport.abort()

    assert asyncio.run(scenario()) == b""
