"""What a write makes of an object before anybody is asked about it, and who owns its fields then."""

from __future__ import annotations

from collections.abc import Callable

from kubesim.bodies.equality import identical
from kubesim.kinds.converting import Converting, copied
from kubesim.patches import applying, managed_fields
from kubesim.patches.managed_fields import Entries, Subject
from kubesim.patches.managers import Manager
from kubesim.store.versions import Tree, Version
from kubesim.strategies import defaulting
from kubesim.typed.types import Typed, inside
from kubesim.writes.parts import ObjectPart

Change = Callable[[Version, Tree], Tree]
"""From an object, as a version and as the tree that clients see, to the tree that it shall be."""


def first_entries(part: ObjectPart, sent: Tree, new: Tree, manager: Manager, *, applied: bool) -> Converting[Entries]:
    """Who owns what of a new object."""
    subject = Subject(part.kind)
    if applied:
        return (yield from applying.applied_new(manager, subject, sent))
    return (yield from managed_fields.created(manager, subject, _decoded(part, sent, new), _said(part, sent)))


def proposed(
    part: ObjectPart, old: Version, before: Tree, change: Change | Tree, manager: Manager | None
) -> Converting[tuple[Tree, Tree, Entries]]:
    """What shall become of what is seen of the object, the object that comes of it, and who owns it then."""
    seen, subject = part.seen(copied(before)), Subject(part.kind, part.subresource)
    if isinstance(change, dict):
        assert manager is not None  # noqa: S101  nobody applies without a name
        applying.check(subject, change)
        sent, entries = yield from applying.apply(manager, subject, before, seen, change)
        if part.kind.custom is not None and identical(sent, managed_fields.bare(seen)):
            return sent, copied(before), entries  # nothing is decoded, so no default is filled in
        return sent, part.accepted(before, sent, applied=change), entries
    sent = change(old, seen)
    new, entries = part.accepted(before, sent), managed_fields.entries_of(before)
    said = _said(part, sent)
    is_owned = bool(entries or said)
    if manager is None or not is_owned:
        return sent, new, entries
    decoded = part.complete(sent) if part.subresource == "scale" else _decoded(part, sent, new)
    return sent, new, (yield from managed_fields.changed(manager, subject, before, (seen, decoded), said))


def _said(part: ObjectPart, sent: Tree) -> object:
    """The entries that a write sends along; of a custom resource an empty list of them says nothing."""
    said = (sent.get("metadata") or {}).get("managedFields")
    return None if part.kind.custom is not None and said == [] else said


def _decoded(part: ObjectPart, sent: Tree, new: Tree) -> Tree:
    """What clients would see of a tree that was taken in, before anything is decided about it.

    A list that was sent empty is not yet the same as one that was not sent.
    """
    tree = copied(new)
    defaulting.fill(tree, part.kind.features)
    tree = part.seen(tree)
    for words in sent.empty if isinstance(sent, Typed) else ():
        parent, last = inside(tree, words), words[-1]
        if isinstance(parent, dict) and last in parent and parent[last] is None:
            parent[last] = []
    return tree
