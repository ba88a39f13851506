"""A small API server for commands that only look: lists, reads and watches of StatefulSets and pods.

It is a transport for virtual time, and `served` puts real HTTP in front of it, in a thread, with a kubeconfig.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path

import msgspec
import yaml
from aiohttp import web

from kubeloop.objects.apps import StatefulSet
from kubeloop.objects.core import Pod
from kubeloop.request import Request, Response, Stream, place_of

Object = StatefulSet | Pod


class Watch:
    """An open watch; None in the queue ends it."""

    def __init__(self, plural: str) -> None:
        self.plural = plural
        self.status = 200
        self.headers: Mapping[str, str] = {}
        self.queue: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (line := await self.queue.get()) is not None:
            yield line


class World:
    """Holds objects; `refusal`, when set, is the answer to everything."""

    def __init__(self, *objects: Object | tuple[Object, ...]) -> None:
        self.objects: dict[tuple[str, str, str], Object] = {}
        self.refusal: Response | None = None
        self.asked: list[Request] = []
        self.watches: list[Watch] = []
        self.version = 100
        self.put(*objects)

    def put(self, *objects: Object | tuple[Object, ...]) -> None:
        for one in objects:
            for item in one if isinstance(one, tuple) else (one,):
                key = (plural_of(item), item.metadata.namespace, item.metadata.name)
                kind = "MODIFIED" if key in self.objects else "ADDED"
                self._happened(kind, key, item)

    def remove(self, item: Object) -> None:
        self._happened("DELETED", (plural_of(item), item.metadata.namespace, item.metadata.name), item)

    def refuse(self, status: int, reason: str, message: str) -> None:
        body = {"kind": "Status", "status": "Failure", "reason": reason, "message": message, "code": status}
        self.refusal = Response(status, msgspec.json.encode(body))

    def break_watches(self) -> None:
        for watch in self.watches:
            watch.queue.put_nowait(None)
        self.watches.clear()

    async def send(self, request: Request) -> Response:
        self.asked.append(request)
        return self.refusal or self.answer(request.path)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._stream(request)

    def answer(self, path: str) -> Response:
        place = place_of(path)
        if place.plural == "namespaces":
            return self._namespace(place.name)
        found = [
            item
            for (plural, namespace, name), item in self.objects.items()
            if plural == place.plural and place.namespace in ("", namespace) and place.name in ("", name)
        ]
        if not place.name:
            listed = {"metadata": {"resourceVersion": str(self.version)}, "items": found}
            return Response(200, msgspec.json.encode(listed))
        return Response(200, msgspec.json.encode(found[0])) if found else Response(404, b"{}")

    def _namespace(self, name: str) -> Response:
        if name in {"test", "elsewhere", *(namespace for _, namespace, _ in self.objects)}:
            return Response(200, msgspec.json.encode({"metadata": {"name": name, "uid": "u", "resourceVersion": "1"}}))
        status = {"kind": "Status", "reason": "NotFound", "code": 404, "message": f'namespaces "{name}" not found'}
        return Response(404, msgspec.json.encode(status))

    def opened(self, path: str) -> Watch:
        watch = Watch(place_of(path).plural)
        self.watches.append(watch)
        return watch

    @asynccontextmanager
    async def _stream(self, request: Request) -> AsyncIterator[Stream]:
        self.asked.append(request)
        watch = self.opened(request.path)
        if self.refusal is not None:
            watch.status = self.refusal.status
            watch.queue.put_nowait(self.refusal.body)
            watch.queue.put_nowait(None)
        yield watch

    def _happened(self, kind: str, key: tuple[str, str, str], item: Object) -> None:
        self.version += 1
        metadata = msgspec.structs.replace(item.metadata, resource_version=str(self.version))
        item = msgspec.structs.replace(item, metadata=metadata)
        self.objects[key] = item
        if kind == "DELETED":
            del self.objects[key]
        line = msgspec.json.encode({"type": kind, "object": item})
        for watch in self.watches:
            if watch.plural == key[0]:
                watch.queue.put_nowait(line)


def plural_of(item: Object) -> str:
    return "pods" if isinstance(item, Pod) else "statefulsets"


class Served:
    """A world behind real HTTP; `kubeconfig` is the file that leads there."""

    def __init__(self, world: World, loop: asyncio.AbstractEventLoop, kubeconfig: Path) -> None:
        self.world = world
        self.kubeconfig = str(kubeconfig)
        self.headers: list[Mapping[str, str]] = []
        self.methods: list[str] = []
        self._loop = loop

    def put(self, *objects: Object | tuple[Object, ...]) -> None:
        """As if somebody else changed the world while it is watched."""
        self._loop.call_soon_threadsafe(self.world.put, *objects)


@contextmanager
def served(world: World, folder: Path, namespace: str = "test") -> Iterator[Served]:
    """Serves the world while the context lasts."""
    loop = asyncio.new_event_loop()
    kubeconfig = folder / "config"
    server = Served(world, loop, kubeconfig)
    runner = loop.run_until_complete(_started(server))
    port = runner.addresses[0][1]
    kubeconfig.write_text(yaml.safe_dump(kubeconfig_of(f"http://127.0.0.1:{port}", namespace)))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(world.break_watches)
        asyncio.run_coroutine_threadsafe(_ended(runner), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


async def _started(server: Served) -> web.AppRunner:
    async def handle(request: web.Request) -> web.StreamResponse:
        server.headers.append(request.headers)
        server.methods.append(request.method)
        world = server.world
        if world.refusal is None and request.query.get("watch") == "true":
            return await _watched(world, request)
        answer = world.refusal or world.answer(request.path)
        return web.Response(status=answer.status, body=answer.body, content_type="application/json")

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    # A watch whose client has gone must not wait for its next line.
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner


async def _ended(runner: web.AppRunner) -> None:
    """Nothing of the server is left behind for the collector to find after its loop is closed."""
    await runner.cleanup()
    left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


async def _watched(world: World, request: web.Request) -> web.StreamResponse:
    watch = world.opened(request.path)
    response = web.StreamResponse()
    await response.prepare(request)
    async for line in watch:
        await response.write(line + b"\n")
    return response


def kubeconfig_of(server: str, namespace: str = "test") -> dict[str, object]:
    return {
        "clusters": [{"name": "here", "cluster": {"server": server}}],
        "users": [{"name": "jane", "user": {"token": "t"}}],
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "jane", "namespace": namespace}}],
        "current-context": "here",
    }
