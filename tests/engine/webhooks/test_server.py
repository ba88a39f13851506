"""The server over real sockets: slow clients, large bodies, certificates that change, cluster validation, measuring."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from io import BytesIO
from typing import Any

import aiohttp
import pytest

from fairlead.engine.certificates.pairs import Pair
from fairlead.engine.certificates.served import Credentials
from fairlead.engine.serving.cluster_label import ClusterLabel
from fairlead.engine.serving.routes import LARGEST_BODY, Routes
from fairlead.engine.serving.server import AnsweredRequest, PortBusy, ServerTerms, serving
from kubeloop.calls import Call, Reply
from kubesim.pki import Authority
from tests.engine.world import Log

SOON = 0.5
"""Seconds that a client of these servers has where a test waits for it to be cut."""
LONG = 60.0
"""Seconds after which a test has failed."""


class Counts:
    """What a server told."""

    def __init__(self) -> None:
        self.served_: list[AnsweredRequest] = []
        self.working: list[tuple[str, str]] = []
        self.wrong: list[tuple[str, str, str]] = []

    def serving(self, method: str, route: str) -> AbstractContextManager[object]:
        @contextmanager
        def work() -> Iterator[None]:
            self.working.append((method, route))
            yield

        return work()

    def served(self, served: AnsweredRequest) -> None:
        self.served_.append(served)

    def wrong_cluster(self, method: str, label: str, request_label: str) -> None:
        self.wrong.append((method, label, request_label))


async def echo(call: Call) -> Reply:
    return Reply(200, call.body, (("Content-Type", "text/x-echo"),))


async def broken(_: Call) -> Reply:
    raise ValueError("a mistake")


ROUTES: Routes = {"/echo": echo, "/broken": broken}


class Stage:
    """A running server and what it left behind."""

    def __init__(self) -> None:
        self.counts = Counts()
        self.log = Log()
        self.port = 0

    def url(self, path: str = "/echo", scheme: str = "http") -> str:
        return f"{scheme}://127.0.0.1:{self.port}{path}"


USUAL = ServerTerms()


@asynccontextmanager
async def staged(terms: ServerTerms = USUAL, routes: Routes = ROUTES, port: int = 0) -> AsyncIterator[Stage]:
    stage = Stage()
    async with (
        asyncio.timeout(LONG),
        serving(port, routes, stage.counts, stage.log.logger(), terms) as stage.port,
    ):
        yield stage


@asynccontextmanager
async def connected(stage: Stage, tls: ssl.SSLContext | None = None) -> AsyncIterator[Any]:
    """Reader and writer of a bare connection."""
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", stage.port, ssl=tls, server_hostname="localhost" if tls else None
    )
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


def test_a_handler_can_tell_that_its_client_has_gone() -> None:
    seen: list[bool] = []

    async def scenario() -> None:
        begun, gone, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def slow(call: Call) -> Reply:
            seen.append(call.is_awaited())
            begun.set()
            await gone.wait()
            while call.is_awaited():  # noqa: ASYNC110  (no event tells it)
                await asyncio.sleep(0)
            seen.append(call.is_awaited())
            ended.set()
            return Reply(200)

        async with staged(routes={"/slow": slow}) as stage:
            async with connected(stage) as (_, writer):
                writer.write(b"POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
                await begun.wait()
            gone.set()
            await ended.wait()

    asyncio.run(scenario())

    assert seen == [True, False]


def test_a_handler_gets_the_request_and_its_reply_is_sent() -> None:
    async def scenario() -> None:
        async with staged() as stage, aiohttp.ClientSession() as session:
            async with session.post(stage.url("/echo?a=b"), data=b"hello") as answer:
                assert (answer.status, await answer.read()) == (200, b"hello")
                assert answer.headers["Content-Type"] == "text/x-echo"
            async with session.get(stage.url("/nowhere")) as answer:
                assert answer.status == 404
            async with session.get(stage.url("/debug/pprof")) as answer:
                assert answer.status == 404

            assert stage.counts.working == [("POST", "echo"), ("GET", "other"), ("GET", "other")]
            first, *_ = stage.counts.served_
            assert (first.method, first.route, first.status, first.websocket) == ("POST", "echo", 200, False)
            assert (first.request_bytes, first.response_bytes) == (5, 5)
            assert first.seconds >= 0

    asyncio.run(scenario())


def test_a_handler_that_fails_is_500_and_an_error_in_the_log() -> None:
    async def scenario() -> None:
        async with staged() as stage, aiohttp.ClientSession() as session:
            async with session.get(stage.url("/broken")) as answer:
                assert (answer.status, await answer.text()) == (
                    500,
                    "this is a mistake of the operator; its log says more\n",
                )
            ((level, message, keys),) = stage.log.records
            assert (level, message, keys["route"]) == ("error", "request failed", "broken")
            assert isinstance(keys["exc_info"], ValueError)

    asyncio.run(scenario())


HEADERS = b"GET /echo HTTP/1.1\r\nHost: x\r\n"
BODY = b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nfirst"


@pytest.mark.parametrize(
    ("sent", "first"),
    [(b"", True), (HEADERS, True), (BODY, True), (HEADERS, False), (BODY, False)],
    ids=["nothing", "headers", "body", "headers of the next request", "body of the next request"],
)
def test_a_client_that_does_not_go_on_loses_its_connection(sent: bytes, first: bool) -> None:
    async def scenario() -> float:
        async with staged(ServerTerms(timeout=SOON)) as stage, connected(stage) as (reader, writer):
            loop = asyncio.get_running_loop()
            if not first:
                await _exchange(reader, writer)
            writer.write(sent)
            begun = loop.time()
            await _end_of(reader)
            return loop.time() - begun

    assert SOON / 2 < asyncio.run(scenario()) < LONG / 2


def test_a_client_that_sends_a_byte_now_and_then_loses_its_connection_too() -> None:
    """The time is for the whole request: it does not begin anew with every byte."""

    async def scenario() -> None:
        async with staged(ServerTerms(timeout=SOON)) as stage, connected(stage) as (reader, writer):
            writer.write(b"GET /echo HTTP/1.1\r\nHost: x\r\nX-Slow: ")
            gone = asyncio.ensure_future(_end_of(reader))
            while not gone.done():
                writer.write(b"a")
                await asyncio.wait((gone,), timeout=SOON / 20)

    asyncio.run(scenario())


async def _end_of(reader: asyncio.StreamReader) -> None:
    with suppress(ConnectionError):
        await reader.read()


def test_a_client_that_begins_no_handshake_loses_its_connection() -> None:
    async def scenario() -> None:
        _, context = certificate()
        async with staged(ServerTerms(timeout=SOON, tls=context.context)) as stage, connected(stage) as (reader, _):
            await _end_of(reader)

    asyncio.run(scenario())


def test_a_client_that_does_not_take_its_answer_loses_its_connection() -> None:
    size = 16 * 1024 * 1024
    ended = asyncio.Event()

    class Watching(Counts):
        def served(self, served: AnsweredRequest) -> None:
            super().served(served)
            ended.set()

    async def large(_: Call) -> Reply:
        return Reply(200, b"x" * size)

    async def scenario() -> int:
        log = Log()
        routes: Routes = {"/large": large}
        async with (
            asyncio.timeout(LONG),
            serving(0, routes, Watching(), log.logger(), ServerTerms(timeout=SOON)) as port,
        ):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
            writer.write(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
            await ended.wait()
            got = 0
            with suppress(ConnectionError):
                while piece := await reader.read(1 << 16):
                    got += len(piece)
            writer.transport.abort()
            return got

    assert asyncio.run(scenario()) < size


def test_between_requests_a_connection_may_rest_longer_than_a_request_may_take() -> None:
    request = b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n"

    async def scenario() -> None:
        async with staged(ServerTerms(timeout=SOON)) as stage, connected(stage) as (reader, writer):
            for _ in range(2):
                writer.write(request)
                await asyncio.sleep(0)
                writer.write(b"hi")
                head = await reader.readuntil(b"\r\n\r\n")
                assert head.startswith(b"HTTP/1.1 200")
                assert await reader.readexactly(2) == b"hi"
                # Nothing tells that a connection was *not* cut but the time in which it would have been.
                resting = asyncio.ensure_future(reader.read(1))
                await asyncio.wait((resting,), timeout=2 * SOON)
                assert not resting.done()
                resting.cancel()
                await asyncio.gather(resting, return_exceptions=True)

    asyncio.run(scenario())


def test_who_leaves_answers_and_says_that_it_is_the_last_answer_on_its_connection() -> None:
    """Its clients keep connections, and would otherwise ask there until they are cut."""

    async def scenario() -> list[tuple[int, str]]:
        leaving = asyncio.Event()
        told: list[tuple[int, str]] = []
        async with staged(ServerTerms(is_leaving=leaving.is_set)) as stage, aiohttp.ClientSession() as session:
            for _ in range(2):
                async with session.post(stage.url(), data=b"body") as answer:
                    told.append((answer.status, answer.headers.get("Connection", "")))
                leaving.set()
        return told

    assert asyncio.run(scenario()) == [(200, ""), (200, "close")]


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_large_is_413_and_the_server_lives_on(chunked: bool) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(LARGEST_BODY // (1 << 20) + 2):
            yield b"x" * (1 << 20)

    async def scenario() -> None:
        async with staged() as stage, aiohttp.ClientSession() as session:
            data: Any = pieces() if chunked else BytesIO(b"x" * (LARGEST_BODY + 1))
            async with session.post(stage.url(), data=data) as answer:
                assert answer.status == 413
            async with session.post(stage.url(), data=BytesIO(b"x" * LARGEST_BODY)) as answer:
                assert answer.status == 200

    asyncio.run(scenario())


def test_a_route_may_take_larger_or_smaller_bodies_than_the_others() -> None:
    terms = ServerTerms(largest={"/large": LARGEST_BODY + 1, "/small": 1})
    routes = dict.fromkeys(("/large", "/small", "/echo"), echo)

    async def scenario() -> None:
        async with staged(terms, routes) as stage, aiohttp.ClientSession() as session:
            for path, size, status in (
                ("/large?timeout=30s", LARGEST_BODY + 1, 200),
                ("/large", LARGEST_BODY + 2, 413),
                ("/small", 1, 200),
                ("/small", 2, 413),
                ("/echo", LARGEST_BODY + 1, 413),
            ):
                async with session.post(stage.url(path), data=BytesIO(b"x" * size)) as answer:
                    assert (path, answer.status) == (path, status)
                    assert status == 413 or await answer.read() == b"x" * size

    asyncio.run(scenario())


def test_requests_do_not_wait_for_one_another() -> None:
    first_is_in = asyncio.Event()
    second_is_done = asyncio.Event()

    async def first(_: Call) -> Reply:
        first_is_in.set()
        await second_is_done.wait()
        return Reply(200)

    async def second(_: Call) -> Reply:
        await first_is_in.wait()
        return Reply(200)

    async def scenario() -> None:
        routes: Routes = {"/first": first, "/second": second}
        async with staged(routes=routes) as stage, aiohttp.ClientSession() as session:
            waiting = asyncio.ensure_future(session.get(stage.url("/first")))
            async with session.get(stage.url("/second")) as answer:
                assert answer.status == 200
            second_is_done.set()
            async with await waiting as late:
                assert late.status == 200

    asyncio.run(scenario())


def test_a_handler_is_not_disturbed_when_its_client_goes_away() -> None:
    begun, go_on, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def handler(_: Call) -> Reply:
        begun.set()
        await go_on.wait()
        ended.set()
        return Reply(200)

    async def scenario() -> None:
        async with staged(ServerTerms(ending=LONG), routes={"/x": handler}) as stage:
            async with connected(stage) as (_, writer):
                writer.write(b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
                await begun.wait()
            go_on.set()
            await ended.wait()

    asyncio.run(scenario())


def test_a_busy_port_is_said_in_one_sentence() -> None:
    async def scenario() -> None:
        async with staged() as stage, staged(port=stage.port):
            pass

    with pytest.raises(PortBusy, match=r"port \d+ cannot be listened on .*; choose another one"):
        asyncio.run(scenario())


def test_one_address_is_served_where_one_is_named() -> None:
    async def scenario() -> None:
        log = Log().logger()
        async with (
            serving(0, ROUTES, Counts(), log, USUAL, host="127.0.0.2") as port,
            aiohttp.ClientSession() as session,
        ):
            async with session.post(f"http://127.0.0.2:{port}/echo", data=b"hello") as answer:
                assert answer.status == 200
            with pytest.raises(aiohttp.ClientConnectorError):
                await session.post(f"http://127.0.0.1:{port}/echo", data=b"hello")

    asyncio.run(scenario())


def test_an_address_that_the_machine_does_not_have_is_said_in_one_sentence() -> None:
    async def scenario() -> None:
        with pytest.raises(PortBusy, match=r"port 0 of 192\.0\.2\.1 cannot be listened on"):
            async with serving(0, ROUTES, Counts(), Log().logger(), USUAL, host="192.0.2.1"):
                pass

    asyncio.run(scenario())


def test_both_families_are_served_under_one_port() -> None:
    async def scenario() -> None:
        async with staged() as stage, aiohttp.ClientSession() as session:
            for host in ("127.0.0.1", "[::1]"):
                async with session.get(f"http://{host}:{stage.port}/echo") as answer:
                    assert answer.status == 200

    asyncio.run(scenario())


def certificate(name: str = "localhost") -> tuple[ssl.SSLContext, Credentials]:
    """What a client trusts, and what a server shows."""
    authority = Authority()
    pair = authority.server((name, "127.0.0.1"))
    trust = ssl.create_default_context(cadata=authority.certificate.decode())
    return trust, Credentials(Pair(pair.certificate, pair.key))


def test_a_certificate_changes_under_open_connections_without_losing_a_request() -> None:
    async def scenario() -> None:
        old_trust, served = certificate()
        new_trust, new = certificate()
        async with (
            staged(ServerTerms(tls=served.context)) as stage,
            connected(stage, old_trust) as (reader, writer),
        ):
            await _exchange(reader, writer)
            served.swap(new.pair)
            await _exchange(reader, writer)
            async with connected(stage, new_trust) as (fresh, sending):
                await _exchange(fresh, sending)
            with pytest.raises(ssl.SSLCertVerificationError):
                async with connected(stage, old_trust):
                    pass
            await _exchange(reader, writer)

    asyncio.run(scenario())


async def _exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi")
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    assert await reader.readexactly(2) == b"hi"


@pytest.mark.parametrize("soft", [False, True])
def test_a_request_for_another_cluster_is_refused_or_only_counted(soft: bool) -> None:
    async def scenario() -> None:
        terms = ServerTerms(cluster=ClusterLabel("ns", soft=soft))
        async with staged(terms) as stage, aiohttp.ClientSession() as session:
            async with session.get(stage.url(), headers={"X-Cluster": "else"}) as answer:
                assert answer.status == (200 if soft else 511)
            async with session.get(stage.url(), headers={"X-Cluster": "ns"}) as answer:
                assert answer.status == 200

            assert stage.counts.wrong == [("echo", "ns", "else")]
            ((level, _, keys),) = stage.log.records
            assert (level, keys["path"], keys["soft_validation"]) == ("warning", "/echo", soft)

    asyncio.run(scenario())


def test_what_is_no_http_is_answered_with_400_and_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    async def scenario() -> None:
        async with staged() as stage, connected(stage) as (reader, writer):
            writer.write(b"\x16\x03\x01 this is no HTTP\r\n\r\n")
            assert (await reader.read()).startswith(b"HTTP/1.")

    asyncio.run(scenario())

    assert capfd.readouterr() == ("", "")
