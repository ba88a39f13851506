"""StatefulSets and pods of some namespaces, kept in step with the cluster while somebody watches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from fairlead.api.apps import STATEFULSETS, StatefulSet
from fairlead.api.core import PODS, Pod
from fairlead.api.zones import GROUP_LABEL
from fairlead.cli.failures import sentence
from fairlead.cli.gathering import Stores
from fairlead.control.gather.zones import POD_INDEXES, STATEFULSET_INDEXES
from fairlead.kube.client import Client
from fairlead.kube.errors import Forbidden, Gone, KubeError, NotFound, Throttled, Unauthorized
from fairlead.kube.informer import Change, Informer

BURST = 0.05
"""Seconds in which changes that come together are awaited, so that they are seen together."""

PASSING = (Gone, Throttled)
"""Errors that an informer gets over by itself at once."""
LASTING = (Unauthorized, Forbidden, NotFound)
"""Errors that waiting does not heal."""


class Following:
    """Informers of the namespaces; an empty name stands for all."""

    def __init__(self, client: Client, namespaces: Sequence[str]) -> None:
        self.stores: list[Stores] = []
        self._informers: list[Informer[StatefulSet] | Informer[Pod]] = []
        self._changed = asyncio.Event()
        self._fatal: asyncio.Future[KubeError] = asyncio.get_running_loop().create_future()
        for namespace in namespaces:
            zones = Informer(
                client,
                STATEFULSETS,
                StatefulSet,
                namespace=namespace,
                labels=GROUP_LABEL,
                indexes=STATEFULSET_INDEXES,
                trouble=self._failed,
            )
            pods = Informer(client, PODS, Pod, namespace=namespace, indexes=POD_INDEXES, trouble=self._failed)
            zones.subscribe(self._note_zone)
            pods.subscribe(self._note_pod)
            self.stores.append((zones.store, pods.store))
            self._informers += [zones, pods]

    @property
    def trouble(self) -> str:
        """Why what is seen may be old; empty when it is not."""
        errors = [informer.last_error for informer in self._informers]
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
            for informer in self._informers:
                await informer.synced.wait()
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

    def _note_zone(self, _: Change[StatefulSet]) -> None:
        self._changed.set()

    def _note_pod(self, _: Change[Pod]) -> None:
        self._changed.set()

    def _failed(self, error: Exception) -> None:
        """A failure before everything has been listed once is told at once: what was asked for is likely wrong."""
        starting = not all(informer.synced.is_set() for informer in self._informers)
        heals = isinstance(error, PASSING) or not (starting or isinstance(error, LASTING))
        if isinstance(error, KubeError) and not heals and not self._fatal.done():
            self._fatal.set_result(error)
        self._changed.set()

    async def _end_when_fatal(self) -> None:
        raise await self._fatal
