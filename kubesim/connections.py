"""Connections that stay within the process: a host has a name, an address, and somebody who answers.

What one end writes the other gets a step of the loop later, in order and whole; a closed end closes the other.
There is no TLS, no loss and no delay, and no limit to what is on the way.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

Factory = Callable[[], asyncio.BaseProtocol]

HOST = "kubesim.test"
"""At which a cluster is found."""
KUBECONFIG: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "kubesim",
    "contexts": [{"name": "kubesim", "context": {"cluster": "kubesim", "user": "kubesim"}}],
    "clusters": [{"name": "kubesim", "cluster": {"server": f"http://{HOST}"}}],
    "users": [{"name": "kubesim", "user": {}}],
}
"""For clients that want one; who they are is up to whoever lets them in."""
NETWORK = "192.0.2"
"""Of addresses that nobody has; the first host gets the first of them."""


class Connections:
    """Who answers at which host; clients find it by name or by address."""

    def __init__(self) -> None:
        self._addresses: dict[str, str] = {}
        self._servers: dict[str, Factory] = {}
        self._reached: WeakKeyDictionary[socket.socket, str] = WeakKeyDictionary()
        """Sockets that stand for a connection to an address until there is one."""

    def serve(self, host: str, server: Factory) -> None:
        """From now on the host is there, at every port; one host has one server."""
        address = self._addresses.setdefault(host, f"{NETWORK}.{len(self._addresses) + 1}")
        if address in self._servers:
            raise ValueError(f"somebody answers at {host} already: choose another host")
        self._servers[address] = server

    def withdraw(self, host: str) -> None:
        """From now on nobody answers there; connections that are open stay so."""
        del self._servers[self._addresses[host]]

    def address_of(self, host: object) -> str | None:
        """Of a name, or of an address itself; None when nobody answers there."""
        name = host.decode() if isinstance(host, bytes) else str(host)
        address = self._addresses.get(name, name)
        return address if address in self._servers else None

    def reach(self, sock: socket.socket, address: str) -> None:
        """Notes what the socket is for."""
        self._reached[sock] = address

    def connected(
        self, loop: asyncio.AbstractEventLoop, client: Factory, host: object, sock: socket.socket | None
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol] | None:
        """The client's end of a new connection; None when nobody answers there."""
        address = self.address_of(host) if sock is None else self._reached.pop(sock, None)
        server = self._servers.get(address or "")
        if address is None or server is None:
            return None
        if sock is not None:
            sock.close()
        here, there = _End(loop, client(), address), _End(loop, server(), address)
        here.peer, there.peer = there, here
        for end in (there, here):
            end.get_protocol().connection_made(end)
        return here, here.get_protocol()


class _End(asyncio.Transport):
    """One end of a connection, with what is on the way to it."""

    peer: _End

    def __init__(self, loop: asyncio.AbstractEventLoop, protocol: asyncio.BaseProtocol, address: str) -> None:
        super().__init__({"peername": (address, 0), "sockname": (address, 0)})
        self._loop = loop
        self._protocol: Any = protocol
        self._arriving: deque[bytes] = deque()
        self._has_ended = self._is_closing = self._is_paused = self._is_awake = False

    def get_protocol(self) -> asyncio.BaseProtocol:
        protocol: asyncio.BaseProtocol = self._protocol
        return protocol

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def is_closing(self) -> bool:
        return self._is_closing

    def is_reading(self) -> bool:
        return not self._is_paused and not self._is_closing

    def pause_reading(self) -> None:
        self._is_paused = True

    def resume_reading(self) -> None:
        self._is_paused = False
        self._wake()

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        if not self._is_closing:
            self.peer.take(bytes(data))

    def can_write_eof(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Nothing is ever held back."""

    def close(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            self._loop.call_soon(self._protocol.connection_lost, None)
            self.peer.end()

    def abort(self) -> None:
        self.close()

    def take(self, data: bytes) -> None:
        self._arriving.append(data)
        self._wake()

    def end(self) -> None:
        """Nothing more arrives."""
        self._has_ended = True
        self._wake()

    def _wake(self) -> None:
        # One callback for all that has arrived: the loop does not promise to run two in their order.
        if not self._is_awake:
            self._is_awake = True
            self._loop.call_soon(self._deliver)

    def _deliver(self) -> None:
        self._is_awake = False
        while self._arriving and self.is_reading():
            self._protocol.data_received(self._arriving.popleft())
        if self._has_ended and self.is_reading():
            self._protocol.eof_received()
            self.close()
