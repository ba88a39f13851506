"""The garbage collector: deletes what has lost its owners, and finishes foreground and orphaning deletions.

A graph of who owns whom, built from lagging watches, says what to look at; what is done is decided from live objects,
as the real collector does. An object goes when none of its owners (by UID) exists any more. An owner whose kind is not
served leaves the question open: such an object is looked at again and again, and never collected.

Kinds are those served when it starts. Events are not collected: they own nothing and nothing owns them.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

from msgspec import Struct

from kubeloop.objects.meta import Meta, Resource
from kubeloop.queue import Queue
from kubeloop.worker import work
from kubesim.api.verbs import Verbs
from kubesim.controllers.adoption import change_owners, release
from kubesim.controllers.base import ACCOUNTS, Api, Stale, View, failed
from kubesim.controllers.event_recorder import Recorder
from kubesim.errors import StatusError, quoted
from kubesim.kinds.registry import CORE_EVENTS, Kind
from kubesim.store.versions import Head, Tree, Version

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"

WORKERS = 20
FIRST_RETRY, LONGEST_RETRY = 0.005, 1000.0
FINISHING = (3.0, 4.0)
"""Times the longest lag of a watch: how long after its last dependent an owner goes that had to wait for them.

Of a real collector 20 to 30 ms were observed, while controllers wrote their statuses within 12: its writes meet theirs.
"""


class Item(Struct, frozen=True, gc=False):
    """An object of any kind, of which only the metadata is read."""

    resource: Resource
    metadata: Head

    @property
    def is_deleted(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @property
    def waits_for_dependents(self) -> bool:
        return self.is_deleted and FOREGROUND in self.metadata.finalizers

    @property
    def lets_dependents_go(self) -> bool:
        return self.is_deleted and ORPHAN in self.metadata.finalizers

    def blocks(self, owner: str) -> bool:
        """Whether that owner's foreground deletion waits for this object."""
        return any(each.uid == owner and each.block_owner_deletion for each in self.metadata.owner_references)

    def is_named_by(self, dependent: Item) -> bool:
        """Whether the dependent's reference to this UID says where this object really is."""
        if self.metadata.namespace and self.metadata.namespace != dependent.metadata.namespace:
            return False
        here = (self.resource.api_version, self.resource.kind, self.metadata.name)
        return all(
            (each.api_version, each.kind, each.name) == here
            for each in dependent.metadata.owner_references
            if each.uid == self.metadata.uid
        )


class Graph:
    """Objects by UID, and the UIDs of what names each as an owner, whether or not that owner was ever seen."""

    def __init__(self) -> None:
        self._items: dict[str, Item] = {}
        self._dependents: dict[str, dict[str, None]] = {}

    def get(self, uid: str) -> Item | None:
        return self._items.get(uid)

    def put(self, item: Item) -> Item | None:
        """Answers with the item before."""
        old = self.remove(item.metadata.uid)
        self._items[item.metadata.uid] = item
        for owner in item.metadata.owner_references:
            self._dependents.setdefault(owner.uid, {})[item.metadata.uid] = None
        return old

    def remove(self, uid: str) -> Item | None:
        """Answers with the item that was there; what names it as an owner is still known."""
        old = self._items.pop(uid, None)
        for owner in old.metadata.owner_references if old is not None else ():
            dependents = self._dependents.get(owner.uid, {})
            dependents.pop(uid, None)
            if not dependents:
                self._dependents.pop(owner.uid, None)
        return old

    def dependents(self, uid: str) -> list[Item]:
        return [self._items[each] for each in self._dependents.get(uid, ())]


class Collector:
    """One for all kinds; its watches are behind by the lag of the verbs.

    What `lost` owners are UIDs of is not known: whoever names one is not collected.
    """

    def __init__(self, verbs: Verbs, lost: frozenset[str] = frozenset()) -> None:
        self._lost = lost
        self._api = Api(verbs, f"{ACCOUNTS}generic-garbage-collector")
        self._graph = Graph()
        self._doubtful: Queue[str] = Queue(first_delay=FIRST_RETRY, longest_delay=LONGEST_RETRY)
        """UIDs of what may have to go."""
        self._orphaning: Queue[str] = Queue(first_delay=FIRST_RETRY, longest_delay=LONGEST_RETRY)
        """UIDs of what goes without its dependents."""
        self._views: dict[Resource, View[Item]] = {}
        self._draws = self._api.store.draws("garbage collector")
        self._events = Recorder(self._api, "garbage-collector-controller")

    def _follow(self, kind: Kind, tasks: asyncio.TaskGroup) -> None:
        """Has the kind's store viewed, once; definitions add kinds at any time."""
        if kind.resource == CORE_EVENTS or kind.storage in self._views:
            return

        def read(version: Version) -> Item:
            return Item(kind.resource, version.head)

        view = self._views[kind.storage] = View(self._api, kind.storage, read, heads_only=True)
        view.subscribe(self._changed)
        running = view.run()
        try:
            tasks.create_task(running)
        except RuntimeError:  # the group is ending, and with it all need to look
            running.close()

    async def run(self) -> None:
        """Until cancelled."""
        registry = self._api.registry
        with ExitStack() as stack:
            async with asyncio.TaskGroup() as tasks:
                self._events.work_in(tasks)
                stack.callback(registry.listen(lambda kind: self._follow(kind, tasks)))
                for kind in registry.stored():
                    self._follow(kind, tasks)
                for view in list(self._views.values()):
                    await view.synced.wait()
                tasks.create_task(work(self._doubtful, self._collect, workers=WORKERS, failed=failed))
                tasks.create_task(work(self._orphaning, self._orphan, workers=WORKERS, failed=failed))

    def _changed(self, old: Item | None, item: Item | None) -> None:
        if old is not None and (item is None or item.metadata.uid != old.metadata.uid):
            self._gone(old.metadata.uid)
        if item is None or (old is not None and _says_the_same(old.metadata, item.metadata)):
            return
        before = self._graph.put(item)
        self._doubt_owners(before, item)
        if before is None:
            for dependent in self._graph.dependents(item.metadata.uid):
                if not item.is_named_by(dependent):
                    self._warn_of_stranger(item, dependent)
                    self._doubtful.add(dependent.metadata.uid)
        if item.lets_dependents_go:
            if before is None or not before.lets_dependents_go:
                self._orphaning.add(item.metadata.uid)
        elif item.waits_for_dependents and (before is None or not before.waits_for_dependents):
            for dependent in self._graph.dependents(item.metadata.uid):
                self._doubtful.add(dependent.metadata.uid)
            self._doubtful.add(item.metadata.uid)

    def _doubt_owners(self, before: Item | None, item: Item) -> None:
        """Looks at an object whose new owner is not known, and at owners that it no longer blocks."""
        had = {each.uid: each for each in before.metadata.owner_references} if before is not None else {}
        has = {each.uid: each for each in item.metadata.owner_references}
        doubted = False
        for uid in has:
            owner = self._graph.get(uid)
            if uid not in had and (owner is None or not owner.is_named_by(item)):
                if owner is not None and not doubted:
                    self._warn_of_stranger(owner, item)
                doubted = True
                self._doubtful.add(item.metadata.uid)
        for uid, reference in had.items():
            if reference.block_owner_deletion and not (uid in has and has[uid].block_owner_deletion):
                self._doubtful.add(uid)

    def _warn_of_stranger(self, owner: Item, item: Item) -> None:
        """Tells of an object whose owner is in another namespace, where nothing can own it."""
        meta, named = (
            item.metadata,
            next(each for each in item.metadata.owner_references if each.uid == owner.metadata.uid),
        )
        if owner.metadata.namespace in ("", meta.namespace):
            return
        place = f"namespace: {meta.namespace}, name: {named.name}, uid: {named.uid}"
        text = (
            f"ownerRef [{named.api_version}/{named.kind}, {place}] does not exist in namespace {quoted(meta.namespace)}"
        )
        about = Meta(name=meta.name, namespace=meta.namespace, uid=meta.uid, resource_version="")
        self._events.tell(item.resource, about, "OwnerRefInvalidNamespace", text, warning=True)

    def _gone(self, uid: str) -> None:
        """Looks at what the object owned, and at owners that waited for it."""
        item = self._graph.remove(uid)
        for dependent in self._graph.dependents(uid):
            self._doubtful.add(dependent.metadata.uid)
        for reference in item.metadata.owner_references if item is not None else ():
            owner = self._graph.get(reference.uid)
            if owner is not None and owner.waits_for_dependents:
                self._doubtful.add_after(reference.uid, self._slowness())

    async def _collect(self, uid: str) -> None:
        """Deletes the object if it has owners and none of them stays."""
        item = self._graph.get(uid)
        if item is None or (item.is_deleted and not item.waits_for_dependents):
            return
        live = self._live(item.resource, item.metadata.namespace, item.metadata.name)
        if live is None or live["uid"] != uid:
            self._gone(uid)
            return
        if item.waits_for_dependents:
            await self._finish_foreground(item)
            return
        solid, lost, waiting = self._sorted_owners(item, live.get("ownerReferences", []))
        if solid:
            if lost or waiting:
                await release(self._api, item.resource, item.metadata, (*lost, *waiting))
            if any(self._graph.get(owner) is None for owner in solid if owner not in self._lost):
                # Its deletion would not be noticed before it has been seen.
                raise Stale(uid)
        elif lost or waiting:
            await self._delete_owned(item, live, foreground=bool(waiting))

    def _sorted_owners(self, item: Item, references: list[Tree]) -> tuple[list[str], list[str], list[str]]:
        """UIDs of the owners that stay, that do not exist, and that wait for their dependents."""
        solid: list[str] = []
        lost: list[str] = []
        waiting: list[str] = []
        for reference in references:
            if reference["uid"] in self._lost:
                solid.append(reference["uid"])
                continue
            resource = self._api.resource(reference["apiVersion"], reference["kind"])
            if resource is None:
                raise Stale(f"{reference['apiVersion']} {reference['kind']} is not served")
            if resource.namespaced and not item.metadata.namespace:
                # Not a valid owner, and no reason to delete either.
                solid.append(reference["uid"])
                continue
            namespace = item.metadata.namespace if resource.namespaced else ""
            owner = self._live(resource, namespace, reference["name"])
            if owner is None or owner["uid"] != reference["uid"]:
                lost.append(reference["uid"])
            elif "deletionTimestamp" in owner and FOREGROUND in owner.get("finalizers", ()):
                waiting.append(reference["uid"])
            else:
                solid.append(reference["uid"])
        return solid, lost, waiting

    async def _delete_owned(self, item: Item, live: Tree, *, foreground: bool) -> None:
        dependents = self._graph.dependents(item.metadata.uid)
        if foreground and dependents:
            if any(dependent.waits_for_dependents for dependent in dependents):
                # Owners in a circle would wait for each other for ever.
                await change_owners(self._api, item.resource, item.metadata, _unblocked)
                live = self._live(item.resource, item.metadata.namespace, item.metadata.name) or live
            propagation = "Foreground"
        elif ORPHAN in live.get("finalizers", ()):
            propagation = "Orphan"
        elif FOREGROUND in live.get("finalizers", ()):
            propagation = "Foreground"
        else:
            propagation = "Background"
        await self._delete(item, live, propagation)

    async def _delete(self, item: Item, live: Tree, propagation: str) -> None:
        """Only if its owners are still those that were looked at."""
        meta = item.metadata
        version = live["resourceVersion"]
        while True:
            try:
                await self._api.delete(
                    item.resource, meta.namespace, meta.name, uid=meta.uid, version=version, propagation=propagation
                )
                return
            except StatusError as error:
                if error.code == 404:
                    self._gone(meta.uid)
                    return
                if error.code != 409 or not version:
                    raise
            now = self._live(item.resource, meta.namespace, meta.name)
            if now is None or now["uid"] != meta.uid:
                self._gone(meta.uid)
                return
            if now.get("ownerReferences") != live.get("ownerReferences"):
                raise Stale(meta.uid)
            version = ""

    async def _finish_foreground(self, item: Item) -> None:
        """Lets the object go when nothing blocks it any more, else looks at what does."""
        uid = item.metadata.uid
        blocking = [each for each in self._graph.dependents(uid) if each.blocks(uid)]
        if not blocking:
            await self._drop_finalizer(item, FOREGROUND)
        for dependent in blocking:
            if not dependent.waits_for_dependents:
                self._doubtful.add(dependent.metadata.uid)

    async def _orphan(self, uid: str) -> None:
        """Takes the object's UID from all dependents, then lets it go."""
        item = self._graph.get(uid)
        if item is None:
            return
        await asyncio.sleep(self._api.lag[1])  # those who write its status hear of it first
        for dependent in self._graph.dependents(uid):
            await release(self._api, dependent.resource, dependent.metadata, (uid,))
        await asyncio.sleep(self._slowness())
        await self._drop_finalizer(item, ORPHAN)

    def _slowness(self) -> float:
        return self._draws.between(*FINISHING) * self._api.lag[1]

    async def _drop_finalizer(self, item: Item, finalizer: str) -> None:
        live = self._live(item.resource, item.metadata.namespace, item.metadata.name)
        if live is None or live["uid"] != item.metadata.uid or finalizer not in live.get("finalizers", ()):
            return
        left = [each for each in live["finalizers"] if each != finalizer]
        guarded = {"resourceVersion": live["resourceVersion"], "finalizers": left}
        await self._api.merge(item.resource, item.metadata.namespace, item.metadata.name, {"metadata": guarded})

    def _live(self, resource: Resource, namespace: str, name: str) -> Tree | None:
        """The metadata of an object as it is now."""
        try:
            metadata: Tree = (self._api.read(resource, namespace, name))["metadata"]
        except StatusError as error:
            if error.code == 404:
                return None
            raise
        return metadata


def _says_the_same(old: Head, new: Head) -> bool:
    """Whether a change is none that the graph knows of, as most of them are."""
    return (old.uid, old.deletion_timestamp, old.finalizers, old.owner_references) == (
        new.uid,
        new.deletion_timestamp,
        new.finalizers,
        new.owner_references,
    )


def _unblocked(references: list[Tree]) -> list[Tree]:
    return [{**reference, "blockOwnerDeletion": False} for reference in references]
