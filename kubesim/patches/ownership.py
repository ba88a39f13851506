"""How ownership of fields moves with a write, and what applying makes of an object.

A field belongs to whoever set it last. Who applies owns exactly what the configuration says, loses what it no longer
says, and the field goes with it if nobody else owns it; a value that another owner has set otherwise is a conflict,
unless it is forced. Owners are compared in the version they wrote in, so objects are converted on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from kubesim.errors import StatusError, internal
from kubesim.kinds.converting import Converting
from kubesim.patches import comparing, field_sets, merging, typecheck
from kubesim.patches.comparing import Comparison
from kubesim.patches.field_sets import NOTHING, Fields
from kubesim.patches.owners import Owner, Owners, identity
from kubesim.patches.places import MergePlace
from kubesim.store.versions import Tree

_METADATA = ("name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation")
_METADATA_SYSTEM = ("managedFields", "resourceVersion")
NEVER_OWNED: Fields = frozenset(
    [("f:apiVersion",), ("f:kind",), ("f:metadata",)]
    + [("f:metadata", field_sets.field(name)) for name in (*_METADATA, *_METADATA_SYSTEM)]
)
_PRUNING = "failed to prune fields"


class Conflicts(Exception):
    """Others own fields that would change; by their identity."""

    def __init__(self, fields: dict[str, Fields]) -> None:
        super().__init__(f"{sum(len(each) for each in fields.values())} conflicts")
        self.fields = fields


class Scope(Struct, frozen=True, eq=False):
    """The kind of object that is written, and what its versions have in common."""

    version: str
    """The apiVersion of the request."""
    place: Callable[[str], MergePlace | None]
    """Of an apiVersion; None for one that there is no more, whose owners are forgotten."""
    convert: Callable[[Sequence[Tree], str], Converting[list[Tree]]]
    ignored: Callable[[str], Fields]
    """What this subresource cannot change, so that nobody comes to own it by trying."""

    def here(self) -> MergePlace:
        found = self.place(self.version)
        assert found is not None  # noqa: S101  the version of a request is served
        return found

    def converted(self, tree: Tree, version: str, doing: str = "") -> Converting[Tree]:
        """The tree in another version; there it must be what its schema knows. A failure tells what was being done."""
        if tree["apiVersion"] == version:
            return tree
        try:
            [made] = yield from self.convert([tree], version)
        except StatusError as error:
            raise (internal(f"{doing}: {error.message}") if doing else error) from None
        place = self.place(version)
        if place is not None and (why := typecheck.problem(place, made)):
            raise internal(f"{doing}: {why}" if doing else why)
        return made


def updated(scope: Scope, live: Tree, new: Tree, owners: Owners) -> Converting[tuple[Owners, Fields]]:
    """What the owners are left with when `live` becomes `new`, and the fields that whoever does it comes to own."""
    known = yield from _reconciled(scope, live, owners)
    left, change = yield from _settled(scope, live, new, known, "", force=True)
    mine = field_sets.without(change.modified | change.added, scope.ignored(scope.version))
    return left, mine - NEVER_OWNED


def applied(
    scope: Scope, live: Tree, config: Tree, owners: Owners, me: Owner, *, force: bool
) -> Converting[tuple[Tree | None, Owners]]:
    """The object after the configuration was applied, None when it stays as it is, and its owners; raises Conflicts.

    `me` is who applies; its fields are replaced by those of the configuration.
    """
    place, name = scope.here(), identity(me.manager, me.operation, "", me.subresource)
    known = yield from _reconciled(scope, live, owners)
    new = merging.merge(place, live, config)
    last = known.get(name)
    mine = field_sets.without(comparing.fields_of(place, config), scope.ignored(scope.version))
    known[name] = replace(me, version=scope.version, fields=mine, time=None if last is None else last.time)
    # Who says again all that was said the last time takes nothing away, unless it is lost on the way to a version that
    # somebody else uses.
    is_alone = all(owner.version == scope.version for owner in known.values())
    if last is not None and not (is_alone and last.version == scope.version and last.fields <= mine):
        new = yield from _pruned(scope, new, known, last)
    left, _ = yield from _settled(scope, live, new, known, name, force=force)
    if name in left:
        left[name] = replace(left[name], fields=left[name].fields - NEVER_OWNED)
        if not left[name].fields:
            del left[name]
    return None if comparing.equal(live, new) else new, left


def _reconciled(scope: Scope, live: Tree, owners: Owners) -> Converting[Owners]:
    """The owners as the schemas have them by now; the object must have a form in the versions of all of them."""
    known: Owners = {}
    tried = [scope.version]
    for name, owner in owners.items():
        place = scope.place(owner.version)
        if place is not None:
            if owner.version not in tried:
                yield from scope.converted(live, owner.version)
                tried.append(owner.version)
            known[name] = replace(owner, fields=merging.reconciled(place, owner.fields))
    return known


def _settled(
    scope: Scope, live: Tree, new: Tree, owners: Owners, me: str, *, force: bool
) -> Converting[tuple[Owners, Comparison]]:
    """What the others are left with after the change, and the change in the version of the request."""
    change = comparing.compare(scope.here(), live, new).without(scope.ignored(scope.version))
    changes = {scope.version: change}
    conflicts: dict[str, Fields] = {}
    left: Owners = {}
    for name, owner in owners.items():
        if name == me:
            left[name] = owner
            continue
        theirs = changes.get(owner.version)
        if theirs is None:
            theirs = changes[owner.version] = yield from _change_in(scope, live, new, owner.version)
        lost = owner.fields & (theirs.modified | theirs.added)
        if lost:
            conflicts[name] = lost
        left[name] = replace(owner, fields=owner.fields - lost - theirs.removed)
    if conflicts and not force:
        raise Conflicts(conflicts)
    return {name: owner for name, owner in left.items() if owner.fields}, change


def _change_in(scope: Scope, live: Tree, new: Tree, version: str) -> Converting[Comparison]:
    """The change as seen in another version."""
    place = scope.place(version)
    assert place is not None  # noqa: S101  owners in versions that are gone have been left out
    old = yield from scope.converted(live, version, "failed to convert old object")
    made = yield from scope.converted(new, version, "failed to convert new object")
    return comparing.compare(place, old, made).without(scope.ignored(version))


def _pruned(scope: Scope, merged: Tree, owners: Owners, last: Owner) -> Converting[Tree]:
    """The merged object without what was applied the last time, is not applied any more and belongs to nobody else."""
    place = scope.place(last.version)
    if place is None:
        return merged
    why = f"{_PRUNING}: failed to convert merged object to last applied version"
    merged = yield from scope.converted(merged, last.version, why)
    wanted = merging.with_parents(place, last.fields)
    pruned = merging.remove(place, merged, wanted)
    pruned = yield from _with_owned(scope, merged, pruned, owners, last.version)
    # What nobody owns, or an updater does, has not been applied and stays.
    why = f"{_PRUNING}: failed add back dangling items: failed to convert pruned object to last applied version"
    back = yield from scope.converted(pruned, last.version, why)
    whole = merging.with_parents(place, comparing.fields_of(place, merged))
    kept = merging.with_parents(place, comparing.fields_of(place, back))
    left = merging.remove(place, merged, (whole - kept) & wanted)
    return (yield from scope.converted(left, scope.version, _PRUNING))


def _with_owned(scope: Scope, merged: Tree, pruned: Tree, owners: Owners, first: str) -> Converting[Tree]:
    """The pruned object with everything that somebody owns, version by version; `first` comes first.

    It is the version in which the object was pruned: what is put back there may be needed to convert it at all.
    """
    owned: dict[str, Fields] = {}
    for owner in owners.values():
        owned[owner.version] = owned.get(owner.version, NOTHING) | owner.fields
    for version in sorted(owned, key=lambda each: (each != first, each)):
        place = scope.place(version)
        if place is None:
            continue
        why = f"{_PRUNING}: failed add back owned items: failed to convert"
        merged = yield from scope.converted(merged, version, f"{why} merged object at version {version}")
        pruned = yield from scope.converted(pruned, version, f"{why} pruned object at version {version}")
        whole = merging.with_parents(place, comparing.fields_of(place, merged))
        kept = merging.with_parents(place, comparing.fields_of(place, pruned))
        pruned = merging.remove(place, merged, whole - (kept | merging.with_parents(place, owned[version])))
    return pruned
