"""A world with LeaderWorkerSets: operators with a lease, their webhooks, and people who edit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct

from fairlead.contracts.leaderworker.contract import CONTRACT
from fairlead.contracts.leaderworker.install.definitions import definitions
from fairlead.contracts.leaderworker.install.registrations import SERVICE, registrations
from fairlead.contracts.leaderworker.kinds import LEADER_WORKER_SETS
from fairlead.contracts.leaderworker.settings import Settings
from fairlead.engine.assembly import assemble
from fairlead.engine.manager import RESYNC
from fairlead.engine.metrics import Metrics
from fairlead.engine.options import OperatorOptions, PartOptions
from kubeloop import request
from kubeloop.errors import TransportError
from kubeloop.objects.apps import CONTROLLER_REVISIONS, STATEFULSETS
from kubeloop.objects.core import PODS, SERVICES
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import MERGE_PATCH, Request, Response
from kubesim.auth.rbac import master
from kubesim.draws import Draws
from kubesim.errors import StatusError
from kubesim.store.record import Entry
from kubesim.store.versions import Tree
from tests.chaos.doing import doing, in_passes
from tests.chaos.door import Door
from tests.chaos.leaderworker.facts import (
    NO_RESTART,
    SetFact,
    content_of,
    is_going,
    key_of,
    owner_of,
    partition_of,
    restarts_of,
    uid_of,
)
from tests.chaos.leaderworker.referee import OTHERS, SetReferee
from tests.chaos.loop import running
from tests.chaos.world import MISBEHAVIOUR, NAMESPACE, Process, World
from tests.chaos.zone_plans import Setting

LEASE = "fairlead"
HOST = f"{SERVICE}.{NAMESPACE}.svc"
WATCHED = ("leaderworkersets", "statefulsets", "pods", "controllerrevisions", "services")
HEALED_WITHIN = 1500.0
"""Virtual seconds: the longest waits after errors, of operators and of the cluster's controllers, and a rollout."""
AT_REST = 120.0
KINDS = {
    "pod": PODS,
    "statefulset": STATEFULSETS,
    "revision": CONTROLLER_REVISIONS,
    "service": SERVICES,
    "set": LEADER_WORKER_SETS,
}


class SetPlan(Struct, frozen=True):
    """What a set begins as."""

    name: str = "a"
    replicas: int = 3
    size: int = 2
    unavailable: int | str = 1
    surge: int | str = 0
    policy: str = "RecreateGroupOnPodRestart"
    network: str = "Shared"
    annotations: dict[str, str] = {}


class GroupedSetting(Setting, frozen=True):
    sets: tuple[SetPlan, ...] = (SetPlan(),)
    nodes: int = 24
    """More than groups at once, those of a surge and of a set before included."""


def a_template(image: int, **annotations: str | None) -> Tree:
    """A pod template; in a patch, one that takes away what another one had."""
    found: Tree = {"spec": {"containers": [{"name": "main", "image": f"example.test/main:{image}"}]}}
    if annotations:
        found["metadata"] = {"annotations": annotations}
    return found


def a_set(plan: SetPlan) -> Tree:
    return {
        "apiVersion": LEADER_WORKER_SETS.api_version,
        "kind": LEADER_WORKER_SETS.kind,
        "metadata": {"name": plan.name, "annotations": plan.annotations},
        "spec": {
            "replicas": plan.replicas,
            "networkConfig": {"subdomainPolicy": plan.network},
            "rolloutStrategy": {
                "rollingUpdateConfiguration": {"maxUnavailable": plan.unavailable, "maxSurge": plan.surge}
            },
            "leaderWorkerTemplate": {
                "size": plan.size,
                "restartPolicy": plan.policy,
                "workerTemplate": a_template(1),
            },
        },
    }


class GroupedWorld(World):
    setting: GroupedSetting
    judge: SetReferee

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        assert isinstance(setting, GroupedSetting)
        self.setting = setting
        loop = running()
        self.judge = SetReferee(loop.time, lambda: loop.steps, LEASE)
        self.people = self.cluster.transport(master(OTHERS))
        self.door = Door(self._there, Draws(setting.seed, "door"))
        self.cluster.network.serve(HOST, self.door)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[World]:
        for tree in (*definitions(), *registrations(NAMESPACE)):
            made = await self.send(request.create(_resource(tree), "", msgspec.json.encode(tree)))
            assert made is not None, tree
            assert made.status == 201, made.body
        await asyncio.sleep(1)  # until they are served
        async with super().running():
            yield self

    def _there(self) -> list[Process]:
        return [replica.process for replica in self.replicas if replica.process is not None]

    def _see(self, entry: Entry) -> None:
        self.judge.see(entry)

    # Operators.

    async def operate(self, process: Process) -> None:
        options = OperatorOptions(
            process="lws-manager",
            identity=process.name,
            namespaces=(NAMESPACE,),
            parts=(PartOptions(CONTRACT, Settings()),),
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
            self.judge.round_begins(process.name, doing())
            return await run(key)

        return judged

    # People.

    async def begin_with_sets(self) -> None:
        """Operators are at work, and all sets are available."""
        self.start()
        for plan in self.setting.sets:
            await self.insist(partial(self.create_set, plan))
        assert await self.until(lambda: not self.left(), 300.0), self.left()

    async def insist(self, ask: Callable[[], Coroutine[Any, Any, int]]) -> None:
        """Until it is answered well: nobody may be there to review it. What goes meanwhile is made when it is gone."""
        while await ask() not in (200, 201, 404, 409):  # noqa: ASYNC110  it has no event
            await asyncio.sleep(1)

    async def create_set(self, plan: SetPlan) -> int:
        return await self._status(request.create(LEADER_WORKER_SETS, NAMESPACE, msgspec.json.encode(a_set(plan))))

    async def edit(self, name: str, tree: Tree) -> int:
        """A merge patch of a set; the status of the answer."""
        ref = Ref(LEADER_WORKER_SETS, NAMESPACE, name)
        return await self._status(request.patch(ref, MERGE_PATCH, msgspec.json.encode(tree)))

    async def scale_set(self, name: str, replicas: int) -> int:
        ref = Ref(LEADER_WORKER_SETS, NAMESPACE, name)
        body = msgspec.json.encode({"spec": {"replicas": replicas}})
        return await self._status(request.patch(ref, MERGE_PATCH, body, "scale"))

    async def undo(self, name: str, back: int = 0) -> int:
        """Puts back what an older revision says, as it is stored."""
        fact = self.judge.record.set_named(name)
        leaders = None if fact is None else self.judge.record.leaders(fact.uid)
        if fact is None or leaders is None:
            return 0
        others = [each for each in self.judge.record.revisions(fact.uid) if key_of(each) != key_of(leaders)]
        if not others:
            return 0
        stored = dict(others[-1 - back % len(others)]["data"]["spec"]["leaderWorkerTemplate"])
        stored.pop("$patch", None)
        steps = [{"op": "replace", "path": "/spec/leaderWorkerTemplate", "value": stored}]
        ref = Ref(LEADER_WORKER_SETS, NAMESPACE, name)
        return await self._status(request.patch(ref, "application/json-patch+json", msgspec.json.encode(steps)))

    async def send(self, sent: Request) -> Response | None:
        try:
            return await self.people.send(sent)
        except TransportError:
            return None

    async def _status(self, sent: Request) -> int:
        answer = await self.send(msgspec.structs.replace(sent, timeout=60.0))
        return 0 if answer is None else answer.status

    def remove(self, resource: Resource, name: str, propagation: str = "", grace: int | None = None) -> None:
        with suppress(StatusError):
            self.cluster.verbs.delete(resource, NAMESPACE, name, propagation=propagation, grace=grace, user=OTHERS)

    def put(self, resource: Resource, tree: Tree) -> None:
        with suppress(StatusError):
            self.cluster.verbs.create(resource, NAMESPACE, tree, user=OTHERS)

    def patch(self, resource: Resource, name: str, tree: Tree) -> None:
        with suppress(StatusError):
            body = msgspec.json.encode(tree)
            self.cluster.verbs.patch(resource, NAMESPACE, name, MERGE_PATCH, body, user=OTHERS)

    # What is there.

    def names(self, plural: str) -> list[str]:
        return sorted(self.judge.record.objects[plural])

    def pods(self) -> list[str]:
        return self.names("pods")

    def facts(self) -> Iterable[tuple[SetPlan, SetFact | None]]:
        return ((plan, self.judge.record.set_named(plan.name)) for plan in self.setting.sets)

    # The end.

    async def heal(self) -> None:  # type: ignore[override]
        """Nothing is in the way any more: what people want stays, if it can be had."""
        for replica in self.replicas:
            replica.go_on()
            replica.mend()
            if replica.process is not None:
                wire = replica.process.wire
                wire.plan.clear()
                wire.at_effect = wire.after_effect = None
                for plural in WATCHED:
                    wire.faulty.thaw(plural)
        self.heal_pods()
        for plan in self.setting.sets:
            await self.insist(partial(self.create_set, plan))
            await self._heal_set(plan)
        self.tidy()

    async def _heal_set(self, plan: SetPlan) -> None:
        fact = self.judge.record.set_named(plan.name)
        added = () if fact is None else fact.annotations.keys() - plan.annotations.keys()
        annotations = dict.fromkeys(sorted(added))
        behaviour = {"metadata": {"annotations": dict.fromkeys(MISBEHAVIOUR)}}
        templates: Tree = {"workerTemplate": {**behaviour, "spec": {"restartPolicy": None}}}
        if fact is not None and "leaderTemplate" in fact.content:
            templates["leaderTemplate"] = behaviour
        change = {
            "metadata": {"annotations": annotations},
            "spec": {
                "rolloutStrategy": {"rollingUpdateConfiguration": {"partition": 0}},
                "leaderWorkerTemplate": templates,
            },
        }
        await self.insist(lambda: self.edit(plan.name, change))

    def tidy(self) -> None:
        """What has lost its owner, or is somebody else's under a name that is needed, is taken away."""
        objects = self.judge.record.objects
        uids = {uid_of(each) for kind in ("pods", "statefulsets") for each in objects[kind].values()}
        uids |= set(self.judge.record.sets)
        for resource in (STATEFULSETS, PODS, CONTROLLER_REVISIONS):
            for name, tree in list(objects[resource.plural].items()):
                if owner_of(tree) not in uids:
                    self.remove(resource, name)

    def heal_pods(self) -> None:
        for name, pod in list(self.judge.record.objects["pods"].items()):
            if not set(MISBEHAVIOUR).isdisjoint(pod["metadata"].get("annotations") or ()):
                self.misbehave(name, None)

    def left(self) -> list[str]:
        """What keeps the sets from where they should be (L1 to L4)."""
        return [problem for plan, fact in self.facts() for problem in self._left_of(plan, fact)]

    def _left_of(self, plan: SetPlan, fact: SetFact | None) -> list[str]:
        if fact is None:
            return [f"{plan.name} is not there"]
        record = self.judge.record
        leaders = record.leaders(fact.uid)
        if leaders is None:
            return [f"{plan.name} has no leaders"]
        key, wanted = key_of(leaders), set(range(fact.replicas))
        there = {int(each["metadata"]["name"].rpartition("-")[2]) for each in record.leader_pods(fact.uid)}
        data = record.data.get((fact.uid, key))
        problems = {
            f"generation {fact.observed} of {fact.generation} is observed": fact.observed != fact.generation,
            f"it holds {sorted(fact.holding)}": fact.holding != {"Available"},
            f"ready are {sorted(record.ready(fact.uid, key))}": record.ready(fact.uid, key) != wanted,
            f"there are {sorted(there)} of {fact.replicas}": there != wanted,
            f"it has {leaders['spec']['replicas']} leaders": leaders["spec"]["replicas"] != fact.replicas,
            f"the partition is {partition_of(leaders)}": partition_of(leaders) != fact.partition,
            f"revisions are {[key_of(each) for each in record.revisions(fact.uid)]}": (
                [key_of(each) for each in record.revisions(fact.uid)] != [key]
            ),
            "its key says something else than it does": data is None or content_of(data["spec"]) != fact.content,
            f"it counts {fact.ready} and {fact.updated}": (fact.ready, fact.updated) != (fact.replicas,) * 2,
            f"groups of {self._unmended(fact)} have failed": bool(self._unmended(fact)),
            "pods are going": any(map(is_going, record.objects["pods"].values())),
        }
        return [f"{plan.name}: {problem}" for problem, is_so in problems.items() if is_so]

    def _unmended(self, fact: SetFact) -> list[str]:
        """Leaders of groups that should have been recreated."""
        record = self.judge.record
        if record.policy_of(fact.uid, key_of(record.leaders(fact.uid) or {"metadata": {}})) in NO_RESTART:
            return []
        leaders = record.leader_pods(fact.uid)
        return [each["metadata"]["name"] for each in leaders if any(map(restarts_of, record.group(each)))]

    async def finish(self, seconds: float = HEALED_WITHIN, *, healing: bool = False) -> None:
        """`healing`: pods that are made from now on of a revision that tells them to misbehave do not."""

        def is_done() -> bool:
            if healing:
                self.heal_pods()
            return not self.left()

        if not await self.until(is_done, seconds, every=1.0):
            self.judge.broken("L", f"after {seconds:g} s {self.left()}")
            self.check()

    async def rest(self, seconds: float = AT_REST) -> None:
        """S7, S9: what is as it should be is not written to, also by who starts."""
        await asyncio.sleep(30)  # what was begun before is ended
        self.check()
        writes, asked, uids = len(self.judge.own_writes), self.judge.writes, self._uids()
        for replica in self.replicas:
            replica.kill()
            await asyncio.sleep(seconds / 2)
        await asyncio.sleep(seconds)
        self.check()
        if done := self.judge.own_writes[writes:]:
            self.judge.broken("S9", f"at rest there were writes: {done[:5]} and {len(done)} in all")
        if self.judge.writes != asked:
            self.judge.broken("S9", f"at rest {self.judge.writes - asked} writes were sent that changed nothing")
        if self._uids() != uids:
            self.judge.broken("S7", "at rest objects came or went")
        self.check()

    def _uids(self) -> set[str]:
        return {uid_of(each) for objects in self.judge.record.objects.values() for each in objects.values()}


def _resource(tree: Tree) -> Resource:
    group, _, version = tree["apiVersion"].rpartition("/")
    return Resource(group, version, tree["kind"].lower() + "s", tree["kind"], namespaced=False)
