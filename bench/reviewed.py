"""What admission costs the pods of StatefulSets: none configured, one about another kind, one about pods.

In virtual time and in one process, in turn and back: what the machine does besides meets all of them alike.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterable
from statistics import median

import msgspec
from msgspec import Struct

from bench.turnover import NAMESPACE, REPLICAS, STATEFUL_SETS, a_set
from kubeloop.calls import Call, Reply
from kubeloop.client import Client
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Resource
from kubeloop.request import create
from kubesim import time as virtual
from kubesim.auth.rbac import master
from kubesim.cluster import Cluster
from kubesim.kubelet import Kubelet

MUTATING = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "mutatingwebhookconfigurations",
    "MutatingWebhookConfiguration",
    namespaced=False,
)
HOST = "hook.bench.svc"
SUBJECTS = {"none": "", "another kind": "configmaps", "pods": "pods"}
"""What the configuration is about, by the words for it."""
ENOUGH = 60.0
"""Virtual seconds after which all pods are made and ready."""


class Figures(Struct, frozen=True):
    """Microseconds of CPU per pod that is made, bound and ready: the median of all rounds."""

    pods: int
    none: float
    other: float
    own: float

    @property
    def surplus(self) -> float:
        """What a configuration about another kind costs, as a part of what a pod costs."""
        return self.other / self.none - 1


def run(pods: int, seed: int, rounds: int) -> Figures:
    """Blocks until all rounds are over."""
    taken: dict[str, list[float]] = {subject: [] for subject in SUBJECTS}
    for number in range(rounds):
        for subject in sorted(SUBJECTS, reverse=bool(number % 2)):
            gc.collect()
            taken[subject].append(virtual.run(_made(pods, seed, SUBJECTS[subject]), seed=seed))
    none, other, own = (1e6 * median(taken[subject]) / pods for subject in SUBJECTS)
    return Figures(pods, none, other, own)


async def _made(pods: int, seed: int, resource: str) -> float:
    """Seconds of CPU until all pods are ready, with a webhook about the resource, if any."""
    cluster = Cluster(seed=seed, history=False)
    cluster.network.serve(HOST, _allow)
    client = Client(cluster.transport(master("bench")))
    if resource:
        await client.call(create(MUTATING, "", msgspec.json.encode(_configuration(resource))))
    async with asyncio.TaskGroup() as tasks:
        kubelet = Kubelet(cluster.inside("kubelet"))
        running = [tasks.create_task(work) for work in (cluster.run(), kubelet.run())]
        began = time.process_time()
        for number in range(pods // REPLICAS):
            await client.call(create(STATEFUL_SETS, NAMESPACE, msgspec.json.encode(a_set(f"set-{number}", "1"))))
        await asyncio.sleep(ENOUGH)
        took = time.process_time() - began
        ready = _count_ready(version.body for version in cluster.store.table(PODS).live.values())
        for task in running:
            task.cancel()
    if ready != pods:
        raise RuntimeError(f"{ready} of {pods} pods are ready")
    return took


def _count_ready(bodies: Iterable[bytes]) -> int:
    return sum(
        any(each["type"] == "Ready" and each["status"] == "True" for each in _conditions(body)) for body in bodies
    )


def _conditions(body: bytes) -> list[dict[str, str]]:
    found: list[dict[str, str]] = msgspec.json.decode(body)["status"].get("conditions", [])
    return found


def _configuration(resource: str) -> dict[str, object]:
    rule = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["*"], "resources": [resource]}
    hook = {
        "name": "hook.bench.example.com",
        "clientConfig": {"url": f"https://{HOST}/"},
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return {
        "apiVersion": MUTATING.api_version,
        "kind": MUTATING.kind,
        "metadata": {"name": "bench"},
        "webhooks": [hook],
    }


async def _allow(call: Call) -> Reply:
    review = msgspec.json.decode(call.body)
    response = {"uid": review["request"]["uid"], "allowed": True}
    answer = {"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response}
    return Reply(200, msgspec.json.encode(answer))
