"""A stand-in for the CloneSet controller of OpenKruise, for clusters that have none.

It speaks to the API alone, so one code serves the embedded cluster and a real control plane, also as a program of its
own: `python -m kubesim.standins.cloneset --kubeconfig FILE`. What it knows of CloneSets is in `cloneset_plan`.
Pods belong to the set that their owner references name; orphans are not adopted, and claims are not made.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from kubeloop import clock
from kubeloop.client import Client
from kubeloop.errors import AlreadyExists, KubeError, NotFound
from kubeloop.http_transport import HttpTransport
from kubeloop.informer import Change, Informer
from kubeloop.kubeconfig import load
from kubeloop.ledger import Ledger
from kubeloop.objects.apps import CONTROLLER_REVISIONS
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.queue import Queue
from kubeloop.request import MERGE_PATCH, create, delete, patch
from kubeloop.safe_hash import SAFE_LETTERS
from kubeloop.store import Named, T
from kubeloop.worker import work
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
from kubesim.standins.cloneset_definition import install
from kubesim.standins.cloneset_in_place import STATE, InPlaceChange, change_between, given, runs_change, state_of
from kubesim.standins.cloneset_plan import (
    CLONESETS,
    IN_PLACE_READY,
    INSTANCE,
    LIFECYCLE,
    LIFECYCLE_SINCE,
    NORMAL,
    POD_READY,
    PREPARING,
    RECREATE,
    REVISION,
    SPECIFIED_DELETE,
    TEMPLATE_HASH,
    UPDATING,
    CloneSet,
    Pod,
    Tree,
    next_look,
    plan,
)
from kubesim.standins.cloneset_status import status_of

Key = tuple[str, str]

WORKERS = 4
PATIENCE = 30.0
"""Seconds until a write must have been seen, or everything is listed again."""
GATES = (IN_PLACE_READY, POD_READY)
CLAIMS_HASH = "kruise.io/cloneset-volumeclaimtemplate-hash"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
_SUFFIX_LENGTH = 5
_OWNER = "owner"


class CloneSets:
    """Runs the CloneSets of a namespace, or of all; whoever starts it has installed their definition."""

    def __init__(self, client: Client, *, namespace: str = "", seed: int | None = None) -> None:
        self._client = client
        self._chance = clock.chance(seed)
        self._ledger = Ledger(PATIENCE, lambda ref: [self._caches[ref.resource]])
        owned = {_OWNER: _owner_of}
        self._sets = Informer(client, CLONESETS, CloneSet, namespace=namespace)
        self._pods = Informer(client, PODS, Pod, namespace=namespace, indexes=owned)
        self._revisions = Informer(client, CONTROLLER_REVISIONS, Revision, namespace=namespace, indexes=owned)
        self._caches: dict[Resource, Informer[Any]] = {
            CLONESETS: self._sets,
            PODS: self._pods,
            CONTROLLER_REVISIONS: self._revisions,
        }
        self._queue: Queue[Key] = Queue()
        self._sets.subscribe(self._set_changed)
        self._pods.subscribe(self._owned_changed)
        self._revisions.subscribe(self._owned_changed)

    async def run(self) -> None:
        """Until cancelled."""
        informers = self._sets, self._pods, self._revisions
        async with asyncio.TaskGroup() as tasks:
            for informer in informers:
                tasks.create_task(informer.run())
            await asyncio.gather(*(informer.synced.wait() for informer in informers))
            tasks.create_task(work(self._queue, self._sync, workers=WORKERS, failed=_failed))

    def _set_changed(self, change: Change[CloneSet]) -> None:
        for each in (change.old, change.new):
            if each is not None:
                self._queue.add((each.metadata.namespace, each.metadata.name))

    def _owned_changed(self, change: Change[Pod] | Change[Revision]) -> None:
        for each in (change.old, change.new):
            for owner in each.metadata.owner_references if each is not None else ():
                if each is not None and owner.controller and owner.kind == CLONESETS.kind:
                    self._queue.add((each.metadata.namespace, owner.name))

    async def _sync(self, key: Key) -> float | None:
        scope = "/".join(key)
        if self._ledger.pending(scope):
            for cache in self._ledger.overdue(scope):
                cache.ask_for_list()
            return 0.1
        set_ = self._sets.store.get(*key)
        if set_ is None:
            return None
        pods = await self._claimed(scope, set_)
        revisions = in_order(self._revisions.store.by(_OWNER, set_.metadata.uid))
        is_going = set_.metadata.deletion_timestamp is not None
        if is_going and isinstance(choose(revisions, patch_of(set_.spec.template)), Create):
            return None  # the collector was here first
        update, collisions = await self._revision(scope, set_, revisions)
        current = next((each for each in revisions if each.name == set_.status.current_revision), update)
        names = current.name, update.name
        is_news = await self._write_status(scope, set_, pods, names, collisions)
        if not is_going:
            await self._act(scope, set_, pods, current, update)
        if not is_news:
            await self._forget_pods(scope, set_, pods)
        await self._forget_revisions(scope, set_, pods, revisions, names)
        return next_look(set_, pods, clock.now())

    async def _claimed(self, scope: str, set_: CloneSet) -> list[Pod]:
        """The pods of the set; one whose labels are not those of the set any more is let go."""
        claimed = []
        for pod in self._pods.store.by(_OWNER, set_.metadata.uid):
            if set_.spec.selector.matches(pod.metadata.labels) or pod.metadata.deletion_timestamp is not None:
                claimed.append(pod)
            elif set_.metadata.deletion_timestamp is None and pod.is_active:
                gone = [{"$patch": "delete", "uid": set_.metadata.uid}]
                await self._change_pod(scope, pod, {"metadata": {"ownerReferences": gone}})
        return claimed

    # Revisions

    async def _revision(self, scope: str, set_: CloneSet, revisions: list[Revision]) -> tuple[Revision, int]:
        """The revision that the template says, made or renumbered where needed, and the collisions met so far."""
        collisions, wanted = set_.status.collision_count or 0, patch_of(set_.spec.template)
        match choose(revisions, wanted):
            case Reuse(found):
                return found, collisions
            case Renumber(found, number):
                ref = Ref(CONTROLLER_REVISIONS, found.metadata.namespace, found.name)
                return await self._patched(scope, ref, {"revision": number}, Revision), collisions
            case Create(number):
                return await self._new_revision(scope, set_, wanted, number)
        raise AssertionError(wanted)

    async def _new_revision(self, scope: str, set_: CloneSet, wanted: bytes, number: int) -> tuple[Revision, int]:
        """Under the first name that is free; each that another holds is a collision."""
        meta, collisions = set_.metadata, set_.status.collision_count or 0
        while True:
            hashed = hash_of(wanted, collisions)
            tree = {
                "apiVersion": CONTROLLER_REVISIONS.api_version,
                "kind": CONTROLLER_REVISIONS.kind,
                "metadata": {
                    "name": name_of(meta.name, hashed),
                    "labels": {**given(set_.spec.template, "labels"), HASH_LABEL: hashed},
                    "annotations": {**meta.annotations, CLAIMS_HASH: ""},
                    "ownerReferences": [_owner_reference(set_)],
                },
                "data": msgspec.json.decode(wanted),
                "revision": number,
            }
            try:
                answer = await self._client.call(
                    create(CONTROLLER_REVISIONS, meta.namespace, msgspec.json.encode(tree))
                )
            except AlreadyExists:
                collisions += 1
                continue
            made = msgspec.json.decode(answer.body, type=Revision)
            ref = Ref(CONTROLLER_REVISIONS, meta.namespace, made.name)
            self._ledger.wrote(scope, ref, made.metadata.resource_version)
            return made, collisions

    async def _forget_revisions(
        self, scope: str, set_: CloneSet, pods: Iterable[Pod], revisions: list[Revision], live: tuple[str, str]
    ) -> None:
        """Old ones beyond the limit."""
        used = frozenset((*live, *(pod.revision for pod in pods)))
        for revision in surplus(revisions, used, set_.spec.revision_history_limit):
            ref = Ref(CONTROLLER_REVISIONS, set_.metadata.namespace, revision.name, revision.metadata.uid)
            with suppress(NotFound):
                await self._client.call(delete(ref))
            self._ledger.deleted(scope, ref)

    async def _forget_pods(self, scope: str, set_: CloneSet, pods: Iterable[Pod]) -> None:
        """Names of pods to delete that are gone; in a round of its own, as the real one's meets its own status."""
        named = set_.spec.scale_strategy.pods_to_delete
        present = {pod.name for pod in pods if pod.is_active}
        left = [name for name in named if name in present]
        if len(left) != len(named):
            change = {"spec": {"scaleStrategy": {"podsToDelete": left or None}}}
            await self._patched(scope, self._ref(set_), change, CloneSet)

    # Pods

    async def _act(self, scope: str, set_: CloneSet, pods: Sequence[Pod], current: Revision, update: Revision) -> None:
        todo = plan(set_, pods, update.name, clock.now(), runs_change)
        for revision, count in ((current, todo.create_old), (update, todo.create_new)):
            for _ in range(count):
                await self._create(scope, set_, revision)
        for pod in todo.delete:
            await self._delete(scope, pod)
        if todo.create_old or todo.create_new or todo.delete:
            return
        for pod in pods:
            if pod.is_active and runs_change(pod):
                await self._open_gates(scope, pod)
        for pod in todo.settle:
            await self._change_pod(scope, pod, {"metadata": _in_state(NORMAL)})
        for pod in todo.update:
            await self._update(scope, set_, pod, update)

    async def _create(self, scope: str, set_: CloneSet, revision: Revision) -> None:
        while True:
            suffix = "".join(self._chance.choices(SAFE_LETTERS, k=_SUFFIX_LENGTH))
            tree = _new_pod(set_, revision, suffix)
            with suppress(AlreadyExists):
                answer = await self._client.call(create(PODS, set_.metadata.namespace, msgspec.json.encode(tree)))
                made = msgspec.json.decode(answer.body, type=Pod)
                self._ledger.wrote(scope, _ref_of(made), made.metadata.resource_version)
                return

    async def _delete(self, scope: str, pod: Pod) -> None:
        with suppress(NotFound):
            await self._client.call(delete(_ref_of(pod)))
        self._ledger.deleted(scope, _ref_of(pod))

    async def _open_gates(self, scope: str, pod: Pod) -> None:
        """Nothing of the set's keeps the pod from being ready."""
        shut = [each for each in GATES if (found := pod.condition(each)) is None or found.status != "True"]
        if shut:
            now = clock.seconds(clock.now())
            conditions = [{"type": each, "status": "True", "reason": None, "lastTransitionTime": now} for each in shut]
            await self._change_pod(scope, pod, {"status": {"conditions": conditions}}, "status")

    async def _update(self, scope: str, set_: CloneSet, pod: Pod, update: Revision) -> None:
        """In place where the set wants that and it can be; else the pod is labelled to be replaced."""
        change = self._change_in_place(set_, pod, update)
        if change is not None:
            await self._shut_gate(scope, pod)
            await self._change_in(scope, pod, change, update)
        elif set_.spec.update_strategy.type != "InPlaceOnly" and SPECIFIED_DELETE not in pod.metadata.labels:
            await self._change_pod(scope, pod, {"metadata": {"labels": {SPECIFIED_DELETE: "true"}}})

    def _change_in_place(self, set_: CloneSet, pod: Pod, update: Revision) -> InPlaceChange | None:
        if set_.spec.update_strategy.type == RECREATE:
            return None
        revisions = self._revisions.store.by(_OWNER, set_.metadata.uid)
        before = next((each for each in revisions if each.name == pod.revision), None)
        return change_between(before.template, update.template) if before is not None else None

    async def _shut_gate(self, scope: str, pod: Pod) -> None:
        """The pod is not ready while it is changed."""
        now = clock.seconds(clock.now())
        conditions = [
            {"type": IN_PLACE_READY, "status": "False", "reason": "StartInPlaceUpdate", "lastTransitionTime": now}
        ]
        if (ready := pod.condition("ContainersReady")) is not None and ready.status == "True":
            text = f'the status of pod readiness gate "{IN_PLACE_READY}" is not "True", but False'
            says = {"reason": "ReadinessGatesNotReady", "message": text, "lastTransitionTime": now}
            conditions.append({"type": "Ready", "status": "False", **says})
        await self._change_pod(scope, pod, {"status": {"conditions": conditions}}, "status")

    async def _change_in(self, scope: str, pod: Pod, change: InPlaceChange, update: Revision) -> None:
        state = _in_state(UPDATING)
        noted = {STATE: state_of(pod, change, update.name, clock.seconds(clock.now()))}
        metadata = {
            "labels": {**change.labels, **_at(update.name), **state["labels"]},
            "annotations": {**change.annotations, **state["annotations"], **noted},
        }
        containers = [{"name": name, "image": image} for name, image in change.images.items()]
        await self._change_pod(scope, pod, {"metadata": metadata, "spec": {"containers": containers}})

    async def _change_pod(self, scope: str, pod: Pod, change: Tree, subresource: str = "") -> None:
        body = msgspec.json.encode(change)
        with suppress(NotFound):
            answer = await self._client.call(patch(_ref_of(pod), STRATEGIC_PATCH, body, subresource))
            made = msgspec.json.decode(answer.body, type=Pod)
            self._ledger.wrote(scope, _ref_of(made), made.metadata.resource_version)

    # Writing

    async def _write_status(
        self, scope: str, set_: CloneSet, pods: Iterable[Pod], revisions: tuple[str, str], collisions: int
    ) -> bool:
        """Whether there was anything new to write."""
        status = status_of(set_, tuple(pods), revisions, collisions, clock.now())
        if status == set_.status:
            return False
        shown = status.shown()
        gone: Tree = dict.fromkeys(key for key in set_.status.shown() if key not in shown)
        await self._patched(scope, self._ref(set_), {"status": shown | gone}, CloneSet, "status")
        return True

    async def _patched(
        self, scope: str, ref: Ref, change: Mapping[str, object], into: type[T], subresource: str = ""
    ) -> T:
        answer = await self._client.call(patch(ref, MERGE_PATCH, msgspec.json.encode(change), subresource))
        written = msgspec.json.decode(answer.body, type=into)
        self._ledger.wrote(scope, ref, written.metadata.resource_version)
        return written

    @staticmethod
    def _ref(set_: CloneSet) -> Ref:
        return Ref(CLONESETS, set_.metadata.namespace, set_.metadata.name)


def _owner_of(item: Named) -> Iterable[str]:
    uid = item.metadata.controller_uid
    return (uid,) if uid else ()


def _ref_of(pod: Pod) -> Ref:
    return Ref(PODS, pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)


def _new_pod(set_: CloneSet, revision: Revision, suffix: str) -> Tree:
    template: dict[str, Any] = revision.template
    spec = dict(template.get("spec") or {})
    gates = [each for each in spec.get("readinessGates") or () if each.get("conditionType") not in GATES]
    spec["readinessGates"] = [*gates, *({"conditionType": each} for each in GATES)]
    state = _in_state(PREPARING)
    metadata = {
        **(template.get("metadata") or {}),
        "name": f"{set_.metadata.name}-{suffix}",
        "generateName": f"{set_.metadata.name}-",
        "labels": {**given(template, "labels"), **_at(revision.name), INSTANCE: suffix, **state["labels"]},
        "annotations": {**given(template, "annotations"), **state["annotations"]},
        "ownerReferences": [_owner_reference(set_)],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _in_state(lifecycle: str) -> dict[str, dict[str, str]]:
    """Metadata of a pod that comes to it now."""
    return {
        "labels": {LIFECYCLE: lifecycle},
        "annotations": {LIFECYCLE_SINCE: clock.seconds(clock.now())},
    }


def _at(revision: str) -> dict[str, str]:
    """Labels of a pod at the revision."""
    return {REVISION: revision, TEMPLATE_HASH: revision.rpartition("-")[2]}


def _owner_reference(set_: CloneSet) -> Tree:
    return {
        "apiVersion": CLONESETS.api_version,
        "kind": CLONESETS.kind,
        "name": set_.metadata.name,
        "uid": set_.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _failed(_key: Key, error: Exception) -> None:
    """Failed requests are tried again; anything else is a mistake of ours and ends the run."""
    if not isinstance(error, KubeError):
        raise error


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m kubesim.standins.cloneset", description="Runs CloneSets.")
    parser.add_argument("--kubeconfig", type=Path, required=True, metavar="FILE")
    parser.add_argument("--namespace", default="", help="whose CloneSets to run; all without it")
    with suppress(asyncio.CancelledError):
        asyncio.run(_serve(parser.parse_args()))


async def _serve(arguments: argparse.Namespace) -> None:
    """Until a signal ends it."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None  # noqa: S101
    for ending in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(ending, task.cancel)
    client = Client(HttpTransport(load([arguments.kubeconfig])), user_agent="fairlead-clonesets")
    try:
        await install(client)
        print("running", flush=True)
        await CloneSets(client, namespace=arguments.namespace).run()
    finally:
        await client.close()


if __name__ == "__main__":
    main()
