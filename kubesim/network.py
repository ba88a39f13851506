"""Names and who answers at them, within one process: webhooks and pod endpoints without sockets.

A handler gets its call one turn of the loop after it was made and never longer than the call allows, by the loop's
clock, so that a slow handler is slow in virtual time as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from urllib.parse import urlsplit

import msgspec

from kubeloop.calls import Call, Caller, Handler, NoReply, Reply, TooLate
from kubeloop.redirects import following

_PORTS = {"http": 80, "https": 443}

Finder = Callable[[str], Handler | None]
"""Knows who answers at a name, at any port; None when it does not."""


class Network:
    """Hosts of the cluster; `call` is a Caller."""

    def __init__(self) -> None:
        self._handlers: dict[tuple[str, int | None], Handler] = {}
        self._finders: list[Finder] = []

    def serve(self, host: str, handler: Handler) -> None:
        """Answers calls to the host, at one port or, without one in the name, at any; a second handler replaces."""
        self._handlers[_place(host)] = handler

    def withdraw(self, host: str) -> None:
        """From now on nobody answers there; calls that are under way go on."""
        self._handlers.pop(_place(host), None)

    def ask(self, finder: Finder) -> None:
        """From now on names that nobody serves are asked of the finder, after those that were given before."""
        self._finders.append(finder)

    def before(self, caller: Caller) -> Caller:
        """Calls to hosts that are known here are answered here, all others by the caller."""

        async def choose(call: Call) -> Reply:
            return await (self.call if self._knows(call) else caller)(call)

        return choose

    async def call(self, call: Call) -> Reply:
        """The handler's reply, after redirects; NoReply when there is none in time."""
        try:
            async with asyncio.timeout(call.timeout):
                return await following(self._send, call)
        except TimeoutError:
            raise TooLate(f"{call.shown}: no answer in {call.timeout:g} seconds") from None

    async def _send(self, call: Call) -> Reply:
        try:
            parts = urlsplit(call.url)
            host = parts.netloc.rpartition("@")[2]
            name, port = _place(host)
            usable = parts.scheme in _PORTS and bool(name)
        except ValueError:
            usable = False
        if not usable:
            raise NoReply(f"{call.shown}: the address must be http:// or https:// with a host")
        port = _PORTS[parts.scheme] if port is None else port
        shown = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        headers = call.headers if call.header("Host") else (*call.headers, ("Host", host))
        await asyncio.sleep(0)
        return await self._handler(call, name, port)(msgspec.structs.replace(call, url=shown, headers=headers))

    def _knows(self, call: Call) -> bool:
        try:
            name = _place(urlsplit(call.url).netloc.rpartition("@")[2])[0]
        except ValueError:
            return False
        return any(known == name for known, _ in self._handlers) or self._found(name) is not None

    def _found(self, name: str) -> Handler | None:
        found = (finder(name) for finder in self._finders)
        return next((handler for handler in found if handler is not None), None)

    def _handler(self, call: Call, name: str, port: int) -> Handler:
        handler = self._handlers.get((name, port)) or self._handlers.get((name, None)) or self._found(name)
        if handler is not None:
            return handler
        if any(known == name for known, _ in self._handlers):
            raise NoReply(f"{call.shown}: connection refused")
        raise NoReply(f"{call.shown}: no such host")


def _place(host: str) -> tuple[str, int | None]:
    """Name and port as compared: case and a trailing dot do not matter."""
    try:
        parts = urlsplit(f"//{host}")
        port = parts.port
    except ValueError:
        raise ValueError(f"{host!r} is not a host with an optional port") from None
    return (parts.hostname or "").rstrip("."), port
