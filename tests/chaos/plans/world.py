"""A world with rollouts by plans: workloads, operators with a lease, hooks, and people who edit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec

from fairlead.contracts.plans.contract import CONTRACT
from fairlead.contracts.plans.install.definitions import definitions as all_definitions
from fairlead.contracts.plans.kinds import CLONE_SETS, DAEMON_SETS, ROLLOUT_TRAITS
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.engine.assembly import assemble
from fairlead.engine.manager import RESYNC
from fairlead.engine.metrics import Metrics
from fairlead.engine.options import OperatorOptions, PartOptions
from kubeloop import request
from kubeloop.calls import Call, Reply
from kubeloop.client import Client
from kubeloop.objects.apps import DEPLOYMENTS, STATEFULSETS
from kubeloop.objects.core import SERVICES
from kubeloop.objects.meta import Resource
from kubeloop.request import MERGE_PATCH, Request, Response, place_of
from kubesim.auth.rbac import master
from kubesim.errors import StatusError
from kubesim.kubelet import Kubelet
from kubesim.standins.cloneset import CloneSets
from kubesim.standins.cloneset_definition import DEFINITION
from kubesim.standins.route_definitions import HTTP_ROUTE_DEFINITION
from kubesim.standins.route_rules import HTTP_ROUTES
from kubesim.store.record import Entry
from kubesim.store.versions import Tree
from tests.chaos.doing import doing, in_passes
from tests.chaos.loop import running
from tests.chaos.plans.facts import BATCH_READY, ENDED, SUCCEEDED
from tests.chaos.plans.outside import (
    GOOD,
    METRIC_TEMPLATES,
    PROMETHEUS,
    FakePrometheus,
    a_metric,
    a_route,
    a_template,
    routing,
)
from tests.chaos.plans.referee import OTHERS, RolloutReferee, condition_of
from tests.chaos.wire import Wire
from tests.chaos.world import NAMESPACE, Process, World
from tests.chaos.zone_plans import Setting
from tests.e2e.plan_play import a_deployment, pods_of, reference
from tests.e2e.plans import definitions

LEASE = "kubevela"
HOOKS = "hooks.example.test"
WATCHED = ("rollouttraits", "approllouts", "deployments", "statefulsets", "clonesets", "daemonsets", "pods")
HEALED_WITHIN = 1500.0
"""Virtual seconds: the longest waits after errors, the patience of a revert, and a rollout."""
AT_REST = 60.0
RESOURCES = {
    "pair": DEPLOYMENTS,
    "revisions": DEPLOYMENTS,
    "scale": DEPLOYMENTS,
    "ordinals": STATEFULSETS,
    "partition": CLONE_SETS,
    "nodes": DAEMON_SETS,
}
FROZEN = ("ordinals", "partition", "nodes")
"""Kinds whose newest template no pod gets before a rollout lets it."""
SETTINGS = PlanSettings(registers_kinds=False)


class RolledSetting(Setting, frozen=True):
    kind: str = "pair"
    size: int = 5
    batches: tuple[int | None, ...] = (1, 2, None)
    """Sizes; None takes the rest."""
    strategy: str = "IncreaseFirst"
    gate: int | None = None
    hooked: bool = False
    routed: bool = False
    """Whether a pair is behind a route."""
    measured: bool = False
    """Whether each batch has a metric."""
    tolerance: int = 0
    more: dict[str, Any] = {}
    """Fields of the plan."""

    @property
    def resource(self) -> Resource:
        return RESOURCES[self.kind]

    @property
    def workloads(self) -> tuple[str, ...]:
        if self.kind == "revisions":
            return ("web-v1", "web-v2", "web-v3")
        return ("d1", "d2", "d3") if self.kind == "pair" else ("w",)


def image(number: int) -> str:
    return f"example.test/main:{number}"


class RolledWire(Wire):
    """Kinds of workloads are listed once a pass wants them, and that list is kept."""

    async def _read(self, request: Request) -> Response:
        response = await super()._read(request)
        plural = place_of(request.path).plural
        if request.verb == "list" and plural in WATCHED and response.status == 200:
            version = msgspec.json.decode(response.body)["metadata"]["resourceVersion"]
            self._judge.told(self._process, plural, int(version))
        return response


class RolledWorld(World):
    setting: RolledSetting
    judge: RolloutReferee
    rollouts: Resource = ROLLOUT_TRAITS
    """What is rolled by."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        assert isinstance(setting, RolledSetting)
        self.setting = setting
        loop = running()
        self.judge = RolloutReferee(loop.time, lambda: loop.steps, LEASE, self.rollouts.plural)
        self.harmed = False
        """Whether somebody did what makes a rollout fail."""
        self.answer: int | None = 200
        """Of hooks; None: they hang."""
        self.metrics = FakePrometheus()
        self.judge.routes.looks = self.metrics.looks
        self.cluster.network.serve(HOOKS, self._hook)
        self.cluster.network.serve(PROMETHEUS, self.metrics.answer)
        self._images = 1
        self._clone_sets: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[World]:
        people = self.cluster.transport(master(OTHERS))
        for tree in (*self.definitions(), DEFINITION, *_outside()):
            made = await people.send(request.create(_resource(tree), "", msgspec.json.encode(tree)))
            assert made.status == 201, made.body
        await asyncio.sleep(1)  # until they are served
        async with super().running():
            self.start_clone_sets()
            try:
                yield self
            finally:
                await self.stop_clone_sets()

    def definitions(self) -> tuple[Tree, ...]:
        return definitions()

    def kubelet(self) -> Kubelet:
        """A DaemonSet is as large as there are nodes."""
        setting = self.setting
        return Kubelet(
            self.cluster.inside("kubelet"),
            ready_after=setting.ready_after,
            gone_after=setting.gone_after,
            nodes=setting.size if setting.kind == "nodes" else 3,
        )

    def start_clone_sets(self) -> None:
        client = Client(self.cluster.transport(master("clonesets")))
        self._clone_sets = asyncio.create_task(CloneSets(client, namespace=NAMESPACE).run())

    async def stop_clone_sets(self) -> None:
        """Their controller does nothing until it is started again."""
        if self._clone_sets is not None:
            self._clone_sets.cancel()
            await asyncio.gather(self._clone_sets, return_exceptions=True)

    def _see(self, entry: Entry) -> None:
        self.judge.see(entry)

    # Operators.

    def wire(self, name: str) -> Wire:
        transport = self.cluster.transport(master(name))
        return RolledWire(name, transport, self.cluster.network.call, self.judge, self._note)

    async def operate(self, process: Process) -> None:
        options = OperatorOptions(
            process="vela-core",
            identity=process.name,
            namespaces=(NAMESPACE,),
            parts=(PartOptions(CONTRACT, SETTINGS),),
            lease=LEASE,
            resync=RESYNC,
        )
        wire = process.wire
        process.manager = manager = await assemble(options, NAMESPACE, wire, Metrics(), self._logger(), wire.call)
        for lane in manager._lanes:
            run = self._judged(process, lane.rounds.run)
            lane.rounds.run = in_passes(process.name, run)  # type: ignore[method-assign, assignment]
        await manager.run()

    def _judged(
        self, process: Process, run: Callable[[Any], Coroutine[Any, Any, float | None]]
    ) -> Callable[[Any], Coroutine[Any, Any, float | None]]:
        async def judged(key: Any) -> float | None:
            self.judge.round_begins(process.name, doing(), key[1])
            return await run(key)

        return judged

    async def _hook(self, call: Call) -> Reply:
        body = msgspec.json.decode(call.body)
        status = self.answer
        about = (body["name"], body["metadata"]["type"])
        if status is None:
            self.judge.hook(*about, accepted=False)
            await asyncio.Event().wait()
        self.judge.hook(*about, accepted=status == 200)
        return Reply(status or 0)

    # People.

    async def begin(self) -> None:
        """Operators are at work, the workloads are settled, and the first rollout is asked for."""
        await self.settle()
        self.roll()

    async def settle(self) -> None:
        for name in self.setting.workloads:
            self.make(name)
            if self.setting.routed:
                spec = {"selector": {"app": name}, "ports": [{"port": 80}]}
                self.put(SERVICES, {"metadata": {"name": name}, "spec": spec})
        self.put(METRIC_TEMPLATES, a_template())
        self.make_route()
        assert await self.until(self._settled, 60.0)
        if self.setting.kind in FROZEN:
            self.freeze()
            await asyncio.sleep(2)
        self.start()

    def make(self, name: str) -> None:
        size = self.setting.size
        if self.setting.kind == "pair":
            tree = a_deployment(name, size if name == "d1" else 0, image(int(name[1])), paused=name != "d1")
        elif self.setting.kind == "scale":
            tree = a_deployment(name, 2, image(1))
        else:
            spec = {"replicas": size, **pods_of(name, image(1))}
            if self.setting.kind == "nodes":
                del spec["replicas"]
            if self.setting.kind == "ordinals":
                spec |= {"serviceName": name, "podManagementPolicy": "Parallel"}
            tree = {"metadata": {"name": name}, "spec": spec}
        self.put(self.setting.resource, tree)

    def make_route(self) -> None:
        if self.setting.routed:
            self.put(HTTP_ROUTES, a_route(d1=100))

    def freeze(self) -> None:
        """Another template, which no pod gets before a rollout lets it."""
        self._images += 1
        live = self.judge.record.workload(self.setting.resource.plural, "w")
        size = self.setting.size if live is None else live.size
        strategy: Tree = {"type": "RollingUpdate", "rollingUpdate": {"partition": size}}
        if self.setting.kind == "partition":
            strategy = {"paused": True}
        if self.setting.kind == "nodes":
            strategy = {"type": "OnDelete", "rollingUpdate": None}
        self.patch(
            self.setting.resource,
            "w",
            {"spec": {"updateStrategy": strategy, "template": pods_of("w", image(self._images))["template"]}},
        )

    def roll(self, name: str = "r", **more: Any) -> None:
        """A rollout, of d2 after d1 where there are two workloads."""
        plan = self.plan()
        spec: Tree = {"targetRef": self.reference("w"), "rolloutPlan": {**plan, **more}}
        if self.setting.kind == "pair":
            spec |= {"targetRef": self.reference("d2"), "sourceRef": [self.reference("d1")]}
        if self.setting.routed:
            spec["rolloutPlan"]["trafficRouting"] = routing("d1", "d2")
        if self.setting.kind == "scale":
            spec["rolloutPlan"].setdefault("targetSize", self.setting.size + 2)
        self.put(ROLLOUT_TRAITS, {"metadata": {"name": name}, "spec": spec})

    def plan(self) -> Tree:
        setting = self.setting
        batches = [self._batch(size) for size in setting.batches]
        gate = {} if setting.gate is None else {"lastBatchToRollout": setting.gate}
        return {"rolloutStrategy": setting.strategy, "rolloutBatches": batches, **gate, **setting.more}

    def _batch(self, size: int | None) -> Tree:
        found: Tree = {} if size is None else {"replicas": size}
        if self.setting.tolerance:
            found["maxUnavailable"] = self.setting.tolerance
        if self.setting.measured:
            found["canaryMetric"] = [a_metric()]
        if self.setting.hooked:
            found["batchRolloutWebhooks"] = [
                {
                    "type": kind,
                    "name": kind,
                    "url": f"http://{HOOKS}/",
                    "timeout": "2s",
                    "metadata": {"type": kind},
                }
                for kind in ("pre-batch-rollout", "post-batch-rollout")
            ]
        return found

    def reference(self, name: str) -> Tree:
        return reference(name, self.setting.resource)

    def spec(self, name: str = "r") -> Tree | None:
        tree = self.judge.record.trees.get((self.rollouts.plural, name))
        return None if tree is None else tree["spec"]

    def edit(self, spec: Tree, name: str = "r") -> None:
        self.patch(self.rollouts, name, {"spec": spec})

    def remove(self, resource: Resource, name: str, propagation: str = "") -> None:
        with suppress(StatusError):
            self.cluster.verbs.delete(resource, NAMESPACE, name, propagation=propagation, user=OTHERS)

    def put(self, resource: Resource, tree: Tree) -> None:
        with suppress(StatusError):
            self.cluster.verbs.create(resource, NAMESPACE, tree, user=OTHERS)

    def patch(self, resource: Resource, name: str, tree: Tree) -> None:
        with suppress(StatusError):
            body = msgspec.json.encode(tree)
            self.cluster.verbs.patch(resource, NAMESPACE, name, MERGE_PATCH, body, user=OTHERS)

    def pods(self) -> list[str]:
        return sorted(self.judge.record.pods)

    def _settled(self) -> bool:
        found = self.judge.record.workloads
        wanted = {(self.setting.resource.plural, each) for each in self.setting.workloads}
        if self.setting.kind == "nodes" and self.judge.record.ready("w") < self.setting.size:
            return False  # it names no size that its pods could be compared with
        return set(found) >= wanted and all(
            each[-1].is_observed and (each[-1].pods == each[-1].size == self.judge.record.ready(each[-1].name))
            for each in found.values()
        )

    # The end.

    def heal(self) -> None:
        """Nothing is in the way any more, gates are open, and what was deleted is there again."""
        for replica in self.replicas:
            replica.go_on()
            replica.mend()
            if replica.process is not None:
                wire = replica.process.wire
                wire.plan.clear()
                wire.at_effect = wire.after_effect = None
                for plural in WATCHED:
                    wire.faulty.thaw(plural)
        self.answer, self.metrics.says = 200, GOOD
        self.make_route()
        self.heal_pods()
        for name in self.setting.workloads:
            self.make(name)
        self.roll()
        self.edit({"rolloutPlan": {"paused": False, "lastBatchToRollout": None, "batchPartition": None}})

    async def finish(self, seconds: float = HEALED_WITHIN) -> None:
        """L-1 to L-5: an attempt that nobody harmed succeeds, and any other one ends."""
        if not await self.until(lambda: not self.left(), seconds, every=1.0):
            self.judge.broken("L", f"after {seconds:g} s {self.left()}")
            self.check()

    def left(self) -> list[str]:
        fact = self.judge.record.rollout("r")
        if fact is None:
            return ["r is not there"]
        wanted = ENDED if self.harmed else (SUCCEEDED,)
        if fact.state in wanted and fact.is_seen and not fact.is_leaving:
            return []
        said = condition_of(self.judge.record.trees[self.rollouts.plural, "r"])
        is_waiting = fact.batch_state == BATCH_READY and "BatchReady" in said  # and not on its way to the next
        if self.harmed and is_waiting and self.judge.record.attempts[fact.uid].is_disturbed:
            return []  # a batch that lost its pods gets no approval, and that alone fails nothing
        return [f"{fact.state} {said}"]

    async def rest(self) -> None:
        """I-5: what has ended is not written to."""
        await asyncio.sleep(10)
        writes = len(self.judge.own_writes)
        await asyncio.sleep(AT_REST)
        if done := self.judge.own_writes[writes:]:
            self.judge.broken("I-5", f"at rest there were writes: {done[:5]}")
        self.check()

    async def leave(self) -> None:
        """L-2: all rollouts go, and hold nothing."""
        for name in ("r", "s"):
            self.remove(self.rollouts, name)
        if not await self.until(lambda: not self.judge.record.rollouts, HEALED_WITHIN, every=1.0):
            self.judge.broken("L-2", f"{[each[-1].state for each in self.judge.record.rollouts.values()]} do not go")
        held = [place for place, each in self.judge.record.workloads.items() if each[-1].claimed_by]
        if held and not self.judge.stripped:
            self.judge.broken("L-2", f"{held} are held by nobody that is there")
        self.check()

    async def afresh(self) -> None:
        """Whatever was left behind, a new rollout finishes it."""
        record = self.judge.record
        plural = self.setting.resource.plural
        old = self.setting.workloads[:-1] or self.setting.workloads  # what a paused target asks for has no pods
        self.judge.touched = self.harmed = False
        if self.setting.kind in FROZEN:
            if self.setting.kind != "nodes":
                self.patch(self.setting.resource, "w", {"spec": {"replicas": self.setting.size}})
                await asyncio.sleep(5)  # so that old pods are there
            self.freeze()
        elif not any(live.size for (_, name), (*_, live) in record.workloads.items() if name in old):
            self.patch(DEPLOYMENTS, self.setting.workloads[0], {"spec": {"replicas": 3}})
        await asyncio.sleep(30)
        plan: Tree = {"numBatches": 2, "rolloutStrategy": self.setting.strategy}
        if self.setting.kind == "scale":
            live = record.workload(plural, "w")
            plan["targetSize"] = 1 + (0 if live is None else live.size)
        spec: Tree = {"targetRef": self.reference(self.setting.workloads[-1]), "rolloutPlan": plan}
        if self.setting.kind == "pair":
            spec["sourceRef"] = [self.reference(each) for each in ("d1", "d2")]
        self.put(ROLLOUT_TRAITS, {"metadata": {"name": "r"}, "spec": spec})
        await self.finish()


def _outside() -> tuple[Tree, ...]:
    """Definitions of what rollouts read besides."""
    name = f"{METRIC_TEMPLATES.plural}.{METRIC_TEMPLATES.group}"
    return (HTTP_ROUTE_DEFINITION, *(each for each in all_definitions() if each["metadata"]["name"] == name))


def _resource(tree: Tree) -> Resource:
    group, _, version = tree["apiVersion"].rpartition("/")
    return Resource(group, version, tree["kind"].lower() + "s", tree["kind"], namespaced=False)
