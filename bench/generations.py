"""Sees generations of environments from outside, by watches of its own, and knows when they are promoted.

Every change of an environment, of a StatefulSet and of a Service is kept for the judgement afterwards.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from bench.narrow import Line, Meta, StatefulSet, anything_in, statefulset_line
from bench.watching import Named, changes, present
from fairlead.contracts.environments.kinds import GENERATION, MATERIALIZES, NAME, ORGANIZATION_NAME
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import SERVICES
from kubeloop.objects.meta import Resource
from kubeloop.request import Transport

T = TypeVar("T", bound=Named)


class Condition(Struct, frozen=True):
    status: str
    reason: str
    message: str = ""


class Status(Struct, frozen=True, rename="camel"):
    active_generation: int = 0
    last_completed_rollout_hash: str | None = None
    requested_rollout_hash: str | None = None
    last_completed_rollout_environmentd_image_ref: str | None = None
    conditions: tuple[Condition, ...] = ()

    @property
    def reason(self) -> str:
        return self.conditions[0].reason if self.conditions else ""

    @property
    def promoting(self) -> int | None:
        """The generation that is being promoted, by the last word of the condition's message."""
        if self.reason != "Promoting":
            return None
        return int(self.conditions[0].message.rpartition(" ")[2])


class Spec(Struct, frozen=True, rename="camel"):
    environmentd_image_ref: str = ""


class Environment(Struct, frozen=True):
    metadata: Meta
    spec: Spec = Spec()
    status: Status = Status()

    def is_promoted(self, generation: int) -> bool:
        """Whether that generation serves, is that of the spec, and nothing is left to do."""
        status = self.status
        return (
            (status.active_generation, status.reason) == (generation, "Applied")
            and status.conditions[0].status == "True"
            and status.last_completed_rollout_hash is not None
            and status.last_completed_rollout_hash == status.requested_rollout_hash
            and status.last_completed_rollout_environmentd_image_ref == self.spec.environmentd_image_ref
        )


class ServiceSpec(Struct, frozen=True):
    selector: dict[str, str] = {}


class Service(Struct, frozen=True):
    metadata: Meta
    spec: ServiceSpec = ServiceSpec()

    @property
    def selected(self) -> int | None:
        """The generation to which the public Service of an environment leads; None for other Services."""
        name, selected = self.metadata.name, self.spec.selector.get(NAME, "")
        prefix, _, generation = selected.rpartition("-")
        return int(generation) if name == prefix and name.endswith("-environmentd") else None


Object: TypeAlias = Environment | StatefulSet | Service


class Event(Struct, frozen=True):
    """What one change left of an object."""

    version: int
    environment: str
    object: Object
    gone: bool = False
    at: float = 0.0
    """When the observer heard of it, on the monotonic clock; the order of changes is that of their versions."""


def generation_of(found: StatefulSet) -> int:
    return int(found.metadata.annotations[GENERATION])


environment_line = msgspec.json.Decoder(Line[Environment]).decode
service_line = msgspec.json.Decoder(Line[Service]).decode


class Observer:
    """The environments of one namespace as its watches show them."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._environments: dict[str, Environment] = {}
        self._awaited: dict[str, int] = {}
        self._promoted = asyncio.Event()
        self._promoted_at = 0.0

    @property
    def unfinished(self) -> list[str]:
        """Those that are waited for, and what they say."""
        found = {name: self._environments.get(name) for name in sorted(self._awaited)}
        return [f"{name}: {seen.status.reason if seen else 'unknown'}" for name, seen in found.items()]

    def expect(self, generations: Mapping[str, int]) -> None:
        """From now on these environments are waited for until that generation of theirs is promoted."""
        self._awaited = dict(generations)
        self._promoted.clear()
        for name in generations:
            self._look_at(name)

    async def promoted(self) -> float:
        """When, on the monotonic clock, the last one was seen to be promoted."""
        await self._promoted.wait()
        return self._promoted_at

    def see(self, line: Line[T]) -> None:
        found = line.object
        if not isinstance(found, Environment | StatefulSet | Service):
            raise TypeError(f"nothing is known of {type(found).__name__}")
        metadata, now = found.metadata, time.monotonic()
        gone = line.type == "DELETED"
        name = metadata.name if isinstance(found, Environment) else metadata.labels.get(ORGANIZATION_NAME, "")
        self.events.append(Event(int(metadata.resource_version), name, found, gone, now))
        if isinstance(found, Environment):
            self._environments[name] = found
            self._look_at(name)

    def _look_at(self, name: str) -> None:
        seen = self._environments.get(name)
        if name in self._awaited and seen is not None and seen.is_promoted(self._awaited[name]):
            del self._awaited[name]
        if not self._awaited and not self._promoted.is_set():
            self._promoted_at = time.monotonic()
            self._promoted.set()


@asynccontextmanager
async def observing(transport: Transport, namespace: str) -> AsyncIterator[Observer]:
    """Watches a namespace, empty at first, while the context lasts; a watch that breaks ends what runs inside."""
    observer = Observer()

    async def watch(resource: Resource, version: str, decode: Callable[[bytes], Line[T]]) -> None:
        async for line in changes(transport, resource, namespace, version, decode):
            observer.see(line)

    versions = {}
    for resource in (MATERIALIZES, STATEFULSETS, SERVICES):
        versions[resource] = anything_in(await present(transport, resource, namespace)).metadata.resource_version
    async with asyncio.TaskGroup() as tasks:
        watches = [
            tasks.create_task(watch(MATERIALIZES, versions[MATERIALIZES], environment_line)),
            tasks.create_task(watch(STATEFULSETS, versions[STATEFULSETS], statefulset_line)),
            tasks.create_task(watch(SERVICES, versions[SERVICES], service_line)),
        ]
        try:
            yield observer
        finally:
            for task in watches:
                task.cancel()
