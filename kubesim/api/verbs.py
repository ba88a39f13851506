"""The verbs of the API on decoded trees, for the server itself.

A verb is carried out at once and whole: nothing else runs in between, so there is no partial write to see, and nobody
is asked, neither policies nor webhooks. `writes` are the same verbs as they ask for admission and conversion; a
`Writer` has those questions answered, for requests and for controllers alike.
Custom resources that a webhook converts are seen and written as they are stored. Trees that go in are copied, trees
that come out belong to the caller. Who owns which fields is left as it is (`managed_fields`).
"""

from __future__ import annotations

from typing import Any

from kubeloop.calls import Caller
from kubeloop.objects.meta import Resource
from kubesim.admission.questions import Admission
from kubesim.api.binding import bind
from kubesim.api.eviction import evict
from kubesim.api.pod_creation import Births
from kubesim.kinds import views
from kubesim.kinds.converting import shown, unasked
from kubesim.kinds.registry import Kind, Registry
from kubesim.network import Network
from kubesim.reads.listing import Listed, Query, select, watch
from kubesim.store.store import Store
from kubesim.store.versions import Tree, Version
from kubesim.store.watchers import Watcher
from kubesim.strategies import subresources
from kubesim.typed.types import Typed
from kubesim.writes import deletion
from kubesim.writes.asking import unreviewed
from kubesim.writes.stored_form import Blanks
from kubesim.writes.storing import Writes


class Verbs:
    """Reads and writes; every refusal is a StatusError."""

    def __init__(
        self,
        store: Store,
        registry: Registry | None = None,
        *,
        caller: Caller | None = None,
        lag: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        """`caller` reaches webhooks; without one nobody does."""
        self.store = store
        self.registry = registry or Registry()
        self.lag = lag
        blanks = Blanks()
        self.writes = Writes(store, self.registry, blanks)
        self.inside = Writes(store, self.registry, blanks, inside=True)
        """The same for who works within the cluster."""
        self.admission = Admission(store, self.registry, caller or Network().call)
        self.births = Births(self.inside, self.admission)
        self.views: dict[tuple[Resource, type], Any] = {}
        """What the controllers of this cluster see, each by what they read of it."""

    # Reading

    def read(self, resource: Resource, namespace: str, name: str, *, subresource: str = "") -> Tree:
        """The object, or a view of it: `status` is the whole object, `scale` its Scale."""
        kind = self.registry.kept(resource)
        tree = self._shown(kind, self.current(kind, namespace, name))
        return subresources.scale_shown(kind, tree) if subresource == "scale" else tree

    def list(self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = "") -> list[Tree]:
        """All objects that match, in the order of their keys."""
        kind = self.registry.kept(resource)
        listed = self.select(resource, Query(namespace=namespace, labels=labels, fields=fields))
        return [self._shown(kind, version) for version in listed.versions]

    @staticmethod
    def _shown(kind: Kind, version: Version) -> Tree:
        return views.outward(kind, unasked(shown(kind, version)))

    def select(self, resource: Resource, query: Query) -> Listed:
        """A page of a list, as stored versions."""
        kind = self.registry.kind(resource)
        return select(self.store, kind, query)

    def watch(
        self,
        resource: Resource,
        since: str = "",
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        lag: tuple[float, float] | None = None,
    ) -> Watcher:
        """Changes after the resource version `since`; without one (or with "0") all objects come first, as ADDED."""
        kind = self.registry.kind(resource)
        query = Query(namespace=namespace, labels=labels, fields=fields, resource_version=since)
        return watch(self.store, kind, query, self.lag if lag is None else lag)

    def current(self, kind: Kind, namespace: str, name: str) -> Version:
        return self.writes.current(kind, namespace, name)

    # Writing

    def create(self, resource: Resource, namespace: str, tree: Tree, *, user: str, dry_run: bool = False) -> Tree:
        """Creates the object and returns it as stored."""
        return unreviewed(self.inside.create(resource, namespace, Typed(tree), user=user, dry_run=dry_run))

    def update(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        tree: Tree,
        *,
        subresource: str = "",
        user: str,
        dry_run: bool = False,
    ) -> Tree:
        """Replaces the object, or what the subresource shows of it; a resource version in it must be current."""
        place = resource, namespace, name
        return unreviewed(self.inside.update(*place, Typed(tree), subresource=subresource, user=user, dry_run=dry_run))

    def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        content_type: str,
        body: bytes,
        *,
        subresource: str = "",
        user: str,
        dry_run: bool = False,
    ) -> Tree:
        """Changes the object, or what the subresource shows of it, by a patch of any of the served types."""
        sent = resource, namespace, name, content_type, body
        return unreviewed(self.inside.patch(*sent, subresource=subresource, user=user, dry_run=dry_run))

    def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str = "",
        resource_version: str = "",
        grace: int | None = None,
        propagation: str = "",
        user: str,
        dry_run: bool = False,
    ) -> Tree:
        """Deletes the object, or starts to; the answer is the object while something holds it, else as its kind has."""
        options = deletion.Options(uid, resource_version, grace, propagation)
        return unreviewed(self.inside.removals.delete(resource, namespace, name, options, user=user, dry_run=dry_run))

    def bind(self, namespace: str, name: str, binding: Tree, *, user: str) -> Tree:
        """Assigns a pod to a node."""
        return unreviewed(bind(self.writes, namespace, name, binding, user=user))

    def evict(self, namespace: str, name: str, eviction: Tree, *, user: str) -> Tree:
        """Deletes a pod on behalf of somebody who asks first; a disruption budget may refuse."""
        return unreviewed(evict(self.writes, namespace, name, eviction, user=user))
