"""Sees pairs of Deployments from outside, by watches of its own: when a rollout is over, and what it broke.

Every change is kept, and the invariants of a pair are judged afterwards in the order of resource versions, which is the
order in which the store committed them.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from enum import Enum
from typing import TypeAlias

import msgspec
from msgspec import Struct

from bench.groups import Pod
from bench.narrow import Line, Listing, Meta
from bench.pair_cases import APP, Case, name_of, source_of, target_of
from bench.watching import changes, present
from fairlead.contracts.plans.kinds import ROLLOUT_TRAITS
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.core import PODS
from kubeloop.request import Transport

SUCCEEDED, FAILED, READY = "rolloutSucceed", "rolloutFailed", "batchReady"


class Sizes(Struct, frozen=True):
    replicas: int = 1
    paused: bool = False


class Counts(Struct, frozen=True, rename="camel"):
    observed_generation: int = 0
    replicas: int = 0
    ready_replicas: int = 0


class Deployment(Struct, frozen=True):
    metadata: Meta
    spec: Sizes = Sizes()
    status: Counts = Counts()

    @property
    def is_observed(self) -> bool:
        return self.status.observed_generation >= self.metadata.generation

    def has(self, replicas: int) -> bool:
        """Whether its controller has seen that size, and all pods of it are ready."""
        status = self.status
        return self.is_observed and self.spec.replicas == status.replicas == status.ready_replicas == replicas


class Named(Struct, frozen=True):
    name: str


class Batch(Struct, frozen=True):
    replicas: int


class Plan(Struct, frozen=True, rename="camel"):
    rollout_batches: tuple[Batch, ...]


class TraitSpec(Struct, frozen=True, rename="camel"):
    target_ref: Named
    source_ref: tuple[Named, ...]
    rollout_plan: Plan


class TraitStatus(Struct, frozen=True, rename="camel"):
    rolling_state: str = ""
    batch_rolling_state: str = ""
    current_batch: int = 0


class Trait(Struct, frozen=True):
    metadata: Meta
    spec: TraitSpec
    status: TraitStatus = TraitStatus()


class Ending(Enum):
    """What is waited for."""

    PREPARED = "its source is ready and its target is seen"
    MOVED = "all pods are the target's"
    SUCCEEDED = "and its status says so"
    AT_GATE = "it waits after its first batch"
    TAKEN_UP = "it has a state"
    GONE = "nothing is left of the rollout"


class Sized(Struct, frozen=True):
    version: int
    deployment: str
    replicas: int


class Stood(Struct, frozen=True):
    """A pod, and whether it is ready and stays."""

    version: int
    deployment: str
    pod: str
    ready: bool


class Counted(Struct, frozen=True):
    version: int
    name: str
    batch: int


Event: TypeAlias = Sized | Stood | Counted


class Observer:
    def __init__(self, case: Case) -> None:
        self.events: list[Event] = []
        self.rollout_changes: dict[str, int] = defaultdict(int)
        """Changes of each rollout object."""
        self.failed: set[str] = set()
        self._case = case
        self._size = case.size
        self._traits: dict[str, Trait] = {}
        self._deployments: dict[str, Deployment] = {}
        self._endings: Mapping[str, Ending] = {}
        self._open: set[str] = set()
        self._complete = asyncio.Event()
        self._complete_at = 0.0

    @property
    def unfinished(self) -> list[str]:
        return sorted(self._open)

    def expect(self, names: Iterable[str], ending: Ending, size: int | None = None) -> None:
        """From now on these are waited for; `size` is that of their pairs, where it is not the case's."""
        self._endings = dict.fromkeys(names, ending)
        self._size = self._case.size if size is None else size
        self._open = {name for name in self._endings if not self._is_over(name)}
        self._complete.clear()
        self._look_at("")

    def moved(self, names: Iterable[str]) -> int:
        """How many of them have pods at their target, or are to have some."""
        found = [self._deployments.get(target_of(name)) for name in names]
        return sum(each is not None and each.spec.replicas > 0 for each in found)

    async def complete(self) -> float:
        """When, on the monotonic clock, the last one was seen to be over, or to have failed."""
        await self._complete.wait()
        return self._complete_at

    def see_trait(self, line: Line[Trait]) -> None:
        trait = line.object
        name = trait.metadata.name
        if line.type == "DELETED":
            self._traits.pop(name, None)
        else:
            self._traits[name] = trait
            self.rollout_changes[name] += 1
            self.events.append(Counted(int(trait.metadata.resource_version), name, trait.status.current_batch))
            if trait.status.rolling_state == FAILED:
                self.failed.add(name)
        self._look_at(name)

    def see_deployment(self, line: Line[Deployment]) -> None:
        one = line.object
        name = one.metadata.name
        if line.type == "DELETED":
            self._deployments.pop(name, None)
        else:
            self._deployments[name] = one
            self.events.append(Sized(int(one.metadata.resource_version), name, one.spec.replicas))
        self._look_at(name_of(name))

    def see_pod(self, line: Line[Pod]) -> None:
        meta, ready = line.object.metadata, line.object.is_ready and line.type != "DELETED"
        self.events.append(Stood(int(meta.resource_version), meta.labels.get(APP, ""), meta.name, ready))

    def _look_at(self, name: str) -> None:
        if name in self._open and (name in self.failed or self._is_over(name)):
            self._open.discard(name)
        if not self._open and self._endings and not self._complete.is_set():
            self._complete_at = time.monotonic()
            self._complete.set()

    def _is_over(self, name: str) -> bool:
        trait = self._traits.get(name)
        state = None if trait is None else trait.status
        match self._endings[name]:
            case Ending.PREPARED:
                return self._has(name, self._size, 0)
            case Ending.MOVED:
                return self._has(name, 0, self._size)
            case Ending.SUCCEEDED:
                return state is not None and state.rolling_state == SUCCEEDED and self._has(name, 0, self._size)
            case Ending.AT_GATE:
                return state is not None and state.batch_rolling_state == READY
            case Ending.TAKEN_UP:
                return state is not None and state.rolling_state != ""
            case Ending.GONE:
                return trait is None

    def _has(self, name: str, old: int, new: int) -> bool:
        source, target = self._deployments.get(source_of(name)), self._deployments.get(target_of(name))
        return source is not None and target is not None and source.has(old) and target.has(new)


class Verdict(Struct, frozen=True):
    """Moments at which an invariant did not hold."""

    sums: int = 0
    """plans I-1: sizes that add up to fewer pods than there shall be, or to more than one batch beyond them."""
    turns: int = 0
    """plans I-2: a target that shrinks, a source that grows, a batch that is gone back from."""
    outages: int = 0
    """plans I-4: a source that is lowered while too few pods of the pair are ready for it."""

    @property
    def violations(self) -> int:
        return self.sums + self.turns + self.outages


def judge(events: Iterable[Event], names: Iterable[str], case: Case) -> Verdict:
    """Of these rollouts, by their Deployments, their pods and what their status counts."""
    pairs = {name: _Pair(name, case) for name in names}
    for event in sorted(events, key=lambda each: each.version):
        name = event.name if isinstance(event, Counted) else name_of(event.deployment)
        if name in pairs:
            pairs[name].see(event)
    sums, turns, outages = (sum(counts) for counts in zip(*(each.counts for each in pairs.values()), strict=True))
    return Verdict(sums, turns, outages)


class _Pair:
    def __init__(self, name: str, case: Case) -> None:
        self._source, self._target, self._case = source_of(name), target_of(name), case
        self._sizes: dict[str, int] = {}
        self._ready: dict[str, set[str]] = defaultdict(set)
        self._batch = 0
        self.counts = [0, 0, 0]

    def see(self, event: Event) -> None:
        match event:
            case Stood():
                pods = self._ready[event.deployment]
                if event.ready:
                    pods.add(event.pod)
                else:
                    pods.discard(event.pod)
            case Counted():
                self.counts[1] += event.batch < self._batch
                self._batch = event.batch
            case Sized():
                before = self._sizes.get(event.deployment)
                self._sizes[event.deployment] = event.replicas
                if before is not None and before != event.replicas:
                    self._sized(event, before)

    def _sized(self, event: Sized, before: int) -> None:
        whole = self._case.size
        self.counts[0] += not whole <= sum(self._sizes.values()) <= whole + self._case.step
        is_source = event.deployment == self._source
        self.counts[1] += (event.replicas > before) if is_source else (event.replicas < before)
        if is_source:
            left = min(len(self._ready[self._source]), event.replicas) + len(self._ready[self._target])
            self.counts[2] += left < whole


_traits = msgspec.json.Decoder(Listing[Trait]).decode
_deployments = msgspec.json.Decoder(Listing[Deployment]).decode
trait_line = msgspec.json.Decoder(Line[Trait]).decode
deployment_line = msgspec.json.Decoder(Line[Deployment]).decode
_pod_line = msgspec.json.Decoder(Line[Pod]).decode


@asynccontextmanager
async def observing(transport: Transport, namespace: str, case: Case) -> AsyncIterator[Observer]:
    """Watches an empty namespace while the context lasts; a watch that breaks ends what runs inside with an error."""
    observer = Observer(case)
    version = _deployments(await present(transport, DEPLOYMENTS, namespace)).metadata.resource_version
    traits = _traits(await present(transport, ROLLOUT_TRAITS, namespace)).metadata.resource_version

    async def watch_traits() -> None:
        async for line in changes(transport, ROLLOUT_TRAITS, namespace, traits, trait_line):
            observer.see_trait(line)

    async def watch_deployments() -> None:
        async for line in changes(transport, DEPLOYMENTS, namespace, version, deployment_line):
            observer.see_deployment(line)

    async def watch_pods() -> None:
        async for line in changes(transport, PODS, namespace, version, _pod_line):
            observer.see_pod(line)

    async with asyncio.TaskGroup() as tasks:
        watches = [tasks.create_task(watch()) for watch in (watch_traits, watch_deployments, watch_pods)]
        try:
            yield observer
        finally:
            for task in watches:
                task.cancel()
