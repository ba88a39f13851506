"""The namespace controller: empties a namespace that is being deleted, then lets it go.

As the real one it waits a while before it begins, deletes pods before anything else, and looks again after half of the
time that it thinks the rest may take. What it finds it says in the namespace's conditions. It reads live objects, for
a namespace that seems empty to a view that is behind would take its content along.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct, field

from kubeloop import clock
from kubeloop.objects.meta import Meta
from kubeloop.queue import Queue
from kubeloop.worker import work
from kubesim.api.verbs import Verbs
from kubesim.controllers.base import ACCOUNTS, Api, Stale, failed
from kubesim.errors import StatusError
from kubesim.kinds.registry import NAMESPACES, PODS, Kind
from kubesim.store.versions import Tree, Version, timestamp

FINALIZER = "kubernetes"
WORKERS = 10
FIRST_RETRY, LONGEST_RETRY = 0.005, 60.0
"""Seconds; the real controller's, as are the next two."""
PATIENCE = 5.0
"""From a change of the namespace to the first deletion: time for everybody to hear that nothing may be made there."""
FINALIZERS_TAKE = 15
"""What is assumed of objects that wait for their finalizers."""

_FINE = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}
"""All conditions in their order, with reason and text while nothing is wrong."""


class _Namespace(Struct, frozen=True):
    metadata: Meta


class Left(Struct):
    """What one round has left behind."""

    objects: Counter[str] = field(default_factory=Counter)
    """By plural and group."""
    finalizers: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    seconds: int = 0
    """How long the rest is thought to take."""


class NamespaceController:
    """One controller; it hears of namespaces late by the lag of the verbs."""

    def __init__(self, verbs: Verbs) -> None:
        self._api = api = Api(verbs, f"{ACCOUNTS}namespace-controller")
        self._namespaces = api.view(NAMESPACES, _Namespace)
        self._queue: Queue[str] = Queue(first_delay=FIRST_RETRY, longest_delay=LONGEST_RETRY)
        self._namespaces.subscribe(self._changed)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._namespaces.run())
            await self._namespaces.synced.wait()
            tasks.create_task(work(self._queue, self._sync, workers=WORKERS, failed=failed))

    def _changed(self, _old: _Namespace | None, new: _Namespace | None) -> None:
        if new is not None and new.metadata.deletion_timestamp is not None:
            self._queue.add_after(new.metadata.name, PATIENCE)

    async def _sync(self, name: str) -> float | None:
        try:
            tree = self._api.read(NAMESPACES, "", name)
        except StatusError as error:
            if error.code == 404:
                return None
            raise
        if "deletionTimestamp" not in tree["metadata"] or not tree["spec"].get("finalizers"):
            return None
        left = await self._emptied(name, tree["metadata"]["deletionTimestamp"])
        tree = await self._told(tree, left)
        if left.failures:
            raise Stale("; ".join(left.failures))
        if left.seconds:
            return left.seconds // 2 + 1.0
        await self._finalize(tree)
        return None

    async def _emptied(self, namespace: str, since: str) -> Left:
        """Deletes all there is; while pods are left, nothing but pods."""
        left = Left()
        kinds = self._api.registry.stored()
        await self._delete(next(kind for kind in kinds if kind.resource == PODS), namespace, since, left)
        if left.objects:
            # The real controller does not count them in its conditions either.
            left.objects.clear()
            left.finalizers.clear()
            return left
        for kind in kinds:
            if kind.resource.namespaced and kind.resource != PODS:
                await self._delete(kind, namespace, since, left)
        return left

    async def _delete(self, kind: Kind, namespace: str, since: str, left: Left) -> None:
        """Deletes all of one kind and notes what is still there."""
        resource = kind.resource
        seconds = _grace(self._content(kind, namespace), since) if resource == PODS else 0
        try:
            for version in self._content(kind, namespace):
                await self._api.delete(
                    resource, namespace, version.head.name, propagation="Background", collection=True
                )
        except StatusError as error:
            left.failures.append(str(error))
            left.seconds = max(left.seconds, seconds)
            return
        rest = self._content(kind, namespace)
        if not rest:
            return
        held = Counter(finalizer for version in rest for finalizer in version.head.finalizers)
        left.objects[f"{resource.plural}.{resource.group}"] = len(rest)
        left.finalizers.update(held)
        if not seconds and held:
            seconds = FINALIZERS_TAKE
        if not seconds:
            which = f"{resource.group}/{resource.version}, Resource={resource.plural}"
            left.failures.append(f"unexpected items still remain in namespace: {namespace} for gvr: {which}")
        left.seconds = max(left.seconds, seconds)

    def _content(self, kind: Kind, namespace: str) -> list[Version]:
        live = self._api.store.table(kind.storage).live
        return [version for key, version in live.items() if key[0] == namespace]

    async def _told(self, namespace: Tree, left: Left) -> Tree:
        """The namespace with conditions that say what is left; where others have changed it they stay as they were."""
        conditions = conditions_of(namespace["status"].get("conditions") or [], left)
        if conditions == namespace["status"].get("conditions"):
            return namespace
        told = namespace | {"status": namespace["status"] | {"conditions": conditions}}
        try:
            return await self._api.replace(NAMESPACES, told, "status")
        except StatusError as error:
            if error.reason != "Conflict":
                raise
            return self._api.read(NAMESPACES, "", namespace["metadata"]["name"])

    async def _finalize(self, namespace: Tree) -> None:
        """Takes this controller's finalizer away; with the last one the namespace goes."""
        rest = sorted(set(namespace["spec"]["finalizers"]) - {FINALIZER})
        await self._api.replace(NAMESPACES, namespace | {"spec": {"finalizers": rest} if rest else {}}, "finalize")


def conditions_of(before: Sequence[Tree], left: Left) -> list[Tree]:
    """The conditions after a round; the time of one is that of the last change of its status."""
    wrong: dict[str, tuple[str, str]] = {}
    if left.failures:
        count, texts = len(left.failures), ", ".join(sorted(left.failures))
        text = f"Failed to delete all resource types, {count} remaining: {texts}"
        wrong["NamespaceDeletionContentFailure"] = ("ContentDeletionFailed", text)
    if left.objects:
        text = _counted(left.objects, "{} has {} resource instances")
        wrong["NamespaceContentRemaining"] = ("SomeResourcesRemain", f"Some resources are remaining: {text}")
    if left.finalizers:
        text = _counted(left.finalizers, "{} in {} resource instances")
        text = f"Some content in the namespace has finalizers remaining: {text}"
        wrong["NamespaceFinalizersRemaining"] = ("SomeFinalizersRemain", text)
    known = {each["type"]: each for each in before}
    after = dict(known)
    for type_, fine in _FINE.items():
        status = "True" if type_ in wrong else "False"
        reason, text = wrong.get(type_, fine)
        old = known.get(type_, {})
        since = old["lastTransitionTime"] if old.get("status") == status else timestamp()
        after[type_] = {
            "type": type_,
            "status": status,
            "lastTransitionTime": since,
            "reason": reason,
            "message": text,
        }
    return list(after.values())


def _counted(counts: Counter[str], form: str) -> str:
    return ", ".join(sorted(form.format(name, count) for name, count in counts.items()))


def _grace(pods: Iterable[Version], since: str) -> int:
    """Seconds that pods may take to end; none once so much time has passed since the namespace was deleted."""
    trees = [version.tree() for version in pods]
    running = [tree for tree in trees if tree["status"].get("phase") not in ("Succeeded", "Failed")]
    longest = max((tree["spec"].get("terminationGracePeriodSeconds") or 0 for tree in running), default=0)
    passed = (clock.now() - datetime.fromisoformat(since)).total_seconds()
    return 0 if passed >= longest else longest
