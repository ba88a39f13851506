"""The definitions that rule sets are about, as a watch shows them, or as they were read when a review named a version
that the watch had not shown (section 5.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.engine.decide.definitions import definition_in
from fairlead.engine.decide.registration import DEFINITIONS
from fairlead.engine.kinds.registration import Live
from fairlead.engine.part import PartContext
from kubeloop.caches import Share
from kubeloop.informer import Change, Informer
from kubeloop.objects.meta import Ref
from kubeloop.request import get


class WatchedDefinitions:
    """`changed` is called when one of them has."""

    def __init__(self, context: PartContext, changed: Callable[[], None]) -> None:
        self._caches = context.caches
        self._client = context.replica_client or context.client
        self._changed = changed
        self._handlers: list[Callable[[str], None]] = []
        self._shares: dict[str, Share[Live]] = {}
        self._fetched: dict[str, Tree] = {}
        """What was read and the watch has not shown yet."""

    def subscribe(self, handler: Callable[[str], None]) -> None:
        """Called with the name of one that a watch shows otherwise than before."""
        self._handlers.append(handler)

    def informer(self, name: str) -> Informer[Live] | None:
        """What watches it; None: nobody does, or may."""
        share = self._shares.get(name)
        return None if share is None or share.informer.is_absent else share.informer

    def follow(self, names: Iterable[str]) -> None:
        """These from now on, and no others."""
        wanted = {*names}
        for name in [*self._shares]:
            if name not in wanted:
                self._shares.pop(name).give_back()
                self._fetched.pop(name, None)
        for name in sorted(wanted - self._shares.keys()):
            share = self._caches.share(DEFINITIONS, Live, fields=f"metadata.name={name}", optional=True)
            share.subscribe(self._seen)
            self._shares[name] = share

    def tree(self, name: str) -> Tree | None:
        """None: there is none, or it is not known yet."""
        return self._fetched.get(name) or self.watched(name)

    def is_known(self, name: str) -> bool:
        """Whether it is known that there is one, or that there is none."""
        share = self._shares.get(name)
        return share is not None and share.informer.settled.is_set()

    def ref(self, name: str) -> Ref | None:
        share = self._shares.get(name)
        held = None if share is None else share.store.get("", name)
        return None if held is None else Ref(DEFINITIONS, "", name, held.metadata.uid)

    async def fetch(self, name: str) -> None:
        """Reads it; raises KubeError."""
        asked = get(Ref(DEFINITIONS, "", name))
        found = definition_in((await self._client.call(asked)).body, asked.doing)
        held = self.watched(name)
        if held is not None and held["metadata"]["generation"] >= found["metadata"]["generation"]:
            return
        self._fetched[name] = found
        self._changed()

    def watched(self, name: str) -> Tree | None:
        """As the watch shows it."""
        share = self._shares.get(name)
        held = None if share is None else share.store.get("", name)
        return None if held is None else held.tree

    def _seen(self, change: Change[Live]) -> None:
        new = change.new
        if new is None and change.old is not None:
            self._fetched.pop(change.old.metadata.name, None)
        elif new is not None:
            name = new.metadata.name
            read = self._fetched.get(name)
            if read is not None and new.metadata.generation >= read["metadata"]["generation"]:
                del self._fetched[name]
        self._changed()
        shown = new or change.old
        if shown is not None:
            for handler in self._handlers:
                handler(shown.metadata.name)
