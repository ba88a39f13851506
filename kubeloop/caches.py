"""The caches of a process: one informer per resource and selection, shared by all who ask for the same.

Whoever asks for a selection that is there already gets the informer that is there, with the indexes added that it
lacks. What is asked for before `run` starts with it, what is asked for later starts at once. A share can be given
back: its subscriptions end with it, and the informer ends with its last share. A selection has one struct, with all
fields that anybody reads of it; another selection of the resource may have another, as its readers need more or less.
Who reads whole objects, where others read a few fields of the same selection, holds them apart, in an informer of
their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, Protocol

from kubeloop.client import Client
from kubeloop.informer import Change, Informer
from kubeloop.objects.meta import Ref, Resource
from kubeloop.objects.narrowing import narrowed
from kubeloop.store import Index, Store, T
from kubeloop.watch import Selection

_Held = tuple[Selection, type[Any] | None]
"""A selection, and the struct of readers that hold it apart."""


class Troubles(Protocol):
    """Hears what is in the way of one informer, and that it is over."""

    def failed(self, error: Exception) -> None: ...

    def restored(self) -> None: ...


class _Entry:
    """One informer and who holds it."""

    def __init__(self, informer: Informer[Any], into: type[Any]) -> None:
        self.informer = informer
        self.into = into
        self.shares = 0
        self.required = 0
        """How many of the shares are those of readers that cannot do without it."""
        self.annotations: frozenset[str] | None = frozenset()
        """Keys of those that readers named; None: all."""
        self.task: asyncio.Task[None] | None = None

    def read_also(self, annotations: frozenset[str] | None) -> None:
        held = self.annotations
        wanted = None if held is None or annotations is None else held | annotations
        if held is not None and wanted != held and self.task is not None:
            names = ", ".join(sorted(held)) or "none"
            raise ValueError(
                f"the informer of {self.informer.resource.plural} runs and holds no other annotations than {names}:"
                " name those to read before it starts"
            )
        self.annotations = wanted

    def start(self, tasks: asyncio.TaskGroup) -> None:
        if self.annotations is not None:
            self.informer.read_as(narrowed(self.into, self.annotations))
        self.task = tasks.create_task(self.informer.run())


class Share(Generic[T]):
    """One reader's hold on an informer."""

    def __init__(self, informer: Informer[T], give_back: Callable[[], None]) -> None:
        self.informer = informer
        self._give_back: Callable[[], None] | None = give_back
        self._handlers: list[Callable[[Change[T]], None]] = []

    @property
    def store(self) -> Store[T]:
        return self.informer.store

    def subscribe(self, handler: Callable[[Change[T]], None]) -> None:
        """Until the share is given back."""
        self._handlers.append(handler)
        self.informer.subscribe(handler)

    def give_back(self) -> None:
        """Its handlers are not called any more; the informer ends if nobody else holds it. Twice is once."""
        if self._give_back is None:
            return
        for handler in self._handlers:
            self.informer.unsubscribe(handler)
        give_back, self._give_back = self._give_back, None
        give_back()


class Caches:
    """All informers of one process."""

    def __init__(self, client: Client, troubles: Callable[[Selection, Callable[[], bool]], Troubles]) -> None:
        """`troubles` makes what hears of one informer; its second argument says whether all readers can do without."""
        self._client = client
        self._troubles = troubles
        self._entries: dict[_Held, _Entry] = {}
        self._of: dict[Resource, list[_Entry]] = {}
        """The same entries by resource; no list is empty."""
        self._tasks: asyncio.TaskGroup | None = None

    def __iter__(self) -> Iterator[Informer[Any]]:
        return iter([entry.informer for entry in self._entries.values()])

    def informer(
        self,
        resource: Resource,
        into: type[T],
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        indexes: Mapping[str, Index[T]] = {},
        annotations: frozenset[str] | None = None,
        optional: bool = False,
        apart: bool = False,
    ) -> Informer[T]:
        """The informer of this selection, for as long as the process runs."""
        return self.share(
            resource,
            into,
            namespace=namespace,
            labels=labels,
            fields=fields,
            indexes=indexes,
            annotations=annotations,
            optional=optional,
            apart=apart,
        ).informer

    def share(
        self,
        resource: Resource,
        into: type[T],
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        indexes: Mapping[str, Index[T]] = {},
        annotations: frozenset[str] | None = None,
        optional: bool = False,
        apart: bool = False,
    ) -> Share[T]:
        """A hold on the informer of this selection until it is given back.

        `annotations` are the keys of those that the reader reads, all of them where None is given: the objects are held
        with what all readers named. `optional` says that the reader can do without the resource where it is not served
        or not permitted. `apart` gives readers of this struct an informer beside that of others.
        """
        held = (Selection(resource, namespace, labels, fields), into if apart else None)
        entry = self._entry(held, into)
        entry.informer.store.add_indexes(indexes)
        entry.read_also(annotations)
        entry.shares += 1
        entry.required += not optional
        self._start(entry)
        return Share(entry.informer, lambda: self._give_back(held, is_required=not optional))

    def covering(self, ref: Ref) -> list[Informer[Any]]:
        """The informers in which a write to the object may show.

        What is known to be absent shows nothing where all readers can do without it. Who cannot waits: a right that is
        taken away leaves a store that must not be decided on.
        """
        return [
            entry.informer
            for entry in self._of.get(ref.resource, ())
            if entry.informer.selection.namespace in ("", ref.namespace)
            and entry.informer.selection.may_name(ref.name)
            and (entry.required or not entry.informer.is_absent)
        ]

    async def run(self) -> None:
        """Keeps all of them in step until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            try:
                for entry in self._entries.values():
                    self._start(entry)
                await asyncio.Event().wait()
            finally:
                self._tasks = None
                for entry in self._entries.values():
                    self._stop(entry)

    def _entry(self, held: _Held, into: type[Any]) -> _Entry:
        selection, _ = held
        resource = selection.resource
        if (found := self._entries.get(held)) is not None:
            if found.into is not into:
                raise TypeError(
                    f"{resource.plural} are held as {found.into.__qualname__} and asked for as {into.__qualname__}:"
                    " give the selection one struct with the fields of both"
                )
            return found

        def is_optional() -> bool:
            return not entry.required

        troubles = self._troubles(selection, is_optional)
        made = Informer(
            self._client,
            resource,
            into,
            namespace=selection.namespace,
            labels=selection.labels,
            fields=selection.fields,
            trouble=troubles.failed,
            restored=troubles.restored,
        )
        entry = self._entries[held] = _Entry(made, into)
        self._of.setdefault(resource, []).append(entry)
        return entry

    def _give_back(self, held: _Held, *, is_required: bool) -> None:
        entry = self._entries[held]
        entry.shares -= 1
        entry.required -= is_required
        if entry.shares:
            return
        self._stop(entry)
        del self._entries[held]
        resource = held[0].resource
        self._of[resource].remove(entry)
        if not self._of[resource]:
            del self._of[resource]

    def _start(self, entry: _Entry) -> None:
        if self._tasks is not None and entry.task is None:
            entry.start(self._tasks)

    def _stop(self, entry: _Entry) -> None:
        if entry.task is not None:
            entry.task.cancel()
            entry.task = None
