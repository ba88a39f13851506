"""A cluster with zones, operators that are started again when they end, and the means to disturb all of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeAlias, cast

import msgspec
import structlog
from structlog.types import EventDict, FilteringBoundLogger, WrappedLogger

from fairlead.contracts.zones.kinds import GROUP_LABEL, MAX_UNAVAILABLE, NAME_LABEL, PAUSED
from fairlead.contracts.zones.settings import Settings
from fairlead.engine.manager import RESYNC, Manager
from fairlead.engine.metrics import Metrics
from fairlead.engine.options import OperatorOptions
from fairlead.engine.process import assemble
from kubeloop.calls import Reply
from kubeloop.errors import KubeError
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import PODS
from kubeloop.request import MERGE_PATCH
from kubesim.auth.rbac import master
from kubesim.cluster import Cluster
from kubesim.errors import StatusError
from kubesim.kubelet import Kubelet
from kubesim.pods.behaviour import CRASH_AFTER, HANG_TERMINATING, HOLD, IMAGE_PULL, PENDING
from kubesim.store.record import Entry
from kubesim.store.versions import Tree
from tests import invariants
from tests.chaos.doing import in_passes
from tests.chaos.judge import Broken, Judge
from tests.chaos.loop import run, running
from tests.chaos.wire import Wire
from tests.chaos.zone_plans import Setting, ZonePlan
from tests.operator_parts import zones

NAMESPACE = "test"
LEASE = "zones"
OTHERS = "somebody"
STARTING = 4.0
"""Seconds that a process takes to be started: longer than a write of the one before may be under way in the network,
which without a lease is all that keeps the two apart."""
HEALED_WITHIN = 360.0
"""Virtual seconds; a resync, after which everything is seen even if a watch lost it (L2), and a minute to roll."""
MISBEHAVIOUR = (HOLD, CRASH_AFTER, IMAGE_PULL, PENDING, HANG_TERMINATING)


class Process:
    """One life of an operator."""

    def __init__(self, name: str, wire: Wire) -> None:
        self.name = name
        self.wire = wire
        self.manager: Manager | None = None
        self.task: asyncio.Task[None] | None = None
        self.ended: BaseException | None = None
        self.requests: list[asyncio.Task[Reply]] = []
        """What it was asked by others."""

    def die(self) -> None:
        """It sends nothing more, and answers nothing more."""
        self.wire.is_dead = True
        for request in self.requests:
            request.cancel()


class Replica:
    """Keeps one operator running, as a Deployment does; `process` is its present life."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.process: Process | None = None
        self.keeper = asyncio.create_task(self._keep())
        self.cut_off = False

    async def _keep(self) -> None:
        while True:
            self.process = process = self._world.new_process()
            if self.cut_off:
                process.wire.cut()
            process.task = running().start(process.name, self._world.operate(process))
            await asyncio.wait([process.task])
            process.die()
            process.ended = None if process.task.cancelled() else _innermost(process.task.exception())
            self._world.heard_the_end_of(process)
            await asyncio.sleep(STARTING)

    def kill(self) -> None:
        """At once: it cleans nothing up."""
        if self.process is not None and self.process.task is not None:
            self.process.die()
            running().go_on(self.process.name)
            self.process.task.cancel()

    def stop(self) -> None:
        if self.process is not None:
            running().stop_process(self.process.name)

    def go_on(self) -> None:
        if self.process is not None:
            running().go_on(self.process.name)

    def cut(self) -> None:
        self.cut_off = True
        if self.process is not None:
            self.process.wire.cut()

    def mend(self) -> None:
        self.cut_off = False
        if self.process is not None:
            self.process.wire.mend()


class World:
    """Everything of one run."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.cluster = Cluster(
            seed=setting.seed,
            latency=(setting.latency / 4, setting.latency),
            lag=(0.0, setting.lag),
            namespaces=("default", NAMESPACE),
            feature_gates=setting.feature_gates,
        )
        loop = running()
        self.judge = Judge(loop.time, lambda: loop.steps, LEASE if setting.leased else "")
        self.requests: list[str] = []
        """Every request of operators, for telling two runs apart."""
        self.processes: list[Process] = []
        self.replicas: list[Replica] = []
        self.each_process: Callable[[Process], None] = lambda _process: None
        """Called with every new process before it starts."""
        self.settings = Settings()
        self._witness = invariants.Witness(self.is_operator)
        self._names = 0
        self.cluster.history.listen(self._see)

    # The run.

    @asynccontextmanager
    async def running(self) -> AsyncIterator[World]:
        """Cluster and kubelet at work; the zones are there and at rest on their first template, nobody operates."""
        tasks = [asyncio.create_task(work) for work in (self.cluster.run(), self.kubelet().run())]
        try:
            for zone in self.setting.zones:
                self.create(zone)
            await self.until(lambda: not self.judge.unfinished(), 60.0)
            yield self
            for task in tasks:
                assert not task.done(), f"the cluster itself failed: {task.exception()!r}"
        finally:
            tasks += [replica.keeper for replica in self.replicas]
            for replica in self.replicas:
                replica.kill()
                tasks += [replica.process.task] if replica.process and replica.process.task else []
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for process in self.processes:
                await process.wire.close()
        self.check()

    def kubelet(self) -> Kubelet:
        return Kubelet(
            self.cluster.inside("kubelet"),
            ready_after=self.setting.ready_after,
            gone_after=self.setting.gone_after,
            nodes=self.setting.nodes,
        )

    def start(self) -> None:
        for _ in range(self.setting.operators):
            self.replicas.append(Replica(self))

    def check(self) -> None:
        """Raises when an invariant was broken so far."""
        if self.judge.breaches:
            raise Broken(self.judge.breaches[0])

    async def until(self, holds: Callable[[], bool], seconds: float, every: float = 0.1) -> bool:
        """Whether it came to hold in that time; looks ten times a second."""
        deadline = running().time() + seconds
        while not holds():
            self.check()
            if running().time() >= deadline:
                return False
            await asyncio.sleep(every)
        self.check()
        return True

    async def finish(self, seconds: float = HEALED_WITHIN) -> None:
        """L1: raises unless every zone comes to its update revision."""
        if not await self.until(lambda: not self.judge.unfinished(), seconds, every=1.0):
            self.judge.broken("L1", f"after {seconds:g} s {self.judge.unfinished()}")
            self.check()

    # Operators.

    def is_operator(self, user: str) -> bool:
        return user.startswith("operator-")

    def new_process(self) -> Process:
        self._names += 1
        name = f"operator-{self._names}"
        self.judge.begins(name)
        process = Process(name, self.wire(name))
        self.processes.append(process)
        self.each_process(process)
        return process

    def wire(self, name: str) -> Wire:
        transport = self.cluster.transport(master(name))
        return Wire(name, transport, self.cluster.network.call, self.judge, self._note)

    async def operate(self, process: Process) -> None:
        options = OperatorOptions(
            process="fairlead",
            namespaces=(NAMESPACE,),
            interval=self.setting.interval,
            resync=RESYNC,
            lease=LEASE if self.setting.leased else None,
            identity=process.name,
            parts=(zones(self.settings),),
        )
        wire = process.wire
        process.manager = manager = await assemble(options, NAMESPACE, wire, Metrics(), self._logger(), wire.call)
        for lane in manager._lanes:
            lane.rounds.run = in_passes(process.name, lane.rounds.run)  # type: ignore[method-assign, assignment]
        self.assembled(process)
        await manager.run()

    def assembled(self, _process: Process) -> None:
        """An operator is about to run."""

    def heard_the_end_of(self, process: Process) -> None:
        """An operator may end for want of a cluster or of a lease, and for no other reason."""
        if process.ended is not None and not isinstance(process.ended, KubeError):
            self.judge.breaches.append(f"{process.name} ended with {process.ended!r}")

    def leader(self) -> Replica | None:
        """The replica whose process the lease names."""
        for replica in self.replicas:
            if replica.process is not None and replica.process.name == self.judge.holder:
                return replica
        return None

    def _logger(self) -> FilteringBoundLogger:
        def take(_: WrappedLogger, method: str, event: EventDict) -> EventDict:
            if method == "error" and "exc_info" in event:
                self.judge.breaches.append(f"an operator made a mistake: {dict(event)!r}")
            raise structlog.DropEvent

        level = structlog.make_filtering_bound_logger(40)
        return cast("FilteringBoundLogger", structlog.wrap_logger(None, processors=[take], wrapper_class=level))

    def _note(self, line: str) -> None:
        self.requests.append(f"{running().time():.6f} {line}")

    def _see(self, entry: Entry) -> None:
        self.judge.see(entry)
        if self.setting.strict:
            event = invariants.Event(entry.resource.plural, entry.type, entry.new, entry.user, entry.at.timestamp())
            try:
                self._witness.see(event)
            except AssertionError as broken:
                self.judge.breaches.append(str(broken))

    # What others do.

    def create(self, zone: ZonePlan, image: int = 1) -> None:
        annotations = {} if zone.budget is None else {MAX_UNAVAILABLE: zone.budget}
        labels = {NAME_LABEL: zone.name}
        tree: Tree = {
            "metadata": {"name": zone.name, "labels": {GROUP_LABEL: zone.group}, "annotations": annotations},
            "spec": {
                "serviceName": zone.group,
                "replicas": zone.replicas,
                "podManagementPolicy": zone.policy,
                "selector": {"matchLabels": labels},
                "updateStrategy": {"type": "OnDelete"},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "main", "image": f"image:{image}"}]},
                },
            },
        }
        with suppress(StatusError):
            self.cluster.verbs.create(STATEFULSETS, NAMESPACE, self.equipped(zone, tree), user=OTHERS)

    def equipped(self, _zone: ZonePlan, tree: Tree) -> Tree:
        """The StatefulSet of a zone with all that this world gives to it."""
        return tree

    def change(self, name: str, tree: Tree) -> None:
        """A merge patch of a StatefulSet, if there is one."""
        with suppress(StatusError):
            body = msgspec.json.encode(tree)
            self.cluster.verbs.patch(STATEFULSETS, NAMESPACE, name, MERGE_PATCH, body, user=OTHERS)

    def deploy(self, name: str, image: int, broken: str = "") -> None:
        """Another template; pods of a broken one misbehave in that way."""
        behaviour: Tree = dict.fromkeys(MISBEHAVIOUR)
        if broken:
            behaviour[broken] = "fail" if broken == IMAGE_PULL else "true"
        containers = [{"name": "main", "image": f"image:{image}"}]
        template = {"metadata": {"annotations": behaviour}, "spec": {"containers": containers}}
        self.change(name, {"spec": {"template": template}})

    def deploy_all(self, image: int) -> None:
        for zone in self.setting.zones:
            self.deploy(zone.name, image)

    def scale(self, name: str, replicas: int) -> None:
        self.change(name, {"spec": {"replicas": replicas}})

    def annotate(self, name: str, key: str, value: str | None) -> None:
        self.change(name, {"metadata": {"annotations": {key: value}}})

    def set_strategy(self, name: str, strategy: str) -> None:
        rolling = {"partition": 0} if strategy == "RollingUpdate" else None
        self.change(name, {"spec": {"updateStrategy": {"type": strategy, "rollingUpdate": rolling}}})

    def recreate(self, zone: ZonePlan, propagation: str) -> None:
        with suppress(StatusError):
            self.cluster.verbs.delete(STATEFULSETS, NAMESPACE, zone.name, propagation=propagation, user=OTHERS)
        self.create(zone)

    def pods(self) -> list[str]:
        return sorted(name for (where, name), _ in self.judge.truth.pods.items() if where == NAMESPACE)

    def kill_pod(self, name: str, *, grace: int | None = None) -> None:
        with suppress(StatusError):
            self.cluster.verbs.delete(PODS, NAMESPACE, name, grace=grace, user=OTHERS)

    def evict(self, name: str) -> None:
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": NAMESPACE}}
        with suppress(StatusError):
            self.cluster.verbs.evict(NAMESPACE, name, eviction, user=OTHERS)

    def misbehave(self, name: str, behaviour: str | None) -> None:
        """The pod holds, crashes or does neither any more."""
        annotations: Tree = dict.fromkeys(MISBEHAVIOUR)
        if behaviour is not None:
            annotations[behaviour] = {CRASH_AFTER: "2s", IMAGE_PULL: "fail"}.get(behaviour, "true")
        with suppress(StatusError):
            body = msgspec.json.encode({"metadata": {"annotations": annotations}})
            self.cluster.verbs.patch(PODS, NAMESPACE, name, MERGE_PATCH, body, user=OTHERS)

    def heal(self) -> None:
        """Nothing is in the way of a rollout any more: neither faults nor pauses nor pods and templates that fail."""
        for replica in self.replicas:
            replica.go_on()
            replica.mend()
            if replica.process is not None:
                wire = replica.process.wire
                wire.plan.clear()
                for plural in ("pods", "statefulsets"):
                    wire.faulty.thaw(plural)
        for zone in self.setting.zones:
            self.create(zone)
            self.change(zone.name, {"metadata": {"labels": {GROUP_LABEL: zone.group}}})
            self.annotate(zone.name, PAUSED, None)
            self.set_strategy(zone.name, "OnDelete")
            template = {"metadata": {"annotations": dict.fromkeys(MISBEHAVIOUR)}}
            self.change(zone.name, {"spec": {"template": template}})
        self.heal_pods()

    def heal_pods(self) -> None:
        """No pod misbehaves; one that is made from an old template in the next moment may."""
        for name in self.pods():
            self.misbehave(name, None)


def _innermost(error: BaseException | None) -> BaseException | None:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


Scenario: TypeAlias = Callable[[World], Coroutine[Any, Any, None]]


def play(
    setting: Setting, scenario: Scenario, *, steps: int | None = None, of: Callable[[Setting], World] | None = None
) -> World:
    """Runs a scenario in a world of its own, of the setting's seed."""

    async def main() -> World:
        world = (of or World)(setting)
        async with world.running():
            await scenario(world)
        return world

    return run(main(), seed=setting.seed, steps=steps)


_FINE: list[tuple[object, Setting]] = []
"""Stories that were played to their end, each with its setting."""


def play_once(story: object, setting: Setting, scenario: Scenario, *, of: Callable[[Setting], World]) -> None:
    """Plays the scenario of a story, unless it was played in an equal setting before, and ended well."""
    if (story, setting) not in _FINE:
        play(setting, scenario, of=of)
        _FINE.append((story, setting))
