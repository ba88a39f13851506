"""The operator of LeaderWorkerSets at work on a site: its sets, their groups, what it wrote and what it told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec
from msgspec import Struct

from fairlead.contracts.leaderworker.kinds import (
    EVENT_SOURCE,
    GROUP_INDEX,
    LEADER_WORKER_SETS,
    NAME,
    REVISION_KEY,
    WORKER_INDEX,
)
from fairlead.contracts.leaderworker.settings import Settings
from kubeloop.calls import Handler
from kubeloop.objects.apps import CONTROLLER_REVISIONS, STATEFULSETS
from kubeloop.objects.core import EVENTS, PODS, SERVICES
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import JSON, Request, Response, Stream, Transport, delete, path_of, place_of
from kubesim.pods.behaviour import HOLD
from tests.e2e.clusters import Site
from tests.e2e.history import Event, Tree
from tests.e2e.leaderworkers import Operator, admit, define_sets
from tests.e2e.resting import rests
from tests.e2e.rollouts import is_ready
from tests.e2e.zones import change

FIRST, SECOND, THIRD = "example.test/main:1", "example.test/main:2", "example.test/main:3"
LOOK_EVERY = 0.02
UNCOUNTED = ("leases", EVENTS.plural)
"""What is written beside rounds."""
FOLLOWED = (LEADER_WORKER_SETS, CONTROLLER_REVISIONS, SERVICES, EVENTS)


class Sent(Struct, frozen=True):
    """A write of the operator."""

    verb: str
    plural: str
    name: str
    status: int
    body: bytes

    def __str__(self) -> str:
        return f"{self.verb} {'/'.join(filter(None, (self.plural, self.name)))} {self.status}"


class Noted:
    """A transport that keeps what is written by it; leases and Events apart."""

    def __init__(self, transport: Transport, sent: list[Sent]) -> None:
        self._transport = transport
        self._sent = sent

    async def send(self, request: Request) -> Response:
        response = await self._transport.send(request)
        place = place_of(request.path)
        if request.verb not in ("get", "list", "watch") and place.plural not in UNCOUNTED:
            self._sent.append(Sent(request.verb, place.plural, place.name, response.status, request.body or b""))
        return response

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._transport.stream(request)

    async def close(self) -> None:
        if (close := getattr(self._transport, "close", None)) is not None:
            await close()


class Play:
    """One operator after the other on a site; `sent` is what all of them wrote."""

    def __init__(self, site: Site, settings: Settings | None = None) -> None:
        self.site = site
        self.sent: list[Sent] = []
        self.settings = settings
        self.operator = Operator(site, settings)
        self.task: asyncio.Task[None] | None = None

    def start(self, transport: Transport | None = None) -> None:
        self.operator = Operator(self.site, self.settings)
        wire = transport or self.site.ground.transport("admin")
        self.task = self.site.start(self.operator(Noted(wire, self.sent)))

    async def kill(self) -> None:
        assert self.task is not None
        await self.site.stop(self.task)

    # What is there.

    def tree(self, name: str = "a") -> Tree:
        return self.site.history.objects(LEADER_WORKER_SETS)[name]

    def status(self, name: str = "a") -> Tree:
        """Empty where nothing is said yet."""
        status: Tree = self.site.history.objects(LEADER_WORKER_SETS).get(name, {}).get("status", {})
        return status

    def conditions(self, name: str = "a") -> dict[str, str]:
        """Their status by type."""
        return {each["type"]: each["status"] for each in self.status(name).get("conditions", ())}

    def leaders(self, name: str = "a") -> Tree:
        return self.site.history.objects(STATEFULSETS)[name]

    def numbers(self, name: str = "a") -> str:
        """Partition and replicas of the leaders, like `3/4`."""
        return _numbers(self.leaders(name)) if name in self.site.history.objects(STATEFULSETS) else ""

    def pods(self, **labels: str) -> list[Tree]:
        """Those of sets with these labels, by name."""
        found = self.site.history.objects(PODS).values()
        wanted = {_LABELS[name]: value for name, value in labels.items()}
        return [each for each in found if wanted.items() <= each["metadata"].get("labels", {}).items()]

    def group(self, index: int, name: str = "a") -> list[Tree]:
        """All pods of a group."""
        return self.pods(set=name, group=str(index))

    def uids(self, *indexes: int, name: str = "a") -> set[str]:
        return {pod["metadata"]["uid"] for index in indexes for pod in self.group(index, name)}

    def workers(self, index: int, name: str = "a") -> Tree | None:
        return self.site.history.objects(STATEFULSETS).get(f"{name}-{index}")

    def worker_sets(self, name: str = "a") -> list[str]:
        """Their names."""
        found = self.site.history.objects(STATEFULSETS)
        return [each for each in found if each != name and found[each]["metadata"]["labels"].get(NAME) == name]

    def revisions(self, name: str = "a") -> list[Tree]:
        """Those of the set itself, by number."""
        uid = self.tree(name)["metadata"]["uid"]
        found = self.site.history.objects(CONTROLLER_REVISIONS).values()
        return sorted((each for each in found if owner_of(each).get("uid") == uid), key=lambda each: each["revision"])

    def keys(self, name: str = "a") -> list[str]:
        return [key_of(each) for each in self.revisions(name)]

    def services(self) -> list[str]:
        return [
            each for each, tree in self.site.history.objects(SERVICES).items() if NAME in tree["metadata"]["labels"]
        ]

    def told(self, reason: str = "") -> list[str]:
        """Notes of Events, in the order of their first time."""
        found = self.site.history.of(EVENTS, "ADDED")
        ours = [each.object for each in found if each.object["reportingController"] == EVENT_SOURCE]
        return [each["note"] for each in ours if each["reason"] == reason or not reason]

    def event(self, note: str) -> Tree:
        return next(each.object for each in self.site.history.of(EVENTS) if each.object.get("note") == note)

    def is_whole(self, index: int, image: str, size: int = 2, name: str = "a") -> bool:
        """All pods of the group are ready and run the image."""
        pods = self.group(index, name)
        return len(pods) == size and all(is_ready(pod) and image_of(pod) == image for pod in pods)

    def is_available(self, name: str = "a") -> bool:
        """As the set says of its newest generation."""
        observed = self.status(name).get("observedGeneration")
        return (
            observed is not None
            and observed == self.tree(name)["metadata"]["generation"]
            and self.conditions(name).get("Available") == "True"
        )

    # What people do.

    async def create(self, tree: Tree) -> Tree:
        tree = {**tree, "metadata": {**tree["metadata"], "namespace": self.site.namespace}}
        return await self.site.create(LEADER_WORKER_SETS, tree)

    async def change(self, tree: Tree, name: str = "a") -> Tree:
        """Returns when the record shows it."""
        changed = await change(self.site, LEADER_WORKER_SETS, name, tree)
        version = int(changed["metadata"]["resourceVersion"])
        await self.site.until(lambda: int(self.tree(name)["metadata"]["resourceVersion"]) >= version)
        return changed

    async def give_image(self, image: str, *, hold: bool = False, name: str = "a", **template: Any) -> None:
        """With `hold` the pods of the new revision become ready only by `release`."""
        await self.change({"spec": {"leaderWorkerTemplate": {"workerTemplate": a_pod(image, hold), **template}}}, name)

    async def release(self, *indexes: int, name: str = "a") -> None:
        """The pods of these groups become ready; their workers too that are still to come."""
        for index in indexes:
            await self._annotate(index, None, name)

    async def hold(self, *indexes: int, name: str = "a") -> None:
        """The pods of these groups are no longer ready."""
        for index in indexes:
            await self._annotate(index, "true", name)

    async def _annotate(self, index: int, value: str | None, name: str) -> None:
        for pod in self.group(index, name):
            await change(self.site, PODS, pod["metadata"]["name"], {"metadata": {"annotations": {HOLD: value}}})

    async def bind(self, name: str, node: str = "sim-node-0") -> None:
        """Puts a pod that is to be placed by hand on a node, as soon as it is there."""
        await self.site.until(lambda: name in self.site.history.objects(PODS))
        tree = {"metadata": {"name": name}, "target": {"apiVersion": "v1", "kind": "Node", "name": node}}
        path = path_of(PODS, self.site.namespace, name, "binding")
        body = msgspec.json.encode({"apiVersion": "v1", "kind": "Binding", **tree})
        await self.site.client.call(Request("POST", path, body=body, content_type=JSON))

    async def delete(self, resource: Resource, name: str, propagation: str = "") -> None:
        await self.site.client.call(delete(Ref(resource, self.site.namespace, name), propagation=propagation))

    # What is waited for.

    async def until(self, holds: Any, **given: Any) -> None:
        await self.site.until(holds, **given)

    async def available(self, name: str = "a") -> None:
        await self.site.until(lambda: self.is_available(name))

    async def at_numbers(self, numbers: str, name: str = "a") -> None:
        await self.site.until(lambda: self.numbers(name) == numbers)

    async def at_group(self, index: int, image: str, size: int = 2, name: str = "a") -> None:
        """All pods of the group are there with the image, ready or not."""

        def is_there() -> bool:
            pods = self.group(index, name)
            going = [pod for pod in pods if "deletionTimestamp" in pod["metadata"]]
            return len(pods) == size and not going and all(image_of(pod) == image for pod in pods)

        await self.site.until(is_there)

    async def at_rest(self) -> None:
        """The operator has decided on what the cluster shows now, and has nothing left to do."""
        await self.site.until(lambda: rests(self.site, self.operator.manager), every=LOOK_EVERY)
        await self.site.history.caught_up()

    def rounds_again(self) -> None:
        """Every set and every group gets a round, though nothing changed."""
        manager = self.operator.manager
        assert manager is not None
        for lane in manager._lanes:
            lane.wake_all()

    # What happened.

    def numbers_so_far(self, name: str = "a") -> list[str]:
        """Partition and replicas of the leaders, each time that they changed."""
        found: list[str] = []
        for event in self.site.history.of(STATEFULSETS, "ADDED", "MODIFIED"):
            if event.name == name and (not found or found[-1] != _numbers(event.object)):
                found.append(_numbers(event.object))
        return found

    def writes(self, plural: str = "", verb: str = "") -> list[Sent]:
        return [each for each in self.sent if plural in ("", each.plural) and verb in ("", each.verb)]


async def begin(
    site: Site,
    settings: Settings | None = None,
    through: Callable[[Handler], Handler] = lambda handler: handler,
    **kubelet: Any,
) -> Play:
    """Kinds and webhooks are there, pods come and go, and the operator runs."""
    await define_sets(site)
    await admit(site, through=through)
    for each in FOLLOWED:
        await site.history.follow(each)
    site.start_kubelet(**{"ready_after": 0.05, "gone_after": 0.05, **kubelet})
    play = Play(site, settings)
    play.start()
    return play


def a_pod(image: str = FIRST, hold: bool = False) -> Tree:
    """A template; a patch of one in which the hold of another is taken away."""
    return {
        "metadata": {"annotations": {HOLD: "true" if hold else None}},
        "spec": {"containers": [{"name": "main", "image": image}]},
    }


PLACED_BY_HAND: Tree = {
    "spec": {"schedulerName": "by-hand", "containers": [{"name": "main", "image": FIRST}]},
}
"""A template of leaders that no scheduler places, so that they may be where none would put them."""


def image_of(pod: Tree) -> str:
    image: str = pod["spec"]["containers"][0]["image"]
    return image


def key_of(tree: Tree) -> str:
    key: str = tree["metadata"].get("labels", {}).get(REVISION_KEY, "")
    return key


def owner_of(tree: Tree) -> Tree:
    """The controller reference; empty where there is none."""
    owners = tree["metadata"].get("ownerReferences", ())
    return next((each for each in owners if each.get("controller")), {})


def is_going(event: Event) -> bool:
    return "deletionTimestamp" in event.object["metadata"]


def body_of(sent: Sent) -> Tree:
    tree: Tree = msgspec.json.decode(sent.body)
    return tree


_LABELS = {"set": NAME, "group": GROUP_INDEX, "worker": WORKER_INDEX, "key": REVISION_KEY}


def _numbers(leaders: Tree) -> str:
    update = leaders["spec"]["updateStrategy"].get("rollingUpdate", {})
    return f"{update.get('partition', 0)}/{leaders['spec']['replicas']}"
