"""The webhooks of all replicas behind one name, as a Service has them; every review is kept with its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from kubeloop.calls import Call, NoReply, Reply
from kubesim.draws import Draws
from tests.chaos.doing import at, review
from tests.chaos.loop import running
from tests.chaos.world import Process

PREPARE_DOWNSCALE, NO_DOWNSCALE, EVICTION = "prepare-downscale", "no-downscale", "pod-eviction"


class Reviewed(Struct):
    """A review that an operator was asked for."""

    doing: str
    """What its calls and writes are known by."""
    path: str
    """The last part."""
    by: Process
    begun: float
    request: Any
    allowed: bool | None = None
    """None while there is no answer, and for ever when there is none."""
    warned: bool = False
    ended: float | None = None

    @property
    def name(self) -> str:
        name: str = self.request["name"]
        return name

    @property
    def old_version(self) -> str:
        version: str = self.request["oldObject"]["metadata"].get("resourceVersion", "")
        return version

    @property
    def replicas(self) -> tuple[int, int]:
        """Before and after."""
        old, new = (self.request[key]["spec"].get("replicas", 0) for key in ("oldObject", "object"))
        return old, new

    @property
    def is_dry_run(self) -> bool:
        options = (self.request.get("object") or {}).get("deleteOptions") or {}
        return bool(self.request.get("dryRun")) or "All" in (options.get("dryRun") or ())


class Door:
    """Handles calls to the operators' webhooks: each goes to one of those that are there."""

    def __init__(self, processes: Callable[[], Sequence[Process]], draws: Draws) -> None:
        self.reviews: list[Reviewed] = []
        self.begins: Callable[[Reviewed], None] = lambda _: None
        self.ends: Callable[[Reviewed], None] = lambda _: None
        self._processes = processes
        self.draws = draws
        """Who is asked."""

    async def __call__(self, call: Call) -> Reply:
        there = [process for process in self._processes() if process.manager is not None and not process.wire.is_dead]
        if not there:
            raise NoReply("no endpoints available for service")
        process = there[self.draws.below(len(there))]
        path = call.url.partition("?")[0].rpartition("/")[2]
        request = msgspec.json.decode(call.body)["request"]
        reviewed = Reviewed(review(request["uid"]), path, process, running().time(), request)
        self.reviews.append(reviewed)
        self.begins(reviewed)
        task = running().start(process.name, at(reviewed.doing, self._judged(reviewed, call)))
        process.requests.append(task)
        await asyncio.wait([task])  # who asked may give up; the handler goes on
        if task.cancelled():
            raise NoReply("connection reset by peer")
        return task.result()

    async def _judged(self, reviewed: Reviewed, call: Call) -> Reply:
        manager = reviewed.by.manager
        assert manager is not None
        reply = await manager.webhooks.handler(call)
        reviewed.ended = running().time()
        if reply.status == 200:
            response = msgspec.json.decode(reply.body)["response"]
            reviewed.allowed, reviewed.warned = response["allowed"], bool(response.get("warnings"))
            self.ends(reviewed)
        return reply


def configurations(host: str, namespace: str) -> list[dict[str, Any]]:
    """The registrations that the contract asks for, all with failurePolicy Fail."""
    scaled = ["statefulsets", "statefulsets/scale"]
    return [
        _configuration("Mutating", PREPARE_DOWNSCALE, host, namespace, "apps", "UPDATE", scaled),
        _configuration("Validating", NO_DOWNSCALE, host, namespace, "apps", "UPDATE", scaled),
        _configuration("Validating", EVICTION, host, namespace, "", "CREATE", ["pods/eviction"]),
    ]


def _configuration(
    kind: str, name: str, host: str, namespace: str, group: str, operation: str, resources: list[str]
) -> dict[str, Any]:
    webhook = {
        "name": f"{name}.grafana.com",
        "clientConfig": {"url": f"https://{host}/admission/{name}"},
        "rules": [{"apiGroups": [group], "apiVersions": ["v1"], "operations": [operation], "resources": resources}],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "NoneOnDryRun" if kind == "Mutating" else "None",
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "timeoutSeconds": 10,
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [webhook],
    }
