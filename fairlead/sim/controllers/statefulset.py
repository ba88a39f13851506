"""The StatefulSet controller: brings `plan` its facts from lagging views and carries out the answer.

Like the real one it acts on what its watches have shown, writes the status it worked out from that, and skips a set
while its own writes have not come back. So a status may be behind the cluster: when a pod is replaced, the first status
after it is gone can still count it as ready. In one thing it is stricter than the real one, which may delete a pod
twice: it also waits until a pod that it deleted is seen to go.

Left out: PersistentVolumeClaims are not created (see `statefulset_pods`).
"""

from __future__ import annotations

import asyncio

import msgspec

from fairlead.api.apps import STATEFULSETS
from fairlead.api.core import PODS
from fairlead.api.core import Pod as NarrowPod
from fairlead.kube import clock
from fairlead.kube.queue import Queue
from fairlead.kube.worker import work
from fairlead.sim.controllers.base import ACCOUNTS, Api, Expectations, Recorder, Stale, failed
from fairlead.sim.controllers.history import Chosen, History
from fairlead.sim.controllers.owning import OWNER, adopt, orphans_of, owner_or_orphan, release, selects
from fairlead.sim.controllers.pods import Pod
from fairlead.sim.controllers.revisions import CONTROLLER_REVISIONS, Revision
from fairlead.sim.controllers.statefulset_plan import Create, Delete, Identify, Plan, Revisions, next_look, plan
from fairlead.sim.controllers.statefulset_pods import (
    Set,
    Status,
    identity_labels,
    is_member,
    new_pod,
    ordinal_of,
)
from fairlead.sim.errors import StatusError
from fairlead.sim.store import Tree
from fairlead.sim.verbs import Verbs

Key = tuple[str, str]

WORKERS = 5
"""Sets at once, as the real controller's default."""

FIRST_RETRY, LONGEST_RETRY = 0.005, 1000.0
"""Seconds; the real controller's."""

STATUS_ATTEMPTS, STATUS_PAUSE = 5, 0.01
"""How often, and seconds apart, a status is tried whose set has changed meanwhile."""


class StatefulSetController:
    """One controller; its watches are behind by the lag of the verbs."""

    def __init__(self, verbs: Verbs, *, workers: int = WORKERS) -> None:
        self._api = api = Api(verbs, f"{ACCOUNTS}statefulset-controller")
        self._workers = workers
        self._sets = api.view(STATEFULSETS, Set)
        self._pods = api.view(PODS, Pod, {OWNER: owner_or_orphan})
        self._revisions = api.view(CONTROLLER_REVISIONS, Revision, {OWNER: owner_or_orphan})
        self._history = History(api, self._revisions)
        self._expected = Expectations()
        self._events = Recorder(api, "statefulset-controller")
        self._queue: Queue[Key] = Queue(first_delay=FIRST_RETRY, longest_delay=LONGEST_RETRY)
        self._sets.subscribe(self._set_changed)
        self._pods.subscribe(self._pod_changed)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for view in (self._sets, self._pods, self._revisions):
                tasks.create_task(view.run())
            await asyncio.gather(*(view.synced.wait() for view in (self._sets, self._pods, self._revisions)))
            tasks.create_task(work(self._queue, self._sync, workers=self._workers, failed=failed))

    def _set_changed(self, old: Set | None, new: Set | None) -> None:
        for each in (new, old):
            if each is not None:
                self._queue.add((each.metadata.namespace, each.metadata.name))
                return

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        for pod in (old, new):
            if pod is not None:
                self._wake_owner(pod)
        if new is None or new.metadata.controller_uid or new.metadata.deletion_timestamp is not None:
            return
        if old is None or old.metadata.controller_uid or old.metadata.labels != new.metadata.labels:
            self._wake_adopters(new)

    def _wake_owner(self, pod: Pod) -> None:
        """The set that controls the pod, if it is there and not another of its name."""
        owner = next((each for each in pod.metadata.owner_references if each.controller), None)
        if owner is None or owner.kind != STATEFULSETS.kind:
            return
        found = self._sets.objects.get(pod.metadata.namespace, owner.name)
        if found is not None and found.metadata.uid == owner.uid:
            self._queue.add((found.metadata.namespace, found.metadata.name))

    def _wake_adopters(self, pod: Pod) -> None:
        for set_ in self._sets.objects.items():
            if set_.metadata.namespace == pod.metadata.namespace and selects(set_.spec.selector, pod.metadata.labels):
                self._queue.add((set_.metadata.namespace, set_.metadata.name))

    async def _sync(self, key: Key) -> float | None:
        if not self._expected.met(key):
            raise Stale(key)
        set_ = self._sets.objects.get(*key)
        if set_ is None:
            self._expected.forget(key)
            return None
        if any(not revision.metadata.controller_uid for revision in self._history.of(set_)):
            self._check_adoption(set_)
            self._history.adopt_orphans(set_)
        pods = self._claim(key, set_)
        return await self._update(key, set_, pods)

    def _claim(self, key: Key, set_: Set) -> list[Pod]:
        """The set's pods; adopts and releases as its selector says."""
        objects = self._pods.objects
        meta = set_.metadata
        claimed = []
        for pod in objects.by(OWNER, meta.uid):
            if selects(set_.spec.selector, pod.metadata.labels) and is_member(set_, pod):
                claimed.append(pod)
            elif meta.deletion_timestamp is None:
                self._wrote_pod(key, release(self._api, PODS, pod.metadata, (meta.uid,)))
        for pod in objects.by(OWNER, orphans_of(meta.namespace)):
            wanted = selects(set_.spec.selector, pod.metadata.labels) and is_member(set_, pod)
            if not wanted or pod.metadata.deletion_timestamp is not None or meta.deletion_timestamp is not None:
                continue
            self._check_adoption(set_)
            adopted = adopt(self._api, PODS, pod.metadata, set_.owner_reference())
            self._wrote_pod(key, adopted)
            if adopted is not None:
                claimed.append(pod)
        return claimed

    def _check_adoption(self, set_: Set) -> None:
        """A set that is being deleted, or was made again, must not adopt: its garbage would be missed."""
        meta = set_.metadata
        live = (self._api.read(STATEFULSETS, meta.namespace, meta.name))["metadata"]
        if live["uid"] != meta.uid or "deletionTimestamp" in live:
            raise Stale((meta.namespace, meta.name))

    async def _update(self, key: Key, set_: Set, pods: list[Pod]) -> float | None:
        """One round: revisions, pods, status, history; answers with the seconds until the next look."""
        now = clock.now()
        revisions = self._history.of(set_)
        chosen = self._history.choose(set_, revisions)
        names = Revisions(chosen.current.name, chosen.update.name, chosen.collisions)
        planned = plan(set_, pods, names, now)
        try:
            self._carry_out(key, set_, planned, chosen)
        except StatusError:
            await self._write_status(key, set_, planned.failed)
            raise
        await asyncio.sleep(0)  # others may write between the pods and the status
        await self._write_status(key, set_, planned.status)
        self._history.truncate(set_, revisions, pods, chosen)
        return next_look(set_, pods, planned.status, now)

    def _carry_out(self, key: Key, set_: Set, planned: Plan, chosen: Chosen) -> None:
        for action in planned.actions:
            match action:
                case Create(ordinal, revision):
                    made_from = chosen.current if revision == chosen.current.name else chosen.update
                    self._create(key, set_, made_from, ordinal)
                case Delete(pod):
                    self._delete(key, set_, pod)
                case Identify(pod):
                    self._identify(key, set_, pod)

    def _create(self, key: Key, set_: Set, revision: Revision, ordinal: int) -> None:
        name = f"{set_.metadata.name}-{ordinal}"
        claims = ordinal if set_.spec.volume_claim_templates else None
        alike = set_.metadata.uid, revision.metadata.uid, set_.spec.service_name, claims
        labels = identity_labels(name, ordinal)
        try:
            made = self._api.create_pod(
                alike, name, labels, lambda: new_pod(set_, revision.template, revision.name, ordinal)
            )
        except StatusError as error:
            if error.reason != "AlreadyExists":
                self._tell(set_, "Create", name, error)
            raise
        self._expected.revised(key, self._pods, made)
        self._tell(set_, "Create", name)

    def _delete(self, key: Key, set_: Set, pod: NarrowPod) -> None:
        meta = pod.metadata
        try:
            self._api.delete(PODS, meta.namespace, meta.name)
        except StatusError as error:
            if error.code != 404:
                self._tell(set_, "Delete", meta.name, error)
                raise
        self._expected.unseen(key, lambda: self._is_going(pod))
        self._tell(set_, "Delete", meta.name)

    def _is_going(self, pod: NarrowPod) -> bool:
        seen = self._pods.objects.get(pod.metadata.namespace, pod.metadata.name)
        gone = seen is None or seen.metadata.uid != pod.metadata.uid
        return gone or (seen is not None and seen.metadata.deletion_timestamp is not None)

    def _identify(self, key: Key, set_: Set, pod: NarrowPod) -> None:
        meta = pod.metadata
        patch = {"metadata": {"uid": meta.uid, "labels": identity_labels(meta.name, ordinal_of(pod))}}
        try:
            self._wrote_pod(key, self._api.merge(PODS, meta.namespace, meta.name, patch))
        except StatusError as error:
            self._tell(set_, "Update", meta.name, error)
            raise
        self._tell(set_, "Update", meta.name)

    async def _write_status(self, key: Key, set_: Set, status: Status) -> None:
        """As the real one writes it: the whole status over the set as it was seen, again if the set has changed."""
        # The API refuses negative counts; the status is then left as it is until the pod is seen to go.
        if status.current_replicas < 0 or not status.tells_other_than(set_.status):
            return
        for attempt in range(STATUS_ATTEMPTS):
            try:
                written = self._put_status(set_, status)
            except StatusError as error:
                if error.reason != "Conflict" or attempt == STATUS_ATTEMPTS - 1:
                    raise
                await asyncio.sleep(STATUS_PAUSE)
                set_ = self._sets.objects.get(*key) or set_
            else:
                self._expected.written(key, self._sets, written)
                return

    def _put_status(self, set_: Set, status: Status) -> Tree:
        meta = set_.metadata
        tree = self._api.read(STATEFULSETS, meta.namespace, meta.name)
        # What was seen is written back, so a set that has changed since is a conflict.
        tree["metadata"] |= {"uid": meta.uid, "resourceVersion": meta.resource_version}
        tree["status"] = msgspec.to_builtins(status)
        return self._api.replace(STATEFULSETS, tree, "status")

    def _wrote_pod(self, key: Key, written: Tree | None) -> None:
        if written is not None:
            self._expected.written(key, self._pods, written)

    def _tell(self, set_: Set, verb: str, pod: str, error: StatusError | None = None) -> None:
        """The event that the real controller records about a pod."""
        about = f"{verb} Pod {pod} in StatefulSet {set_.metadata.name}"
        if error is None:
            self._events.tell(STATEFULSETS, set_.metadata, f"Successful{verb}", f"{about} successful")
        else:
            text = f"{about} failed error: {error}"
            self._events.tell(STATEFULSETS, set_.metadata, f"Failed{verb}", text, warning=True)
