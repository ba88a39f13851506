"""How the API server of `fairlead up --real` reaches Services, pods and nodes: through this process.

It asks for each connection with CONNECT. One to a Service of ours is handed to the server behind it, which speaks TLS;
at the address of a pod answers whoever does so on the network within this process, in plain HTTP.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import cast

from aiohttp import web

from fairlead.plane.programs import SERVICE_RANGE
from kubeloop.calls import Call, NoReply
from kubesim.network import Network

LOCAL = "127.0.0.1"
KUBELET_PORT = 10250
LARGEST_HEAD = 16_384
ANSWERS_WITHIN = 60.0
"""Seconds; who asks pods has limits of its own, and sooner ones."""
_CONNECT = re.compile(rb"CONNECT ([0-9A-Za-z.-]+):([0-9]{1,5}) HTTP/1\.1\r\n")
_END = b"\r\n\r\n"
_SERVICES = ip_network(SERVICE_RANGE, strict=False)
_NO_PROGRAM = "no program runs in the pods of this cluster: see kubectl describe"


class Egress:
    """Who answers where, for one API server."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._doors: dict[str, int] = {}
        self._open: set[asyncio.BaseTransport] = set()

    def forward(self, address: str, port: int) -> None:
        """Whoever asks for this address of a Service gets this port of the loopback."""
        self._doors[address] = port

    @asynccontextmanager
    async def listening(self, path: Path) -> AsyncIterator[None]:
        """Answers while the context lasts; afterwards no connection is open."""
        server = await asyncio.get_running_loop().create_unix_server(lambda: _Asking(self), path)
        try:
            yield
        finally:
            server.close()
            for each in tuple(self._open):
                each.close()

    def begins(self, transport: asyncio.BaseTransport) -> None:
        """It is open until it ends."""
        self._open.add(transport)

    def ends(self, transport: asyncio.BaseTransport) -> None:
        """It is not open any more."""
        self._open.discard(transport)

    def refusal(self, host: str, port: int) -> str:
        """Why nobody answers there, in a few words; empty where somebody may."""
        if port == KUBELET_PORT:
            return _NO_PROGRAM
        if host not in self._doors and _is_service(host):
            return f"nobody answers for the Service at {host}"
        return ""

    def door(self, host: str) -> int | None:
        """The port of the loopback that the host stands for; None for a pod."""
        return self._doors.get(host)

    def answering(self, host: str, port: int) -> asyncio.Protocol:
        """Speaks HTTP for a pod."""

        async def answer(asked: web.BaseRequest) -> web.StreamResponse:
            call = Call(
                method=asked.method,
                url=f"http://{host}:{port}{asked.raw_path}",
                headers=tuple(pair for pair in asked.headers.items() if pair[0].lower() != "host"),
                body=await asked.read(),
                timeout=ANSWERS_WITHIN,
            )
            try:
                reply = await self._network.call(call)
            except NoReply as error:
                return web.Response(status=502, text=f"{error}\n")
            made = web.Response(status=reply.status, body=reply.body)
            for name, value in reply.headers:
                made.headers.add(name, value)
            return made

        return web.Server(answer, access_log=None)()


def _is_service(host: str) -> bool:
    try:
        return ip_address(host) in _SERVICES
    except ValueError:
        return False


class _Asking(asyncio.Protocol):
    """A connection on which a request for another one is to come."""

    def __init__(self, egress: Egress) -> None:
        self._egress = egress
        self._head = b""
        self._transport: asyncio.Transport
        self._work: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._egress.begins(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._egress.ends(self._transport)
        if self._work is not None:
            self._work.cancel()

    def data_received(self, data: bytes) -> None:
        self._head += data
        if len(self._head) > LARGEST_HEAD:
            self._transport.abort()
        elif self._head.endswith(_END):  # whoever asks says nothing more before it is answered
            found = _CONNECT.match(self._head)
            if found is None:
                self._refuse("400 this is no CONNECT")
                return
            self._connect(found[1].decode(), int(found[2]))

    def _connect(self, host: str, port: int) -> None:
        if why := self._egress.refusal(host, port):
            self._refuse(f"502 {why}")
        elif (door := self._egress.door(host)) is not None:
            self._transport.pause_reading()
            self._work = asyncio.get_running_loop().create_task(self._pass_on(door))
        else:
            self._hand_to(_Noted(self._egress, self._egress.answering(host, port)))

    async def _pass_on(self, port: int) -> None:
        """Whoever listens there gets all that comes, and the other way round."""
        there = _Half(self._transport)
        try:
            await asyncio.get_running_loop().create_connection(lambda: there, LOCAL, port)
        except OSError:
            self._refuse(f"502 nobody listens on port {port}")
            return
        self._work = None
        self._hand_to(_Noted(self._egress, _Half(there.transport)))
        self._transport.resume_reading()

    def _hand_to(self, protocol: asyncio.Protocol) -> None:
        self._transport.write(b"HTTP/1.1 200 OK\r\n\r\n")
        self._transport.set_protocol(protocol)
        protocol.connection_made(self._transport)

    def _refuse(self, status: str) -> None:
        self._transport.write(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode())
        self._transport.close()


class _Noted(asyncio.Protocol):
    """Another protocol, whose end is told."""

    def __init__(self, egress: Egress, inner: asyncio.Protocol) -> None:
        self._egress = egress
        self._inner = inner
        self._transport: asyncio.BaseTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._inner.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._egress.ends(self._transport)
        self._inner.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()


class _Half(asyncio.Protocol):
    """One end of two connections that are one: what comes goes out at the other end, as fast as that takes it."""

    transport: asyncio.Transport

    def __init__(self, other: asyncio.Transport) -> None:
        self._other = other

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._other.close()

    def data_received(self, data: bytes) -> None:
        self._other.write(data)

    def pause_writing(self) -> None:
        if not self._other.is_closing():
            self._other.pause_reading()

    def resume_writing(self) -> None:
        if not self._other.is_closing():
            self._other.resume_reading()
