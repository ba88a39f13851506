"""The ideal operator of plans: the least that a correct one must do, which the contract writes down, and nothing else.

    python -m bench.recording_scaler --kubeconfig FILE -n NAMESPACE

It moves pods as the bare scaler does, and does what else plans R-2, R-14, R-20, 2.10 and 2.12 ask of a rollout in
which nothing goes wrong: a finalizer first, a claim on both workloads, a status for every transition with its
condition, an Event for each that has one, and a release at the end. Every write is bound to the version that it was
decided on. It goes on from the answer to a write without waiting for a watch to show it, waits for no Event, and has no
limit on what it does at once. It checks nothing that cannot happen here, and would not know after a restart what to do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from itertools import accumulate, count

import msgspec
from msgspec import Struct

from bench.following import main
from bench.narrow import Listing
from bench.pair_cases import Tree
from bench.pairs import SUCCEEDED, Deployment, Trait, deployment_line, trait_line
from bench.watching import answered, changes, present
from fairlead.contracts.plans.kinds import ORIGINAL, ROLLOUT_TRAITS, TRAIT_FINALIZER
from kubeloop.http_transport import HttpTransport
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.core import EVENTS, NAMESPACES
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH, Request, create, get, patch

CONFLICT = 409
ROLLING = "rollingInBatches"


class Answer(Struct, frozen=True):
    """What became of a write."""

    status: int
    body: bytes = b""


class _Written(Struct, frozen=True):
    metadata: dict[str, object]


class Namespace(Struct, frozen=True):
    name: str
    uid: str


class Ideal:
    """What is seen of one namespace, and the rollouts in it."""

    def __init__(self, namespace: Namespace, send: Callable[[Request], Awaitable[Answer]]) -> None:
        self._namespace, self._send = namespace, send
        self._deployments: dict[str, Deployment] = {}
        self._changed: dict[str, asyncio.Event] = {}
        self._numbers = count()

    def see_deployment(self, one: Deployment) -> None:
        known = self._deployments.get(one.metadata.name)
        if known is None or int(known.metadata.resource_version) < int(one.metadata.resource_version):
            self._deployments[one.metadata.name] = one
            self._changed.setdefault(one.metadata.name, asyncio.Event()).set()

    async def until(self, name: str, holds: Callable[[Deployment], bool]) -> Deployment:
        """The Deployment, once its controller has seen it as it is and it is as wanted."""
        while True:
            one = self._deployments.get(name)
            if one is not None and one.is_observed and holds(one):
                return one
            changed = self._changed.setdefault(name, asyncio.Event())
            changed.clear()
            await changed.wait()

    async def write(self, deployment: str, body: Tree) -> None:
        """Bound to the version that is known; when its controller was faster, once more on what that wrote."""
        while True:
            one = await self.until(deployment, lambda _: True)
            ref = Ref(DEPLOYMENTS, self._namespace.name, deployment, one.metadata.uid)
            answer = await self._patched(ref, body, one.metadata.resource_version)
            if answer.status != CONFLICT:
                self.see_deployment(msgspec.json.decode(answer.body, type=Deployment))
                return
            if self._deployments[deployment] is one:
                self._changed[deployment].clear()
                await self._changed[deployment].wait()

    async def store(self, trait: Trait, version: str, body: Tree, subresource: str = "") -> str:
        """The version that the rollout has then."""
        answer = await self._patched(self.ref(trait), body, version, subresource)
        return str(msgspec.json.decode(answer.body, type=_Written).metadata["resourceVersion"])

    async def tell(self, trait: Trait, reason: str) -> None:
        about = self.ref(trait)
        regarding = {"apiVersion": about.resource.api_version, "kind": about.resource.kind, "name": about.name}
        body = {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": f"{about.name}.{next(self._numbers)}", "namespace": about.namespace},
            "type": "Normal",
            "reason": reason,
            "action": reason,
            "note": reason,
            "regarding": regarding | {"namespace": about.namespace, "uid": about.uid},
            "reportingController": "ideal",
            "reportingInstance": "ideal",
            "eventTime": datetime.now(UTC).isoformat(),
        }
        await self._send(create(EVENTS, about.namespace, msgspec.json.encode(body)))

    def claim(self, trait: Trait, replicas: int) -> Tree:
        """plans R-20, with the guard; `replicas` is what was there before."""
        owner = {"apiVersion": ROLLOUT_TRAITS.api_version, "kind": ROLLOUT_TRAITS.kind}
        owner |= {"name": trait.metadata.name, "uid": trait.metadata.uid}
        guard = {"apiVersion": "v1", "kind": "Namespace", "name": self._namespace.name, "uid": self._namespace.uid}
        owners = [owner | {"controller": True, "blockOwnerDeletion": False}, guard]
        original = msgspec.json.encode({"replicas": replicas}).decode()
        return {"metadata": {"ownerReferences": owners, "annotations": {ORIGINAL: original}}, "spec": {"paused": False}}

    def ref(self, trait: Trait) -> Ref:
        return Ref(ROLLOUT_TRAITS, self._namespace.name, trait.metadata.name, trait.metadata.uid)

    async def _patched(self, ref: Ref, body: Tree, version: str, subresource: str = "") -> Answer:
        request = patch(ref, MERGE_PATCH, msgspec.json.encode(body), subresource, resource_version=version)
        return await self._send(request)


RELEASE: Tree = {"metadata": {"ownerReferences": None, "annotations": {ORIGINAL: None}}}


class Rollout:
    """One rollout from its finalizer to its end."""

    def __init__(self, ideal: Ideal, trait: Trait, tasks: asyncio.TaskGroup) -> None:
        self._ideal, self._trait, self._tasks = ideal, trait, tasks
        self._version = trait.metadata.resource_version
        self._conditions: dict[str, Tree] = {}
        self._sizes = tuple(each.replicas for each in trait.spec.rollout_plan.rollout_batches)
        self._source, self._target = trait.spec.source_ref[0].name, trait.spec.target_ref.name

    async def roll(self) -> None:
        finalizers = {"metadata": {"finalizers": [TRAIT_FINALIZER]}}
        self._version = await self._ideal.store(self._trait, self._version, finalizers)
        whole = sum(self._sizes)
        target, old = _reference(self._target), _reference(self._source)
        names = {"lastTargetRef": target, "lastSourceRef": [old]}
        await self._enter(
            "verifyingSpec", more={**names, "rolloutTargetSize": -1, "currentBatch": 0, "batchStartTime": _now()}
        )
        source = await self._ideal.until(self._source, lambda one: one.has(whole))
        recorded = {
            "rolloutOriginalSize": whole,
            "rolloutTargetSize": whole,
            "effectiveBatches": list(self._sizes),
            "sources": [{"ref": old, "originalReplicas": whole}],
            "targetGeneration": f"{source.metadata.generation:016x}",
        }
        await self._enter("initializing", "RolloutSpecVerifying", "Rollout Verified", more=recorded)
        for deployment, size in ((self._source, whole), (self._target, 0)):
            await self._ideal.write(deployment, self._ideal.claim(self._trait, size))
        await self._enter(ROLLING, "RolloutInitializing", "Rollout Initialized", "batchInitializing")
        for batch, goal in enumerate(accumulate(self._sizes)):
            await self._roll_batch(batch, goal, whole)
        for deployment in (self._source, self._target):
            await self._ideal.write(deployment, RELEASE)
        await self._enter(SUCCEEDED, "RolloutFinalizing", "Rollout Finalized")

    async def _roll_batch(self, batch: int, goal: int, whole: int) -> None:
        await self._enter(ROLLING, batch="batchInRolling")
        await self._ideal.write(self._target, {"spec": {"replicas": goal}})
        await self._ideal.until(self._target, lambda one: one.status.ready_replicas >= goal)
        await self._ideal.write(self._source, {"spec": {"replicas": whole - goal}})
        await self._enter(ROLLING, "RolloutInProgress", "Batch Rollout", "batchVerifying", {"upgradedReplicas": goal})
        await self._ideal.until(self._source, lambda one: one.status.replicas <= whole - goal)
        ready = (await self._ideal.until(self._target, lambda one: one.status.ready_replicas >= goal)).status
        counts = {"upgradedReadyReplicas": ready.ready_replicas, "batchAvailableTime": _now()}
        await self._enter(ROLLING, "BatchVerifying", "Batch Available", "batchFinalizing", counts)
        if goal == whole:
            await self._enter("finalising", "BatchFinalizing", "All batches rolled out", "batchReady")
            return
        await self._enter(ROLLING, "BatchFinalizing", "Batch Finalized", "batchReady")
        following = {"currentBatch": batch + 1, "batchStartTime": _now()}
        await self._enter(ROLLING, "BatchReady", batch="batchInitializing", more=following)

    async def _enter(
        self, state: str, left: str = "", told: str = "", batch: str = "", more: Tree | None = None
    ) -> None:
        """A transition: the condition of the state that is left, the new state, and what people are told."""
        generation = self._trait.metadata.generation
        ends = ("RolloutSucceed",) if state == SUCCEEDED else ()
        for kind in (*filter(None, (left,)), *ends):
            said = {"type": kind, "status": "True", "reason": "Done", "observedGeneration": generation}
            self._conditions[kind] = said | {"lastTransitionTime": _now()}
        stored: Tree = {"rollingState": state, "observedGeneration": generation, **(more or {})}
        stored |= {"batchRollingState": batch} if batch else {}
        stored |= {"conditions": list(self._conditions.values())} if left else {}
        self._version = await self._ideal.store(self._trait, self._version, {"status": stored}, "status")
        if told:
            self._tasks.create_task(self._ideal.tell(self._trait, told))


def _reference(deployment: str) -> Tree:
    return {"apiVersion": DEPLOYMENTS.api_version, "kind": DEPLOYMENTS.kind, "name": deployment}


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


async def follow(transport: HttpTransport, namespace: str) -> None:
    """Until cancelled."""

    async def send(request: Request) -> Answer:
        response = await transport.send(request)
        if response.status >= 400 and response.status != CONFLICT:
            raise RuntimeError(f"{request.doing}: {response.status} {response.body.decode(errors='replace')}")
        return Answer(response.status, response.body)

    own = msgspec.json.decode(await answered(transport, get(Ref(NAMESPACES, "", namespace))), type=_Written)
    ideal = Ideal(Namespace(namespace, str(own.metadata["uid"])), send)
    traits = msgspec.json.decode(await present(transport, ROLLOUT_TRAITS, namespace), type=Listing[Trait])
    found = msgspec.json.decode(await present(transport, DEPLOYMENTS, namespace), type=Listing[Deployment])
    for one in found.items:
        ideal.see_deployment(one)

    async with asyncio.TaskGroup() as tasks:

        async def leave(trait: Trait) -> None:
            await ideal.store(trait, trait.metadata.resource_version, {"metadata": {"finalizers": None}})

        async def watch_traits() -> None:
            version = traits.metadata.resource_version
            known: set[str] = set()
            async for line in changes(transport, ROLLOUT_TRAITS, namespace, version, trait_line):
                trait = line.object
                if line.type == "MODIFIED" and trait.metadata.deletion_timestamp and trait.metadata.name in known:
                    known.discard(trait.metadata.name)
                    tasks.create_task(leave(trait))
                elif line.type == "ADDED":
                    known.add(trait.metadata.name)
                    tasks.create_task(Rollout(ideal, trait, tasks).roll())

        async def watch_deployments() -> None:
            version = found.metadata.resource_version
            async for line in changes(transport, DEPLOYMENTS, namespace, version, deployment_line):
                if line.type != "DELETED":
                    ideal.see_deployment(line.object)

        tasks.create_task(watch_traits())
        tasks.create_task(watch_deployments())
        print("ready", flush=True)


if __name__ == "__main__":
    main("bench.recording_scaler", "Rolls pairs batch by batch, and keeps the record of it.", follow)
