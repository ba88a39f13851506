"""What the controllers of the embedded cluster share: lagging views, writes, expectations.

A controller never reads the store to decide: it sees what watches have brought, each a little late, as in a real
cluster. Without that lag, mistakes that only a stale view provokes could not be found. Controllers share their views,
as those of the real kube-controller-manager do: what one of them has seen the others have seen too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping
from typing import Generic

import msgspec

from kubeloop.objects.meta import Meta, Resource
from kubeloop.request import MERGE_PATCH
from kubeloop.store import Index, P, Store
from kubesim.api import pod_splicing
from kubesim.api.verbs import Verbs
from kubesim.api.writer import Writer, shown_deletion
from kubesim.auth.rbac import user_of
from kubesim.errors import StatusError
from kubesim.store.decoded import Reader, reader_of
from kubesim.store.following import follow
from kubesim.store.versions import Author, Event, Key, Tree, Version
from kubesim.typed.types import Typed
from kubesim.writes import deletion
from kubesim.writes.asking import Write

ACCOUNTS = "system:serviceaccount:kube-system:"
"""Controllers write under their service accounts."""


class Stale(Exception):
    """What was seen does not yet show what was written: to be tried again."""


def failed(key: Hashable, error: Exception) -> None:
    """A refused write or a stale view is tried again; anything else is a mistake of ours and ends the run."""
    if not isinstance(error, StatusError | Stale):
        raise error


class Api:
    """The API as one controller uses it, under its own name; every refusal is a StatusError.

    Webhooks and policies are asked about its writes as about any request, and only then is a write waited for.
    """

    def __init__(self, verbs: Verbs, user: str) -> None:
        self._verbs = verbs
        self._user = user_of(user)
        self.store = verbs.store
        self.registry = verbs.registry
        self.lag = verbs.lag

    def view(self, resource: Resource, into: type[P], indexes: Mapping[str, Index[P]] = {}) -> View[P]:
        """The view of a resource that all controllers share who read the same of it."""
        found = self._verbs.views.get((resource, into))
        if found is None:
            found = self._verbs.views[resource, into] = View(self, resource, reader_of(into))
        view: View[P] = found
        view.objects.add_indexes(indexes)
        return view

    def resource(self, api_version: str, kind: str) -> Resource | None:
        """What an owner reference names; None when it is not served."""
        group, _, version = api_version.rpartition("/")
        served = self.registry.served(group, version)
        return next((each.resource for each in served if each.resource.kind == kind), None)

    def read(self, resource: Resource, namespace: str, name: str) -> Tree:
        return self._verbs.read(resource, namespace, name)

    def is_reviewed(self, operation: str, resource: Resource, namespace: str, subresource: str = "") -> bool:
        """Whether somebody is asked about such a write, so that it takes time."""
        return self._verbs.admission.concerns(operation, resource, subresource, namespace)

    async def _carried_out(self, write: Write, options: Tree | None = None) -> Tree:
        return await Writer(self._verbs.admission, self._user, options).carried_out(write)

    async def create(self, resource: Resource, namespace: str, tree: Tree) -> Tree:
        return await self._carried_out(
            self._verbs.inside.create(resource, namespace, Typed(tree), user=self._user.name)
        )

    async def create_pod(self, alike: Hashable, place: Key, labels: Mapping[str, str], make: Callable[[], Tree]) -> int:
        """Creates a pod that is like others but for its name and these labels; answers with its revision."""
        return await self._verbs.births.create(alike, place, labels, make, self._user)

    async def replace(self, resource: Resource, tree: Tree, subresource: str = "") -> Tree:
        meta = tree["metadata"]
        place = resource, meta.get("namespace", ""), meta["name"]
        return await self._carried_out(
            self._verbs.inside.update(*place, Typed(tree), subresource=subresource, user=self._user.name)
        )

    async def put_status(self, resource: Resource, seen: Meta, status: Tree) -> int:
        """Writes a status over the object as it was seen, and answers with its revision.

        An object that has changed since is a conflict.
        """
        if not self.is_reviewed("UPDATE", resource, seen.namespace, "status"):
            version = self._with_status(resource, seen, status)
            if version is not None:
                return version.revision
        tree = self.read(resource, seen.namespace, seen.name)
        tree["metadata"] |= {"uid": seen.uid, "resourceVersion": seen.resource_version}
        written = await self.replace(resource, tree | {"status": status}, "status")
        return int(written["metadata"]["resourceVersion"])

    def _with_status(self, resource: Resource, seen: Meta, status: Tree) -> Version | None:
        """Writes a status that is like the one before over the version that was seen; None where it is not so easy."""
        table = self.store.table(resource)
        old = table.live.get((seen.namespace, seen.name))
        if old is None or (old.head.uid, str(old.revision)) != (seen.uid, seen.resource_version):
            return None
        return pod_splicing.with_status(table, old, status, Author(self._user.name, "update", "status"))

    async def insist_on_status(self, resource: Resource, seen: Meta, status: Tree) -> Tree:
        """Writes a status over the object as it was seen; where that has changed, once more over it as it is."""
        tree = self.read(resource, seen.namespace, seen.name) | {"status": status}
        newest = tree["metadata"]["resourceVersion"]
        tree["metadata"] |= {"uid": seen.uid, "resourceVersion": seen.resource_version}
        try:
            return await self.replace(resource, tree, "status")
        except StatusError as error:
            if error.reason != "Conflict":
                raise
            tree["metadata"]["resourceVersion"] = newest
            return await self.replace(resource, tree, "status")

    async def merge(self, resource: Resource, namespace: str, name: str, change: Tree) -> Tree:
        """A merge patch."""
        body = msgspec.json.encode(change)
        return await self._carried_out(
            self._verbs.inside.patch(resource, namespace, name, MERGE_PATCH, body, user=self._user.name)
        )

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str = "",
        version: str = "",
        propagation: str = "",
        collection: bool = False,
    ) -> None:
        """Deletes the object, or starts to, if it is still the one that is meant; with `collection`, as one of all."""
        options = deletion.Options(uid, version, None, propagation)
        delete = self._verbs.inside.removals.delete
        write = delete(resource, namespace, name, options, user=self._user.name, collection=collection)
        await self._carried_out(write, shown_deletion(options.shown()))


class View(Generic[P]):
    """One resource as a watch has shown it so far; each event draws its lag, and all keep their order.

    Whoever uses it has it run; one of them does, and when that one ends another goes on.
    """

    def __init__(self, api: Api, resource: Resource, read: Callable[[Version], P], *, heads_only: bool = False) -> None:
        """With `heads_only` a change that leaves the head of an object as it was is none."""
        self.objects: Store[P] = Store()
        self.revision = 0
        """Everything of this resource up to here has been seen."""
        self.synced = asyncio.Event()
        self._table = api.store.table(resource)
        self._lag = api.lag
        self._read = read
        self._heads_only = heads_only
        self._handlers: list[Callable[[P | None, P | None], None]] = []
        self._turn = asyncio.Lock()

    def subscribe(self, handler: Callable[[P | None, P | None], None]) -> None:
        """The handler is called after each change with the object before and after."""
        self._handlers.append(handler)

    async def run(self) -> None:
        """Until cancelled; when the watch is ended it lists again and tells what has changed meanwhile."""
        async with self._turn:
            await follow(self._table, None, self._lag, self._replace, self._apply, heads_only=self._heads_only)

    def _replace(self, versions: list[Version], revision: int) -> None:
        present = {version.key for version in versions}
        for item in self.objects.items():
            if (item.metadata.namespace, item.metadata.name) not in present:
                self._tell(self.objects.remove(item.metadata.namespace, item.metadata.name), None)
        for version in versions:
            if self.objects.get(*version.key) != self._read(version):
                self._put(version)
        self.revision = revision
        self.synced.set()

    def _apply(self, event: Event) -> None:
        self.revision = event.revision
        if event.type == "DELETED":
            self._tell(self.objects.remove(*event.new.key), None)
            return
        seen = None if event.old is None else self.objects.get(*event.new.key)
        if seen is None or event.old is None or not isinstance(self._read, Reader):
            self._put(event.new)
        else:
            new = self._read.after(event.new, event.old, seen)
            self._tell(self.objects.put(new, event.new.key), new)

    def _put(self, version: Version) -> None:
        new = self._read(version)
        self._tell(self.objects.put(new, version.key), new)

    def _tell(self, old: P | None, new: P | None) -> None:
        for handler in self._handlers:
            handler(old, new)


class Expectations:
    """Per key, what a controller has done and not yet seen."""

    def __init__(self) -> None:
        self._waiting: dict[Hashable, list[Callable[[], bool]]] = {}

    def written(self, key: Hashable, view: View[P], answer: Tree) -> None:
        """The view must come to show the version of this answer."""
        self.revised(key, view, int(answer["metadata"]["resourceVersion"]))

    def revised(self, key: Hashable, view: View[P], revision: int) -> None:
        """The view must come to show this revision."""
        self.unseen(key, lambda: view.revision >= revision)

    def unseen(self, key: Hashable, shows: Callable[[], bool]) -> None:
        """`shows` must come true."""
        self._waiting.setdefault(key, []).append(shows)

    def met(self, key: Hashable) -> bool:
        """Whether everything has been seen; what has been seen is forgotten."""
        left = [shows for shows in self._waiting.pop(key, ()) if not shows()]
        if left:
            self._waiting[key] = left
        return not left

    def forget(self, key: Hashable) -> None:
        self._waiting.pop(key, None)
