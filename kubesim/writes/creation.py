"""How an object comes to be: read, ask for admission, name, complete, check, store.

Every method that writes is a `Write`: it hands out the questions it needs and goes on with their answers.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from msgspec.structs import replace

from kubeloop.objects.meta import Resource
from kubesim.errors import (
    Cause,
    already_exists,
    being_deleted,
    forbidden,
    internal,
    invalid,
    not_found,
)
from kubesim.kinds.converting import Converting, kept, shown
from kubesim.kinds.registry import NAMESPACES, NODES, Kind, Registry
from kubesim.patches import managed_fields
from kubesim.patches.managed_fields import Entries
from kubesim.patches.managers import Manager
from kubesim.rules import advice, pod_warnings
from kubesim.schema import numbers
from kubesim.store.store import Store, Table
from kubesim.store.versions import Author, Tree, Version, timestamp
from kubesim.strategies import defaulting, subresources, validation
from kubesim.typed.types import type_of
from kubesim.writes import stored_form, wordings
from kubesim.writes.asking import MUTATING, VALIDATING, Question, Questions, Write, about, reviewed
from kubesim.writes.parts import NewPart, ObjectPart, taken
from kubesim.writes.proposals import first_entries
from kubesim.writes.stored_form import Blanks

_SYSTEM = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_LONGEST_BASE = 58
_NAME_ATTEMPTS = 8


class Creations:
    """Every refusal is a StatusError."""

    def __init__(self, store: Store, registry: Registry, known: Blanks, *, inside: bool = False) -> None:
        self.store = store
        self.registry = registry
        self._blanks = known
        self.kind = registry.kept if inside else registry.kind
        """The kind of a resource; within the cluster nobody asks webhooks to convert."""

    def current(self, kind: Kind, namespace: str, name: str) -> Version:
        found = self.table(kind).live.get((namespace, name))
        if found is None:
            raise not_found(kind.resource, name)
        return found

    def table(self, kind: Kind) -> Table:
        return self.store.table(kind.storage)

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
        stored, live = (yield from kept(kind, new)), self.table(kind).live
        name = new["metadata"]["name"]
        if (new["metadata"].get("namespace", ""), name) in live:  # since it was looked up
            raise already_exists(kind.resource, name)
        version = self.table(kind).write(wordings.born(kind, sent, stored), None, author)
        self._blanks.note(None, version, blank=blank)
        return new if stored is new else (yield from shown(kind, version))

    def _named(self, part: ObjectPart, new: Tree, question: Question, manager: Manager | None) -> Questions:
        """Completes the object under a name that is free, generated where only its beginning was given."""
        metadata, live = new["metadata"], self.table(part.kind).live
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
        defaulting.fill(new, kind.features)
        subresources.admit(new)
        subresources.allocate(new, self.store, dry_run=dry_run)
        check(kind, new, validation.on_create(new, kind.custom, group=kind.resource.group))
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


def check(kind: Kind, new: Tree, causes: Sequence[Cause]) -> None:
    if causes:
        raise invalid(kind.storage, new["metadata"].get("name") or "", causes)
