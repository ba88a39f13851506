"""The Deployment controller: gives every pod template a ReplicaSet and moves pods from the old ones to the new one.

Like the real one it has no memory of what it wrote: it acts on what its watches have shown, and a write that is not
based on the newest version is refused and tried again. A set has a name that follows from its template, so it is never
made twice. What a look comes to is told in `deployment_turn`.

In one thing it is stricter than the real one: before it makes a set it makes sure that the Deployment is still there,
because the embedded garbage collector often overtakes the news that it is gone.

Left out: rolling back by the annotation of an API that is no longer served.
"""

from __future__ import annotations

import asyncio

from kubeloop.objects.apps import DEPLOYMENTS, REPLICASETS
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
    owner_of,
    owner_or_orphan,
    release,
    selects,
)
from kubesim.controllers.base import ACCOUNTS, Api, failed
from kubesim.controllers.deployment_plan import Deployment
from kubesim.controllers.deployment_turn import Turn
from kubesim.controllers.event_recorder import Recorder
from kubesim.controllers.pod_control import is_of_ending_namespace
from kubesim.controllers.pods import Pod
from kubesim.controllers.replicas import ReplicaSet, owner_reference
from kubesim.errors import StatusError

Key = tuple[str, str]

WORKERS = 5
FIRST_RETRY, LONGEST_RETRY = 0.005, 1000.0
"""Seconds; the real controller's."""


class DeploymentController:
    """One controller; its watches are behind by the lag of the verbs."""

    def __init__(self, verbs: Verbs, *, workers: int = WORKERS) -> None:
        self._api = api = Api(verbs, f"{ACCOUNTS}deployment-controller")
        self._workers = workers
        self._deployments = api.view(DEPLOYMENTS, Deployment)
        self._sets = api.view(REPLICASETS, ReplicaSet, {OWNER: owner_or_orphan})
        self._pods = api.view(PODS, Pod, {OWNER: owner_or_orphan})
        self._events = Recorder(api, "deployment-controller")
        self._queue: Queue[Key] = Queue(first_delay=FIRST_RETRY, longest_delay=LONGEST_RETRY)
        self._deployments.subscribe(self._deployment_changed)
        self._sets.subscribe(self._set_changed)
        self._pods.subscribe(self._pod_changed)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._events.work_in(tasks)
            for view in (self._deployments, self._sets, self._pods):
                tasks.create_task(view.run())
            await asyncio.gather(*(view.synced.wait() for view in (self._deployments, self._sets, self._pods)))
            tasks.create_task(work(self._queue, self._sync, workers=self._workers, failed=failed))

    def _deployment_changed(self, old: Deployment | None, new: Deployment | None) -> None:
        for each in (new, old):
            if each is not None:
                self._queue.add((each.metadata.namespace, each.metadata.name))
                return

    def _set_changed(self, old: ReplicaSet | None, new: ReplicaSet | None) -> None:
        for each in concerned(self._deployments.objects, DEPLOYMENTS.kind, old, new):
            self._queue.add((each.metadata.namespace, each.metadata.name))

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        """Who waits for the last old pod to go hears of every pod that is gone."""
        if old is None or new is not None:
            return
        set_ = owner_of(old, self._sets.objects, REPLICASETS.kind)
        found = None if set_ is None else owner_of(set_, self._deployments.objects, DEPLOYMENTS.kind)
        if found is not None and not found.spec.rolls:
            self._queue.add((found.metadata.namespace, found.metadata.name))

    async def _sync(self, key: Key) -> float | None:
        deployment = self._deployments.objects.get(*key)
        if deployment is None:
            return None
        sets = await self._claim(deployment)
        pods = [pod for each in sets for pod in self._pods.objects.by(OWNER, each.metadata.uid)]
        try:
            return await Turn(self._api, self._events, self._sets, deployment).take(sets, pods)
        except StatusError as error:
            if is_of_ending_namespace(error):
                return None  # nothing can be made there any more, and what is there goes
            raise

    async def _claim(self, deployment: Deployment) -> list[ReplicaSet]:
        """The Deployment's sets; adopts and releases as its selector says."""
        meta, selector = deployment.metadata, deployment.spec.selector
        claimed = []
        for set_ in self._sets.objects.by(OWNER, meta.uid):
            if selects(selector, set_.metadata.labels):
                claimed.append(set_)
            elif meta.deletion_timestamp is None:
                await release(self._api, REPLICASETS, set_.metadata, (meta.uid,))
        if meta.deletion_timestamp is not None:
            return claimed
        for set_ in self._sets.objects.by(OWNER, orphans_of(meta.namespace)):
            if set_.metadata.deletion_timestamp is not None or not selects(selector, set_.metadata.labels):
                continue
            check_alive(self._api, DEPLOYMENTS, meta)
            if await adopt(self._api, REPLICASETS, set_.metadata, owner_reference(DEPLOYMENTS, meta)) is not None:
                claimed.append(set_)
        return claimed
