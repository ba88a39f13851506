"""The controller of unfinished preparations: every pod with a note, whether or not it belongs to a rollout.

One is woken when its note changes and looked at again when the note is overdue; without notes it costs a look at an
annotation per event.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import cast

from fairlead.contracts.zones.decide.admission.unfinished_preparations import PreparationSnapshot, decide, is_noted
from fairlead.contracts.zones.kinds import PREPARING
from fairlead.contracts.zones.settings import Settings
from fairlead.core.act import Does
from fairlead.core.ask import Answers
from fairlead.core.decision import Decision
from fairlead.engine.controller import Controller, LogRecord, RolloutKey, Wake
from kubeloop.informer import Change, Informer
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import Resource
from kubeloop.store import Named

NAME = "unfinished-preparations"
MAY_WRITE = frozenset({Does.NOTE_PREPARATION})
DONE = {Does.NOTE_PREPARATION: LogRecord("debug", "preparation concluded")}

Watched = Mapping[str, Informer[Pod]]


def unfinished(watched: Watched, settings: Settings) -> Controller[PreparationSnapshot]:
    """The controller on these informers, by namespace; that of all namespaces is under an empty name."""
    pods = _Pods(watched, settings)
    return Controller(
        name=NAME,
        informers=(),
        subscribe=pods.subscribe,
        watched=pods.informers_of,
        scopes=pods.scopes,
        rollouts=pods.noted,
        gather=pods.gather,
        versions=lambda seen: (f"{seen.pod.metadata.uid}@{seen.pod.metadata.resource_version}",),
        decide=decide,
        say=_nothing,
        writes=MAY_WRITE,
        done=DONE,
        background=True,
    )


class _Pods:
    def __init__(self, watched: Watched, settings: Settings) -> None:
        self._watched = watched
        self._settings = settings

    def subscribe(self, wake: Wake) -> None:
        def changed(change: Change[Pod]) -> None:
            new = change.new
            if new is not None and is_noted(new) and _note(new) != (change.old and _note(change.old)):
                wake(_key(new), change.initial)

        for informer in self._watched.values():
            informer.subscribe(changed)

    def noted(self) -> Iterator[RolloutKey]:
        return (_key(pod) for informer in self._watched.values() for pod in informer.store.items() if is_noted(pod))

    def informers_of(self, key: RolloutKey) -> Mapping[Resource, Informer[Named]]:
        return {PODS: cast("Informer[Named]", self._of(key))}

    def gather(self, key: RolloutKey, answers: Answers) -> PreparationSnapshot | None:
        pod = self._of(key).store.get(*key)
        return None if pod is None else PreparationSnapshot(pod, answers, self._settings)

    def scopes(self, key: RolloutKey) -> Iterable[str]:
        pod = self._of(key).store.get(*key)
        return () if pod is None else (pod.metadata.uid,)

    def _of(self, key: RolloutKey) -> Informer[Pod]:
        return self._watched.get(key.namespace) or self._watched[""]


def _note(pod: Pod) -> str | None:
    return pod.metadata.annotations.get(PREPARING)


def _key(pod: Pod) -> RolloutKey:
    return RolloutKey((pod.metadata.namespace, pod.metadata.name))


def _nothing(seen: PreparationSnapshot, decision: Decision, now: datetime) -> tuple[LogRecord, ...]:
    return ()
