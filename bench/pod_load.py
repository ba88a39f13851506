"""Pods of LeaderWorkerSets that ask a manager's webhooks for admission at a fixed rate, from a process of its own.

    python -m bench.pod_load ORDER RESULT

Each pod asks as the API server does for it: the mutating webhook first, then the validating one, on a connection that
is kept open. The rate does not wait for answers, and a latency counts from the moment at which the pod was due.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
import time
from base64 import b64decode
from hashlib import sha1
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from bench.wire import Connection

CONNECTIONS = 25
"""As many as the API server keeps open to a webhook that does not speak HTTP/2."""
ANSWERED_WITHIN = 10.0
LEAD = 0.2
"""Seconds from the last handshake to the first pod."""
MUTATING, VALIDATING = "/mutate--v1-pod", "/validate--v1-pod"
GROUPS, SIZE = 20, 4
PREFIX = "leaderworkerset.sigs.k8s.io/"
LEADER_ADDRESS = "LWS_LEADER_ADDRESS"

Tree = dict[str, Any]


class Order(Struct, frozen=True):
    port: int
    server_name: str
    """That the certificate is for."""
    authority: str
    """PEM."""
    rate: int
    seconds: int


class Result(Struct, frozen=True):
    latencies: list[float]
    """Seconds, of pods that were admitted."""
    wrong: int
    """Pods that were refused, or left without what every pod gets."""
    lost: int
    """Pods that got no answer in time."""


def pods() -> list[Tree]:
    """As StatefulSets make them: of each group a leader and its workers."""
    return [_pod(group, worker) for group in range(GROUPS) for worker in range(SIZE)]


def _pod(group: int, worker: int) -> Tree:
    leader = f"a-{group}"
    labels = {f"{PREFIX}name": "a", f"{PREFIX}template-revision-hash": "7d9f8b6c55"}
    annotations = {f"{PREFIX}size": str(SIZE)}
    if worker:
        key = sha1(f"bench/{leader}".encode(), usedforsecurity=False).hexdigest()
        labels |= {f"{PREFIX}group-index": str(group), f"{PREFIX}group-key": key}
        annotations[f"{PREFIX}leader-name"] = leader
    else:
        labels[f"{PREFIX}worker-index"] = "0"
    variables = [{"name": f"SETTING_{number}", "value": f"value {number}"} for number in range(8)]
    container = {
        "name": "main",
        "image": "example.test/main:1",
        "env": variables,
        "resources": {"limits": {"cpu": "4", "memory": "16Gi"}},
        "volumeMounts": [{"name": "cache", "mountPath": "/cache"}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{leader}-{worker}" if worker else leader,
            "namespace": "bench",
            "labels": labels,
            "annotations": annotations,
        },
        "spec": {"subdomain": "a", "containers": [container], "volumes": [{"name": "cache", "emptyDir": {}}]},
    }


def review(pod: Tree, uid: str) -> bytes:
    asked = {
        "uid": uid,
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "requestKind": {"group": "", "version": "v1", "kind": "Pod"},
        "requestResource": {"group": "", "version": "v1", "resource": "pods"},
        "name": pod["metadata"]["name"],
        "namespace": pod["metadata"]["namespace"],
        "operation": "CREATE",
        "userInfo": {"username": "system:serviceaccount:kube-system:statefulset-controller"},
        "object": pod,
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    return json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": asked}).encode()


def message(path: str, body: bytes, host: str) -> bytes:
    head = (
        f"POST {path}?timeout=10s HTTP/1.1\r\nHost: {host}\r\nUser-Agent: kube-apiserver-admission\r\n"
        f"Content-Length: {len(body)}\r\nAccept: application/json, */*\r\nContent-Type: application/json\r\n\r\n"
    )
    return head.encode() + body


def is_right(path: str, status: int, body: bytes, uid: str) -> bool:
    """Allowed, and for the mutating webhook with what every pod gets."""
    if status != 200:
        return False
    answer = json.loads(body).get("response", {})
    if not answer.get("allowed") or answer.get("uid") != uid:
        return False
    return path != MUTATING or LEADER_ADDRESS in b64decode(answer.get("patch", "")).decode()


class Generator:
    def __init__(self, order: Order) -> None:
        self._order = order
        self._queue: asyncio.Queue[tuple[float, int] | None] = asyncio.Queue()
        self._pods = pods()
        self._latencies: list[float] = []
        self._wrong = self._lost = 0

    async def run(self) -> Result:
        context = ssl.create_default_context(cadata=self._order.authority)
        connections = [Connection(self._order.port, self._order.server_name, context) for _ in range(CONNECTIONS)]
        for connection in connections:
            await connection.open()
        began = time.monotonic() + LEAD
        async with asyncio.TaskGroup() as tasks:
            for connection in connections:
                tasks.create_task(self._serve(connection))
            for number in range(self._order.rate * self._order.seconds):
                due = began + number / self._order.rate
                if (rest := due - time.monotonic()) > 0:
                    await asyncio.sleep(rest)
                self._queue.put_nowait((due, number))
            for _ in connections:
                self._queue.put_nowait(None)
        return Result(self._latencies, self._wrong, self._lost)

    async def _serve(self, connection: Connection) -> None:
        while (work := await self._queue.get()) is not None:
            due, number = work
            try:
                async with asyncio.timeout(ANSWERED_WITHIN):
                    right = await self._admitted(connection, number)
            except (OSError, EOFError, ValueError):  # a TimeoutError is an OSError
                connection.close()
                self._lost += 1
                continue
            if right:
                self._latencies.append(time.monotonic() - due)
            else:
                self._wrong += 1
        connection.close()

    async def _admitted(self, connection: Connection, number: int) -> bool:
        for path in (MUTATING, VALIDATING):
            uid = f"{number:08x}-0000-4000-8000-{len(path):012x}"
            body = review(self._pods[number % len(self._pods)], uid)
            status, answer = await connection.ask(message(path, body, self._order.server_name))
            if not is_right(path, status, answer, uid):
                return False
        return True


def main(order: str, result: str) -> None:
    found = asyncio.run(Generator(msgspec.json.decode(Path(order).read_bytes(), type=Order)).run())
    Path(result).write_bytes(msgspec.json.encode(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
