"""The disruption controller: says in the status of every PodDisruptionBudget how many of its pods may go.

Like the real one it works from lagging watches and has no memory of its own: what an eviction has taken stands in the
status (`disruptedPods`) until the pod is seen to go, or for two minutes. A status that cannot be worked out allows
nothing. A pod that was to be disrupted and is still there after two minutes does not say so any longer.

Pods and their owners are not watched before there is a budget, or a pod that is to be disrupted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from kubeloop import clock
from kubeloop.objects.core import PODS, PodStatus
from kubeloop.objects.core import Pod as NarrowPod
from kubeloop.objects.meta import Condition, LabelSelector, Meta, Resource
from kubeloop.queue import Queue
from kubeloop.worker import work
from kubesim.api.verbs import Verbs
from kubesim.controllers.base import ACCOUNTS, Api, View, failed
from kubesim.controllers.disruption_counts import (
    DELETION_TIMEOUT,
    BudgetSpec,
    Unclear,
    Workloads,
    count_healthy,
    still_disrupted,
)
from kubesim.controllers.event_recorder import Recorder
from kubesim.controllers.pods import PodMeta
from kubesim.kinds.registry import DISRUPTION_BUDGETS
from kubesim.pods.budgets import is_noted, note_allowance, note_failure
from kubesim.store.versions import Author, Event, Tree
from kubesim.strategies.subresources import set_condition

Key = tuple[str, str]

FIRST_RETRY, LONGEST_RETRY = 0.005, 1000.0
"""Seconds; the real controller's, as is the next."""
STALE_AFTER = timedelta(minutes=2)
"""How long a pod may say that it is to be disrupted without being deleted."""

NAMESPACE = "namespace"
"""The index of a view that `_namespace_of` makes."""
TARGET = "DisruptionTarget"
_TARGET_BYTES = TARGET.encode()
_TIME = "%Y-%m-%dT%H:%M:%SZ"


class BudgetMeta(Meta, frozen=True, rename="camel"):
    generation: int = 0


class Budget(Struct, frozen=True):
    metadata: BudgetMeta
    spec: BudgetSpec = BudgetSpec()
    status: Tree = {}

    def selects(self, pod: NarrowPod) -> bool:
        """An empty selector selects all pods of the namespace, none at all selects nothing."""
        selector = self.spec.selector
        return selector is not None and selector.matches(pod.metadata.labels)


class ReasonedCondition(Condition, frozen=True, rename="camel", gc=False):
    reason: str = ""


class Status(PodStatus, frozen=True, rename="camel"):
    conditions: tuple[ReasonedCondition, ...] = ()


class Pod(NarrowPod, frozen=True):
    metadata: PodMeta
    status: Status = Status()

    def stale_at(self) -> datetime | None:
        """When it is too late to delete the pod for the disruption that its status tells of."""
        if self.metadata.deletion_timestamp is not None or self.status.phase in ("Succeeded", "Failed"):
            return None
        said = next((each for each in self.status.conditions if each.type == TARGET), None)
        # The kubelet may take its time.
        if said is None or said.status != "True" or said.reason == "TerminationByKubelet":
            return None
        return (said.last_transition_time or clock.now()) + STALE_AFTER


def _namespace_of(item: Budget | Pod) -> Iterable[str]:
    return (item.metadata.namespace,)


class DisruptionController:
    """One controller; its watches are behind by the lag of the verbs."""

    def __init__(self, verbs: Verbs) -> None:
        self._api = api = Api(verbs, f"{ACCOUNTS}disruption-controller")
        # An eviction writes the budget some requests before it deletes the pod, so that is what is seen first.
        hasty = Api(verbs, f"{ACCOUNTS}disruption-controller")
        hasty.lag = (0.0, api.lag[0])
        self._budgets = hasty.view(DISRUPTION_BUDGETS, Budget, {NAMESPACE: _namespace_of})
        self._pods = api.view(PODS, Pod, {NAMESPACE: _namespace_of})
        self._workloads = Workloads(api)
        self._events = Recorder(api, "controllermanager")
        self._queue: Queue[Key] = Queue(first_delay=FIRST_RETRY, longest_delay=LONGEST_RETRY)
        self._stale: Queue[Key] = Queue(first_delay=FIRST_RETRY, longest_delay=LONGEST_RETRY)
        """Pods that may have to be told that they stay."""
        self._wanted = asyncio.Event()
        """There is or was a budget, or a pod to be disrupted."""
        self._budgets.subscribe(self._budget_changed)
        self._pods.subscribe(self._pod_changed)

    async def run(self) -> None:
        """Until cancelled."""
        self._api.store.listen(self._watch_out, PODS)
        if any(version.status_mentions(_TARGET_BYTES) for version in self._api.store.table(PODS).live.values()):
            self._wanted.set()
        async with asyncio.TaskGroup() as tasks:
            self._events.work_in(tasks)
            tasks.create_task(self._budgets.run())
            await self._wanted.wait()
            views: tuple[View[Any], ...] = (self._pods, *self._workloads.views.values())
            for view in views:
                tasks.create_task(view.run())
            await asyncio.gather(*(view.synced.wait() for view in views))
            tasks.create_task(work(self._queue, self._sync, workers=1, failed=failed))
            tasks.create_task(work(self._stale, self._relieve, workers=1, failed=failed))

    def _watch_out(self, _resource: Resource, event: Event, author: Author) -> None:
        if not self._wanted.is_set() and event.new.status_mentions(_TARGET_BYTES):
            self._wanted.set()

    def _budget_changed(self, old: Budget | None, new: Budget | None) -> None:
        self._wanted.set()
        for each in (new, old):
            if each is not None:
                self._queue.add((each.metadata.namespace, each.metadata.name))
                return

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        pod = new or old
        if pod is None:
            return
        found = [each for each in self._budgets.objects.by(NAMESPACE, pod.metadata.namespace) if each.selects(pod)]
        if len(found) > 1:
            where = f'"{pod.metadata.namespace}"/"{pod.metadata.name}"'
            text = f'Pod {where} matches multiple PodDisruptionBudgets.  Chose "{found[0].metadata.name}" arbitrarily.'
            self._events.tell(PODS, pod.metadata, "MultiplePodDisruptionBudgets", text, warning=True)
        if found:
            self._queue.add((found[0].metadata.namespace, found[0].metadata.name))
        if new is not None and (moment := new.stale_at()) is not None:
            self._stale.add_after((new.metadata.namespace, new.metadata.name), _seconds(moment))

    async def _sync(self, key: Key) -> float | None:
        budget = self._budgets.objects.get(*key)
        if budget is None:
            return None
        try:
            return await self._count(budget)
        except Unclear as problem:
            text = f"Failed to calculate the number of expected pods: {problem}"
            self._events.tell(
                DISRUPTION_BUDGETS, budget.metadata, "CalculateExpectedPodCountFailed", text, warning=True
            )
            status = dict(budget.status)
            note_failure(status, str(problem))
            await self._write(budget, status)
            return None

    async def _count(self, budget: Budget) -> float | None:
        """Brings the status up to date; answers with the seconds until a disrupted pod should have been seen to go."""
        pods = [each for each in self._pods.objects.by(NAMESPACE, budget.metadata.namespace) if budget.selects(each)]
        if not pods:
            self._events.tell(DISRUPTION_BUDGETS, budget.metadata, "NoPods", "No matching pods found")
        expected = self._workloads.expected(budget.spec, pods)
        if expected.unmanaged:
            self._events.tell(
                DISRUPTION_BUDGETS, budget.metadata, "UnmanagedPods", _unmanaged(budget.spec.selector), warning=True
            )
        now = clock.now()
        said = {name: datetime.fromisoformat(text) for name, text in (budget.status.get("disruptedPods") or {}).items()}
        disrupted, late = still_disrupted(pods, said, now)
        for pod in late:
            # The real one names the namespace twice.
            place = f"{budget.metadata.namespace}/{budget.metadata.namespace}"
            text = f"Pod was expected by PDB {place} to be deleted but it wasn't"
            self._events.tell(PODS, pod.metadata, "NotDeleted", text, warning=True)
        healthy = count_healthy(pods, disrupted, now)
        allowed = max(healthy - expected.healthy, 0) if expected.count > 0 else 0
        status: Tree = {
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": expected.healthy,
            "expectedPods": expected.count,
        }
        if disrupted:
            status["disruptedPods"] = {name: moment.strftime(_TIME) for name, moment in sorted(disrupted.items())}
        if budget.metadata.generation:
            status["observedGeneration"] = budget.metadata.generation
        known = {key: value for key, value in budget.status.items() if key != "conditions" and value != {}}
        if known != status or not is_noted(budget.status):
            status["conditions"] = budget.status.get("conditions") or []
            note_allowance(status)
            await self._write(budget, status)
        return min((_seconds(moment + DELETION_TIMEOUT) for moment in disrupted.values()), default=None)

    async def _write(self, budget: Budget, status: Tree) -> None:
        """Over the budget as it was seen; if it has changed since, it is looked at again."""
        meta = budget.metadata
        tree = self._api.read(DISRUPTION_BUDGETS, meta.namespace, meta.name)
        tree["metadata"] |= {"uid": meta.uid, "resourceVersion": meta.resource_version}
        await self._api.replace(DISRUPTION_BUDGETS, tree | {"status": status}, "status")

    async def _relieve(self, key: Key) -> float | None:
        """Tells a pod that it stays, unless there is time left to delete it."""
        pod = self._pods.objects.get(*key)
        moment = pod.stale_at() if pod is not None else None
        if pod is None or moment is None:
            return None
        if moment > clock.now():
            return _seconds(moment)
        tree = self._api.read(PODS, *key)
        tree["metadata"] |= {"uid": pod.metadata.uid, "resourceVersion": pod.metadata.resource_version}
        set_condition(tree, {"type": TARGET, "status": "False"})
        await self._api.replace(PODS, tree, "status")
        return None


def _seconds(moment: datetime) -> float:
    """Until shortly after the moment: at it nothing is late yet."""
    return max((moment - clock.now()).total_seconds(), 0.0) + FIRST_RETRY


def _unmanaged(selector: LabelSelector | None) -> str:
    return (
        f"Pods selected by this PodDisruptionBudget (selector: {_printed(selector)}) were found "
        "to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in "
        'undefined behavior. To account for these pods please set ".spec.minAvailable" '
        "field of the PDB to an integer value."
    )


def _printed(selector: LabelSelector | None) -> str:
    """As Go prints a selector."""
    if selector is None:
        return "nil"
    labels = "".join(f"{key}: {value}," for key, value in sorted(selector.match_labels.items()))
    requirements = "".join(
        f"LabelSelectorRequirement{{Key:{each.key},Operator:{each.operator},Values:[{' '.join(each.values)}],}},"
        for each in selector.match_expressions
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{requirements}}},}}"
    )
