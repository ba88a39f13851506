"""Deletions: asked about, then carried out at once or in two steps, and again when the object changed meanwhile.

A deletion that first marks the object and then takes it away is asked about before each step, as the server does.
"""

from __future__ import annotations

from collections.abc import Generator

from msgspec.structs import replace

from kubeloop import clock
from kubeloop.objects.meta import Resource
from kubesim.errors import CHANGED, conflict, forbidden, not_found
from kubesim.kinds.converting import kept, shown, twin
from kubesim.kinds.registry import NAMESPACES, PRIORITY_CLASSES, Kind, Registry
from kubesim.rules.cluster import SYSTEM_CLASSES
from kubesim.store.store import Store, Table
from kubesim.store.versions import Author, Tree, Version
from kubesim.writes import deletion
from kubesim.writes.asking import DELETING, Answer, Asked, Question, Write, about
from kubesim.writes.parts import ObjectPart

_ROUNDS = 100
_LASTING = ("default", "kube-system", "kube-public")
"""Namespaces that every cluster has for good."""


class Removals:
    """Every refusal is a StatusError."""

    def __init__(self, store: Store, registry: Registry, *, inside: bool = False) -> None:
        self.store = store
        self.registry = registry
        self._inside = inside
        self._kind = registry.kept if inside else registry.kind

    def _table(self, kind: Kind) -> Table:
        return self.store.table(kind.storage)

    def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        options: deletion.Options,
        *,
        user: str,
        dry_run: bool = False,
        collection: bool = False,
    ) -> Write:
        """Deletes the object, or starts to; the answer is the object while something holds it, else as its kind has.

        In the deletion of a collection the questions do not name the object.
        """
        kind = self._kind(resource)
        part, author = ObjectPart(kind, namespace, name), Author(user, "delete")
        if kind.resource == PRIORITY_CLASSES and name in SYSTEM_CLASSES and not collection:
            raise forbidden(kind.resource, name, "this is a system priority class and cannot be deleted")
        question = replace(about(part, DELETING, "DELETE", dry_run), name="" if collection else name)
        for _ in range(_ROUNDS):
            old = self._table(kind).live.get((namespace, name))
            if old is None:
                raise not_found(kind.resource, name)
            found = yield from shown(kind, old)
            plan = deletion.plan(kind, old, twin(kind, old, found), options, clock.now())
            if deletion.is_under_way(kind, old, options):
                return part.seen(found)
            if kind.resource == NAMESPACES and name in _LASTING and not self._inside:
                raise forbidden(kind.resource, name, "this namespace may not be deleted")
            yield replace(question, old=part.seen(found))
            marked = plan.tree if plan.tree is None or dry_run else (yield from kept(kind, plan.tree))
            if self._table(kind).live.get(old.key) is old:
                break
        else:
            raise conflict(kind.resource, name, CHANGED)
        if dry_run:
            return _answer(part, old, found if plan.tree is None else plan.tree, gone=plan.gone)
        if marked is not None:
            old = self._table(kind).write(marked, old, author)
        if plan.gone:
            last = old if marked is None else (yield from self._settled(part, old, question))
            return _answer(part, old, old.tree() if last is None else self.remove(kind, last, author).tree(), gone=True)
        return _answer(part, old, (yield from shown(kind, old)), gone=False)

    def _settled(self, part: ObjectPart, old: Version, question: Question) -> Generator[Asked, Answer, Version | None]:
        """The version to take away after one more question; None when somebody else has done it meanwhile."""
        table = self._table(part.kind)
        for _ in range(_ROUNDS):
            yield replace(question, old=part.seen((yield from shown(part.kind, old))))
            latest = table.live.get(old.key)
            if latest is None or latest.head.uid != old.head.uid:
                return None
            if latest is old:
                return old
            old = latest
        raise conflict(part.kind.resource, part.name, CHANGED)

    def remove(self, kind: Kind, old: Version, author: Author) -> Version:
        """Takes a version away for good."""
        return self._table(kind).remove(old, author)


def _answer(part: ObjectPart, old: Version, tree: Tree, *, gone: bool) -> Tree:
    if gone and not part.kind.returns_deleted:
        return deletion.success(part.kind.resource, old)
    return part.seen(tree)
