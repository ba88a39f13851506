"""Zone rollouts on the embedded cluster, in virtual time, with the operator in the same process."""

from __future__ import annotations

import asyncio
import io
import time
from contextlib import AbstractAsyncContextManager

import msgspec
from msgspec import Struct

from fairlead.contracts import contract
from fairlead.contracts.zones.kinds import GROUP_LABEL, MAX_UNAVAILABLE, NAME_LABEL
from fairlead.contracts.zones.settings import Settings
from fairlead.engine.logs import configure
from fairlead.engine.metrics import Metrics
from fairlead.engine.options import OperatorOptions, PartOptions
from fairlead.engine.process import assemble
from kubeloop.client import Client
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import MERGE_PATCH, Request, Response, Stream, Transport, create, patch
from kubesim import time as virtual
from kubesim.auth.rbac import master
from kubesim.cluster import Cluster
from kubesim.kubelet import Kubelet
from kubesim.store.versions import Author, Event

NAMESPACE = "default"
ZONES = "abc"
REPLICAS = 10
AT_A_TIME = 2
IDLE_SECONDS = 12 * 3600.0
SETTLED_AFTER = 600.0
"""Seconds after the last change until what follows from it is written as well: statuses, Events, records."""


class Figures(Struct, frozen=True):
    """Of one run."""

    pods: int
    events: int
    """Changes of pods from the new template to the last new pod ready."""
    cpu: float
    virtual_seconds: float
    idle_cpu: float
    """Seconds of CPU for the idle hours after the rollout."""
    idle_requests: int
    """What the operator asked for meanwhile."""
    violations: int
    """Deletions of pods while two of their zone were out already, or one of another zone of their group."""

    @property
    def rate(self) -> float:
        return self.events / self.cpu


class _Counted:
    """A transport that counts what goes over it."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.requests = 0

    async def send(self, request: Request) -> Response:
        self.requests += 1
        return await self._transport.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        self.requests += 1
        return self._transport.stream(request)


class _Judge:
    """Sees every write."""

    def __init__(self, pods: int) -> None:
        self._pods = pods
        self.events = 0
        self.violations = 0
        self._ready: dict[str, str] = {}
        """Image of ready pods that are not being deleted, by name."""
        self.settled = asyncio.Event()
        self.wanted = "1"

    def note(self, resource: Resource, event: Event, author: Author) -> None:
        if resource != PODS:
            return
        self.events += 1
        name, going = event.new.key[1], event.new.head.deletion_timestamp is not None
        if author.verb == "delete" and "fairlead" in author.user and event.type == "MODIFIED":
            self._judge(name)
        tree = event.new.tree()
        conditions = tree["status"].get("conditions") or []
        ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
        if going or event.type == "DELETED" or not ready:
            self._ready.pop(name, None)
            return
        self._ready[name] = tree["spec"]["containers"][0]["image"]
        if len(self._ready) == self._pods and all(image.endswith(self.wanted) for image in self._ready.values()):
            self.settled.set()

    def _judge(self, name: str) -> None:
        """At the moment of a deletion, with the pod itself still counted as ready."""
        zone = name.rpartition("-")[0]
        group = zone.rpartition("-")[0]
        for letter in ZONES:
            other = f"{group}-{letter}"
            out = sum(f"{other}-{ordinal}" not in self._ready for ordinal in range(REPLICAS))
            self.violations += out >= AT_A_TIME if other == zone else out > 0


def run(groups: int, seed: int) -> Figures:
    """Blocks until every pod of every group is new."""
    return virtual.run(_run(groups, seed), seed=seed)


async def _run(groups: int, seed: int) -> Figures:
    pods = groups * len(ZONES) * REPLICAS
    cluster, judge = Cluster(seed=seed, history=False), _Judge(pods)
    cluster.store.listen(judge.note)
    client = Client(cluster.transport(master("bench")))
    options = OperatorOptions(process="fairlead", identity="bench", parts=(PartOptions(contract("zones"), Settings()),))
    log = configure("error", "logfmt", io.StringIO())
    wire = _Counted(cluster.transport(master("fairlead")))
    manager = await assemble(options, NAMESPACE, wire, Metrics(), log, cluster.network.call)
    async with asyncio.TaskGroup() as tasks:
        kubelet = Kubelet(cluster.inside("kubelet"), ready_after=0.5, gone_after=0.1)
        running = [tasks.create_task(work) for work in (cluster.run(), kubelet.run(), manager.run())]
        for number in range(groups):
            for letter in ZONES:
                body = msgspec.json.encode(_zone(f"group-{number}", letter, "1"))
                await client.call(create(STATEFULSETS, NAMESPACE, body))
        await judge.settled.wait()
        judge.settled.clear()
        judge.wanted = "2"
        events, began, started = judge.events, time.process_time(), asyncio.get_running_loop().time()
        for number in range(groups):
            for letter in ZONES:
                body = msgspec.json.encode(_zone(f"group-{number}", letter, "2"))
                await client.call(patch(Ref(STATEFULSETS, NAMESPACE, f"group-{number}-{letter}"), MERGE_PATCH, body))
        await judge.settled.wait()
        rolled, rolled_cpu = judge.events - events, time.process_time() - began
        took = asyncio.get_running_loop().time() - started
        await asyncio.sleep(SETTLED_AFTER)
        requests, began = wire.requests, time.process_time()
        await asyncio.sleep(IDLE_SECONDS)
        idle_cpu = time.process_time() - began
        figures = Figures(pods, rolled, rolled_cpu, took, idle_cpu, wire.requests - requests, judge.violations)
        for task in running:
            task.cancel()
    return figures


def _zone(group: str, letter: str, version: str) -> dict[str, object]:
    name = f"{group}-{letter}"
    labels = {NAME_LABEL: name, GROUP_LABEL: group}
    container = {"name": "main", "image": f"example.test/store:{version}"}
    return {
        "apiVersion": STATEFULSETS.api_version,
        "kind": STATEFULSETS.kind,
        "metadata": {"name": name, "labels": labels, "annotations": {MAX_UNAVAILABLE: str(AT_A_TIME)}},
        "spec": {
            "replicas": REPLICAS,
            "serviceName": name,
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "OnDelete"},
            "selector": {"matchLabels": {NAME_LABEL: name}},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
