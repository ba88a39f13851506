"""The controller of unfinished preparations: every pod with a note, whether or not it belongs to a rollout.

One is woken when its note changes and looked at again when the note is overdue; without notes it costs a look at an
annotation per event.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fairlead.contracts.zones.decide.admission.unfinished_preparations import PreparationSnapshot, decide, is_noted
from fairlead.contracts.zones.kinds import PREPARING
from fairlead.contracts.zones.pod_rounds import PodRounds, key_of
from fairlead.contracts.zones.settings import Settings
from fairlead.core.act import Does
from fairlead.engine.controller import Controller, LogRecord, RolloutKey, Wake
from kubeloop.informer import Change, Informer
from kubeloop.objects.core import Pod

NAME = "unfinished-preparations"
DONE = {Does.NOTE_PREPARATION: LogRecord("debug", "preparation concluded")}


def unfinished(watched: Mapping[str, Informer[Pod]], settings: Settings) -> Controller[PreparationSnapshot]:
    """The controller on these informers, by namespace; that of all namespaces is under an empty name."""

    def subscribe(wake: Wake) -> None:
        def changed(change: Change[Pod]) -> None:
            new = change.new
            if new is not None and is_noted(new) and _note(new) != (change.old and _note(change.old)):
                wake(key_of(new), change.initial)

        for informer in watched.values():
            informer.subscribe(changed)

    def noted() -> Iterator[RolloutKey]:
        return (key_of(pod) for informer in watched.values() for pod in informer.store.items() if is_noted(pod))

    return PodRounds(watched).controller(
        NAME,
        decide,
        subscribe=subscribe,
        due=noted,
        gather=lambda pod, answers: PreparationSnapshot(pod, answers, settings),
        done=DONE,
    )


def _note(pod: Pod) -> str | None:
    return pod.metadata.annotations.get(PREPARING)
