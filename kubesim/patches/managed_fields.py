"""Keeps `metadata.managedFields` for the writes of requests: who wrote, as what, and what they own since.

Objects that nobody has tracked from their creation stay so until somebody applies, as on a real server. The cluster's
own controllers write past all this: they leave the entries as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from msgspec import Struct
from msgspec.structs import replace

from kubeloop.schemas.structural import Node
from kubesim.bodies.equality import identical
from kubesim.crds.custom import path_of
from kubesim.errors import StatusError, internal
from kubesim.kinds.converting import Converting, converted, unasked
from kubesim.kinds.registry import DEPLOYMENTS, PODS, Kind
from kubesim.patches import owners, places, typecheck
from kubesim.patches.field_sets import NOTHING, Fields, Unreadable, field
from kubesim.patches.managers import Manager
from kubesim.patches.owners import UPDATE, Owner, Owners, identity
from kubesim.patches.ownership import Scope, updated
from kubesim.patches.places import MergePlace
from kubesim.patches.scale_owners import REPLICAS, Paths, to_parent, to_scale
from kubesim.store.versions import Tree, timestamp
from kubesim.strategies.subresources import SCALE
from kubesim.typed.types import type_of

SERVER = "kube-apiserver"
"""Who owns what the API server writes of its own accord."""
_UNKNOWN = "unknown"
_STATUS: Fields = frozenset([("f:status",)])
_SPEC: Fields = frozenset([("f:spec",)])
_CUSTOM_STATUS: Fields = frozenset([("f:metadata",), ("f:spec",)])
_POD_STATUS: Fields = frozenset([("f:metadata", "f:deletionTimestamp"), ("f:metadata", "f:ownerReferences")])
_DEPLOYMENT_STATUS: Fields = frozenset([("f:metadata", "f:labels")])
_custom_places: WeakKeyDictionary[Node, MergePlace] = WeakKeyDictionary()
Entries = list[Tree]


class Subject(Struct, frozen=True):
    """What is written: a kind of object, or a subresource of it."""

    kind: Kind
    subresource: str = ""

    @property
    def version(self) -> str:
        """Of the trees that clients see."""
        return SCALE.api_version if self.subresource == "scale" else self.kind.resource.api_version

    @property
    def is_tracked(self) -> bool:
        """Every kind is that has a schema."""
        return self.kind.custom is not None or self.place(self.version) is not None

    def can_be_read(self, tree: Tree) -> bool:
        """Whether a tree has the types of its schema; lists may have got in where it demands a text with a format."""
        custom = self.kind.custom
        if custom is None or not custom.root.formatted:
            return True
        place = self.place(self.version)
        return place is None or typecheck.fits(place, bare(tree))

    def scope(self) -> Scope:
        return Scope(self.version, self.place, self._convert, self._ignored)

    def place(self, version: str) -> MergePlace | None:
        custom, resource = self.kind.custom, self.kind.resource
        if self.subresource == "scale" or custom is None:
            name = SCALE.kind if self.subresource == "scale" else resource.kind
            return places.built_in(version, name) if version == self.version else None
        node = custom.conversion.schemas.get(version)
        if node is None:
            raise internal(f"request to convert CR to an invalid group/version: {version}")
        found = _custom_places.get(node)
        if found is None:
            found = _custom_places[node] = places.custom(node.source)
        return found

    def _convert(self, trees: Sequence[Tree], version: str) -> Converting[list[Tree]]:
        return (yield from converted(self.kind, trees, version))

    def _ignored(self, version: str) -> Fields:
        kind = self.kind
        if self.subresource == "scale" or not kind.has_status:
            return NOTHING
        if self.subresource != "status":
            return _STATUS if kind.custom is None or version == self.version else NOTHING
        if kind.custom is not None:
            return _CUSTOM_STATUS
        if kind.resource == PODS:
            return _SPEC | _POD_STATUS
        return _SPEC | _DEPLOYMENT_STATUS if kind.resource == DEPLOYMENTS else _SPEC

    def replicas(self) -> Paths:
        """Where the Scale of an object finds its replicas."""
        custom, resource = self.kind.custom, self.kind.resource
        if custom is None or custom.scale is None:
            return {resource.api_version: REPLICAS}
        path = tuple(map(field, path_of(custom.scale.spec)))
        return dict.fromkeys(custom.conversion.schemas, path)

    def blank(self) -> Tree:
        """What there is before an object is created."""
        is_scale = self.subresource == "scale"
        said = {"apiVersion": self.version, "kind": SCALE.kind if is_scale else self.kind.resource.kind}
        return said if self.kind.custom is not None and not is_scale else type_of(*said.values()).blank() | said


def entries_of(tree: Tree) -> Entries:
    """What an object says about its owners."""
    return (tree.get("metadata") or {}).get("managedFields") or []


def bare(tree: Tree) -> Tree:
    """The tree without its entries, which nobody owns."""
    metadata = tree.get("metadata") or {}
    return tree | {"metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}


def own(tree: Tree, entries: Entries) -> None:
    """Puts the entries into a tree, in place."""
    tree["metadata"].pop("managedFields", None)
    if entries:
        tree["metadata"]["managedFields"] = entries


def _known(entries: object) -> Owners:
    """The owners; none where they cannot be read."""
    try:
        return owners.read(entries)
    except Unreadable:
        return {}


def _base(live: Entries, sent: object, *, takes_sent: bool) -> Owners:
    """Whose fields an update starts from: those that it sends itself, if any, else those of the object."""
    if not takes_sent:
        return _known(live)
    if owners.is_reset(sent):
        return {}
    return _known(sent) or _known(live)


# Updating


def created(manager: Manager, subject: Subject, new: Tree, sent: object) -> Converting[Entries]:
    """The entries of a new object; `new` is as the server decodes it, `sent` are the entries that came with it."""
    if not subject.is_tracked:
        return []
    return (yield from _tracked(manager, subject, subject.blank(), new, _base([], sent, takes_sent=True)))


def changed(
    manager: Manager, subject: Subject, parent: Tree, seen: tuple[Tree, Tree], sent: object
) -> Converting[Entries]:
    """The entries of an object after a change of what was `seen` of it, before and after it.

    Both are as the server decodes them; `sent` are the entries that came with the change.
    """
    if not subject.is_tracked:
        return []
    live, new = seen
    if subject.subresource == "scale":
        whole = _known(entries_of(parent))
        known = to_scale(whole, subject.replicas())
        found = (yield from came_to_own(manager.name, subject, live, new, known)) if known else known
        return owners.written(to_parent(whole, found, subject.replicas(), subject.kind.resource.api_version))
    known = _base(entries_of(parent), sent, takes_sent=not subject.subresource)
    if not known:  # nobody has tracked it so far
        return []
    return (yield from _tracked(manager, subject, live, new, known))


def written_by(name: str, subject: Subject, before: Tree, after: Tree) -> None:
    """Has the server itself, under this name, own what it changes of an object; in place."""
    own(after, unasked(changed(Manager(name), subject, before, (before, after), None)))


def _tracked(manager: Manager, subject: Subject, live: Tree, new: Tree, known: Owners) -> Converting[Entries]:
    if not subject.can_be_read(new):
        return []
    try:
        found = yield from came_to_own(manager.name, subject, live, new, known)
    except StatusError:  # the server rather forgets who owns what than refuse an update
        return []
    return owners.written(owners.capped(found))


def came_to_own(name: str, subject: Subject, live: Tree, new: Tree, known: Owners) -> Converting[Owners]:
    """The owners after somebody has made `new` of `live`."""
    left, mine = yield from updated(subject.scope(), bare(live), bare(new), known)
    if mine:
        me = Owner(name or _UNKNOWN, UPDATE, subject.version, mine, subject.subresource, timestamp())
        key = identity(me.manager, me.operation, me.version, me.subresource)
        left[key] = replace(me, fields=mine | left[key].fields) if key in left else me
    return left


def admitted(manager: Manager | None, entries: Entries, answer: Tree) -> Entries:
    """The entries that webhooks have left; what they made unreadable is put back."""
    if manager is None:
        return entries
    found = entries_of(answer)
    try:
        owners.read(found)
    except Unreadable as error:
        manager.warnings.append(
            ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated "
            f"mutating admission controller; please fix your requests: {error}"
        )
        return entries
    return found


def settled(before: Tree, after: Tree) -> None:
    """Takes new times back, in place, where nothing else has changed."""
    known, found = entries_of(before), entries_of(after)
    if known and known != found and owners.equal_but_for_times(known, found) and identical(bare(before), bare(after)):
        after["metadata"]["managedFields"] = known
