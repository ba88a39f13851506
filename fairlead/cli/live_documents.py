"""What rollouts of some namespaces consist of, kept in step with the cluster while somebody watches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from fairlead.cli.documents_of import looks
from fairlead.cli.failures import sentence
from fairlead.engine.look import ResourceView, ViewKey
from kubeloop.client import Client
from kubeloop.errors import Forbidden, Gone, KubeError, NotFound, Throttled, Unauthorized
from kubeloop.informer import Change, Informer
from kubeloop.store import Readable, T
from kubeloop.watch import Unreadable

BURST = 0.05
"""Seconds in which changes that come together are awaited, so that they are seen together."""

PASSING = (Gone, Throttled)
"""Errors that an informer gets over by itself at once."""
LASTING = (Unauthorized, Forbidden, NotFound)
"""Errors that waiting does not heal."""
ABSENT = (Forbidden, NotFound)
"""Answers about a part that the cluster does not have, or does not show."""


class LiveScopes:
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

    def _scope(self, namespace: str) -> Informers:
        """One informer of each resource, for all contracts."""
        every = [look for _, look in looks()]
        required = {
            view.key
            for look in every
            if not any(root.optional for root in look.roots)
            for view in (*look.roots, *look.rest)
            if not view.optional
        }
        found: dict[ViewKey, Informer[Any]] = {}
        for view in (view for look in every for view in (*look.roots, *look.rest)):
            informer = found.get(view.key)
            if informer is None:
                informer = found[view.key] = self._informer(view, namespace, is_required=view.key in required)
            informer.store.add_indexes(view.indexes)
        return Informers(found)

    def _informer(self, view: ResourceView[T], namespace: str, *, is_required: bool) -> Informer[T]:
        """A cluster need not have the kinds of every contract, and then nothing of it need be seen."""
        informer = Informer(
            self._client,
            view.resource,
            view.into,
            namespace=namespace,
            labels=view.labels,
            trouble=self._failed if is_required else self._missed,
        )
        (self._required if is_required else self._optional).append(informer)
        return informer

    @property
    def trouble(self) -> str:
        """Why what is seen may be old; empty when it is not."""
        errors = [informer.last_error for informer in self._required]
        errors += [informer.last_error for informer in self._optional if not informer.is_absent]
        error = next((one for one in errors if one is not None and not isinstance(one, (*PASSING, Unreadable))), None)
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


class Informers:
    """What is seen of one namespace, or of all, as it changes."""

    def __init__(self, informers: dict[ViewKey, Informer[Any]]) -> None:
        self._informers = informers

    def __getitem__(self, view: ResourceView[T]) -> Readable[T]:
        return self._informers[view.key].store

    def unreadable(self, view: ResourceView[Any]) -> Sequence[Unreadable]:
        return tuple(self._informers[view.key].unreadable.values())

    def withheld(self, view: ResourceView[Any]) -> KubeError | None:
        informer = self._informers[view.key]
        error = informer.last_error if informer.is_absent else None
        return error if isinstance(error, KubeError) else None
