"""Every pod of many StatefulSets replaced once, in virtual time, with one informer looking on."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import resource
import time
from collections import Counter
from pathlib import Path

import msgspec
from msgspec import Struct, field
from msgspec.structs import force_setattr

from kubeloop.client import Client
from kubeloop.informer import Change, Informer
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Meta, OwnerReference, Ref, Resource
from kubeloop.request import MERGE_PATCH, create, delete, patch
from kubesim import time as virtual
from kubesim.auth.rbac import master
from kubesim.cluster import Cluster
from kubesim.kubelet import Kubelet
from kubesim.store.versions import Author, Event

STATEFUL_SETS = Resource("apps", "v1", "statefulsets", "StatefulSet")
NAMESPACE = "default"
REPLICAS = 100
BETWEEN_SETS = 0.02
"""Virtual seconds; if all pods were made at one moment, all that happened at that moment would be held at once."""
AT_A_TIME = 20
"""Pods of a set that are replaced together."""


class Figures(Struct, frozen=True):
    """Of one run; events are changes of pods, as the store counts them."""

    pods: int
    made_events: int
    made_cpu: float
    rolled_events: int
    rolled_cpu: float
    virtual_seconds: float
    held: float
    """Megabytes of the process while all pods are there."""
    resident: float
    """The same when all have been replaced, a fifth of them at a time."""
    digest: str
    """Of every write: who, what, when; empty where nobody wanted it, because working it out takes time too."""

    @property
    def made_rate(self) -> float:
        return self.made_events / self.made_cpu

    @property
    def rolled_rate(self) -> float:
        return self.rolled_events / self.rolled_cpu


class _Meta(Meta, frozen=True, rename="camel", gc=False):
    """Without labels and owners, which nobody here reads."""

    labels: dict[str, str] = field(name="-labels", default_factory=lambda: _NO_LABELS)
    owner_references: tuple[OwnerReference, ...] = field(name="-owners", default=())


_NO_LABELS: dict[str, str] = {}


class _Condition(Struct, frozen=True, gc=False):
    type: str
    status: str


class _Status(Struct, frozen=True, gc=False):
    conditions: tuple[_Condition, ...] = ()


class _Pod(Struct, frozen=True, gc=False):
    """What is looked at here."""

    metadata: _Meta
    status: _Status = _Status()


def _outline(pod: _Pod) -> _Pod:
    """What is kept of it: which pod it is."""
    force_setattr(pod.metadata, "namespace", NAMESPACE)  # one copy for all
    return _Pod(pod.metadata)


class _Replacing:
    """Deletes old pods of each set, the next ones when all of it are ready."""

    def __init__(self, client: Client, sets: int) -> None:
        self._client = client
        self._left: dict[str, list[int]] = {}
        """Ordinals of old pods by set."""
        self._out: Counter[str] = Counter()
        self._ready: set[str] = set()
        self._sets = sets
        self.everybody_ready = asyncio.Event()
        self.done = asyncio.Event()
        self._tasks: asyncio.TaskGroup | None = None

    def changed(self, change: Change[_Pod]) -> None:
        """An informer's handler."""
        pod = change.new
        if pod is None:
            assert change.old is not None
            self._ready.discard(change.old.metadata.name)
            return
        name = pod.metadata.name
        is_ready = any(each.type == "Ready" and each.status == "True" for each in pod.status.conditions)
        if not is_ready or pod.metadata.deletion_timestamp is not None or name in self._ready:
            return
        self._ready.add(name)
        if len(self._ready) == self._sets * REPLICAS:
            self.everybody_ready.set()
        if self._tasks is None:
            return
        owner = name.rpartition("-")[0]
        self._out[owner] -= 1
        if not self._out[owner]:
            self._go_on(owner)

    def begin(self, tasks: asyncio.TaskGroup) -> None:
        """All sets at once."""
        self._tasks = tasks
        self._left = {f"set-{number}": list(range(REPLICAS)) for number in range(self._sets)}
        for name in list(self._left):
            self._go_on(name)

    def _go_on(self, owner: str) -> None:
        left = self._left[owner]
        if not left:
            del self._left[owner]
            if not self._left:
                self.done.set()
            return
        ordinals, self._left[owner] = left[:AT_A_TIME], left[AT_A_TIME:]
        self._out[owner] = len(ordinals)
        assert self._tasks is not None
        self._tasks.create_task(self._delete([f"{owner}-{ordinal}" for ordinal in ordinals]))

    async def _delete(self, names: list[str]) -> None:
        for name in names:
            await self._client.call(delete(Ref(PODS, NAMESPACE, name)))


def run(pods: int, seed: int, *, digested: bool = False) -> Figures:
    """Blocks until every pod was made and replaced."""
    return virtual.run(_run(pods, seed, digested), seed=seed)


async def _run(pods: int, seed: int, digested: bool) -> Figures:
    cluster = Cluster(seed=seed, history=False)
    events, digest = 0, hashlib.sha256()

    def note(of: Resource, event: Event, author: Author) -> None:
        moment = asyncio.get_running_loop().time()
        digest.update(f"{moment} {author.user} {author.verb} {of.plural} {event.type} {event.revision}".encode())
        digest.update(event.new.body)

    def one_more(_of: Resource, _event: Event, _author: Author) -> None:
        nonlocal events
        events += 1

    cluster.store.listen(one_more, PODS)
    if digested:
        cluster.store.listen(note)
    client = Client(cluster.transport(master("bench")))
    replacing = _Replacing(client, pods // REPLICAS)
    informer = Informer(client, PODS, _Pod, kept=_outline)
    informer.subscribe(replacing.changed)
    async with asyncio.TaskGroup() as tasks:
        kubelet = Kubelet(cluster.inside("kubelet"), nodes=max(3, pods // 1000))
        running = [tasks.create_task(work) for work in (cluster.run(), kubelet.run(), informer.run())]
        began = time.process_time()
        for number in range(pods // REPLICAS):
            await client.call(create(STATEFUL_SETS, NAMESPACE, msgspec.json.encode(a_set(f"set-{number}", "1"))))
            await asyncio.sleep(BETWEEN_SETS)
        await replacing.everybody_ready.wait()
        made, made_cpu = events, time.process_time() - began
        gc.collect()
        held = _resident()
        gc.freeze()
        began, started = time.process_time(), asyncio.get_running_loop().time()
        for number in range(pods // REPLICAS):
            ref = Ref(STATEFUL_SETS, NAMESPACE, f"set-{number}")
            await client.call(patch(ref, MERGE_PATCH, msgspec.json.encode(a_set(ref.name, "2"))))
        replacing.begin(tasks)
        await replacing.done.wait()
        rolled_cpu = time.process_time() - began
        took = asyncio.get_running_loop().time() - started
        told = digest.hexdigest() if digested else ""
        figures = Figures(pods, made, made_cpu, events - made, rolled_cpu, took, held, _resident(), told)
        for task in running:
            task.cancel()
    return figures


def a_set(name: str, version: str) -> dict[str, object]:
    """A set of usual pods."""
    labels = {"app": name, "part": "bench"}
    container = {
        "name": "main",
        "image": f"example/store:{version}",
        "ports": [{"name": "http", "containerPort": 8080}, {"name": "grpc", "containerPort": 9095}],
        "env": [{"name": f"SETTING_{number}", "value": "a value of usual length"} for number in range(6)],
        "args": ["-target=store", "-config.file=/etc/store/config.yaml", "-ring.instance-availability-zone=a"],
        "resources": {"requests": {"cpu": "2", "memory": "8Gi"}, "limits": {"memory": "12Gi"}},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}},
        "volumeMounts": [{"name": "config", "mountPath": "/etc/store"}],
    }
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [container], "volumes": [{"name": "config", "configMap": {"name": "store"}}]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": REPLICAS,
            "serviceName": name,
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "OnDelete"},
            "selector": {"matchLabels": labels},
            "template": template,
        },
    }


def _resident() -> float:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize() / 1e6
