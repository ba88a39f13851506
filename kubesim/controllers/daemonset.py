"""The DaemonSet controller: brings `daemonset_plan` its facts from lagging views and carries out the answer.

Like the real one it skips a set until its watches show what it wrote. Until they show that the pods it deleted are
going, only the status is kept up, and what it says of the generation is left alone. The status is worked out after the
pods have been made and deleted, from whatever the watches show by then.

Pods, nodes and revisions are not watched before there is a DaemonSet: a cluster without any pays nothing for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import partial

import msgspec
from msgspec.structs import replace

from kubeloop import clock
from kubeloop.objects.apps import CONTROLLER_REVISIONS
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
from kubesim.controllers.daemonset_history import DaemonHistory
from kubesim.controllers.daemonset_plan import DaemonSetView, Plan, duty, manage, roll, status_of
from kubesim.controllers.daemonset_pods import DaemonSet, Pod, new_pod, wishes_of
from kubesim.controllers.event_recorder import Recorder
from kubesim.controllers.pod_control import create_pod, delete_pod, slowly, together
from kubesim.controllers.replicas import owner_reference
from kubesim.controllers.revisions import Revision
from kubesim.errors import StatusError
from kubesim.kinds.registry import DAEMON_SETS, NODES
from kubesim.pods.scheduling import Node
from kubesim.store.versions import Tree

Key = tuple[str, str]

WORKERS = 2
FIRST_RETRY, LONGEST_RETRY = 0.005, 1000.0
"""Seconds; the real controller's, as are the next."""
BURST = 250
"""Pods made or deleted before the watches must show them."""
FIRST_RESPITE, LONGEST_RESPITE = timedelta(seconds=1), timedelta(minutes=15)
"""Between two deletions of failed pods on one node; doubled each time, forgotten after twice the longest."""

ON_NODE = "node"
"""The index of pods by the node that they are bound to."""


def _bound_to(pod: Pod) -> Iterable[str]:
    return (pod.spec.node_name,) if pod.spec.node_name else ()


class Respites:
    """Per set and node, how long a failed pod is left before it is deleted: whatever fails it may fail the next."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, str], tuple[timedelta, datetime]] = {}

    def left(self, set_: DaemonSet, node: str, now: datetime) -> float:
        """Seconds; when none are left, this deletion counts and the next has to wait longer."""
        key = (set_.metadata.uid, set_.status.observed_generation, node)
        respite, since = self._known.get(key, (timedelta(), now))
        if now - since > 2 * LONGEST_RESPITE:
            respite = timedelta()
        if now - since < respite:
            return respite.total_seconds()
        self._known[key] = (min(2 * respite, LONGEST_RESPITE) if respite else FIRST_RESPITE, now)
        return 0.0

    def forget(self, uid: str) -> None:
        self._known = {key: value for key, value in self._known.items() if key[0] != uid}


class DaemonSetController:
    """One controller; its watches are behind by the lag of the verbs."""

    def __init__(self, verbs: Verbs, *, workers: int = WORKERS) -> None:
        self._api = api = Api(verbs, f"{ACCOUNTS}daemon-set-controller")
        self._workers = workers
        self._sets = api.view(DAEMON_SETS, DaemonSet)
        self._pods = api.view(PODS, Pod, {OWNER: owner_or_orphan, ON_NODE: _bound_to})
        self._nodes = api.view(NODES, Node)
        self._revisions = api.view(CONTROLLER_REVISIONS, Revision, {OWNER: owner_or_orphan})
        self._history = DaemonHistory(api, self._revisions)
        self._written = Expectations()
        self._deleted = Expectations()
        self._respites = Respites()
        self._draws = api.store.draws("daemonset controller")
        self._events = Recorder(api, "daemonset-controller")
        self._queue: Queue[Key] = Queue(first_delay=FIRST_RETRY, longest_delay=LONGEST_RETRY)
        self._wanted = asyncio.Event()
        """There is or was a DaemonSet."""
        self._sets.subscribe(self._set_changed)
        self._pods.subscribe(self._item_changed)
        self._nodes.subscribe(self._node_changed)
        self._revisions.subscribe(self._revision_changed)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._events.work_in(tasks)
            tasks.create_task(self._sets.run())
            await self._wanted.wait()
            for view in (self._pods, self._nodes, self._revisions):
                tasks.create_task(view.run())
            await asyncio.gather(*(view.synced.wait() for view in (self._pods, self._nodes, self._revisions)))
            tasks.create_task(work(self._queue, self._sync, workers=self._workers, failed=failed))

    # What wakes a set

    def _set_changed(self, old: DaemonSet | None, new: DaemonSet | None) -> None:
        self._wanted.set()
        if old is not None and (new is None or old.metadata.uid != new.metadata.uid):
            key = (old.metadata.namespace, old.metadata.name)
            self._written.forget(key)
            self._deleted.forget(key)
            self._respites.forget(old.metadata.uid)
        for each in (new, old):
            if each is not None:
                self._wake(each)
                return

    def _wake(self, set_: DaemonSet) -> None:
        self._queue.add((set_.metadata.namespace, set_.metadata.name))

    def _revision_changed(self, old: Revision | None, new: Revision | None) -> None:
        if old is None and new is not None and new.metadata.controller_uid:
            return  # only the set itself makes revisions that it owns
        self._item_changed(old, new)

    def _item_changed(self, old: Pod | Revision | None, new: Pod | Revision | None) -> None:
        for each in concerned(self._sets.objects, DAEMON_SETS.kind, old, new):
            self._wake(each)

    def _node_changed(self, old: Node | None, new: Node | None) -> None:
        """Sets that shall come to the node, must leave it, or may be in place again. A node that goes wakes none."""
        if new is None:
            return
        if old is not None and old.metadata.labels == new.metadata.labels and old.spec.taints == new.spec.taints:
            return
        there = {pod.metadata.controller_uid for pod in self._pods.objects.by(ON_NODE, new.name)}
        for set_ in self._sets.objects.items():
            wanted = duty(wishes_of(set_.spec.template), new)
            has = set_.metadata.uid in there
            if (not has and wanted.runs) or (has and (not wanted.stays or set_.status.number_misscheduled)):
                self._wake(set_)

    # One look at a set

    async def _sync(self, key: Key) -> float | None:
        if not self._written.met(key):
            raise Stale(key)
        set_ = self._sets.objects.get(*key)
        if set_ is None or set_.metadata.deletion_timestamp is not None:
            return None
        if not set_.spec.selector.match_labels and not set_.spec.selector.match_expressions:
            text = "This daemon set is selecting all pods. A non-empty selector is required."
            self._events.tell(DAEMON_SETS, set_.metadata, "SelectingAll", text, warning=True)
            return None
        template = await self._history.construct(set_, await self._claim(key, set_))
        if not self._deleted.met(key):
            return await self._report(key, set_, template.hash, observed=False)
        error, respite = await self._update(key, await self._seen(key, set_, template.hash))
        if error is None:
            await self._history.truncate(set_, template.old, await self._claim(key, set_))
        await asyncio.sleep(0)  # others may write between the pods and the status
        again = await self._report(key, set_, template.hash, observed=True)
        if error is not None:
            raise error
        return min((each for each in (again, respite) if each is not None), default=None)

    async def _seen(self, key: Key, set_: DaemonSet, revision: str) -> DaemonSetView:
        pods = [pod for pod in await self._claim(key, set_) if not (pod.is_terminal and pod.is_deleted)]
        nodes = self._nodes.objects.items()
        return DaemonSetView(set_, wishes_of(set_.spec.template), revision, tuple(nodes), pods, clock.now())

    async def _claim(self, key: Key, set_: DaemonSet) -> list[Pod]:
        """The set's pods; adopts and releases as its selector says."""
        meta, selector, objects = set_.metadata, set_.spec.selector, self._pods.objects
        claimed = []
        for pod in objects.by(OWNER, meta.uid):
            if selects(selector, pod.metadata.labels):
                claimed.append(pod)
            else:
                self._wrote_pod(key, await release(self._api, PODS, pod.metadata, (meta.uid,)))
        for pod in objects.by(OWNER, orphans_of(meta.namespace)):
            if pod.is_deleted or not selects(selector, pod.metadata.labels):
                continue
            check_alive(self._api, DAEMON_SETS, meta)
            adopted = await adopt(self._api, PODS, pod.metadata, owner_reference(DAEMON_SETS, meta))
            self._wrote_pod(key, adopted)
            if adopted is not None:
                claimed.append(pod)
        return claimed

    async def _update(self, key: Key, seen: DaemonSetView) -> tuple[StatusError | None, float | None]:
        """Pods made and deleted; answers with what went wrong, and the seconds until a failed pod may be deleted."""
        # Whoever adopts or releases pods does so again, in vain, before the status; a pod that is over does not count
        # from the first of the two writes of its deletion.
        claims = not self._written.met(key)
        plan = manage(seen)
        over, respite = self._to_remove(seen, plan.over)
        chosen = Plan(plan.create, (*plan.delete, *over))
        error = await self._carry_out(key, seen, chosen, unhurried=claims or bool(over))
        if error is None and chosen.is_empty and seen.set.spec.update_strategy.type == "RollingUpdate":
            error = await self._carry_out(key, seen, roll(seen), unhurried=claims)
        return error, respite

    def _to_remove(self, seen: DaemonSetView, over: Iterable[Pod]) -> tuple[list[Pod], float | None]:
        """Of the pods that are over those that go at once, and the seconds until another may."""
        removed, waits = [], []
        for pod in over:
            node, name = pod.spec.named_node, f"{pod.metadata.namespace}/{pod.metadata.name}"
            if pod.status.phase == "Succeeded":
                text = f"Found succeeded daemon pod {name} on node {node}, will try to delete it"
                self._events.tell(DAEMON_SETS, seen.set.metadata, "SucceededDaemonPod", text)
            elif left := self._respites.left(seen.set, node, seen.now):
                waits.append(left)
                continue
            else:
                text = f"Found failed daemon pod {name} on node {node}, will try to kill it"
                self._events.tell(DAEMON_SETS, seen.set.metadata, "FailedDaemonPod", text, warning=True)
            removed.append(pod)
        return removed, min(waits, default=None)

    async def _carry_out(self, key: Key, seen: DaemonSetView, plan: Plan, *, unhurried: bool) -> StatusError | None:
        """Makes pods in batches of 1, 2, 4 and so on until one fails, and deletes pods.

        Unhurried it comes back only when watches show all of it.
        """
        if plan.create:
            check_alive(self._api, DAEMON_SETS, seen.set.metadata)
        namespace = seen.set.metadata.namespace
        creations = [partial(self._create, key, seen, node) for node in plan.create[:BURST]]
        error = await slowly(self._api, namespace, creations, self._api.lag[1])
        deletions = [partial(self._delete, key, seen.set, pod) for pod in plan.delete[:BURST]]
        outcomes = await together(self._api, (PODS,), namespace, deletions)
        if not plan.is_empty:
            # Requests take their time: when the last is answered, watches show those before, and mostly this one too.
            least, longest = self._api.lag
            await asyncio.sleep(2 * longest if unhurried else self._draws.between(least, 2 * longest))
        return error or next((each for each in outcomes if each is not None), None)

    async def _create(self, key: Key, seen: DaemonSetView, node: str) -> StatusError | None:
        pod = new_pod(seen.set, seen.revision, node)
        return await create_pod(self._api, seen.set, pod, partial(self._tell, seen.set), partial(self._wrote_pod, key))

    async def _delete(self, key: Key, set_: DaemonSet, pod: Pod) -> StatusError | None:
        tell, is_leaving = partial(self._tell, set_), partial(self._is_leaving, pod)
        return await delete_pod(self._api, key, pod.metadata, tell, self._deleted, is_leaving)

    def _is_leaving(self, pod: Pod) -> bool:
        seen = self._pods.objects.get(pod.metadata.namespace, pod.metadata.name)
        return seen is None or seen.metadata.uid != pod.metadata.uid or seen.is_deleted

    # What is said

    async def _report(self, key: Key, set_: DaemonSet, revision: str, *, observed: bool) -> float | None:
        """Writes the status; answers with the seconds until a ready pod may have become available."""
        seen = await self._seen(key, set_, revision)
        status = status_of(seen)
        current = set_.status.observed_generation >= set_.metadata.generation
        if not current or not status.same_counts(set_.status):
            if observed:
                status = replace(status, observed_generation=set_.metadata.generation)
            written = await self._api.insist_on_status(DAEMON_SETS, set_.metadata, msgspec.to_builtins(status))
            self._written.written(key, self._sets, written)
        waits = set_.spec.min_ready_seconds
        return float(waits) if waits and (status.number_ready or 0) != status.number_available else None

    def _wrote_pod(self, key: Key, written: Tree | None) -> None:
        if written is not None:
            self._written.written(key, self._pods, written)

    def _tell(self, set_: DaemonSet, reason: str, text: str, *, warning: bool = False) -> None:
        self._events.tell(DAEMON_SETS, set_.metadata, reason, text, warning=warning)
