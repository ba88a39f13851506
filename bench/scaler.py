"""The bare scaler: moves the pods of plans as quickly as can be, and keeps no record of it.

    python -m bench.scaler --kubeconfig FILE -n NAMESPACE

One watch on rollouts, one on Deployments. In each batch it raises the target, lowers the source as soon as the target
has its pods ready, and begins the next one as soon as the source has let go of its own. It trusts a Deployment's status
only when that is about what it wrote itself. It claims nothing, writes no status and no events, and would not know
after a restart where it was, so that it is no correct operator: `bench.recording_scaler` is the least of those.
"""

from __future__ import annotations

import asyncio
from itertools import accumulate

import msgspec
from msgspec import Struct

from bench.following import main
from bench.narrow import Listing
from bench.pair_cases import name_of
from bench.pairs import Deployment, Trait, deployment_line, trait_line
from bench.watching import answered, changes, present
from fairlead.contracts.plans.kinds import ROLLOUT_TRAITS
from kubeloop.http_transport import HttpTransport
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH, patch


class Size(Struct, frozen=True):
    """A write: this Deployment gets this size, and its pods come and go."""

    deployment: str
    replicas: int


class Rollout(Struct):
    source: str
    target: str
    goals: tuple[int, ...]
    batch: int = 0


class Scaler:
    """What is seen, and what is to be written next."""

    def __init__(self) -> None:
        self.rollouts: dict[str, Rollout] = {}
        self.deployments: dict[str, Deployment] = {}
        self._least: dict[str, int] = {}
        """Generations below which a Deployment is not seen as it was written."""
        self._writing: set[str] = set()

    def see_trait(self, trait: Trait) -> str:
        name, spec = trait.metadata.name, trait.spec
        if name not in self.rollouts:
            goals = tuple(accumulate(each.replicas for each in spec.rollout_plan.rollout_batches))
            self.rollouts[name] = Rollout(spec.source_ref[0].name, spec.target_ref.name, goals)
        return name

    def see_deployment(self, one: Deployment) -> str:
        self.deployments[one.metadata.name] = one
        return name_of(one.metadata.name)

    def next(self, name: str) -> Size | None:
        """The next write about the rollout, if there is one now; until it is `written` there is no other."""
        rollout = self.rollouts.get(name)
        if rollout is None or name in self._writing:
            return None
        source, target = self._current(rollout.source), self._current(rollout.target)
        if source is None or target is None:
            return None
        size = self._step(rollout, source, target)
        if size is not None:
            self._writing.add(name)
        return size

    def written(self, name: str, result: Deployment) -> None:
        self._writing.discard(name)
        self._least[result.metadata.name] = result.metadata.generation

    def _current(self, name: str) -> Deployment | None:
        found = self.deployments.get(name)
        if found is None or not found.is_observed or found.metadata.generation < self._least.get(name, 0):
            return None
        return found

    @staticmethod
    def _step(rollout: Rollout, source: Deployment, target: Deployment) -> Size | None:
        whole = rollout.goals[-1]
        while rollout.batch < len(rollout.goals):
            goal = rollout.goals[rollout.batch]
            if target.spec.replicas < goal:
                return Size(rollout.target, goal)
            if target.status.ready_replicas < goal:
                return None
            if source.spec.replicas > whole - goal:
                return Size(rollout.source, whole - goal)
            if source.status.replicas > whole - goal:
                return None
            rollout.batch += 1
        return None


async def follow(transport: HttpTransport, namespace: str) -> None:
    """Until cancelled."""
    scaler = Scaler()
    traits = msgspec.json.decode(await present(transport, ROLLOUT_TRAITS, namespace), type=Listing[Trait])
    found = msgspec.json.decode(await present(transport, DEPLOYMENTS, namespace), type=Listing[Deployment])
    names = [*map(scaler.see_trait, traits.items), *map(scaler.see_deployment, found.items)]

    async with asyncio.TaskGroup() as tasks:

        def act(name: str) -> None:
            if (size := scaler.next(name)) is not None:
                tasks.create_task(write(name, size))

        async def write(name: str, size: Size) -> None:
            body = msgspec.json.encode({"spec": {"replicas": size.replicas, "paused": False}})
            answer = await answered(transport, patch(Ref(DEPLOYMENTS, namespace, size.deployment), MERGE_PATCH, body))
            scaler.written(name, msgspec.json.decode(answer, type=Deployment))
            act(name)

        async def watch_traits() -> None:
            async for line in changes(
                transport, ROLLOUT_TRAITS, namespace, traits.metadata.resource_version, trait_line
            ):
                if line.type != "DELETED":
                    act(scaler.see_trait(line.object))

        async def watch_deployments() -> None:
            version = found.metadata.resource_version
            async for line in changes(transport, DEPLOYMENTS, namespace, version, deployment_line):
                if line.type != "DELETED":
                    act(scaler.see_deployment(line.object))

        tasks.create_task(watch_traits())
        tasks.create_task(watch_deployments())
        print("ready", flush=True)
        for name in names:
            act(name)


if __name__ == "__main__":
    main("bench.scaler", "Moves pods from sources to targets, batch by batch.", follow)
