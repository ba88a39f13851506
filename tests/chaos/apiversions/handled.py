"""Widgets that an operator handles where nobody converts: versions of the operator, payloads, and their workloads.

The referee knows what people wrote and when each operator was told of it. A pass that was told of an object which
another version handles, or whose fields contradict one another, writes nothing for it (I13, section 3.9); nobody rolls
a workload for which nothing was asked (I11), and versions do not mix (I10).
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any
from unittest.mock import patch

import msgspec
from msgspec import Struct

from fairlead.contracts import CONTRACTS, contract
from fairlead.engine.assembly import assemble
from fairlead.engine.decide.guard import VersionPolicy
from fairlead.engine.manager import RESYNC
from fairlead.engine.metrics import Metrics
from fairlead.engine.options import OperatorOptions, PartOptions
from kubeloop import request
from kubeloop.errors import TransportError
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import MERGE_PATCH, Request, Response, place_of
from kubesim.auth.rbac import master
from kubesim.kubelet import Kubelet
from kubesim.store.record import Entry
from kubesim.store.versions import Tree
from tests.chaos.apiversions.facts import DOMAIN
from tests.chaos.apiversions.kinds import DEFINITIONS
from tests.chaos.apiversions.world import LEASE, NEW, OLD, NoKubelet
from tests.chaos.doing import doing, in_passes
from tests.chaos.judge import Asked, Judge
from tests.chaos.loop import running
from tests.chaos.wire import Wire
from tests.chaos.world import NAMESPACE, Process, World
from tests.chaos.zone_plans import Setting
from tests.widgets.decide import Settings
from tests.widgets.kinds import definitions

PEOPLE = "somebody"
STAMP = f"{DOMAIN}/controller-version"
MINIMUM = "1.0.0"
OF_EVERY_REPLICA = ("leases", "events")
WATCHED = ("widgets", "statefulsets")
WIDGETS = {each: Resource("example.test", each, "widgets", "Widget") for each in ("v1", "v2")}
HELPERS = {OLD: "example.test/helper:1", NEW: "example.test/helper:2"}
HANDLED_WITHIN = 700.0
AT_REST = 60.0


class WidgetFact(Struct, frozen=True):
    """A widget as one write left it."""

    version: int
    colour: str
    """That it asks for."""
    size: int
    is_contradictory: bool
    stamp: str
    is_leaving: bool
    is_untouched: bool
    """Whether a person said that nobody is to touch it."""


class HandledReferee(Judge):
    def __init__(self, now: Callable[[], float], steps: Callable[[], int]) -> None:
        super().__init__(now, steps, LEASE)
        self.widgets: dict[str, list[WidgetFact]] = {}
        self.workloads: dict[str, Tree] = {}
        self.operators: dict[str, str] = {}
        self.own_writes: list[str] = []
        self.highest = ""
        self._told: dict[str, dict[str, int]] = {}
        self._begun: dict[str, tuple[str, int]] = {}
        """By pass: its object, and what its operator had been told of widgets when it began."""

    def begins(self, operator: str) -> None:
        self._told[operator] = defaultdict(int)

    def told(self, operator: str, plural: str, version: int) -> None:
        self._told[operator][plural] = max(self._told[operator][plural], version)

    def read(self, operator: str, body: bytes) -> None:
        """Nothing is read by itself."""

    def pass_begins(self, operator: str, this: str, name: str) -> None:
        self._begun[this] = name, self._told[operator]["widgets"]

    def asks(self, operator: str, request: Request) -> Asked | None:
        place = place_of(request.path)
        if place.plural in OF_EVERY_REPLICA or operator not in self.operators:
            return None
        self.note(f"{operator} asks {request.method} {request.target}")
        if operator != self.holder:
            self.broken("I10", f"{operator} sent {request.doing} while {self.holder or 'nobody'} held the Lease")
        self._check_asked(operator, place.plural, request)
        return None

    def refused(self, request: Request) -> None:
        """Says nothing."""

    def failed(self, request: Request) -> None:
        """Says nothing."""

    def answered(self, asked: Asked | None) -> None:
        """Says nothing."""

    def _check_asked(self, operator: str, plural: str, request: Request) -> None:
        name, version = self._begun.get(doing(), ("", 0))
        # What it was told, or whatever has become of it since: it is excused by either.
        facts = self.widgets.get(name, [])
        seen = [each for each in facts if each.version > version] + [each for each in facts if each.version <= version][
            -1:
        ]
        if not seen:
            return
        if plural == "statefulsets" and all(each.is_contradictory for each in seen):
            self.broken("I13", f"{operator} sent {request.doing}, and nobody knows what {name} asks for")
        own = self.operators[operator]
        if all(self._is_others(each, own) and not each.is_leaving for each in seen):
            self.broken("3.9", f"{operator} of {own} sent {request.doing} for {name}, which {seen[-1].stamp} handles")

    @staticmethod
    def _is_others(fact: WidgetFact, own: str) -> bool:
        is_newer = fact.stamp.split(".")[:2] > own.split(".")[:2]
        is_version = fact.stamp[:1].isdigit()  # what is none counts as nothing
        return fact.is_untouched or (is_version and (is_newer or fact.stamp < MINIMUM))

    def see(self, entry: Entry) -> None:
        plural, name = entry.resource.plural, entry.name
        if plural == "events":
            return
        if plural == "leases":
            if name == self._lease:
                self.holder = entry.new["spec"].get("holderIdentity") or ""
            return
        self.note(f"{entry.user} {entry.type} {plural}/{name} {entry.verb} {entry.subresource}")
        if entry.user in self.operators:
            self._see_own(entry)
        if plural == "widgets":
            if entry.type == "DELETED":
                self.widgets.pop(name, None)
            else:
                self.widgets.setdefault(name, []).append(_fact(entry))
        if plural == "statefulsets":
            if entry.type == "DELETED":
                self.workloads.pop(name, None)
            else:
                self.workloads[name] = entry.new

    def _see_own(self, entry: Entry) -> None:
        self.own_writes.append(f"{entry.verb} {entry.resource.plural}/{entry.name} {entry.subresource}")
        if entry.user != self.holder:
            self.broken("I10", f"{entry.user} wrote {entry.name} while {self.holder or 'nobody'} held the Lease")
        version = self.operators[entry.user]
        if version < self.highest:
            self.broken("I10", f"version {version} wrote {entry.name} after {self.highest} has led")
        self.highest = max(self.highest, version)
        if entry.resource.plural == "statefulsets" and entry.old is not None:
            before, after = (each["spec"]["template"] for each in (entry.old, entry.new))
            if before != after and _colour_in(before) == _colour_in(after):
                self.broken("I11", f"{entry.user} rolled {entry.name}, and nobody asked for another colour")

    def unhandled(self) -> list[str]:
        """Widgets whose workloads are not as they ask for, but for those that nobody may touch."""
        found = []
        for name, (*_, fact) in sorted(self.widgets.items()):
            if fact.is_contradictory or self._is_others(fact, self.highest):
                continue
            workload = self.workloads.get(name)
            if fact.is_leaving or workload is None:
                found.append(f"{name} has no workload, or does not go")
            elif (_colour_in(workload["spec"]["template"]), workload["spec"]["replicas"]) != (fact.colour, fact.size):
                found.append(f"{name} is not {fact.size} times {fact.colour}")
        return found


def _fact(entry: Entry) -> WidgetFact:
    tree, spec = entry.new, entry.new.get("spec") or {}
    metadata = tree["metadata"]
    annotations = metadata.get("annotations") or {}
    new, old = (spec.get("paint") or {}).get("colour"), spec.get("colour")
    return WidgetFact(
        version=entry.event.revision,
        colour=new or old or "",
        size=int(spec.get("size", 1)),
        is_contradictory=new is not None and old is not None and new != old and not metadata.get("managedFields"),
        stamp=annotations.get(STAMP, ""),
        is_leaving="deletionTimestamp" in metadata,
        is_untouched=annotations.get(f"{DOMAIN}/managed") == "false",
    )


def _colour_in(template: Tree) -> str:
    return str(template["spec"]["containers"][0]["env"][0].get("value", ""))


class HandledSetting(Setting, frozen=True):
    count: int = 2


class HandledWorld(World):
    setting: HandledSetting
    judge: HandledReferee

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        assert isinstance(setting, HandledSetting)
        self.setting = setting
        loop = running()
        self.judge = HandledReferee(loop.time, lambda: loop.steps)
        self.version = OLD
        self._people = self.cluster.transport(master(PEOPLE))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[World]:
        with patch.dict(CONTRACTS, {"widgets": "tests.widgets.contract"}):
            async with super().running():
                yield self

    def kubelet(self) -> Kubelet:
        made: Any = NoKubelet()
        return made  # type: ignore[no-any-return]

    def _see(self, entry: Entry) -> None:
        self.judge.see(entry)

    def wire(self, name: str) -> Wire:
        return Wire(name, self.cluster.transport(master(name)), self.cluster.network.call, self.judge, self._note)

    def new_process(self) -> Process:
        process = super().new_process()
        self.judge.operators[process.name] = self.version
        return process

    async def operate(self, process: Process) -> None:
        version = self.judge.operators[process.name]
        settings = Settings(helper_image=HELPERS[version], hash_ways=(1,) if version == OLD else (2, 1))
        options = OperatorOptions(
            process="fairlead",
            identity=process.name,
            namespaces=(NAMESPACE,),
            parts=(PartOptions(contract("widgets"), settings),),
            lease=LEASE,
            resync=RESYNC,
            versions=VersionPolicy(own=version, minimum=MINIMUM),
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
            self.judge.pass_begins(process.name, doing(), key[1])
            return await run(key)

        return judged

    async def begin(self) -> None:
        for tree in definitions():
            await self.send(request.create(DEFINITIONS, "", msgspec.json.encode(tree)))
        await asyncio.sleep(2)
        for number in range(self.setting.count):
            await self.put(f"w-{number}", {"size": 1, "paint": {"colour": "red"}})
        self.start()
        await self.until(lambda: not self.judge.unhandled(), 60.0)

    async def send(self, sent: Request) -> Response | None:
        try:
            return await self._people.send(sent)
        except TransportError:
            return None

    async def put(self, name: str, spec: Tree, version: str = "v2", annotations: Tree | None = None) -> None:
        """Makes the widget, or changes it; null takes away."""
        if name in self.judge.widgets:
            body: Tree = {"spec": spec, **({"metadata": {"annotations": annotations}} if annotations else {})}
            await self.change(name, body, version)
            return
        given = {key: value for key, value in spec.items() if value is not None}
        marks = {"annotations": {key: value for key, value in (annotations or {}).items() if value is not None}}
        resource = WIDGETS[version]
        head = {"apiVersion": resource.api_version, "kind": resource.kind}
        tree = {**head, "metadata": {"name": name, **marks}, "spec": given}
        await self.send(request.create(resource, NAMESPACE, msgspec.json.encode(tree)))

    async def change(self, name: str, body: Tree, version: str = "v2") -> None:  # type: ignore[override]
        ref = Ref(WIDGETS[version], NAMESPACE, name)
        await self.send(request.patch(ref, MERGE_PATCH, msgspec.json.encode(body)))

    def heal(self) -> None:
        self.version = max(self.version, self.judge.highest)
        for replica in self.replicas:
            replica.go_on()
            replica.mend()
            process = replica.process
            if process is not None:
                process.wire.plan.clear()
                process.wire.at_effect = process.wire.after_effect = None
                for plural in WATCHED:
                    process.wire.faulty.thaw(plural)
                if self.judge.operators[process.name] < self.version:
                    replica.kill()

    async def finish(self, seconds: float = HANDLED_WITHIN) -> None:
        """Everything is handled; whoever starts again has nothing to do (I11, I12) and leads soon (I16)."""
        self.heal()
        if not await self.until(lambda: not self.judge.unhandled(), seconds, every=1.0):
            self.judge.broken("I7", f"after {seconds:g} s {self.judge.unhandled()}")
        await asyncio.sleep(20)
        for replica in self.replicas:
            replica.kill()
        await asyncio.sleep(8)
        if not await self.until(lambda: self.leader() is not None, 25.0):
            self.judge.broken("I16", "nobody leads 25 s after operators were started again")
        await asyncio.sleep(20)
        writes = len(self.judge.own_writes)
        await asyncio.sleep(AT_REST)
        if done := self.judge.own_writes[writes:]:
            self.judge.broken("I12", f"operators that had nothing to do wrote {done[:5]}")
        self.check()
