"""The ideal operator is correct: what it writes about a rollout, in which order, and what it waits for."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from bench.pair_cases import Case, rollout
from bench.pairs import Deployment, Trait
from bench.recording_scaler import CONFLICT, Answer, Ideal, Namespace, Rollout
from kubeloop.request import Request

NAME, OLD, NEW = "pair-000", "pair-000-old", "pair-000-new"


class FakeCluster:
    """Two Deployments of a pair, whose pods are ready at once unless they are held back."""

    def __init__(self) -> None:
        self.ideal = Ideal(Namespace("default", "n"), self.send)
        self.states: list[str] = []
        self.sizes: list[tuple[str, int]] = []
        self.reasons: list[str] = []
        self.owners: list[tuple[str, bool]] = []
        self.conflicts = 0
        self.holds = ""
        """A Deployment whose pods do not follow its size."""
        self._version = 10
        self._size = {OLD: 4, NEW: 0}
        self._pods = dict(self._size)
        for name in self._size:
            self.ideal.see_deployment(self.deployment(name))

    def deployment(self, name: str) -> Deployment:
        self._version += 1
        counts = {"observedGeneration": 1, "replicas": self._pods[name], "readyReplicas": self._pods[name]}
        meta = {"name": name, "uid": name, "resourceVersion": str(self._version), "generation": 1}
        return msgspec.convert({"metadata": meta, "spec": {"replicas": self._size[name]}, "status": counts}, Deployment)

    async def send(self, request: Request) -> Answer:
        await asyncio.sleep(0)
        body = msgspec.json.decode(request.body)
        name = request.path.split("/")[-1]
        if name in self._size:
            return self._resized(name, body)
        if request.path.endswith("/status"):
            status = body["status"]
            self.states.append(f"{status['rollingState']} {status.get('batchRollingState', '')}".strip())
        elif request.method == "POST":
            self.reasons.append(body["reason"])
        self._version += 1
        return Answer(200, msgspec.json.encode({"metadata": {"resourceVersion": str(self._version)}}))

    def release(self) -> None:
        name, self.holds = self.holds, ""
        self._pods[name] = self._size[name]
        self.ideal.see_deployment(self.deployment(name))

    def _resized(self, name: str, body: Any) -> Answer:
        if self.conflicts:
            self.conflicts -= 1
            self.ideal.see_deployment(self.deployment(name))
            return Answer(CONFLICT)
        if "ownerReferences" in body["metadata"]:
            self.owners.append((name, body["metadata"]["ownerReferences"] is not None))
        if "replicas" in body.get("spec", {}):
            self._size[name] = body["spec"]["replicas"]
            self.sizes.append((name, self._size[name]))
        if name != self.holds:
            self._pods[name] = self._size[name]
        one = self.deployment(name)
        return Answer(200, msgspec.json.encode(one))


def a_trait() -> Trait:
    """Of four pods in two batches."""
    tree = rollout(NAME, Case("x", pairs=1, size=4, batches=2))
    tree["metadata"] |= {"uid": "u", "resourceVersion": "1", "generation": 1}
    return msgspec.convert(tree, Trait)


async def rolling(cluster: FakeCluster) -> None:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(Rollout(cluster.ideal, a_trait(), tasks).roll())


def rolled(conflicts: int = 0) -> FakeCluster:
    cluster = FakeCluster()
    cluster.conflicts = conflicts
    asyncio.run(rolling(cluster))
    return cluster


def held(deployment: str) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """What is resized while the pods of a Deployment do not follow, and all that is in the end."""

    async def scenario() -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
        cluster = FakeCluster()
        cluster.holds = deployment
        task = asyncio.create_task(rolling(cluster))
        for _ in range(100):
            await asyncio.sleep(0)
        before = list(cluster.sizes)
        cluster.release()
        await task
        return before, cluster.sizes

    return asyncio.run(scenario())


def test_every_transition_of_the_contract_is_stored() -> None:
    batch = [f"rollingInBatches {state}" for state in ("batchInRolling", "batchVerifying", "batchFinalizing")]
    between = ["rollingInBatches batchReady", "rollingInBatches batchInitializing"]
    begun = ["verifyingSpec", "initializing", "rollingInBatches batchInitializing"]

    assert rolled().states == [*begun, *batch, *between, *batch, "finalising batchReady", "rolloutSucceed"]


def test_batches_go_up_before_they_go_down() -> None:
    assert rolled().sizes == [(NEW, 2), (OLD, 2), (NEW, 4), (OLD, 0)]


def test_both_workloads_are_claimed_first_and_released_last() -> None:
    assert rolled().owners == [(OLD, True), (NEW, True), (OLD, False), (NEW, False)]


def test_every_event_of_the_contract_is_told() -> None:
    batch = ["Batch Rollout", "Batch Available"]
    begun, ended = ["Rollout Verified", "Rollout Initialized"], ["All batches rolled out", "Rollout Finalized"]

    assert rolled().reasons == [*begun, *batch, "Batch Finalized", *batch, *ended]


def test_the_source_waits_for_the_pods_of_the_target() -> None:
    before, sizes = held(NEW)

    assert (before, sizes[1]) == ([(NEW, 2)], (OLD, 2))


def test_the_next_batch_waits_until_the_source_has_let_go() -> None:
    before, sizes = held(OLD)

    assert (before, sizes[2]) == ([(NEW, 2), (OLD, 2)], (NEW, 4))


def test_a_write_that_somebody_else_outran_is_made_on_what_is_there_then() -> None:
    assert rolled(conflicts=3).sizes == [(NEW, 2), (OLD, 2), (NEW, 4), (OLD, 0)]
