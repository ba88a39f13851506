"""What rollouts of some namespaces consist of, kept in step with the cluster while somebody watches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from msgspec import structs

from fairlead.cli.documents_of import CHILDREN, Scope, seen_of
from fairlead.cli.failures import sentence
from fairlead.contracts.environments.decide.recorded_waits import Dated
from fairlead.contracts.environments.gather import CHILD_INDEXES, ENVIRONMENT_INDEXES
from fairlead.contracts.environments.kinds import (
    BALANCERS,
    CONSOLES,
    MATERIALIZES,
    RESOURCE_ID,
    Balancer,
    Child,
    Console,
)
from fairlead.contracts.environments.looks import LookedAt
from fairlead.contracts.zones.gather import POD_INDEXES, STATEFULSET_INDEXES
from fairlead.contracts.zones.kinds import GROUP_LABEL
from kubeloop.client import Client
from kubeloop.errors import Forbidden, Gone, KubeError, NotFound, Throttled, Unauthorized
from kubeloop.informer import Change, Informer
from kubeloop.objects.apps import STATEFULSETS, StatefulSet
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import Resource
from kubeloop.store import Index, T

BURST = 0.05
"""Seconds in which changes that come together are awaited, so that they are seen together."""

PASSING = (Gone, Throttled)
"""Errors that an informer gets over by itself at once."""
LASTING = (Unauthorized, Forbidden, NotFound)
"""Errors that waiting does not heal."""
ABSENT = (Forbidden, NotFound)
"""Answers about a part that the cluster does not have, or does not show."""


class Following:
    """Informers of the namespaces; an empty name stands for all."""

    def __init__(self, client: Client, namespaces: Sequence[str]) -> None:
        self._client = client
        self._required: list[Informer[Any]] = []
        self._optional: list[Informer[Any]] = []
        self._changed = asyncio.Event()
        self._fatal: asyncio.Future[KubeError] = asyncio.get_running_loop().create_future()
        self.scopes = [self._scope(namespace) for namespace in namespaces]
        for informer in self._informers:
            informer.subscribe(self._note)

    @property
    def _informers(self) -> list[Informer[Any]]:
        return [*self._required, *self._optional]

    def _scope(self, namespace: str) -> Scope:
        zones = Informer(
            self._client,
            STATEFULSETS,
            StatefulSet,
            namespace=namespace,
            labels=GROUP_LABEL,
            indexes=STATEFULSET_INDEXES,
            trouble=self._failed,
        )
        pods = Informer(self._client, PODS, Pod, namespace=namespace, indexes=POD_INDEXES, trouble=self._failed)
        self._required += [zones, pods]
        return Scope((zones.store, pods.store), self._environments(namespace, pods))

    def _environments(self, namespace: str, pods: Informer[Pod]) -> LookedAt:
        """A cluster need not have them, and then nothing of theirs need be seen."""

        found = self._kind(MATERIALIZES, Dated, namespace, ENVIRONMENT_INDEXES)
        balancers = self._kind(BALANCERS, Balancer, namespace, {})
        consoles = self._kind(CONSOLES, Console, namespace, {})
        owned = CHILD_INDEXES
        statefulsets = self._kind(STATEFULSETS, StatefulSet, namespace, owned, RESOURCE_ID)
        children = {kind: self._kind(kind, Child, namespace, owned, RESOURCE_ID) for kind in CHILDREN}
        stores = {kind: informer.store for kind, informer in children.items()}
        companions = balancers.store, consoles.store
        seen = seen_of(found.store, companions, statefulsets.store, stores, pods.store)
        return structs.replace(seen, withheld=lambda: _withheld(statefulsets, *children.values()))

    def _kind(
        self, resource: Resource, into: type[T], namespace: str, indexes: Mapping[str, Index[T]], labels: str = ""
    ) -> Informer[T]:
        informer = Informer(
            self._client,
            resource,
            into,
            namespace=namespace,
            labels=labels,
            indexes=indexes,
            trouble=self._missed,
        )
        self._optional.append(informer)
        return informer

    @property
    def trouble(self) -> str:
        """Why what is seen may be old; empty when it is not."""
        errors = [informer.last_error for informer in self._required]
        errors += [informer.last_error for informer in self._optional if not informer.is_absent]
        error = next((one for one in errors if one is not None and not isinstance(one, PASSING)), None)
        if error is None:
            return ""
        return f"shown as last seen: {sentence(error) if isinstance(error, KubeError) else error}"

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Entered when everything has been listed once; an error that waiting does not heal ends the body."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(informer.run()) for informer in self._informers]
            tasks.append(group.create_task(self._end_when_fatal()))
            for event in self._events:
                await event.wait()
            self._changed.clear()
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()

    async def next(self, seconds: float) -> None:
        """Returns after the next change, or after so many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()
                await asyncio.sleep(BURST)
        self._changed.clear()

    def _note(self, _: Change[Any]) -> None:
        self._changed.set()

    def _missed(self, error: Exception) -> None:
        """What may be missing is missing for ever only while the cluster says so."""
        if isinstance(error, ABSENT):
            self._changed.set()
        else:
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        """A failure before everything has been listed once is told at once: what was asked for is likely wrong."""
        starting = not all(event.is_set() for event in self._events)
        heals = isinstance(error, PASSING) or not (starting or isinstance(error, LASTING))
        if isinstance(error, KubeError) and not heals and not self._fatal.done():
            self._fatal.set_result(error)
        self._changed.set()

    @property
    def _events(self) -> list[asyncio.Event]:
        """Each set once its informer knows what there is."""
        required = [informer.synced for informer in self._required]
        return [*required, *(informer.settled for informer in self._optional)]

    async def _end_when_fatal(self) -> None:
        raise await self._fatal


def _withheld(*informers: Informer[Any]) -> KubeError | None:
    """Environments are shown and what they consist of is not: a picture without it would be wrong."""
    errors = (informer.last_error for informer in informers if informer.is_absent)
    return next((error for error in errors if isinstance(error, KubeError)), None)
