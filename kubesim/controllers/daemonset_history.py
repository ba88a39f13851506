"""The ControllerRevisions of a DaemonSet: claimed, made, renumbered, made one of several, thrown away.

A revision carries the hash of the template as a label, and so do the pods made from it. The real hash is that of a Go
struct's dump; here it is one of the template's JSON, so names differ from those of a real cluster and mean the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from kubeloop.go_json import go_json
from kubeloop.objects.apps import CONTROLLER_REVISIONS, REVISION_LABEL
from kubeloop.objects.core import PODS
from kubesim.controllers.adoption import OWNER, adopt, check_alive, orphans_of, release, selects
from kubesim.controllers.base import Api, Stale, View
from kubesim.controllers.daemonset_pods import DaemonSet, Pod
from kubesim.controllers.replicas import owner_reference
from kubesim.controllers.revisions import Revision, hash_of, in_order, patch_of
from kubesim.errors import StatusError
from kubesim.kinds.registry import DAEMON_SETS
from kubesim.store.versions import Tree


class Template(Struct, frozen=True):
    """The set's template as history has it: the hash of its revision, and the revisions of other templates."""

    hash: str
    old: tuple[Revision, ...]


class DaemonHistory:
    """Works from a lagging view of the revisions."""

    def __init__(self, api: Api, view: View[Revision]) -> None:
        self._api = api
        self._view = view

    async def construct(self, set_: DaemonSet, pods: Iterable[Pod]) -> Template:
        """Makes or renumbers the revision of the set's template where needed; of several equal ones one is left."""
        patch = patch_of(set_.spec.template)
        revisions = [await self._labelled(each) for each in await self._claimed(set_)]
        old = tuple(each for each in revisions if each.patch != patch)
        number = max((each.revision for each in old), default=0) + 1
        equal = [each for each in revisions if each.patch == patch]
        if not equal:
            return Template(_hash_in(await self._created(set_, patch, number)), old)
        kept = await self._only(set_, equal, pods)
        if kept.revision < number:
            await self._change(kept, {"revision": number})
        return Template(_hash_in(kept), old)

    async def truncate(self, set_: DaemonSet, old: Sequence[Revision], pods: Iterable[Pod]) -> None:
        """Deletes the oldest beyond the set's limit; one that a pod was made from is passed over."""
        surplus = len(old) - set_.spec.revision_history_limit
        if surplus <= 0:
            return
        live = {pod.metadata.labels.get(REVISION_LABEL) for pod in pods}
        unused = [each for each in in_order(old) if _hash_in(each) not in live]
        for revision in unused[:surplus]:
            await self._api.delete(CONTROLLER_REVISIONS, set_.metadata.namespace, revision.name)

    async def _claimed(self, set_: DaemonSet) -> list[Revision]:
        """The set's revisions; adopts and releases as its selector says."""
        meta, selector, objects = set_.metadata, set_.spec.selector, self._view.objects
        claimed = []
        for revision in objects.by(OWNER, meta.uid):
            if selects(selector, revision.metadata.labels):
                claimed.append(revision)
            else:
                await release(self._api, CONTROLLER_REVISIONS, revision.metadata, (meta.uid,))
        for revision in objects.by(OWNER, orphans_of(meta.namespace)):
            if revision.metadata.deletion_timestamp is None and selects(selector, revision.metadata.labels):
                check_alive(self._api, DAEMON_SETS, meta)
                reference = owner_reference(DAEMON_SETS, meta)
                if await adopt(self._api, CONTROLLER_REVISIONS, revision.metadata, reference) is not None:
                    claimed.append(revision)
        return in_order(claimed)

    async def _labelled(self, revision: Revision) -> Revision:
        """A revision from elsewhere gets a label too; its name is as good as a hash."""
        if REVISION_LABEL in revision.metadata.labels:
            return revision
        return await self._change(revision, {"metadata": {"labels": {REVISION_LABEL: revision.name}}})

    async def _only(self, set_: DaemonSet, equal: Sequence[Revision], pods: Iterable[Pod]) -> Revision:
        """The newest of equal revisions; pods are counted as made from it, and the others go."""
        kept = equal[-1]
        if len(equal) == 1:
            return kept
        relabelled = {"metadata": {"labels": {REVISION_LABEL: _hash_in(kept)}}}
        for pod in pods:
            if pod.metadata.labels.get(REVISION_LABEL) != _hash_in(kept):
                await self._api.merge(PODS, pod.metadata.namespace, pod.metadata.name, relabelled)
        for revision in equal[:-1]:
            await self._api.delete(CONTROLLER_REVISIONS, set_.metadata.namespace, revision.name)
        return kept

    async def _created(self, set_: DaemonSet, patch: bytes, number: int) -> Revision:
        hashed = hash_of(go_json(set_.spec.template), set_.collisions)
        name = f"{set_.metadata.name}-{hashed}"
        check_alive(self._api, DAEMON_SETS, set_.metadata)
        try:
            return _decoded(
                await self._api.create(CONTROLLER_REVISIONS, set_.metadata.namespace, _tree(set_, name, number))
            )
        except StatusError as error:
            if error.reason != "AlreadyExists":
                raise
            found = _decoded(self._api.read(CONTROLLER_REVISIONS, set_.metadata.namespace, name))
            if found.patch != patch:
                await self._count_collision(set_)
                raise
            return found

    async def _count_collision(self, set_: DaemonSet) -> None:
        """So that the next attempt takes another name."""
        meta = set_.metadata
        tree = self._api.read(DAEMON_SETS, meta.namespace, meta.name)
        status: Tree = tree.setdefault("status", {})
        if status.get("collisionCount") != set_.status.collision_count:
            raise Stale((meta.namespace, meta.name))
        status["collisionCount"] = set_.collisions + 1
        await self._api.replace(DAEMON_SETS, tree, "status")

    async def _change(self, revision: Revision, change: Tree) -> Revision:
        meta = revision.metadata
        guarded = {"resourceVersion": meta.resource_version} | (change.get("metadata") or {})
        tree = await self._api.merge(CONTROLLER_REVISIONS, meta.namespace, meta.name, change | {"metadata": guarded})
        return _decoded(tree)


def _hash_in(revision: Revision) -> str:
    return revision.metadata.labels[REVISION_LABEL]


def _tree(set_: DaemonSet, name: str, number: int) -> Tree:
    given = set_.spec.template.get("metadata") or {}
    hashed = name.removeprefix(f"{set_.metadata.name}-")
    metadata: Tree = {
        "name": name,
        "namespace": set_.metadata.namespace,
        "labels": {**(given.get("labels") or {}), REVISION_LABEL: hashed},
        "ownerReferences": [owner_reference(DAEMON_SETS, set_.metadata)],
    }
    if set_.metadata.annotations:
        metadata["annotations"] = dict(set_.metadata.annotations)
    return {
        "apiVersion": CONTROLLER_REVISIONS.api_version,
        "kind": CONTROLLER_REVISIONS.kind,
        "metadata": metadata,
        "data": msgspec.json.decode(patch_of(set_.spec.template)),
        "revision": number,
    }


def _decoded(tree: Tree) -> Revision:
    return msgspec.json.decode(msgspec.json.encode(tree), type=Revision)
