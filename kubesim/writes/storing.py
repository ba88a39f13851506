"""The write path, as the server has it: read, change, ask for admission, check, compare with what is stored, store.

Every method is a `Write`: it hands out the questions it needs and goes on with their answers. Where the object changed
while a question was answered, the write starts again from the newest state, questions included; a body or patch that
names the version it is based on is then refused.

A custom resource is read, changed and checked in the version of the request, and converted to the storage version when
it is stored.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from kubeloop.objects.meta import Resource
from kubesim.bodies.equality import identical
from kubesim.errors import (
    CHANGED,
    Cause,
    StatusError,
    already_exists,
    being_deleted,
    conflict,
    forbidden,
    internal,
    invalid,
    not_found,
    quoted,
    uid_precondition,
    version_required,
)
from kubesim.kinds.converting import Converting, kept, shown
from kubesim.kinds.registry import NAMESPACES, NODES, Kind, Registry
from kubesim.patches import applying, managed_fields, patch
from kubesim.patches.managed_fields import Entries, Subject
from kubesim.patches.managers import Manager
from kubesim.rules import advice, pod_warnings
from kubesim.schema import numbers
from kubesim.store.store import Store, Table
from kubesim.store.versions import Author, Tree, Version, timestamp
from kubesim.strategies import defaulting, subresources, validation
from kubesim.typed.types import Typed, type_of
from kubesim.writes import deletion, stored_form, wordings
from kubesim.writes.asking import MUTATING, VALIDATING, Question, Questions, Write, about, reviewed
from kubesim.writes.parts import NewPart, ObjectPart, part_of, same_name, taken
from kubesim.writes.proposals import Change, first_entries, proposed
from kubesim.writes.removals import Removals
from kubesim.writes.stored_form import Blanks

ROUNDS = 100
"""How often a write starts again. The server goes on until the request's time is over, which in virtual time may stand
still."""
_SYSTEM = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
_KEPT = ("creationTimestamp", "generation", "selfLink", "resourceVersion")
_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_LONGEST_BASE = 58
_NAME_ATTEMPTS = 8


class _Wish(Struct, frozen=True):
    """How a change is to be made; without a manager who owns what stays as it is."""

    author: Author
    dry_run: bool
    manager: Manager | None


class Writes:
    """Every refusal is a StatusError."""

    def __init__(self, store: Store, registry: Registry, known: Blanks, *, inside: bool = False) -> None:
        self.store = store
        self.registry = registry
        self.removals = Removals(store, registry, inside=inside)
        self._blanks = known
        self.kind = registry.kept if inside else registry.kind
        """The kind of a resource; within the cluster nobody asks webhooks to convert."""

    def current(self, kind: Kind, namespace: str, name: str) -> Version:
        found = self._table(kind).live.get((namespace, name))
        if found is None:
            raise not_found(kind.resource, name)
        return found

    def _table(self, kind: Kind) -> Table:
        return self.store.table(kind.storage)

    # Creating

    def create(
        self,
        resource: Resource,
        namespace: str,
        tree: Tree,
        *,
        user: str,
        dry_run: bool = False,
        manager: Manager | None = None,
        applied: bool = False,
    ) -> Write:
        """Creates the object and returns it as stored; without a manager nobody owns its fields.

        With `applied` the tree is a configuration, whose fields the manager owns and no others.
        """
        kind = self.kind(resource)
        new = taken(kind, namespace, tree, applied=tree if applied else None)
        metadata = new["metadata"]
        if metadata.get("resourceVersion"):
            raise internal("resourceVersion should not be set on objects to be created")
        part = NewPart(kind, namespace, metadata.get("name") or "")
        self._namespace_is_open(kind, namespace, part.name)
        for key in _SYSTEM:
            metadata.pop(key, None)
        entries: Entries = []
        if manager is not None:
            entries = yield from first_entries(part, tree, new, manager, applied=applied)
        managed_fields.own(new, entries)
        offered = part.seen(new)
        question = replace(about(part, MUTATING, "CREATE", dry_run), object=offered)
        answer = yield from reviewed(question)
        if answer is not None and answer is not offered:
            new = taken(kind, namespace, answer)
            managed_fields.own(new, managed_fields.admitted(manager, entries, answer))
        yield from self._named(part, new, question, manager)
        if dry_run:
            return part.seen(new)
        blank = stored_form.are_stored(kind, "", tree, applied=applied)
        return part.seen((yield from self._born(kind, tree, new, Author(user, "create"), blank=blank)))

    def _born(self, kind: Kind, sent: Tree, new: Tree, author: Author, *, blank: bool) -> Converting[Tree]:
        """Stores a new object; answers with it as it is read."""
        stored, live = (yield from kept(kind, new)), self._table(kind).live
        name = new["metadata"]["name"]
        if (new["metadata"].get("namespace", ""), name) in live:  # since it was looked up
            raise already_exists(kind.resource, name)
        version = self._table(kind).write(wordings.born(kind, sent, stored), None, author)
        self._blanks.note(None, version, blank=blank)
        return new if stored is new else (yield from shown(kind, version))

    def _named(self, part: ObjectPart, new: Tree, question: Question, manager: Manager | None) -> Questions:
        """Completes the object under a name that is free, generated where only its beginning was given."""
        metadata, live = new["metadata"], self._table(part.kind).live
        base = "" if metadata.get("name") else metadata.get("generateName") or ""
        for _ in range(_NAME_ATTEMPTS if base else 1):
            if base:
                metadata["name"] = base[:_LONGEST_BASE] + self._suffix()
            self._complete(part.kind, new, dry_run=question.dry_run)
            if manager is not None:
                is_custom = part.kind.custom is not None
                told = advice.on_custom(None, new) if is_custom else pod_warnings.on_create(new) + advice.on_create(new)
                manager.warnings.extend(told)
            yield replace(question, phase=VALIDATING, name=part.name or metadata["name"], object=part.seen(new))
            found = live.get((metadata.get("namespace", ""), metadata["name"]))
            if found is None:
                return
        refuse = being_deleted if found is not None and found.head.deletion_timestamp else already_exists
        raise refuse(part.kind.resource, metadata["name"])

    def _complete(self, kind: Kind, new: Tree, *, dry_run: bool) -> None:
        """Fills in what the server decides, then checks the whole."""
        metadata = new["metadata"]
        metadata["uid"] = self.new_uid()
        metadata["creationTimestamp"] = timestamp()
        if kind.has_generation:
            metadata["generation"] = 1
        if kind.has_status and kind.resource != NODES:
            new.pop("status", None)
            if kind.custom is None and not kind.is_kept:
                new["status"] = type_of(kind.storage.api_version, kind.storage.kind).blank()["status"]
        defaulting.fill(new)
        subresources.admit(new)
        subresources.allocate(new, self.store, dry_run=dry_run)
        _check(kind, new, validation.on_create(new, kind.custom, group=kind.resource.group))
        if kind.custom is not None:
            numbers.settle(new)

    def _suffix(self) -> str:
        draws = self.store.draws("name")
        return "".join(_SUFFIX[draws.below(len(_SUFFIX))] for _ in range(_SUFFIX_LENGTH))

    def new_uid(self) -> str:
        """A UID that nothing else has."""
        draws = self.store.draws("uid")
        return str(uuid.UUID(int=draws.integer() << 64 | draws.integer(), version=4))

    def _namespace_is_open(self, kind: Kind, namespace: str, name: str) -> None:
        if kind.custom is not None and kind.custom.terminating:
            why = "create not allowed while custom resource definition is terminating"
            raise forbidden(kind.resource, name, why)
        if not kind.resource.namespaced:
            return
        space = self.store.table(NAMESPACES).live.get(("", namespace))
        if space is None:
            raise not_found(NAMESPACES, namespace)
        if space.head.deletion_timestamp is not None:
            text = f"namespace {namespace} is being terminated"
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            raise forbidden(kind.resource, name, why, [Cause("NamespaceTerminating", text, "metadata.namespace")])

    # Changing

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

        if (namespace, name) not in self._table(kind).live and subresource != "scale":
            same_name(taken(kind, namespace, tree), name)
        for _ in range(ROUNDS):
            if (namespace, name) in self._table(kind).live or not kind.create_on_update or subresource:
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
            if (namespace, name) in self._table(kind).live or subresource:
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
        _check(kind, after, validation.on_update(before, after, author.subresource, kind.custom, group=group))
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
        if self._table(kind).live.get(old.key) is not old:
            return False
        if ends:
            self.removals.remove(kind, old, author)
            return True
        self._blanks.note(old, self._table(kind).write(wordings.kept(kind, old, after), old, author), blank=blank)
        return True

    def _reread(self, kind: Kind, after: Tree, stored: Tree) -> Converting[Tree]:
        """What a client is answered: the object as the store would show it, which conversion may have changed."""
        if stored is after:
            return after
        found = self._table(kind).live.get((stored["metadata"].get("namespace", ""), stored["metadata"]["name"]))
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
            defaulting.fill(after)
            subresources.carry_over(before, after, self.store)
            if kind.has_generation and subresources.counts(kind, before, after):
                metadata["generation"] = known["generation"] + 1


def _unversioned(metadata: Tree) -> Tree:
    return {key: value for key, value in metadata.items() if key != "resourceVersion"}


def _check(kind: Kind, new: Tree, causes: Sequence[Cause]) -> None:
    if causes:
        raise invalid(kind.storage, new["metadata"].get("name") or "", causes)
