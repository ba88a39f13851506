"""Who owns what: a controller adopts orphans that its selector matches and releases what no longer matches.

A pod or revision belongs to the controller that its owner references name as such; an orphan has none.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Protocol, TypeVar

from kubeloop.objects.meta import LabelSelector, Meta, Resource
from kubeloop.store import Named, Store
from kubesim.controllers.base import Api, Stale
from kubesim.errors import StatusError
from kubesim.store.versions import Head, Tree

OWNER = "owner"
"""The index of a view that `owner_or_orphan` makes."""


class _Spec(Protocol):
    @property
    def selector(self) -> LabelSelector: ...


class Selecting(Named, Protocol):
    """A set that owns what its selector matches."""

    @property
    def spec(self) -> _Spec: ...


S = TypeVar("S", bound=Selecting)


def owner_or_orphan(item: Named) -> Iterable[str]:
    """Under which its controller finds it."""
    return (item.metadata.controller_uid or orphans_of(item.metadata.namespace),)


def orphans_of(namespace: str) -> str:
    """Where the orphans of a namespace are found; no UID has a slash."""
    return f"orphans/{namespace}"


def selects(selector: LabelSelector, labels: dict[str, str]) -> bool:
    """An empty selector of a controller selects nothing."""
    if not selector.match_expressions:
        return bool(selector.match_labels) and selector.match_labels.items() <= labels.items()
    return selector.matches(labels)


def owner_of(item: Named, owners: Store[S], kind: str) -> S | None:
    """The one that controls the item, if it is there and not another of its name."""
    owner = next((each for each in item.metadata.owner_references if each.controller), None)
    if owner is None or owner.kind != kind:
        return None
    found = owners.get(item.metadata.namespace, owner.name)
    return found if found is not None and found.metadata.uid == owner.uid else None


def concerned(owners: Store[S], kind: str, old: Named | None, new: Named | None) -> Iterator[S]:
    """Whom a change of an item concerns: whoever controls it, before or after, or may adopt it from now on."""
    is_same = old is not None and new is not None and old.metadata.owner_references == new.metadata.owner_references
    for item in (None if is_same else old, new):
        found = None if item is None else owner_of(item, owners, kind)
        if found is not None:
            yield found
    if new is None or new.metadata.controller_uid or new.metadata.deletion_timestamp is not None:
        return
    if old is None or old.metadata.controller_uid or old.metadata.labels != new.metadata.labels:
        for each in owners.items():
            if each.metadata.namespace == new.metadata.namespace and selects(each.spec.selector, new.metadata.labels):
                yield each


def check_alive(api: Api, resource: Resource, owner: Meta) -> None:
    """One that is gone, going, or another by now must neither adopt nor make anything: its garbage would be missed."""
    live = api.store.table(resource).live.get((owner.namespace, owner.name))
    if live is None or live.head.uid != owner.uid or live.head.deletion_timestamp is not None:
        raise Stale((owner.namespace, owner.name))


async def adopt(api: Api, resource: Resource, item: Meta | Head, owner: Tree) -> Tree | None:
    """The item as the owner's, or None if it is gone meanwhile."""
    return await change_owners(api, resource, item, lambda references: [*references, owner])


async def release(api: Api, resource: Resource, item: Meta | Head, owners: Collection[str]) -> Tree | None:
    """The item without these owners (UIDs), or None if it is gone meanwhile."""
    return await change_owners(
        api, resource, item, lambda references: [each for each in references if each["uid"] not in owners]
    )


async def change_owners(
    api: Api, resource: Resource, item: Meta | Head, change: Callable[[list[Tree]], list[Tree]]
) -> Tree | None:
    """The item with changed owner references, or None if it is gone meanwhile; a change in between is a conflict."""
    try:
        live = (api.read(resource, item.namespace, item.name))["metadata"]
        if live["uid"] != item.uid:
            return None
        references = change(live.get("ownerReferences", []))
        guarded = {"uid": item.uid, "resourceVersion": live["resourceVersion"], "ownerReferences": references}
        return await api.merge(resource, item.namespace, item.name, {"metadata": guarded})
    except StatusError as error:
        if error.code == 404:
            return None
        raise
