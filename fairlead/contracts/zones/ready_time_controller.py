"""The ready-time controller: every pod in the scope of a disruption budget, whether or not it belongs to a rollout.

A pod is woken only when its stamp is due, so that it costs a look at its labels per event where budgets exist and
nothing where none do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import cast

from fairlead.contracts.zones.configured_objects import Configured
from fairlead.contracts.zones.decide.budgets.ready_time import ReadyTimeSnapshot, decide, is_due
from fairlead.contracts.zones.decide.budgets.zpdb import DisruptionBudget
from fairlead.contracts.zones.settings import Settings
from fairlead.core.act import Does
from fairlead.core.ask import Answers
from fairlead.core.decision import Decision
from fairlead.engine.controller import Controller, LogRecord, RolloutKey, Wake
from kubeloop.informer import Change, Informer
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import Resource
from kubeloop.store import Named

NAME = "ready-time"
MAY_WRITE = frozenset({Does.STAMP_READY})
DONE = {Does.STAMP_READY: LogRecord("debug", "ready-time written")}

Watched = tuple[Informer[Pod], Configured[DisruptionBudget]]


def stamping(watched: Mapping[str, Watched], settings: Settings) -> Controller[ReadyTimeSnapshot]:
    """The controller on these informers, by namespace; those of all namespaces are under an empty name."""
    pods = _Pods(watched)
    return Controller(
        name=NAME,
        informers=(),
        subscribe=pods.subscribe,
        watched=pods.informers_of,
        scopes=pods.scopes,
        rollouts=pods.due,
        gather=pods.gather,
        versions=lambda seen: (f"{seen.pod.metadata.uid}@{seen.pod.metadata.resource_version}",),
        decide=decide,
        say=_nothing,
        writes=MAY_WRITE,
        done=DONE,
        background=True,
        write_timeout=settings.stamp_timeout,
    )


class _Pods:
    def __init__(self, watched: Mapping[str, Watched]) -> None:
        self._watched = watched

    def subscribe(self, wake: Wake) -> None:
        def waking(namespace: str, initial: bool) -> None:
            for key in self.due(namespace):
                wake(key, initial)

        for pods, budgets in self._watched.values():
            pods.subscribe(_waking(budgets, wake))
            budgets.subscribe(waking)

    def due(self, namespace: str = "") -> Iterator[RolloutKey]:
        """The pods whose stamp is not as it should be, in one namespace or in all."""
        for pods, budgets in self._watched.values():
            for pod in pods.store.items():
                if (not namespace or pod.metadata.namespace == namespace) and _is_due(pod, budgets):
                    yield _key(pod)

    def informers_of(self, key: RolloutKey) -> Mapping[Resource, Informer[Named]]:
        return {PODS: cast("Informer[Named]", self._of(key)[0])}

    def gather(self, key: RolloutKey, answers: Answers) -> ReadyTimeSnapshot | None:
        pods, budgets = self._of(key)
        pod = pods.store.get(*key)
        return None if pod is None else ReadyTimeSnapshot(pod, budgets.of(key.namespace))

    def scopes(self, key: RolloutKey) -> Iterable[str]:
        pod = self._of(key)[0].store.get(*key)
        return () if pod is None else (pod.metadata.uid,)

    def _of(self, key: RolloutKey) -> Watched:
        return self._watched.get(key.namespace) or self._watched[""]


def _waking(budgets: Configured[DisruptionBudget], wake: Wake) -> Callable[[Change[Pod]], None]:
    def changed(change: Change[Pod]) -> None:
        if change.new is not None and _is_due(change.new, budgets):
            wake(_key(change.new), change.initial)

    return changed


def _is_due(pod: Pod, budgets: Configured[DisruptionBudget]) -> bool:
    guards = budgets.of(pod.metadata.namespace)
    return bool(guards) and is_due(pod, guards)


def _key(pod: Pod) -> RolloutKey:
    return RolloutKey((pod.metadata.namespace, pod.metadata.name))


def _nothing(seen: ReadyTimeSnapshot, decision: Decision, now: datetime) -> tuple[LogRecord, ...]:
    return ()
