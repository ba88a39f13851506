"""The verbs of the API on decoded trees, for controllers in the same process and for the request handler alike.

A verb is carried out at once and whole: nothing else runs in between, so there is no partial write to see. Trees that
go in are copied, trees that come out belong to the caller. Field managers are not tracked.
"""

from __future__ import annotations

import copy
import uuid
from collections.abc import Callable, Sequence

import msgspec

from fairlead.api.meta import Resource
from fairlead.kube import clock
from fairlead.sim import defaults, deletion, patch, subresources, validate, views
from fairlead.sim.errors import (
    CHANGED,
    Cause,
    already_exists,
    bad_request,
    conflict,
    forbidden,
    internal,
    invalid,
    not_found,
    uid_precondition,
    version_required,
)
from fairlead.sim.listing import Listed, Query, select, watch
from fairlead.sim.registry import NAMESPACES, NODES, Kind, Registry
from fairlead.sim.store import Author, Head, Store, Table, Tree, Version, Watcher, timestamp

_SYSTEM = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink")
_OMITTED_WHEN_EMPTY = ("labels", "annotations", "finalizers", "ownerReferences")
_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_LONGEST_BASE = 58
_NAME_ATTEMPTS = 8
# The server decodes this field without looking into it.
_RAW = {"ControllerRevision": "data"}


class Verbs:
    """Reads and writes; every refusal is a StatusError."""

    def __init__(
        self, store: Store, registry: Registry | None = None, *, lag: tuple[float, float] = (0.0, 0.0)
    ) -> None:
        self.store = store
        self.registry = registry or Registry()
        self.lag = lag

    # Reading

    def read(self, resource: Resource, namespace: str, name: str, *, subresource: str = "") -> Tree:
        """The object, or a view of it: `status` is the whole object, `scale` its Scale."""
        kind = self.registry.kind(resource)
        tree = views.outward(kind, self.current(kind, namespace, name).tree())
        return subresources.scale_of(tree) if subresource == "scale" else tree

    def list(self, resource: Resource, namespace: str = "", *, labels: str = "", fields: str = "") -> list[Tree]:
        """All objects that match, in the order of their keys."""
        kind = self.registry.kind(resource)
        listed = self.select(resource, Query(namespace=namespace, labels=labels, fields=fields))
        return [views.outward(kind, version.tree()) for version in listed.versions]

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
        found = self._table(kind).live.get((namespace, name))
        if found is None:
            raise not_found(kind.resource, name)
        return found

    def _table(self, kind: Kind) -> Table:
        return self.store.table(kind.storage)

    # Writing

    def create(self, resource: Resource, namespace: str, tree: Tree, *, user: str, dry_run: bool = False) -> Tree:
        """Creates the object and returns it as stored."""
        kind = self.registry.kind(resource)
        new = self._taken(kind, namespace, tree)
        metadata = new["metadata"]
        if metadata.get("resourceVersion"):
            raise internal("resourceVersion should not be set on objects to be created")
        self._namespace_is_open(kind, namespace, metadata.get("name") or "")
        for key in _SYSTEM:
            metadata.pop(key, None)
        base = "" if metadata.get("name") else metadata.get("generateName") or ""
        table = self._table(kind)
        for _ in range(_NAME_ATTEMPTS):
            if base:
                metadata["name"] = base[:_LONGEST_BASE] + self._suffix()
            self._complete(kind, new)
            if (metadata.get("namespace", ""), metadata["name"]) not in table.live:
                break
        else:
            raise already_exists(kind.resource, metadata["name"])
        if not dry_run:
            table.write(new, None, Author(user, "create"))
        return views.outward(kind, new)

    def _complete(self, kind: Kind, new: Tree) -> None:
        """Fills in what the server decides, then checks the whole."""
        metadata = new["metadata"]
        metadata["uid"] = self._uid()
        metadata["creationTimestamp"] = timestamp()
        if kind.has_generation:
            metadata["generation"] = 1
        if kind.has_status and kind.resource != NODES:
            new.pop("status", None)
        defaults.fill(new)
        subresources.admit(new)
        subresources.allocate(new, self.store)
        self._check(kind, new, validate.on_create(new))

    def _suffix(self) -> str:
        draws = self.store.draws("name")
        return "".join(_SUFFIX[draws.below(len(_SUFFIX))] for _ in range(_SUFFIX_LENGTH))

    def _uid(self) -> str:
        draws = self.store.draws("uid")
        return str(uuid.UUID(int=draws.integer() << 64 | draws.integer(), version=4))

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
        kind = self.registry.kind(resource)
        author = Author(user, "update", subresource)
        if subresource == "scale":
            return self._scaled(kind, namespace, name, author, lambda _: copy.deepcopy(tree), dry_run)
        new = self._taken(kind, namespace, tree)
        self._same_name(new, name)
        old = self._table(kind).live.get((namespace, name))
        if old is None:
            if not kind.create_on_update or subresource:
                raise not_found(kind.resource, name)
            new["metadata"].pop("resourceVersion", None)
            return self.create(resource, namespace, views.outward(kind, new), user=user, dry_run=dry_run)
        wanted = new["metadata"].get("uid")
        if wanted and wanted != old.head.uid:
            raise uid_precondition(kind.resource, namespace, name, wanted, old.head.uid)
        return views.outward(kind, self._replaced(kind, old, new, author, dry_run))

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
        kind = self.registry.kind(resource)
        author = Author(user, "patch", subresource)
        apply = patch.reader(content_type, body)
        if subresource == "scale":
            return self._scaled(kind, namespace, name, author, apply, dry_run)
        old = self.current(kind, namespace, name)
        new = self._taken(kind, namespace, apply(views.outward(kind, old.tree())))
        self._same_name(new, name)
        return views.outward(kind, self._replaced(kind, old, new, author, dry_run))

    def _scaled(
        self, kind: Kind, namespace: str, name: str, author: Author, change: Callable[[Tree], Tree], dry_run: bool
    ) -> Tree:
        old = self.current(kind, namespace, name)
        new = subresources.rescaled(kind.resource, old.tree(), change)
        return subresources.scale_of(self._replaced(kind, old, new, author, dry_run))

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
        kind = self.registry.kind(resource)
        old = self.current(kind, namespace, name)
        options = deletion.Options(uid, resource_version, grace, propagation)
        plan = deletion.plan(kind, old, options, clock.now())
        author = Author(user, "delete")
        tree = old.tree() if plan.tree is None else plan.tree
        if not dry_run:
            table = self._table(kind)
            if plan.tree is not None:
                old = table.write(plan.tree, old, author)
            if plan.gone:
                tree = self.remove(kind, old, author).tree()
            elif kind.resource == NAMESPACES:
                self._sweep(name, author)
        if plan.gone and not kind.returns_deleted:
            return deletion.success(kind.resource, old)
        return views.outward(kind, tree)

    def remove(self, kind: Kind, old: Version, author: Author) -> Version:
        """Takes a version away for good, and a terminating namespace with its last object."""
        gone = self._table(kind).remove(old, author)
        space = self.store.table(NAMESPACES).live.get(("", old.key[0]))
        if space is not None and space.head.deletion_timestamp is not None:
            self._sweep(old.key[0], author)
        return gone

    def _sweep(self, namespace: str, author: Author) -> None:
        """Deletes what a terminating namespace still holds; the namespace goes when it is empty."""
        left = False
        for kind in self.registry.stored():
            for key, version in list(self._table(kind).live.items()):
                if key[0] != namespace or not kind.resource.namespaced:
                    continue
                if self._table(kind).live.get(key) is not version:  # swept meanwhile: a removal sweeps as well
                    continue
                left = True
                if version.head.deletion_timestamp is None:
                    self.delete(kind.resource, namespace, key[1], user=author.user)
        space = self.store.table(NAMESPACES).live.get(("", namespace))
        if not left and space is not None and not space.head.finalizers:
            self.store.table(NAMESPACES).remove(space, author)

    def bind(self, namespace: str, name: str, binding: Tree, *, user: str) -> Tree:
        """Assigns a pod to a node."""
        return subresources.bind(self, namespace, name, binding, Author(user, "create", "binding"))

    def evict(self, namespace: str, name: str, eviction: Tree, *, user: str) -> Tree:
        """Deletes a pod on behalf of somebody who asks first; no disruption budget exists that could refuse."""
        return subresources.evict(self, namespace, name, eviction, user)

    # The rules of a write

    def _taken(self, kind: Kind, namespace: str, tree: Tree) -> Tree:
        """A copy in stored form, without nulls, in the namespace of the request."""
        resource = kind.resource
        _same_kind(resource, tree)
        raw = _RAW.get(resource.kind)
        kept = {raw: copy.deepcopy(tree[raw])} if raw in tree else {}
        new = _without_nulls(tree) | {"apiVersion": resource.api_version, "kind": resource.kind} | kept
        new = views.inward(kind, new)
        metadata = new.setdefault("metadata", {})
        metadata.pop("managedFields", None)
        for key in _OMITTED_WHEN_EMPTY:
            if key in metadata and not metadata[key]:
                del metadata[key]
        _placed(kind, namespace, metadata)
        try:
            msgspec.convert({"name": ""} | metadata, Head)
        except msgspec.ValidationError as error:
            version, name = resource.version, resource.kind
            raise bad_request(f'{name} in version "{version}" cannot be handled as a {name}: {error}') from None
        return new

    @staticmethod
    def _same_name(new: Tree, name: str) -> None:
        found = new["metadata"].get("name") or ""
        if not found:
            raise bad_request(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")
        if found != name:
            raise bad_request(f"the name of the object ({found}) does not match the name on the URL ({name})")

    def _namespace_is_open(self, kind: Kind, namespace: str, name: str) -> None:
        if not kind.resource.namespaced:
            return
        space = self.store.table(NAMESPACES).live.get(("", namespace))
        if space is None:
            raise not_found(NAMESPACES, namespace)
        if space.head.deletion_timestamp is not None:
            text = f"namespace {namespace} is being terminated"
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            raise forbidden(kind.resource, name, why, [Cause("NamespaceTerminating", text, "metadata.namespace")])

    def _replaced(self, kind: Kind, old: Version, new: Tree, author: Author, dry_run: bool) -> Tree:
        """Writes `new` over `old` as far as the subresource allows; what changes nothing is not written."""
        before = old.tree()
        given = new["metadata"].get("resourceVersion") or ""
        if not given and not kind.unconditional_update:
            raise version_required(kind.resource, old.head.name)
        if given not in ("", "0", str(old.revision)):
            raise conflict(kind.resource, old.head.name, CHANGED)
        after = subresources.limited(kind, before, new, author.subresource)
        self._keep_system_fields(kind, before, after, author.subresource)
        self._check(kind, after, validate.on_update(before, after, author.subresource))
        if dry_run:
            return after
        if deletion.ends_with(old, after) and kind.resource != NAMESPACES:
            self.remove(kind, old, author)
            return after
        if after == before:
            return before
        self._table(kind).write(after, old, author)
        if kind.resource == NAMESPACES and old.head.deletion_timestamp is not None:
            self._sweep(old.head.name, author)
        return after

    def _keep_system_fields(self, kind: Kind, before: Tree, after: Tree, subresource: str) -> None:
        metadata, known = after["metadata"], before["metadata"]
        if not metadata.get("uid"):
            metadata["uid"] = known["uid"]
        for key in (*_SYSTEM[1:], "resourceVersion"):
            metadata.pop(key, None)
            if key in known:
                metadata[key] = known[key]
        if subresource != "status":
            defaults.fill(after)
            subresources.carry_over(before, after)
            if kind.has_generation and after.get("spec") != before.get("spec"):
                metadata["generation"] = known["generation"] + 1

    @staticmethod
    def _check(kind: Kind, new: Tree, causes: Sequence[Cause]) -> None:
        if causes:
            raise invalid(kind.storage, new["metadata"].get("name") or "", causes)


def _same_kind(resource: Resource, tree: Tree) -> None:
    """A body may leave out what it is, not say something else."""
    kind = tree.get("kind") or resource.kind
    version = tree.get("apiVersion") or resource.api_version
    if (kind, version) == (resource.kind, resource.api_version):
        return
    number = str(version).rpartition("/")[2]
    raise bad_request(
        f'{kind} in version "{number}" cannot be handled as a {resource.kind}: '
        f"converting ({number}.{kind}) to ({resource.group or 'core'}.{resource.kind}): unknown conversion"
    )


def _placed(kind: Kind, namespace: str, metadata: Tree) -> None:
    """Puts the namespace of the request in, or refuses another one."""
    if not kind.resource.namespaced:
        metadata.pop("namespace", None)
        return
    if metadata.get("namespace", namespace) != namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    metadata["namespace"] = namespace


def _without_nulls(tree: Tree) -> Tree:
    """A deep copy in which fields that are null are absent."""
    copied: Tree = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            copied[key] = _without_nulls(value)
        elif isinstance(value, list):
            copied[key] = [_without_nulls(item) if isinstance(item, dict) else item for item in value]
        elif value is not None:
            copied[key] = value
    return copied
