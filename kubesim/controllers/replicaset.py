"""The ReplicaSet controller: as many pods of one template as the set says.

Like the real one it acts on what its watches have shown. Until they show the pods it made and the status it wrote, the
set is left alone; until they show that the pods it deleted are going, only the status is kept up. In one thing it is
stricter than the real one: before it makes pods it makes sure that the set is still there. The embedded garbage
collector is faster than a real one, and would otherwise often overtake the news that the set is gone.
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from functools import partial

from kubeloop import clock
from kubeloop.objects.apps import REPLICASETS
from kubeloop.objects.core import PODS
from kubeloop.queue import Queue
from kubeloop.worker import work
from kubesim.api.verbs import Verbs
from kubesim.controllers.adoption import (
    OWNER,
    adopt,
    check_alive,
    concerned,
    orphans_of,
    owner_or_orphan,
    release,
    selects,
)
from kubesim.controllers.base import ACCOUNTS, Api, Expectations, Stale, failed
from kubesim.controllers.event_recorder import Recorder
from kubesim.controllers.pod_control import create_pod, delete_pod, slowly, together
from kubesim.controllers.pods import Pod
from kubesim.controllers.replicas import ReplicaSet, SetStatus, as_tree, doomed, new_pod, owner_reference, status_of
from kubesim.controllers.statefulset_pods import available_at
from kubesim.errors import StatusError
from kubesim.store.versions import Tree

Key = tuple[str, str]

WORKERS = 5
FIRST_RETRY, LONGEST_RETRY = 0.005, 1000.0
"""Seconds; the real controller's, as is the next."""
BURST = 500
"""Pods made or deleted before the watches must show them."""


class ReplicaSetController:
    """One controller; its watches are behind by the lag of the verbs."""

    def __init__(self, verbs: Verbs, *, workers: int = WORKERS) -> None:
        self._api = api = Api(verbs, f"{ACCOUNTS}replicaset-controller")
        self._workers = workers
        self._sets = api.view(REPLICASETS, ReplicaSet, {OWNER: owner_or_orphan})
        self._pods = api.view(PODS, Pod, {OWNER: owner_or_orphan})
        self._written = Expectations()
        self._deleted = Expectations()
        self._events = Recorder(api, "replicaset-controller")
        self._queue: Queue[Key] = Queue(first_delay=FIRST_RETRY, longest_delay=LONGEST_RETRY)
        self._sets.subscribe(self._set_changed)
        self._pods.subscribe(self._pod_changed)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._events.work_in(tasks)
            for view in (self._sets, self._pods):
                tasks.create_task(view.run())
            await asyncio.gather(self._sets.synced.wait(), self._pods.synced.wait())
            tasks.create_task(work(self._queue, self._sync, workers=self._workers, failed=failed))

    def _set_changed(self, old: ReplicaSet | None, new: ReplicaSet | None) -> None:
        for each in (new, old):
            if each is not None:
                key = (each.metadata.namespace, each.metadata.name)
                if new is None or (old is not None and old.metadata.uid != new.metadata.uid):
                    self._written.forget(key)
                    self._deleted.forget(key)
                self._queue.add(key)
                return

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        for each in concerned(self._sets.objects, REPLICASETS.kind, old, new):
            self._queue.add((each.metadata.namespace, each.metadata.name))

    async def _sync(self, key: Key) -> float | None:
        if not self._written.met(key):
            raise Stale(key)
        set_ = self._sets.objects.get(*key)
        if set_ is None:
            self._deleted.forget(key)
            return None
        manages = self._deleted.met(key) and set_.metadata.deletion_timestamp is None
        active = await self._claim(key, set_)
        failure = await self._manage(key, set_, active) if manages else None
        await asyncio.sleep(0)  # others may write between the pods and the status
        now = clock.now()
        status = status_of(set_, active, self._going(set_), str(failure or ""), now)
        if status != set_.status:
            written = await self._api.insist_on_status(REPLICASETS, set_.metadata, as_tree(status))
            self._written.written(key, self._sets, written)
        if failure is not None:
            raise failure
        return _next_look(set_, status, active, now)

    async def _claim(self, key: Key, set_: ReplicaSet) -> list[Pod]:
        """The set's pods that are neither over nor going; adopts and releases as its selector says."""
        meta, selector = set_.metadata, set_.spec.selector
        claimed = []
        for pod in self._pods.objects.by(OWNER, meta.uid):
            if not pod.is_active:
                continue
            if selects(selector, pod.metadata.labels):
                claimed.append(pod)
            elif meta.deletion_timestamp is None:
                self._wrote_pod(key, await release(self._api, PODS, pod.metadata, (meta.uid,)))
        if meta.deletion_timestamp is not None:
            return claimed
        for pod in self._pods.objects.by(OWNER, orphans_of(meta.namespace)):
            if not pod.is_active or not selects(selector, pod.metadata.labels):
                continue
            check_alive(self._api, REPLICASETS, set_.metadata)
            adopted = await adopt(self._api, PODS, pod.metadata, owner_reference(REPLICASETS, meta))
            self._wrote_pod(key, adopted)
            if adopted is not None:
                claimed.append(pod)
        return claimed

    def _going(self, set_: ReplicaSet) -> int:
        pods = self._pods.objects.by(OWNER, set_.metadata.uid)
        return sum(pod.is_going and selects(set_.spec.selector, pod.metadata.labels) for pod in pods)

    async def _manage(self, key: Key, set_: ReplicaSet, active: list[Pod]) -> StatusError | None:
        """Makes what is missing or deletes what is too much; answers with what went wrong."""
        surplus = len(active) - set_.size
        if surplus < 0:
            check_alive(self._api, REPLICASETS, set_.metadata)
        if surplus <= 0:
            acts = [partial(self._create, key, set_)] * min(-surplus, BURST)
            return await slowly(self._api, set_.metadata.namespace, acts)
        chosen = doomed(active, self._related(set_), min(surplus, BURST), clock.now())
        deletions = [partial(self._delete, key, set_, pod) for pod in chosen]
        outcomes = await together(self._api, (PODS,), set_.metadata.namespace, deletions)
        return next((error for error in outcomes if error is not None), None)

    def _related(self, set_: ReplicaSet) -> list[Pod]:
        """Pods of all sets that have the same controller."""
        if not set_.metadata.controller_uid:
            return []
        sets = self._sets.objects.by(OWNER, set_.metadata.controller_uid)
        return [pod for each in sets for pod in self._pods.objects.by(OWNER, each.metadata.uid)]

    async def _create(self, key: Key, set_: ReplicaSet) -> StatusError | None:
        return await create_pod(
            self._api, set_, new_pod(set_), partial(self._tell, set_), partial(self._wrote_pod, key)
        )

    async def _delete(self, key: Key, set_: ReplicaSet, pod: Pod) -> StatusError | None:
        tell, is_leaving = partial(self._tell, set_), partial(self._is_leaving, pod)
        return await delete_pod(self._api, key, pod.metadata, tell, self._deleted, is_leaving)

    def _is_leaving(self, pod: Pod) -> bool:
        seen = self._pods.objects.get(pod.metadata.namespace, pod.metadata.name)
        return seen is None or seen.metadata.uid != pod.metadata.uid or seen.metadata.deletion_timestamp is not None

    def _wrote_pod(self, key: Key, written: Tree | None) -> None:
        if written is not None:
            self._written.written(key, self._pods, written)

    def _tell(self, set_: ReplicaSet, reason: str, text: str, *, warning: bool = False) -> None:
        self._events.tell(REPLICASETS, set_.metadata, reason, text, warning=warning)


def _next_look(set_: ReplicaSet, status: SetStatus, active: list[Pod], now: datetime) -> float | None:
    """Seconds until a ready pod may become available."""
    patience = set_.spec.min_ready_seconds
    if not patience or status.ready_replicas == status.available_replicas:
        return None
    moments = (available_at(pod, patience) for pod in active)
    waits = [(moment - now).total_seconds() for moment in moments if moment is not None and moment > now]
    return min(waits, default=float(patience))
