"""A proxy between one process and the API server: it keeps what was asked, and can hold back the lines of watches."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from aiohttp import web

from kubeloop.errors import TransportError
from kubeloop.http_transport import HttpTransport
from kubeloop.kubeconfig import ClusterConfig
from kubeloop.request import Request
from kubesim.faults import Faulty


class SeenRequest(NamedTuple):
    """A request as it came in."""

    method: str
    path: str

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


class Proxy:
    """Speaks plain HTTP to a process on this machine, and to the cluster in the name of its own configuration."""

    def __init__(self, transport: HttpTransport) -> None:
        self.seen: list[SeenRequest] = []
        self.url = ""
        self.faulty = Faulty(transport)
        self._watches: set[asyncio.Task[Any]] = set()

    @property
    def writes(self) -> list[SeenRequest]:
        return [seen for seen in self.seen if seen.method != "GET"]

    @property
    def deletions(self) -> list[str]:
        """Names of the pods whose deletion was asked for, in order."""
        return [seen.name for seen in self.seen if seen.method == "DELETE" and "/pods/" in seen.path]

    def kubeconfig(self, folder: Path) -> Path:
        """A file by which a program comes here."""
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "proxy", "cluster": {"server": self.url}}],
            "users": [{"name": "nobody", "user": {}}],
            "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "nobody"}}],
            "current-context": "proxy",
        }
        path = folder / f"{self.url.rpartition(':')[2]}.kubeconfig"
        path.write_text(json.dumps(document))
        return path

    async def answer(self, incoming: web.Request) -> web.StreamResponse:
        self.seen.append(SeenRequest(incoming.method, incoming.rel_url.raw_path))
        request = Request(
            incoming.method,
            incoming.rel_url.raw_path,
            query=tuple(incoming.rel_url.query.items()),
            body=await incoming.read(),
            content_type=incoming.headers.get("Content-Type", ""),
            timeout=30.0,
        )
        if request.verb == "watch":
            return await self._watch(incoming, request)
        try:
            response = await self.faulty.send(request)
        except TransportError as error:
            return web.Response(status=502, text=str(error))
        kept = {name: value for name, value in response.headers.items() if name in ("content-type", "retry-after")}
        return web.Response(status=response.status, body=response.body, headers=kept)

    async def close(self) -> None:
        """Ends the watches that are left, also those of processes that are gone."""
        for watch in self._watches:
            watch.cancel()
        await asyncio.gather(*self._watches, return_exceptions=True)

    async def _watch(self, incoming: web.Request, request: Request) -> web.StreamResponse:
        handling = asyncio.current_task()
        assert handling is not None
        self._watches.add(handling)
        handling.add_done_callback(self._watches.discard)
        async with self.faulty.stream(request) as lines:
            outgoing = web.StreamResponse(status=lines.status, headers={"content-type": "application/json"})
            await outgoing.prepare(incoming)
            with suppress(ConnectionError):  # the process is gone, or does not want to hear more
                async for line in lines:
                    await outgoing.write(line if line.endswith(b"\n") else line + b"\n")
            return outgoing


class Freezer:
    """Holds back the lines of pod watches for one to three seconds, again and again at moments of a seed."""

    def __init__(self, proxy: Proxy, seed: int) -> None:
        self.times = 0
        self._faulty = proxy.faulty
        self._random = random.Random(seed)
        self._timer: asyncio.TimerHandle | None = None

    def thaw(self) -> None:
        self._faulty.thaw("pods")
        self._timer = asyncio.get_running_loop().call_later(self._random.uniform(0.0, 1.0), self.freeze)

    def freeze(self) -> None:
        self.times += 1
        self._faulty.freeze("pods")
        self._timer = asyncio.get_running_loop().call_later(self._random.uniform(1.0, 3.0), self.thaw)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._faulty.thaw("pods")


@asynccontextmanager
async def proxied(config: ClusterConfig) -> AsyncIterator[Proxy]:
    """A proxy that serves until the end of the block."""
    transport = HttpTransport(config)
    proxy = Proxy(transport)
    runner = web.AppRunner(_application(proxy), access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        proxy.url = f"http://{host}:{port}"
        yield proxy
    finally:
        await proxy.close()
        await runner.cleanup()
        await transport.close()


def _application(proxy: Proxy) -> web.Application:
    application = web.Application(client_max_size=2**26)
    application.router.add_route("*", "/{path:.*}", proxy.answer)
    return application
