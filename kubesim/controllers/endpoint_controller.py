"""What both controllers of endpoints do: they bring what is written about each Service up to date, one at a time."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable
from typing import ClassVar, Generic, TypeVar

from kubeloop.queue import Queue
from kubeloop.store import Named
from kubeloop.worker import work
from kubesim.controllers.base import Api, Expectations, Stale, View, failed
from kubesim.controllers.event_recorder import Recorder
from kubesim.controllers.selected_pods import Chosen, Key, Pod, Service
from kubesim.errors import StatusError

P = TypeVar("P", bound=Named)
V = TypeVar("V")

WORKERS = 5
LONGEST_RETRY = 1000.0
MOST_ATTEMPTS = 15
"""Of the real controllers, as are the seconds."""


class EndpointController(ABC, Generic[P, V]):
    """Reads the Services that both share, and writes what `view` shows; `make` works out what is remembered of a pod.

    Its watches are behind by the lag of the verbs.
    """

    first_retry: ClassVar[float]
    """Seconds."""

    def __init__(
        self, api: Api, component: str, chosen: Chosen, view: View[P], make: Callable[[Service, Pod], V]
    ) -> None:
        self._api = api
        self._chosen = chosen
        self._view = view
        self._written = Expectations()
        self._moments = Moments()
        self._attempts = Attempts()
        self._remembered = Remembered(make)
        self._events = Recorder(api, component)
        self._queue: Queue[Key] = Queue(first_delay=self.first_retry, longest_delay=LONGEST_RETRY)
        chosen.listen(self._queue.add)
        view.subscribe(self._changed)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._events.work_in(tasks)
            await self._chosen.synced.wait()
            tasks.create_task(self._view.run())
            await self._view.synced.wait()
            self._begin()
            tasks.create_task(work(self._queue, self._sync, workers=WORKERS, failed=failed))

    async def _sync(self, key: Key) -> None:
        try:
            await self._look(key)
        except (StatusError, Stale):
            if not self._attempts.is_over(key):
                raise
        else:
            self._attempts.succeeded(key)

    async def _look(self, key: Key) -> None:
        service = self._chosen.services.objects.get(*key)
        if service is None:
            for each in (self._moments, self._remembered, self._written):
                each.forget(key)
            await self._remove(key)
        elif service.has_endpoints:
            if not self._written.met(key):
                raise Stale(key)
            pods = self._chosen.members(service)
            await self._bring_up_to_date(service, pods, self._moments.news(service, pods))

    def _begin(self) -> None:
        """What is looked at besides the Services, once everything has been seen."""

    @abstractmethod
    def _changed(self, old: P | None, new: P | None) -> None:
        """What was written has changed; adds the Service to the queue where that matters."""

    @abstractmethod
    async def _remove(self, key: Key) -> None:
        """The Service is gone."""

    @abstractmethod
    async def _bring_up_to_date(self, service: Service, pods: list[Pod], since: str) -> None:
        """Has written what the pods are; `since` is when they changed."""


class Moments:
    """When what led to the endpoints of each Service happened, as far as it is news."""

    def __init__(self) -> None:
        self._known: dict[Key, dict[str, str]] = {}

    def news(self, service: Service, pods: Iterable[Pod]) -> str:
        """The earliest time of what has changed since this was last asked; empty when nothing has."""
        known = self._known.get(service.key)
        times = {pod.metadata.name: pod.ready.last_transition_time or "" for pod in pods if pod.ready is not None}
        self._known[service.key] = times
        if known is None:
            return service.metadata.creation_timestamp
        return min((time for name, time in times.items() if time > known.get(name, "")), default="")

    def forget(self, key: Key) -> None:
        self._known.pop(key, None)


class Remembered(Generic[V]):
    """What was worked out for each pod of a Service, for as long as pod and Service are the same."""

    def __init__(self, make: Callable[[Service, Pod], V]) -> None:
        self._make = make
        self._known: dict[Key, tuple[Service, dict[str, tuple[Pod, V]]]] = {}

    def of(self, service: Service, pods: Iterable[Pod]) -> list[tuple[Pod, V]]:
        """For each pod, in their order; pods that are not among these are forgotten."""
        before, known = self._known.get(service.key, (service, {}))
        if before is not service:
            known = {}
        made = {}
        for pod in pods:
            found = known.get(pod.metadata.name)
            if found is None or found[0] is not pod:
                found = pod, self._make(service, pod)
            made[pod.metadata.name] = found
        self._known[service.key] = service, made
        return list(made.values())

    def forget(self, key: Key) -> None:
        self._known.pop(key, None)


class Attempts:
    """How often each Service has failed in a row; in the end it is let be until something changes."""

    def __init__(self) -> None:
        self._failed: Counter[Key] = Counter()

    def succeeded(self, key: Key) -> None:
        self._failed.pop(key, None)

    def is_over(self, key: Key) -> bool:
        """Notes one more failure; true when it was one too many."""
        self._failed[key] += 1
        if self._failed[key] <= MOST_ATTEMPTS:
            return False
        del self._failed[key]
        return True
