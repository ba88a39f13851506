"""Small requests to a webhook from a process of its own, and how long each took.

    python -m bench.pulse ORDER RESULT

With a pause between them they are a pulse: an answer that comes late shows how long the other side, or the machine, was
busy with something else. Without a pause every connection asks again as soon as it is answered. It ends when its time
is over or with SIGTERM.
"""

from __future__ import annotations

import asyncio
import resource
import signal
import ssl
import sys
import time
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.wire import Connection

HOST = "127.0.0.1"
ANSWERED_WITHIN = 30.0
"""Seconds that the API server waits for a conversion."""


class Order(Struct, frozen=True):
    """What to ask, how often, and where."""

    port: int
    authority: str
    """PEM."""
    path: str
    body: str = ""
    """Sent by POST; without one it is a GET."""
    connections: int = 1
    pause: float = 0.0
    """Seconds from an answer to the next request of the connection."""
    seconds: float = 600.0


class Beat(Struct, frozen=True, array_like=True):
    """One request, on the monotonic clock that all processes of the machine share."""

    asked: float
    answered: float

    @property
    def seconds(self) -> float:
        return self.answered - self.asked


class Result(Struct, frozen=True):
    beats: list[Beat]
    wrong: int
    """Requests without an answer, or with one that is no 200 or, to a review, no success."""
    cpu: float
    """Seconds that this process took for it."""


def message(order: Order) -> bytes:
    """The request on the wire."""
    body = order.body.encode()
    method = "POST" if body else "GET"
    head = f"{method} {order.path} HTTP/1.1\r\nHost: {HOST}\r\nUser-Agent: kube-apiserver\r\n"
    kind = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
    return f"{head}{kind}\r\n".encode() + body


def is_right(order: Order, status: int, body: bytes) -> bool:
    return status == 200 and (not order.body or b'"result":{"status":"Success"}' in body[:400])


class Pulse:
    def __init__(self, order: Order) -> None:
        self._order = order
        self._beats: list[Beat] = []
        self._wrong = 0

    async def run(self) -> Result:
        order = self._order
        context = ssl.create_default_context(cadata=order.authority)
        connections = [Connection(order.port, HOST, context) for _ in range(order.connections)]
        for connection in connections:
            await connection.open()
        print("ready", flush=True)
        before = _cpu()
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        async with asyncio.TaskGroup() as tasks:
            asking = [tasks.create_task(self._ask(connection, stop)) for connection in connections]
            await asyncio.wait(asking, timeout=order.seconds)
            stop.set()
        return Result(self._beats, self._wrong, _cpu() - before)

    async def _ask(self, connection: Connection, stop: asyncio.Event) -> None:
        sent, pause = message(self._order), self._order.pause
        while not stop.is_set():
            asked = time.monotonic()
            if await self._is_answered(connection, sent):
                self._beats.append(Beat(asked, time.monotonic()))
            else:
                self._wrong += 1
            if pause:
                await asyncio.sleep(pause)
        connection.close()

    async def _is_answered(self, connection: Connection, sent: bytes) -> bool:
        try:
            async with asyncio.timeout(ANSWERED_WITHIN):
                return is_right(self._order, *await connection.ask(sent))
        except (OSError, EOFError, ValueError):  # a TimeoutError is an OSError
            connection.close()
            return False


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main(arguments: list[str]) -> int:
    source, target = map(Path, arguments)
    order = msgspec.json.decode(source.read_bytes(), type=Order)
    target.write_bytes(msgspec.json.encode(asyncio.run(Pulse(order).run())))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
