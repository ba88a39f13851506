"""What happened on a cluster, seen from outside: every event of some kinds in one namespace, in order.

It watches with raw requests and shares nothing with the informers under test, so that it cannot share their mistakes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from kubeloop.client import Client
from kubeloop.errors import Throttled, TransportError
from kubeloop.objects.meta import Resource
from kubeloop.request import METADATA_LIST, Request, path_of

Tree = dict[str, Any]
World = dict[Resource, dict[str, Tree]]
"""Objects by name."""


class Event(NamedTuple):
    resource: Resource
    type: str
    """ADDED, MODIFIED or DELETED; what was there at the beginning counts as added."""
    name: str
    object: Tree
    version: int
    """The cluster's: orders the events of all kinds."""

    def __str__(self) -> str:
        return f"{self.version} {self.type} {self.resource.kind.lower()}/{self.name}"


class History:
    """Events of the kinds given to `follow`; `start` runs a coroutine in the background."""

    def __init__(self, client: Client, namespace: str, start: Callable[..., object]) -> None:
        self._client = client
        self._namespace = namespace
        self._start = start
        self._events: list[Event] = []
        self._world: World = {}
        self._gone: dict[tuple[Resource, str], int] = {}
        """With which version an object was seen to go."""
        self._wakeups = 0
        self._woken = asyncio.Event()

    @property
    def events(self) -> tuple[Event, ...]:
        """In the order in which the cluster carried them out."""
        return tuple(sorted(self._events, key=lambda event: event.version))

    def of(self, resource: Resource, *types: str) -> tuple[Event, ...]:
        """Events of one kind; of these types, where any are given."""
        return tuple(
            event for event in self.events if event.resource == resource and (not types or event.type in types)
        )

    def objects(self, resource: Resource) -> dict[str, Tree]:
        """Objects of a followed kind by name, as the last event showed them."""
        return dict(sorted(self._world[resource].items()))

    def replay(self) -> Iterator[tuple[Event, World]]:
        """Each event with the world right after it: for invariants that must hold at every moment."""
        world: World = {resource: {} for resource in self._world}
        for event in self.events:
            _show(world, event)
            yield event, {resource: dict(objects) for resource, objects in world.items()}

    async def follow(self, resource: Resource) -> None:
        """Records this kind too; returns when what exists already has been recorded."""
        if resource in self._world:
            return
        self._world[resource] = {}
        answer = await self._client.call(Request("GET", path_of(resource, self._namespace)))
        listed = msgspec.json.decode(answer.body)
        for item in listed["items"]:
            self._record(resource, "ADDED", item)
        self._start(self._watch(resource, listed["metadata"]["resourceVersion"]))

    async def caught_up(self) -> None:
        """Returns when the record shows at least what the cluster shows now."""
        for resource in tuple(self._world):
            headers = (("Accept", METADATA_LIST),)  # schemas of definitions are large, and not compared
            answer = await self._client.call(Request("GET", path_of(resource, self._namespace), headers=headers))
            listed = msgspec.json.decode(answer.body)["items"] or ()  # an empty list of metadata is written as null
            goal = {item["metadata"]["name"]: item for item in listed}
            while not self._shows(resource, goal):
                await self.past(self._wakeups)

    def wake(self) -> None:
        """Makes everyone who waits look again; for changes that are not on the cluster."""
        self._wakeups += 1
        self._woken.set()
        self._woken = asyncio.Event()

    @property
    def moment(self) -> int:
        """Grows with every event and every wake."""
        return self._wakeups

    async def past(self, moment: int) -> None:
        """Returns once something has happened since then."""
        while self._wakeups == moment:
            await self._woken.wait()

    def _shows(self, resource: Resource, goal: dict[str, Tree]) -> bool:
        seen = self._world[resource]
        newest = max((_version(item) for item in goal.values()), default=0)
        if any(_version(item) <= newest and name not in goal for name, item in seen.items()):
            return False
        return all(self._has_passed(resource, name, _version(item)) for name, item in goal.items())

    def _has_passed(self, resource: Resource, name: str, version: int) -> bool:
        """Whether the record shows the object as it was then or later: also that it has gone meanwhile."""
        there = self._world[resource].get(name)
        newest = self._gone.get((resource, name), 0) if there is None else _version(there)
        return newest >= version

    async def _watch(self, resource: Resource, version: str) -> None:
        while True:
            query = (("watch", "true"), ("resourceVersion", version), ("allowWatchBookmarks", "true"))
            request = Request("GET", path_of(resource, self._namespace), query=query)
            try:
                async with self._client.stream(request) as lines:
                    async for line in lines:
                        event = msgspec.json.decode(line)
                        if event["type"] == "ERROR":
                            version = await self._resumed(resource, event["object"])
                            break
                        version = event["object"]["metadata"]["resourceVersion"]
                        if event["type"] != "BOOKMARK":
                            self._record(resource, event["type"], event["object"])
            except TransportError:
                continue  # a watch may break; it resumes where it was
            except Throttled as error:  # as while the storage of a kind is built again for another definition
                await asyncio.sleep(error.retry_after or 1)

    async def _resumed(self, resource: Resource, error: Tree) -> str:
        """The version to watch from when the old one is not known any more, as after a change of the kind's definition.

        Only what the record shows may be there: else it has a gap. What was changed in the very moment in which the
        server exchanged the storage of the kind, when nobody can watch it, is recorded as it is then.
        """
        answer = await self._client.call(Request("GET", path_of(resource, self._namespace)))
        listed = msgspec.json.decode(answer.body)
        known = self._world[resource]
        there = {item["metadata"]["uid"] for item in listed["items"]}
        gap = f"the record of {resource.plural} has a gap: {error}"
        assert (error.get("code"), there) == (410, {item["metadata"]["uid"] for item in known.values()}), gap
        for item in listed["items"]:
            if _version(item) > _version(known[item["metadata"]["name"]]):
                self._record(resource, "MODIFIED", item)
        version: str = listed["metadata"]["resourceVersion"]
        return version

    def _record(self, resource: Resource, kind: str, item: Tree) -> None:
        event = Event(resource, kind, item["metadata"]["name"], item, _version(item))
        self._events.append(event)
        if event.type == "DELETED":
            self._gone[resource, event.name] = event.version
        _show(self._world, event)
        self.wake()


def _show(world: World, event: Event) -> None:
    if event.type == "DELETED":
        world[event.resource].pop(event.name, None)
    else:
        world[event.resource][event.name] = event.object


def _version(item: Tree) -> int:
    return int(item["metadata"]["resourceVersion"])
