"""What may come to the HTTPS port of the real process: it is answered or cut off, and the process lives."""

from __future__ import annotations

import asyncio
import json
import ssl
from contextlib import suppress
from typing import NamedTuple

from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.pairs import a_pair, store
from tests.e2e.processes import calling, local, review, started, trusting
from tests.e2e.zones import statefulset

PATH = "/admission/no-downscale"
LABELS = {"grafana.com/no-downscale": "true"}
TIMEOUT = 2.0
"""Seconds that a request may take here, so that the slow ones are cut off soon."""
CROWD = 200
DOWNSCALE = review(statefulset("a", 3, labels=LABELS), statefulset("a", 2, labels=LABELS))
CUT = 0
"""Instead of a status: the connection ends without an answer."""


class Case(NamedTuple):
    """What is sent, and what is to come of it."""

    name: str
    sent: bytes
    status: int
    said: str = ""


def request(
    body: bytes = b"",
    *,
    method: str = "POST",
    path: str = PATH,
    content_type: str = "application/json",
    version: str = "1.1",
) -> bytes:
    """A whole HTTP request."""
    typed = f"Content-Type: {content_type}\r\n" if content_type else ""
    head = f"{method} {path} HTTP/{version}\r\nHost: localhost\r\n{typed}Content-Length: {len(body)}\r\n"
    return head.encode() + b"Connection: close\r\n\r\n" + body


def reviewed(**changes: object) -> bytes:
    """A request with a review some of whose parts are other than they should be."""
    return request(json.dumps({**DOWNSCALE, **changes}).encode())


def asked(**changes: object) -> bytes:
    """The same, about parts of what is asked."""
    return reviewed(request={**DOWNSCALE["request"], **changes})


def replicas(count: object) -> Tree:
    """The StatefulSet with so many of them."""
    tree = statefulset("a", labels=LABELS)
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", **tree, "spec": {**tree["spec"], "replicas": count}}


DENIED, ALLOWED = '"allowed":false', '"allowed":true'
LARGE = b'{"padding": "' + b"x" * 10 * 1024 * 1024 + b'"}'
WHOLE = request(json.dumps(DOWNSCALE).encode())
CASES = (
    Case("a downscale that must not be", WHOLE, 200, DENIED),
    Case("the same over HTTP/1.0", request(json.dumps(DOWNSCALE).encode(), version="1.0"), 200, DENIED),
    Case("an old version of reviews", reviewed(apiVersion="admission.k8s.io/v1beta1"), 200, "admission.k8s.io/v1beta1"),
    Case("a version of reviews there is not", reviewed(apiVersion="admission.k8s.io/v2"), 400, "AdmissionReview"),
    Case("another kind", reviewed(kind="ConversionReview"), 400, "AdmissionReview"),
    Case("a review without a request", reviewed(request=None), 400, "no request"),
    Case("a request without a uid", asked(uid=""), 400, "uid"),
    Case("no JSON", request(b"{"), 400, "AdmissionReview"),
    Case("no object", request(b"[]"), 400, "AdmissionReview"),
    Case("bytes that are no text", request(b"\xff\xfe\x00"), 400, "AdmissionReview"),
    Case("nothing", request(b""), 400, "AdmissionReview"),
    Case("deep nesting", request(b"[" * 100_000), 400, "AdmissionReview"),
    Case("a content type with a charset", request(b"{}", content_type="application/json; charset=utf-8"), 400),
    Case("YAML", request(b"{}", content_type="application/yaml"), 400, "Content-Type"),
    Case("no content type", request(b"{}", content_type=""), 400, "Content-Type"),
    Case("GET", request(method="GET", content_type=""), 400, "Content-Type"),
    Case("another path", request(b"{}", path="/admission/anything"), 404),
    Case("ten megabytes", request(LARGE), 413, "larger than"),
    Case("a null for the new object", asked(object=None), 200, ALLOWED),
    Case("a null for the old object", asked(oldObject=None), 200, ALLOWED),
    Case("nulls for both", asked(object=None, oldObject=None), 200, ALLOWED),
    Case("text for an object", asked(object="nothing"), 200, ALLOWED),
    Case("an object with nulls", asked(object={"kind": None, "metadata": None, "spec": None}), 200, ALLOWED),
    Case("a list for an object", asked(object=[]), 200, ALLOWED),
    Case("replicas that are no number", asked(object=replicas("many")), 200, ALLOWED),
    Case("replicas below any number", asked(object=replicas(-(10**30))), 200, DENIED),
    Case("no HTTP at all", b"\x00\x01\x02 hello\r\n\r\n", 400),
    Case("a length that is none", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: much\r\n\r\n", 400),
    Case("half of the headers", WHOLE[:40], CUT),
    Case("half of the body", WHOLE[:-20], CUT),
)


@everywhere(controllers=False, on=("served",))
async def test_whatever_comes_is_answered_and_the_process_lives(site: Site) -> None:
    await store(site, pair := a_pair())
    trust = trusting(pair["ca"])

    async with started(local(site, f"-server-tls.request-timeout={TIMEOUT:g}s")) as process:
        port = await process.port()
        answers = {case.name: await answered(port, trust, case.sent) for case in CASES}
        plain = await plainly(port)
        slow = await dripped(port, trust)
        async with calling(port, pair["ca"]) as caller:
            last = await caller.ask("no-downscale", DOWNSCALE)
        code = await process.stop()

    wrong = [
        f"{case.name}: {answers[case.name]}"
        for case in CASES
        if answers[case.name][0] != case.status or case.said not in answers[case.name][1]
    ]
    assert wrong == []
    assert (plain, slow) == (b"", b"")
    assert not last["allowed"]
    assert code == 0
    assert process.found("level=error") is None
    assert process.found("Traceback") is None


@everywhere(controllers=False, on=("served",))
async def test_a_crowd_is_answered_one_by_one(site: Site) -> None:
    """Whoever has not asked within the usual time is cut, so that this is not a question of the machine's speed."""
    await store(site, pair := a_pair())

    async with started(local(site)) as process:
        crowd = await crowded(await process.port(), trusting(pair["ca"]))

    assert crowd == [200] * CROWD


async def answered(port: int, trust: ssl.SSLContext, sent: bytes) -> tuple[int, str]:
    """Status and body of what comes back; CUT when nothing does. It must come soon."""
    reader, writer = await opened(port, trust)
    try:
        async with asyncio.timeout(TIMEOUT + 10):
            with suppress(ConnectionError):  # an answer may come before all of the question was taken
                writer.write(sent)
                await writer.drain()
            return parsed(await rest_of(reader))
    finally:
        await closed(writer)


def parsed(answer: bytes) -> tuple[int, str]:
    head, _, body = answer.partition(b"\r\n\r\n")
    return (int(head.split()[1]), body.decode()) if head else (CUT, "")


async def plainly(port: int) -> bytes:
    """What comes of HTTP without TLS."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(TIMEOUT + 10):
            writer.write(WHOLE)
            return await rest_of(reader)
    finally:
        await closed(writer)


async def dripped(port: int, trust: ssl.SSLContext) -> bytes:
    """What comes of a request that is sent byte by byte, so slowly that it would take minutes."""
    reader, writer = await opened(port, trust)

    async def drip() -> None:
        with suppress(ConnectionError):
            for byte in WHOLE:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(TIMEOUT / 10)

    dripping = asyncio.create_task(drip())
    try:
        async with asyncio.timeout(TIMEOUT + 10):
            return await rest_of(reader)
    finally:
        dripping.cancel()
        await asyncio.wait([dripping])
        await closed(writer)


async def crowded(port: int, trust: ssl.SSLContext) -> list[int]:
    """The answers to so many connections that are all open before the first of them asks."""
    crowd = [await opened(port, trust) for _ in range(CROWD)]
    try:
        async with asyncio.timeout(30):
            for _, writer in crowd:
                writer.write(WHOLE)
            return [parsed(await rest_of(reader))[0] for reader, _ in crowd]
    finally:
        for _, writer in crowd:
            await closed(writer)


async def opened(port: int, trust: ssl.SSLContext) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", port, ssl=trust, server_hostname="localhost")


async def rest_of(reader: asyncio.StreamReader) -> bytes:
    """Until the other side ends it, in whatever way."""
    got = b""
    with suppress(ConnectionError, ssl.SSLError):
        while piece := await reader.read(1 << 16):
            got += piece
    return got


async def closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(ConnectionError, ssl.SSLError, TimeoutError):
        await writer.wait_closed()
