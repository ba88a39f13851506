"""Zones for end-to-end tests. Where a cluster has no controllers, the test plays them: it makes the pods and writes the
statuses, so that every state of the world can be had, also those that last for an instant only.

A pod that the test makes runs on no node, so it vanishes when it is deleted; one that is to be `terminating` has a
node, whose kubelet never comes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from fairlead.contracts.zones.kinds import GROUP_LABEL, MAX_UNAVAILABLE, NAME_LABEL, PAUSED
from kubeloop.objects.apps import REVISION_LABEL, STATEFULSETS
from kubeloop.objects.core import EVENTS, PODS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import MERGE_PATCH, delete, patch
from tests import invariants
from tests.e2e.clusters import Site
from tests.e2e.history import Tree
from tests.e2e.operators import Operator

PREFIX = "ingester-zone-"
RUNNING: Tree = {"running": {"startedAt": "2026-03-01T12:00:00Z"}}
STUCK: Tree = {"waiting": {"reason": "CrashLoopBackOff"}}


class Zone:
    """A StatefulSet whose controller and kubelet are the test."""

    def __init__(self, site: Site, tree: Tree) -> None:
        self.site = site
        self.name: str = tree["metadata"]["name"]
        self.uid: str = tree["metadata"]["uid"]
        self.pod_labels: dict[str, str] = tree["spec"]["template"]["metadata"]["labels"]
        self.generation: int = tree["metadata"]["generation"]

    async def read(self) -> Tree:
        found = await self.site.get(STATEFULSETS, self.name)
        assert found is not None
        return found

    async def write_status(self, **fields: Any) -> None:
        """Merges; the generation counts as observed unless the test says otherwise."""
        await self.site.write_status(
            STATEFULSETS, self.name, {"observedGeneration": self.generation, "collisionCount": 0, **fields}
        )

    async def change(self, tree: Tree) -> None:
        """A merge patch, as a user writes one; the status knows nothing of it."""
        changed = await change(self.site, STATEFULSETS, self.name, tree)
        self.generation = changed["metadata"]["generation"]

    async def annotate(self, **annotations: str | None) -> None:
        await self.change({"metadata": {"annotations": annotations}})

    async def make_pod(self, ordinal: int, state: str = "ready", revision: str = "new", **metadata: Any) -> Tree:
        """`state` is ready, notReady, terminating, pending or stuck; `metadata` goes before what it would have."""
        name = f"{self.name}-{ordinal}"
        owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": self.name, "uid": self.uid, "controller": True}
        tree: Tree = {
            "metadata": {
                "name": name,
                "labels": {**self.pod_labels, REVISION_LABEL: revision},
                "ownerReferences": [owner],
                **metadata,
            },
            "spec": {"containers": [{"name": "main", "image": "none"}], "terminationGracePeriodSeconds": 600},
        }
        if state == "terminating":
            tree["spec"]["nodeName"] = "node"
        made = await self.site.create(PODS, tree, status=pod_status(state))
        if state == "terminating":
            await remove_pod(self.site, made)
        return made

    async def set_pod(self, ordinal: int, state: str) -> None:
        await self.site.write_status(PODS, f"{self.name}-{ordinal}", pod_status(state))


async def a_zone(
    site: Site,
    letter: str = "a",
    replicas: int = 3,
    *,
    ready: int | None = None,
    revision: str = "old",
    current: str = "old",
    update: str = "new",
    strategy: str = "OnDelete",
    max_unavailable: str | None = None,
    paused: str | None = None,
    group: str | None = "ingester",
    labels: dict[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    own_labels: Mapping[str, str] | None = None,
    service: str = "ingester",
    **states: str,
) -> Zone:
    """`ingester-zone-<letter>` with the template at `new` and all pods ready on `old`; `ready` is status.readyReplicas.

    `_2="notReady"` sets the state of pod 2, `_2="ready new"` its revision as well, `_2="missing"` leaves it out.
    `labels` are those of the pods; `own_labels` come to the group of the StatefulSet.
    """
    all_annotations = {**(annotations or {}), MAX_UNAVAILABLE: max_unavailable, PAUSED: paused}
    name = f"{PREFIX}{letter}"
    tree = statefulset(
        name,
        replicas,
        strategy=strategy,
        labels={**(own_labels or {}), **({} if group is None else {GROUP_LABEL: group})},
        pod_labels={NAME_LABEL: name} if labels is None else labels,
        annotations={key: value for key, value in all_annotations.items() if value is not None},
        service=service,
    )
    zone = Zone(site, await site.create(STATEFULSETS, tree))
    for ordinal in range(replicas):
        state, _, other = states.get(f"_{ordinal}", "ready").partition(" ")
        if state != "missing":
            await zone.make_pod(ordinal, state, other or revision)
    await zone.write_status(
        replicas=replicas,
        readyReplicas=replicas if ready is None else ready,
        currentRevision=current,
        updateRevision=update,
    )
    return zone


def statefulset(
    name: str,
    replicas: int = 3,
    *,
    strategy: str = "OnDelete",
    labels: dict[str, str] | None = None,
    pod_labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    service: str = "ingester",
) -> Tree:
    """A StatefulSet of the group `ingester`."""
    pod_labels = {NAME_LABEL: name} if pod_labels is None else pod_labels
    container = {"name": "main", "image": "image:1"}
    return {
        "metadata": {
            "name": name,
            "labels": {GROUP_LABEL: "ingester"} if labels is None else labels,
            "annotations": annotations or {},
        },
        "spec": {
            "serviceName": service,
            "replicas": replicas,
            "selector": {"matchLabels": pod_labels},
            "updateStrategy": {"type": strategy},
            "template": {"metadata": {"labels": pod_labels}, "spec": {"containers": [container]}},
        },
    }


def pod_status(state: str) -> Tree:
    """What a kubelet writes."""
    if state == "pending":
        return {"phase": "Pending", "containerStatuses": None}
    container = {
        "name": "main",
        "image": "none",
        "imageID": "",
        "restartCount": 0,
        "ready": state in ("ready", "terminating"),
        "state": STUCK if state == "stuck" else RUNNING,
    }
    return {"phase": "Running", "containerStatuses": [container]}


async def change(site: Site, resource: Resource, name: str, tree: Tree) -> Tree:
    """A merge patch as a user writes one."""
    body = msgspec.json.encode(tree)
    answer = await site.client.call(patch(Ref(resource, site.namespace, name), MERGE_PATCH, body))
    changed: Tree = msgspec.json.decode(answer.body)
    return changed


async def remove_pod(site: Site, pod: Tree) -> None:
    metadata = pod["metadata"]
    await site.client.call(delete(Ref(PODS, site.namespace, metadata["name"], metadata["uid"])))


async def told(site: Site, reason: str) -> list[Tree]:
    """The Events with this reason, once there are any."""

    def found() -> list[Tree]:
        return [event for event in site.history.objects(EVENTS).values() if event["reason"] == reason]

    return await site.until(found, following=[EVENTS])


class Deeds:
    """What operators have done on a site since this was made; nobody else may delete pods of the zones meanwhile."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self._start = max((event.version for event in site.history.events), default=0)
        self._given = {resource: site.history.objects(resource) for resource in (PODS, STATEFULSETS)}

    @property
    def witness(self) -> invariants.Witness:
        """Has seen everything since the start; raises when a safety invariant was broken."""
        return invariants.Witness().see_all([*self._at_start(), *self._since()])

    @property
    def deletions(self) -> list[str]:
        """Pods that were deleted, in order and without what all names begin with."""
        return [name.removeprefix(PREFIX) for name in self.witness.deletions]

    @property
    def completions(self) -> list[str]:
        """Zones whose revision was recorded."""
        return [name.removeprefix(PREFIX) for name in self.witness.completions]

    @property
    def scalings(self) -> list[str]:
        """Zones whose replicas the operator changed, in order, like `b: 3 to 4`."""
        return [f"{name.removeprefix(PREFIX)}: {had} to {has}" for name, had, has in self.witness.scalings]

    def _at_start(self) -> Iterable[invariants.Event]:
        for resource, objects in self._given.items():
            for tree in objects.values():
                yield invariants.Event(resource.plural, "ADDED", tree)

    def _since(self) -> Iterable[invariants.Event]:
        return self.site.notes.judged(event for event in self.site.history.events if event.version > self._start)


class Play(Deeds):
    """The operator at work on a site."""

    def __init__(self, site: Site, operator: Operator, user: str) -> None:
        super().__init__(site)
        self.operator = operator
        self.task = site.start_operator(operator, user)

    async def rest(self) -> None:
        """The operator has nothing to do about what is so now; on the embedded cluster a minute goes by as well."""
        await self.operator.at_rest()
        if not self.site.real:
            await asyncio.sleep(60)


async def deeds_on(site: Site) -> Deeds:
    """From now on, whoever the operator is."""
    await site.history.caught_up()
    return Deeds(site)


async def begin(site: Site, operator: Operator | None = None, *, user: str = "admin") -> Play:
    """Starts the operator on what is there."""
    await site.history.caught_up()
    return Play(site, operator or Operator(site), user)
