"""A world whose zones are scaled: by leaders and references, through webhooks, with pods that want to be told first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
from msgspec import Struct

from fairlead.contracts.zones.configuration_kinds import ZPDBS
from fairlead.contracts.zones.install.definitions import definitions as zone_kinds
from fairlead.contracts.zones.kinds import (
    API_GROUP,
    DELAY,
    DELAY_URL,
    FORCE_REPLICAS,
    GROUP_LABEL,
    LEADER,
    MIN_TIME,
    MIRROR_KIND,
    MIRROR_NAME,
    NO_DOWNSCALE,
    PREPARE_DOWNSCALE,
    PREPARE_PATH,
    PREPARE_PORT,
    ZONE_SOAK,
)
from fairlead.contracts.zones.kinds import MIRROR_API_VERSION as API_VERSION
from fairlead.contracts.zones.settings import Settings
from kubeloop import request
from kubeloop.durations import parse_go
from kubeloop.errors import TransportError
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.records import MemoryRecords
from kubeloop.request import JSON, MERGE_PATCH, Request, Response, path_of
from kubesim.auth.rbac import master
from kubesim.draws import Draws
from kubesim.errors import StatusError
from kubesim.store.record import Entry
from kubesim.store.versions import Tree
from tests.chaos.door import Door, configurations
from tests.chaos.endpoints import PORT, PREPARE, URL, Pods
from tests.chaos.loop import running
from tests.chaos.referee import Referee
from tests.chaos.world import HEALED_WITHIN, NAMESPACE, OTHERS, Process, World
from tests.chaos.zone_plans import Setting, ZonePlan

CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False)
REFERENCES = Resource(API_GROUP, "v1", "replicatemplates", "ReplicaTemplate")
HOST = "rollout-operator.test.svc"
MOST_PODS = 6
"""Of a zone."""
OUTSIDER = ZonePlan("nobody", "outsider", 1)
"""A StatefulSet of no group, with an outdated pod, that nobody may touch (S15)."""
ALONE = "alone"
"""Service of the StatefulSets without a group whose pods prepare; no group has this name."""
IN_BUDGET = "budget"
"""Label of the zones and pods of a disruption budget."""
UNDONE_WITHIN = 10.0
"""Seconds in which every pod is told that a denied downscale does not take place."""
FORGOTTEN_WITHIN = 600.0
"""Seconds in which pods hear that they stay, whatever became of the operator that had them prepared."""
EVICTED_FOR = 120.0
"""Seconds for which an eviction that was let pass holds others up, even if nothing came of it."""
FOLLOWED_WITHIN = 360.0
"""Seconds of L3 and L4 beyond the times that zones ask for: a resync and an interval, and a minute to roll."""


class GroupPlan(Struct, frozen=True):
    """How the zones of a group are scaled."""

    name: str
    how: str = ""
    """`led`: the others follow the first; `mirrored`: all follow a reference; else nobody scales them."""
    least: str = ""
    """Least time between downscales."""
    prepares: bool = True
    delay: str = ""
    budget: str = ""
    """`zone` or `partition`, the mode of its disruption budget."""
    most: int = 1
    """Pods that the budget lets go."""


class Scaled(Setting, frozen=True):
    groups: tuple[GroupPlan, ...] = ()
    loners: tuple[ZonePlan, ...] = ()
    """StatefulSets of no group: nobody rolls or leads them, and their pods want to be told before they leave."""
    tracked: bool = False
    """Whether times of downscales are kept in the zone tracker."""

    def group(self, name: str) -> GroupPlan:
        return next((group for group in self.groups if group.name == name), GroupPlan(name, prepares=False))

    def zones_of(self, group: str) -> list[ZonePlan]:
        return [zone for zone in self.zones if zone.group == group]

    @property
    def settling(self) -> float:
        """Seconds in which everything scales to where it should be (L3, L4)."""
        hops = [len(self.zones_of(group.name)) * _seconds(group.least) + _seconds(group.delay) for group in self.groups]
        return max(hops, default=0.0) + EVICTED_FOR + FOLLOWED_WITHIN


class ScaledWorld(World):
    setting: Scaled

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        assert isinstance(setting, Scaled)
        self.setting = setting
        self.settings = Settings(use_zone_tracker=setting.tracked)
        self.pods_called = Pods(self.cluster.network, running().time, self.uid_of)
        self.door = Door(self._there, Draws(setting.seed, "door"))
        self.referee = Referee(self.judge, self.pods_called, self.door, setting.group, running().time)
        self.people = self.cluster.transport(master(OTHERS))
        self._doings: list[asyncio.Task[Any]] = []
        for zone in (*setting.zones, *setting.loners):
            for ordinal in range(MOST_PODS):
                pod = f"{zone.name}-{ordinal}"
                self.pods_called.serve(f"{pod}.{zone.group}.{NAMESPACE}.svc.cluster.local:{PORT}", pod)
        self.cluster.network.serve(HOST, self.door)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[World]:
        for tree in (*zone_kinds(), *configurations(HOST, NAMESPACE)):
            await self.create_object(_resource(tree), "", tree)
        await asyncio.sleep(1)  # until they are served
        for group in self.setting.groups:
            await self._furnish(group)
        async with super().running():
            self.create(OUTSIDER)
            self.change(OUTSIDER.name, {"metadata": {"labels": {GROUP_LABEL: None}}})
            self.deploy(OUTSIDER.name, 2)
            for loner in self.setting.loners:
                self.create(loner)
            try:
                yield self
                await asyncio.sleep(UNDONE_WITHIN)
                self.referee.conclude()
                await self._check_forgotten()
            finally:
                for task in self._doings:
                    task.cancel()
                await asyncio.gather(*self._doings, return_exceptions=True)

    async def _check_forgotten(self) -> None:
        """Whatever was killed, denied or given up: nobody who is wanted stays prepared, once pods answer."""
        if not self.replicas or not self.referee.left_prepared():
            return
        self.pods_called.heal()
        if not await self.until(lambda: not self.referee.left_prepared(), FORGOTTEN_WITHIN, every=1.0):
            self.judge.broken("B-4", f"{self.referee.left_prepared()} stay prepared for ever")
            self.check()

    def assembled(self, process: Process) -> None:
        """What is kept in memory counts as an effect, as what is kept in a Lease does."""
        assert process.manager is not None
        (outside, *_) = (route._outside for route in process.manager.webhooks.routes.values())  # type: ignore[attr-defined]
        records = outside.records
        if not isinstance(records, MemoryRecords):
            return
        real = records.swap

        async def swap(key: str, version: str, value: bytes, lasts: int = 0) -> str:
            return await process.wire.effect(f"record {key}", lambda: real(key, version, value, lasts))

        records.swap = swap  # type: ignore[method-assign]

    def equipped(self, zone: ZonePlan, tree: Tree) -> Tree:
        group = self.setting.group(zone.group)
        metadata = tree["metadata"]
        labels, annotations = metadata["labels"], metadata["annotations"]
        if group.budget:
            labels[IN_BUDGET] = tree["spec"]["template"]["metadata"]["labels"][IN_BUDGET] = group.name
        if zone in self.setting.loners:
            del labels[GROUP_LABEL]
        if group.prepares or zone in self.setting.loners:
            labels[PREPARE_DOWNSCALE] = "true"
            annotations |= {PREPARE_PATH: PREPARE, PREPARE_PORT: PORT}
        if group.least:
            labels[MIN_TIME] = group.least
        if group.how == "led" and zone.name != (first := self.setting.zones_of(group.name)[0].name):
            annotations[LEADER] = first
        if group.how == "mirrored":
            annotations |= {MIRROR_NAME: group.name, MIRROR_KIND: REFERENCES.kind}
            annotations[API_VERSION] = REFERENCES.api_version
        if group.delay:
            annotations |= {DELAY: group.delay, DELAY_URL: URL}
        return tree

    async def finish(self, seconds: float = HEALED_WITHIN) -> None:
        """L1, L3, L4: everything is rolled and scaled in time."""
        within = max(seconds, self.setting.settling)
        if not await self.until(lambda: not self.left(), within, every=1.0):
            self.judge.broken("L", f"after {within:g} s {self.left()}")
            self.check()

    def left(self) -> list[str]:
        """What keeps the world from its end."""
        left = self.judge.unfinished()
        for group in self.setting.groups:
            zones = self.setting.zones_of(group.name)
            wanted = self.replicas_of(zones[0].name)
            if group.how == "mirrored":
                reference = self.cluster.get(REFERENCES, NAMESPACE, group.name)
                wanted = reference["spec"]["replicas"]
                if (told := reference.get("status", {}).get("replicas")) != wanted:
                    left.append(f"reference {group.name} was told {told} and not {wanted}")
            if group.how:
                have = {zone.name: self.replicas_of(zone.name) for zone in zones}
                left += [f"{name} has {number} and not {wanted}" for name, number in have.items() if number != wanted]
        return left

    def heal(self) -> None:
        super().heal()
        self.pods_called.heal()
        for zone in self.setting.zones:
            self.annotate(zone.name, FORCE_REPLICAS, None)
            self.annotate(zone.name, ZONE_SOAK, None)
            self.change(zone.name, {"metadata": {"labels": {NO_DOWNSCALE: None}}})
        for group in self.setting.groups:
            if group.how == "" or group.budget == "partition":
                self._even_out(group)

    def _even_out(self, group: GroupPlan) -> None:
        """All zones of a group grow to the size of the largest, or will.

        A pod whose partition another zone lacks may not go (section 6.2), so that such zones neither roll nor, as long
        as others have to roll, shrink; and nobody else scales zones without a leader and without a reference.
        """
        zones = [zone.name for zone in self.setting.zones_of(group.name)]
        most = max(map(self.replicas_of, zones))
        if group.how == "mirrored":
            body = msgspec.json.encode({"spec": {"replicas": most}})
            self.cluster.verbs.patch(REFERENCES, NAMESPACE, group.name, MERGE_PATCH, body, user=OTHERS)
        for zone in zones[:1] if group.how else zones:
            self.scale(zone, most)

    async def idle(self) -> None:
        """Nobody asks for anything any more."""
        await asyncio.gather(*self._doings)
        self._doings.clear()

    # What people and programs do, through the API and its webhooks.

    def begin(self, work: Coroutine[Any, Any, object]) -> None:
        """Goes on while the program does."""
        self._doings.append(asyncio.create_task(work))

    async def send(self, sent: Request) -> Response | None:
        """None without an answer."""
        try:
            return await self.people.send(sent)
        except TransportError:
            return None

    async def scaled_by(self, how: str, zone: str, replicas: int, *, dry_run: bool = False) -> int:
        """The status of a request for so many replicas: `patch`, `put`, `scale` or `patch-scale`."""
        ref = Ref(STATEFULSETS, NAMESPACE, zone)
        subresource = "scale" if "scale" in how else ""
        body = msgspec.json.encode({"spec": {"replicas": replicas}})
        if how.startswith("patch"):
            sent = request.patch(ref, MERGE_PATCH, body, subresource)
        else:
            found = await self.send(request.get(ref, subresource))
            if found is None or found.status != 200:
                return 0
            tree = msgspec.json.decode(found.body)
            tree["spec"]["replicas"] = replicas
            sent = request.replace(ref, msgspec.json.encode(tree), subresource)
        return await self._status(sent, dry_run)

    async def autoscaled(self, zone: str, replicas: int) -> None:
        """As an autoscaler does it: read, write with the version that was read, once more after a conflict."""
        if await self.scaled_by("scale", zone, replicas) == 409:
            await self.scaled_by("scale", zone, replicas)

    async def evicted(self, pod: str, *, dry_run: str = "") -> int:
        """The status of an eviction; a dry run is asked for by `query` or in its `body`."""
        tree: Tree = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": NAMESPACE}}
        if dry_run == "body":
            tree["deleteOptions"] = {"dryRun": ["All"]}
        path = f"{path_of(PODS, NAMESPACE, pod)}/eviction"
        sent = Request("POST", path, body=msgspec.json.encode(tree), content_type=JSON)
        return await self._status(sent, dry_run == "query")

    async def refer(self, group: str, replicas: int) -> None:
        body = msgspec.json.encode({"spec": {"replicas": replicas}})
        await self.send(request.patch(Ref(REFERENCES, NAMESPACE, group), MERGE_PATCH, body))

    async def create_object(self, resource: Resource, namespace: str, tree: Tree) -> None:
        made = await self.send(request.create(resource, namespace, msgspec.json.encode(tree)))
        assert made is not None, resource
        assert made.status == 201, made.body

    def label_pod(self, name: str, key: str, value: str) -> None:
        with suppress(StatusError):
            body = msgspec.json.encode({"metadata": {"labels": {key: value}}})
            self.cluster.verbs.patch(PODS, NAMESPACE, name, MERGE_PATCH, body, user=OTHERS)

    def replicas_of(self, zone: str) -> int:
        replicas: int = self.cluster.get(STATEFULSETS, NAMESPACE, zone)["spec"]["replicas"]
        return replicas

    async def _status(self, sent: Request, dry_run: bool) -> int:
        query = (*sent.query, ("dryRun", "All")) if dry_run else sent.query
        answer = await self.send(msgspec.structs.replace(sent, query=query, timeout=60.0))
        return 0 if answer is None else answer.status

    async def _furnish(self, group: GroupPlan) -> None:
        if group.how == "mirrored":
            tree = {"apiVersion": REFERENCES.api_version, "kind": REFERENCES.kind, "metadata": {"name": group.name}}
            first = self.setting.zones_of(group.name)[0]
            await self.create_object(REFERENCES, NAMESPACE, tree | {"spec": {"replicas": first.replicas}})
        if group.budget:
            spec: Tree = {"selector": {"matchLabels": {IN_BUDGET: group.name}}, "maxUnavailable": group.most}
            if group.budget == "partition":
                spec["podNamePartitionRegex"] = ".*-([0-9]+)"
            tree = {"apiVersion": ZPDBS.api_version, "kind": ZPDBS.kind, "metadata": {"name": group.name}, "spec": spec}
            await self.create_object(ZPDBS, NAMESPACE, tree)

    def _there(self) -> list[Process]:
        return [replica.process for replica in self.replicas if replica.process is not None]

    def uid_of(self, pod: str) -> str:
        found = self.judge.truth.pods.get((NAMESPACE, pod))
        return "" if found is None else found.metadata.uid

    def _see(self, entry: Entry) -> None:
        self.referee.see(entry)
        super()._see(entry)


def _resource(tree: Tree) -> Resource:
    group, _, version = tree["apiVersion"].rpartition("/")
    return Resource(group, version, tree["kind"].lower() + "s", tree["kind"], namespaced=False)


def _seconds(text: str) -> float:
    return parse_go(text) if text else 0.0
