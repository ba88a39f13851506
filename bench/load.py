"""Admission requests at a fixed rate, from a process of its own.

    python -m bench.load ORDER RESULT

The rate does not wait for answers: a request is due at its time, whatever became of those before, and its latency
counts from then. It goes over one of the connections that are kept open, as the API server keeps them. An eviction that
is let pass is carried out, as the API server would: the pod is deleted at once.
"""

from __future__ import annotations

import asyncio
import resource
import ssl
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.reviews import UID, Asked, Kind, Sample, World, read, stream
from bench.wire import Connection
from kubeloop.http_transport import HttpTransport
from kubeloop.kubeconfig import load
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubeloop.request import delete

CONNECTIONS = 25
"""As many as the API server keeps open to a webhook that does not speak HTTP/2."""
ANSWERED_WITHIN = 10.0
"""Seconds that the API server waits."""
LEAD = 0.2
"""Seconds from the last handshake to the first request."""


class Order(Struct, frozen=True):
    """What to ask, how often, and where."""

    world: World
    port: int
    server_name: str
    """That the certificate is for."""
    authority: str
    """PEM."""
    kubeconfig: str
    """Of somebody who may delete pods."""
    rate: int
    seconds: int

    @property
    def count(self) -> int:
        return self.rate * self.seconds


class Result(Struct, frozen=True):
    samples: list[Sample]
    evicted: int
    """Pods that were deleted because their eviction was let pass."""
    began: float
    ended: float
    cpu: float
    """Seconds that the generator took for it."""


def message(asked: Asked, uid: str, host: str) -> bytes:
    """The request on the wire."""
    head = (
        f"POST {asked.path}?timeout=10s HTTP/1.1\r\nHost: {host}\r\nUser-Agent: kube-apiserver-admission\r\n"
        f"Content-Length: {len(asked.body)}\r\nAccept: application/json, */*\r\nContent-Type: application/json\r\n\r\n"
    )
    return head.encode() + asked.body.replace(UID.encode(), uid.encode(), 1)


class Generator:
    def __init__(self, order: Order, transport: HttpTransport) -> None:
        self._order = order
        self._transport = transport
        self._queue: asyncio.Queue[tuple[float, Asked, str] | None] = asyncio.Queue()
        self._samples: list[Sample] = []
        self._evicted = 0

    async def run(self) -> Result:
        order = self._order
        context = ssl.create_default_context(cadata=order.authority)
        connections = [Connection(order.port, order.server_name, context) for _ in range(CONNECTIONS)]
        for connection in connections:
            await connection.open()
        before = _cpu()
        began = time.monotonic() + LEAD
        async with asyncio.TaskGroup() as tasks:
            for connection in connections:
                tasks.create_task(self._serve(connection, tasks))
            await self._offer(began)
        ended = max((sample.received for sample in self._samples), default=began)
        return Result(self._samples, self._evicted, began, ended, _cpu() - before)

    async def _offer(self, began: float) -> None:
        for index, asked in enumerate(islice(stream(self._order.world), self._order.count)):
            due = began + index / self._order.rate
            if (rest := due - time.monotonic()) > 0:
                await asyncio.sleep(rest)
            self._queue.put_nowait((due, asked, f"{index:08x}{UID[8:]}"))
        for _ in range(CONNECTIONS):
            self._queue.put_nowait(None)

    async def _serve(self, connection: Connection, tasks: asyncio.TaskGroup) -> None:
        while (work := await self._queue.get()) is not None:
            due, asked, uid = work
            sample = await self._sampled(connection, asked, uid, due)
            self._samples.append(sample)
            if sample.kind is Kind.GUARDED and sample.allowed and not sample.warned:
                tasks.create_task(self._evict(sample.about))
        connection.close()

    async def _sampled(self, connection: Connection, asked: Asked, uid: str, due: float) -> Sample:
        try:
            async with asyncio.timeout(ANSWERED_WITHIN):
                status, body = await connection.ask(message(asked, uid, self._order.server_name))
        except (OSError, EOFError, ValueError) as error:  # a TimeoutError is an OSError
            connection.close()
            return Sample(asked.kind, asked.about, due, text=f"{type(error).__name__} {error}")
        return read(asked, uid, due, time.monotonic(), status, body)

    async def _evict(self, pod: str) -> None:
        answer = await self._transport.send(delete(Ref(PODS, self._order.world.namespace, pod)))
        self._evicted += answer.status == 200


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


@asynccontextmanager
async def _transport(order: Order) -> AsyncIterator[HttpTransport]:
    transport = HttpTransport(load([Path(order.kubeconfig)]))
    try:
        yield transport
    finally:
        await transport.close()


async def generate(order: Order) -> Result:
    async with _transport(order) as transport:
        return await Generator(order, transport).run()


def main(arguments: list[str]) -> int:
    source, target = map(Path, arguments)
    order = msgspec.json.decode(source.read_bytes(), type=Order)
    target.write_bytes(msgspec.json.encode(asyncio.run(generate(order))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
