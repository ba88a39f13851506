"""An API server of a few lines whose every misbehaviour is in the hands of the test.

It keeps JSON trees by path, counts versions over all of them, keeps a history for watches, and checks the version of a
replacement. Tests break it by `fault` (called around every request), `freeze`, `end_watches`, `break_watches`,
`compact`, `restore` and `inject`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from kubeloop.client import Client
from kubeloop.errors import TransportError
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubeloop.request import Request, Response

Tree = dict[str, Any]
Fault = Callable[[Request, str], Awaitable[Response | None]]
"""Called with the request and "before" or "after" it is carried out; may wait, raise, or answer instead."""


def a_pod(name: str, *, namespace: str = "ns", uid: str = "", **labels: str) -> Tree:
    return {
        "metadata": {"name": name, "namespace": namespace, "uid": uid or f"uid-{name}", "labels": labels},
        "status": {"phase": "Running"},
    }


def pod_ref(name: str, *, namespace: str = "ns", uid: str = "") -> Ref:
    return Ref(PODS, namespace, name, uid or f"uid-{name}")


def failure(code: int, reason: str = "", message: str = "", headers: Mapping[str, str] | None = None) -> Response:
    status = {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message or reason}
    return Response(code, msgspec.json.encode(status), headers or {})


class Scripted:
    """A transport; `client()` is a client on it."""

    def __init__(self) -> None:
        self.version = 100
        self.objects: dict[str, Tree] = {}
        self.requests: list[Request] = []
        self.fault: Fault | None = None
        self.lists_served = 0
        self._history: list[tuple[int, str, Tree]] = []
        self._compacted = 0
        self._watches: list[_Watch] = []

    def client(self, timeout: float = 30.0, gate: Callable[[], None] | None = None) -> Client:
        return Client(self, timeout=timeout, gate=gate)

    # What the world does

    def put(self, tree: Tree, plural: str = "pods") -> str:
        """Creates or changes the object; answers with its version."""
        meta = tree["metadata"]
        path = f"/api/v1/namespaces/{meta['namespace']}/{plural}/{meta['name']}"
        return str(self._store(path, tree)["metadata"]["resourceVersion"])

    def remove(self, name: str, namespace: str = "ns", plural: str = "pods") -> None:
        self._remove(f"/api/v1/namespaces/{namespace}/{plural}/{name}")

    def bookmark(self) -> str:
        """Something else changes and the open watches are told how far they have come."""
        self.version += 1
        self.inject("BOOKMARK", {"metadata": {"resourceVersion": str(self.version)}})
        return str(self.version)

    def inject(self, kind: str, tree: Tree) -> None:
        """A line for the open watches only."""
        for watch in self._watches:
            watch.push(msgspec.json.encode({"type": kind, "object": tree}))

    def inject_line(self, line: bytes) -> None:
        for watch in self._watches:
            watch.push(line)

    def freeze(self) -> None:
        """Open watches stay open and silent; new ones are normal."""
        for watch in self._watches:
            watch.frozen = True

    def end_watches(self) -> None:
        for watch in self._watches:
            watch.finish(None)

    def break_watches(self) -> None:
        for watch in self._watches:
            watch.finish(TransportError("the connection broke"))

    def compact(self) -> None:
        """No watch can start in the past from now on."""
        self._compacted = self.version

    def asked(self, method: str, **query: str) -> list[Request]:
        """Requests of that method whose query has these values."""
        return [r for r in self.requests if r.method == method and query.items() <= dict(r.query).items()]

    def backup(self) -> tuple[int, dict[str, Tree]]:
        """What `restore` takes."""
        return self.version, dict(self.objects)

    def restore(self, backup: tuple[int, dict[str, Tree]], *, breaks: bool = True) -> None:
        """All is as it was, the version too; nothing tells what has gone, and a watch from later on is silent."""
        self.version, self.objects = backup[0], dict(backup[1])
        self._history = [each for each in self._history if each[0] <= self.version]
        for watch in self._watches:
            watch.finish(TransportError("the server has ended") if breaks else None)

    @property
    def open_watches(self) -> int:
        return len(self._watches)

    # The transport

    async def send(self, request: Request) -> Response:
        self.requests.append(request)
        if self.fault is not None and (instead := await self.fault(request, "before")) is not None:
            return instead
        response = self._answer(request)
        if self.fault is not None and (instead := await self.fault(request, "after")) is not None:
            return instead
        return response

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[_Watch]:
        self.requests.append(request)
        if self.fault is not None and (instead := await self.fault(request, "before")) is not None:
            yield _Watch.refusing(instead)
            return
        query = dict(request.query)
        watch = _Watch(request.path)
        watch.after = int(query["resourceVersion"])
        if watch.after < self._compacted:
            yield _Watch.refusing(failure(410, "Expired"))
            return
        for version, kind, tree in self._history:
            if version > watch.after and watch.covers(tree):
                watch.push(msgspec.json.encode({"type": kind, "object": tree}))
        self._watches.append(watch)
        try:
            yield watch
        finally:
            self._watches.remove(watch)

    def _answer(self, request: Request) -> Response:
        found = self.objects.get(request.path)
        body: Tree = msgspec.json.decode(request.body) if request.body else {}
        match request.method:
            case "GET" if request.path.rsplit("/", 1)[1] in ("pods", "leases", "events"):
                return self._list(request)
            case "POST":
                path = f"{request.path}/{body['metadata']['name']}"
                if path in self.objects:
                    return failure(409, "AlreadyExists")
                return _ok(self._store(path, body), 201)
            case _ if found is None:
                return failure(404, "NotFound", f"{request.path} not found")
            case "GET":
                return _ok(found)
            case "PUT":
                if body["metadata"].get("resourceVersion") != found["metadata"]["resourceVersion"]:
                    return failure(409, "Conflict", "the object has been modified")
                return _ok(self._store(request.path, body))
            case "PATCH":
                return _ok(self._store(request.path, _merged(found, body)))
            case _:
                self._remove(request.path)
                return _ok({})

    def _list(self, request: Request) -> Response:
        query = dict(request.query)
        if "continue" in query and int(query["continue"].split(":")[0]) < self._compacted:
            return failure(410, "Expired", "the continue token is too old")
        version, start = (int(part) for part in query.get("continue", f"{self.version}:0").split(":"))
        found = [self.objects[path] for path in sorted(self.objects) if _within(path, request.path)]
        end = start + int(query.get("limit", len(found) or 1))
        meta: Tree = {"resourceVersion": str(version)}
        if end < len(found):
            meta["continue"] = f"{version}:{end}"
        else:
            self.lists_served += 1
        return _ok({"kind": "List", "metadata": meta, "items": found[start:end]})

    def _store(self, path: str, tree: Tree) -> Tree:
        self.version += 1
        stored: Tree = {**tree, "metadata": {**tree["metadata"], "resourceVersion": str(self.version)}}
        stored["metadata"].setdefault("uid", f"uid-{self.version}")
        self._record("MODIFIED" if path in self.objects else "ADDED", stored)
        self.objects[path] = stored
        return stored

    def _remove(self, path: str) -> None:
        gone = self.objects.pop(path)
        self.version += 1
        self._record("DELETED", {**gone, "metadata": {**gone["metadata"], "resourceVersion": str(self.version)}})

    def _record(self, kind: str, tree: Tree) -> None:
        self._history.append((self.version, kind, tree))
        line = msgspec.json.encode({"type": kind, "object": tree})
        for watch in self._watches:
            if watch.covers(tree) and self.version > watch.after:
                watch.push(line)


class _Watch:
    """An open watch: lines wait here until they are read."""

    def __init__(self, path: str, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        self.path = path
        self.status = status
        self.headers: Mapping[str, str] = headers or {}
        self.frozen = False
        self.after = 0
        """The version that its events come after."""
        self._lines: list[bytes] = []
        self._news = asyncio.Event()
        self._ended = False
        self._error: Exception | None = None

    @classmethod
    def refusing(cls, response: Response) -> _Watch:
        watch = cls("", response.status, response.headers)
        watch.push(response.body)
        watch.finish(None)
        return watch

    def covers(self, tree: Tree) -> bool:
        return "/namespaces/" not in self.path or f"/namespaces/{tree['metadata']['namespace']}/" in f"{self.path}/"

    def push(self, line: bytes) -> None:
        if not self.frozen and not self._ended:
            self._lines.append(line)
            self._news.set()

    def finish(self, error: Exception | None) -> None:
        self._ended, self._error = True, error
        self._news.set()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            while self._lines:
                yield self._lines.pop(0)
            if self._error is not None:
                raise self._error
            if self._ended:
                return
            self._news.clear()
            await self._news.wait()


def _within(path: str, collection: str) -> bool:
    plural = collection.rsplit("/", 1)[1]
    return path.rsplit("/", 2)[1] == plural and (path.startswith(f"{collection}/") or "/namespaces/" not in collection)


def _merged(tree: Tree, patch: Tree) -> Tree:
    merged = dict(tree)
    for key, value in patch.items():
        merged[key] = _merged(merged.get(key, {}), value) if isinstance(value, dict) else value
    return merged


def _ok(tree: Tree, status: int = 200) -> Response:
    return Response(status, msgspec.json.encode(tree), {})
