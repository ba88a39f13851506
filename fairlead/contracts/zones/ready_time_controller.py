"""The ready-time controller: every pod in the scope of a disruption budget, whether or not it belongs to a rollout.

A pod is woken only when its stamp is due, so that it costs a look at its labels per event where budgets exist and
nothing where none do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from fairlead.contracts.zones.configured_objects import Configured
from fairlead.contracts.zones.decide.budgets.ready_time import ReadyTimeSnapshot, decide, is_due
from fairlead.contracts.zones.decide.budgets.zpdb import DisruptionBudget
from fairlead.contracts.zones.pod_rounds import PodRounds, key_of
from fairlead.contracts.zones.settings import Settings
from fairlead.core.act import Does
from fairlead.engine.controller import Controller, LogRecord, RolloutKey, Wake
from kubeloop.informer import Change, Informer
from kubeloop.objects.core import Pod

NAME = "ready-time"
DONE = {Does.STAMP_READY: LogRecord("debug", "ready-time written")}

Watched = Mapping[str, tuple[Informer[Pod], Configured[DisruptionBudget]]]


def stamping(watched: Watched, settings: Settings) -> Controller[ReadyTimeSnapshot]:
    """The controller on these informers, by namespace; those of all namespaces are under an empty name."""

    def budgets_of(pod: Pod) -> tuple[DisruptionBudget, ...]:
        _, budgets = watched.get(pod.metadata.namespace) or watched[""]
        return budgets.of(pod.metadata.namespace)

    def due(namespace: str = "") -> Iterator[RolloutKey]:
        """The pods whose stamp is not as it should be, in one namespace or in all."""
        for pods, budgets in watched.values():
            for pod in pods.store.items():
                if (not namespace or pod.metadata.namespace == namespace) and _is_due(pod, budgets):
                    yield key_of(pod)

    def subscribe(wake: Wake) -> None:
        def waking(namespace: str, initial: bool) -> None:
            for key in due(namespace):
                wake(key, initial)

        for pods, budgets in watched.values():
            pods.subscribe(_waking(budgets, wake))
            budgets.subscribe(waking)

    return PodRounds({namespace: pods for namespace, (pods, _) in watched.items()}).controller(
        NAME,
        decide,
        subscribe=subscribe,
        due=due,
        gather=lambda pod, _: ReadyTimeSnapshot(pod, budgets_of(pod)),
        done=DONE,
        write_timeout=settings.stamp_timeout,
    )


def _waking(budgets: Configured[DisruptionBudget], wake: Wake) -> Callable[[Change[Pod]], None]:
    def changed(change: Change[Pod]) -> None:
        if change.new is not None and _is_due(change.new, budgets):
            wake(key_of(change.new), change.initial)

    return changed


def _is_due(pod: Pod, budgets: Configured[DisruptionBudget]) -> bool:
    guards = budgets.of(pod.metadata.namespace)
    return bool(guards) and is_due(pod, guards)
