"""The write path, as the server has it: read, change, ask for admission, check, compare with what is stored, store.

Every method is a `Write`: it hands out the questions it needs and goes on with their answers. Where the object changed
while a question was answered, the write starts again from the newest state, questions included; a body or patch that
names the version it is based on is then refused.

A custom resource is read, changed and checked in the version of the request, and converted to the storage version when
it is stored.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from kubeloop.objects.meta import Resource
from kubesim.bodies.equality import identical
from kubesim.errors import (
    CHANGED,
    StatusError,
    conflict,
    internal,
    quoted,
    uid_precondition,
    version_required,
)
from kubesim.kinds.converting import Converting, kept, shown
from kubesim.kinds.registry import Kind, Registry
from kubesim.patches import applying, managed_fields, patch
from kubesim.patches.managed_fields import Subject
from kubesim.patches.managers import Manager
from kubesim.rules import advice, pod_warnings
from kubesim.schema import numbers
from kubesim.store.store import Store
from kubesim.store.versions import Author, Tree, Version
from kubesim.strategies import defaulting, subresources, validation
from kubesim.typed.types import Typed
from kubesim.writes import deletion, stored_form, wordings
from kubesim.writes.asking import MUTATING, VALIDATING, Write, about, reviewed
from kubesim.writes.creation import Creations, check
from kubesim.writes.parts import ObjectPart, part_of, same_name, taken
from kubesim.writes.proposals import Change, proposed
from kubesim.writes.removals import Removals
from kubesim.writes.stored_form import Blanks

ROUNDS = 100
"""How often a write starts again. The server goes on until the request's time is over, which in virtual time may stand
still."""
_KEPT = ("creationTimestamp", "generation", "selfLink", "resourceVersion")


class _Wish(Struct, frozen=True):
    """How a change is to be made; without a manager who owns what stays as it is."""

    author: Author
    dry_run: bool
    manager: Manager | None


class Writes(Creations):
    """Of new objects and of those that are there."""

    def __init__(self, store: Store, registry: Registry, known: Blanks, *, inside: bool = False) -> None:
        super().__init__(store, registry, known, inside=inside)
        self.removals = Removals(store, registry, inside=inside)

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
        manager: Manager | None = None,
    ) -> Write:
        """Replaces the object, or what the subresource shows of it; a resource version in it must be current."""
        kind = self.kind(resource)
        part = part_of(kind, namespace, name, subresource)

        wanted = (tree.get("metadata") or {}).get("uid")

        def replaced(old: Version, _shown: Tree) -> Tree:
            if wanted and wanted != old.head.uid and subresource != "scale":
                same_name(tree, name)
                raise uid_precondition(kind.resource, namespace, name, wanted, old.head.uid, dry_run=dry_run)
            return tree

        if (namespace, name) not in self.table(kind).live and subresource != "scale":
            same_name(taken(kind, namespace, tree), name)
        for _ in range(ROUNDS):
            if (namespace, name) in self.table(kind).live or not kind.create_on_update or subresource:
                wish = _Wish(Author(user, "update", subresource), dry_run, manager)
                return (yield from self._changed(part, wish, replaced))
            if wanted:  # also where there is nothing yet: what is not there has no UID
                raise uid_precondition(kind.resource, namespace, name, wanted, "", dry_run=dry_run)
            fresh = tree | {"metadata": _unversioned(tree.get("metadata") or {})}
            try:
                return (yield from self.create(resource, namespace, fresh, user=user, dry_run=dry_run, manager=manager))
            except StatusError as error:
                if error.reason != "AlreadyExists":
                    raise
        raise conflict(kind.resource, name, CHANGED)

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
        manager: Manager | None = None,
        examine: Callable[[Tree], Tree] = Typed,
    ) -> Write:
        """Changes the object, or what the subresource shows of it, by a patch of any type but `apply`'s.

        What the patch makes of it is examined before anything else is done.
        """
        kind = self.kind(resource)
        part = part_of(kind, namespace, name, subresource)
        patch_of = patch.reader(content_type, body, strategic=kind.custom is None)

        def patched(_old: Version, shown: Tree) -> Tree:
            return examine(patch_of(shown))

        wish = _Wish(Author(user, "patch", subresource), dry_run, manager)
        return (yield from self._changed(part, wish, patched))

    def apply(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        config: Tree,
        *,
        subresource: str = "",
        user: str,
        dry_run: bool = False,
        manager: Manager,
    ) -> Write:
        """Has the object say what the configuration says, and takes from it what the manager applied before.

        It is created where it is not there yet.
        """
        kind = self.kind(resource)
        part = part_of(kind, namespace, name, subresource)
        wish = _Wish(Author(user, "patch", subresource), dry_run, manager)
        for _ in range(ROUNDS):
            if (namespace, name) in self.table(kind).live or subresource:
                return (yield from self._changed(part, wish, config))
            applying.check(Subject(kind), config)
            uid = (config.get("metadata") or {}).get("uid")
            if uid:
                why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                raise conflict(kind.resource, name, why)
            same_name(taken(kind, namespace, config, applied=config), name)
            # The version of what is not there is not looked at.
            fresh = config | {"metadata": _unversioned(config["metadata"])}
            creation = self.create(
                resource, namespace, fresh, user=user, dry_run=dry_run, manager=manager, applied=True
            )
            try:
                return (yield from creation)
            except StatusError as error:
                if error.reason != "AlreadyExists":
                    raise
        raise conflict(kind.resource, name, CHANGED)

    def _changed(self, part: ObjectPart, wish: _Wish, change: Change | Tree) -> Write:
        """The optimistic loop: what was reviewed is stored only over the version it was made from.

        A change that is a tree is a configuration to apply.
        """
        author, dry_run, manager = wish.author, wish.dry_run, wish.manager
        for _ in range(ROUNDS):
            old = self.current(part.kind, part.namespace, part.name)
            before = yield from shown(part.kind, old)
            sent, new, entries = yield from proposed(part, old, before, change, manager)
            managed_fields.own(new, entries)
            offered = part.offered(sent, new)
            question = replace(about(part, MUTATING, "UPDATE", dry_run), object=offered, old=part.seen(before))
            answer = yield from reviewed(question)
            if answer is not None and answer is not offered:
                new = part.accepted(before, answer)
                if part.subresource != "scale":
                    entries = managed_fields.admitted(manager, entries, answer)
            after = self._prepared(part.kind, old, before, new, author)
            wordings.check(part.kind, old, sent, after, is_request=manager is not None)
            managed_fields.own(after, entries)
            blank = stored_form.are_stored(part.kind, part.subresource, sent, applied=isinstance(change, dict))
            if not blank:
                managed_fields.settled(before, after)
            if manager is not None and part.kind.custom is not None:
                manager.warnings.extend(advice.on_custom(before, after))
            elif manager is not None and part.subresource != "status":
                manager.warnings.extend(pod_warnings.on_update(before, after) + advice.on_update(before, after))
            yield replace(question, phase=VALIDATING, object=part.seen(after))
            if dry_run:
                return part.seen(after)
            stored = yield from kept(part.kind, after)
            if self._stored(part.kind, old, before, stored, author, blank=blank):
                return part.seen((yield from self._reread(part.kind, after, stored)))
        raise conflict(part.kind.resource, part.name, CHANGED)

    def _prepared(self, kind: Kind, old: Version, before: Tree, new: Tree, author: Author) -> Tree:
        """`new` as it would be stored: as far as the subresource allows, completed and checked."""
        given = new["metadata"].get("resourceVersion") or ""
        if given in ("", "0") and not kind.unconditional_update:
            raise version_required(kind.resource, old.head.name)
        if given not in ("", "0", str(old.revision)):
            if not given.isdecimal():
                raise internal(f"strconv.ParseUint: parsing {quoted(given)}: invalid syntax")
            raise conflict(kind.resource, old.head.name, CHANGED)
        after = subresources.limited(kind, before, new, author.subresource)
        self._keep_system_fields(kind, before, after, author.subresource)
        group = kind.resource.group
        check(kind, after, validation.on_update(before, after, author.subresource, kind.custom, group=group))
        if kind.custom is not None:
            numbers.settle(after)
        return after

    def _stored(self, kind: Kind, old: Version, before: Tree, after: Tree, author: Author, *, blank: bool) -> bool:
        """Writes `after` over `old`; False when that is not the newest version. What changes nothing is not written.

        To be stored in another version is a change, and so are `blanks`.
        """
        ends = deletion.ends_with(old, after)
        is_same = not blank and identical(after, before if kind.custom is None else old.tree())
        if is_same and not ends and not self._blanks.has(old):
            return True
        if self.table(kind).live.get(old.key) is not old:
            return False
        if ends:
            self.removals.remove(kind, old, author)
            return True
        self._blanks.note(old, self.table(kind).write(wordings.kept(kind, old, after), old, author), blank=blank)
        return True

    def _reread(self, kind: Kind, after: Tree, stored: Tree) -> Converting[Tree]:
        """What a client is answered: the object as the store would show it, which conversion may have changed."""
        if stored is after:
            return after
        found = self.table(kind).live.get((stored["metadata"].get("namespace", ""), stored["metadata"]["name"]))
        return after if found is None else (yield from shown(kind, found))

    def _keep_system_fields(self, kind: Kind, before: Tree, after: Tree, subresource: str) -> None:
        metadata, known = after["metadata"], before["metadata"]
        if not metadata.get("uid"):
            metadata["uid"] = known["uid"]
        for key in _KEPT:
            metadata.pop(key, None)
            if key in known:
                metadata[key] = known[key]
        if "deletionTimestamp" in known:
            metadata["deletionTimestamp"] = known["deletionTimestamp"]
            if "deletionGracePeriodSeconds" in known:
                metadata.setdefault("deletionGracePeriodSeconds", known["deletionGracePeriodSeconds"])
        if subresource != "status":
            defaulting.fill(after, kind.features)
            subresources.carry_over(before, after, self.store)
            if kind.has_generation and subresources.counts(kind, before, after):
                metadata["generation"] = known["generation"] + 1


def _unversioned(metadata: Tree) -> Tree:
    return {key: value for key, value in metadata.items() if key != "resourceVersion"}
