"""The ControllerRevisions of a set: found, made, renumbered, adopted, and thrown away when they are too many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from kubeloop.objects.apps import CONTROLLER_REVISIONS, STATEFULSETS
from kubeloop.objects.core import Pod
from kubesim.controllers.adoption import OWNER, adopt, check_alive, orphans_of, selects
from kubesim.controllers.base import Api, View
from kubesim.controllers.revisions import (
    HASH_LABEL,
    Create,
    Renumber,
    Reuse,
    Revision,
    choose,
    hash_of,
    in_order,
    name_of,
    patch_of,
    surplus,
)
from kubesim.controllers.statefulset_pods import Set, revision_of
from kubesim.errors import StatusError
from kubesim.store.versions import Key, Tree


class Chosen(msgspec.Struct, frozen=True):
    """The revision a set is at, the one its template says, and the collisions met when naming that one."""

    current: Revision
    update: Revision
    collisions: int


class History:
    """Works from a lagging view of the revisions; a revision made twice is found the second time."""

    def __init__(self, api: Api, view: View[Revision]) -> None:
        self._api = api
        self._view = view
        self._patches: dict[Key, tuple[Mapping[str, object], bytes]] = {}
        """The template that a set had at the last look, and the patch for it."""

    def of(self, set_: Set) -> list[Revision]:
        """The set's revisions, and orphans that it may adopt, oldest first."""
        objects = self._view.objects
        found = (*objects.by(OWNER, set_.metadata.uid), *objects.by(OWNER, orphans_of(set_.metadata.namespace)))
        return in_order(each for each in found if selects(set_.spec.selector, each.metadata.labels))

    async def adopt_orphans(self, set_: Set) -> None:
        for revision in self.of(set_):
            if not revision.metadata.controller_uid:
                await adopt(self._api, CONTROLLER_REVISIONS, revision.metadata, set_.owner_reference())

    async def choose(self, set_: Set, revisions: list[Revision]) -> Chosen:
        """The revisions that matter now; makes or renumbers the one for the set's template where needed."""
        collisions = set_.status.collision_count or 0
        patch = self._patch(set_)
        match choose(revisions, patch):
            case Reuse(update):
                pass
            case Renumber(revision, number):
                update = await self._renumber(revision, number)
            case Create(number):
                update, collisions = await self._create(set_, patch, number, collisions)
        current = next((each for each in revisions if each.name == set_.status.current_revision), update)
        return Chosen(current, update, collisions)

    def _patch(self, set_: Set) -> bytes:
        place = set_.metadata.namespace, set_.metadata.name
        known = self._patches.get(place)
        if known is None or known[0] != set_.spec.template:
            known = self._patches[place] = set_.spec.template, patch_of(set_.spec.template)
        return known[1]

    def forget(self, place: Key) -> None:
        """The set is gone."""
        self._patches.pop(place, None)

    async def truncate(self, set_: Set, revisions: list[Revision], pods: Iterable[Pod], chosen: Chosen) -> None:
        """Deletes what is beyond the set's limit and neither in use by the set nor by a pod."""
        if len(revisions) <= set_.spec.revision_history_limit:
            return
        live = frozenset((chosen.current.name, chosen.update.name, *map(revision_of, pods)))
        for revision in surplus(revisions, live, set_.spec.revision_history_limit):
            await self._api.delete(CONTROLLER_REVISIONS, set_.metadata.namespace, revision.name)

    async def _renumber(self, revision: Revision, number: int) -> Revision:
        meta = revision.metadata
        return _decoded(await self._api.merge(CONTROLLER_REVISIONS, meta.namespace, meta.name, {"revision": number}))

    async def _create(self, set_: Set, patch: bytes, number: int, collisions: int) -> tuple[Revision, int]:
        """Under the first name that is free or already holds the same data; each name taken is a collision."""
        namespace = set_.metadata.namespace
        if set_.metadata.deletion_timestamp is None:
            check_alive(self._api, STATEFULSETS, set_.metadata)
        tree = _tree(set_, patch, number, collisions)
        while True:
            tree["metadata"]["name"] = name = name_of(set_.metadata.name, hash_of(patch, collisions))
            try:
                return _decoded(await self._api.create(CONTROLLER_REVISIONS, namespace, tree)), collisions
            except StatusError as error:
                if error.reason != "AlreadyExists":
                    raise
            found = _decoded(self._api.read(CONTROLLER_REVISIONS, namespace, name))
            if found.patch == patch:
                return found, collisions
            collisions += 1


def _tree(set_: Set, patch: bytes, number: int, collisions: int) -> Tree:
    given = set_.spec.template.get("metadata")
    labels = dict(given.get("labels") or {}) if isinstance(given, dict) else {}
    metadata: Tree = {
        "namespace": set_.metadata.namespace,
        "labels": {**labels, HASH_LABEL: hash_of(patch, collisions)},
        "ownerReferences": [set_.owner_reference()],
    }
    if set_.metadata.annotations:
        metadata["annotations"] = dict(set_.metadata.annotations)
    return {
        "apiVersion": CONTROLLER_REVISIONS.api_version,
        "kind": CONTROLLER_REVISIONS.kind,
        "metadata": metadata,
        "data": msgspec.json.decode(patch),
        "revision": number,
    }


def _decoded(tree: Tree) -> Revision:
    return msgspec.json.decode(msgspec.json.encode(tree), type=Revision)
