"""What controllers whose rounds are about one pod each have in common: whether or not it belongs to a rollout."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import inf
from typing import Protocol, TypeVar, cast

from fairlead.core.act import Does
from fairlead.core.ask import Answers
from fairlead.core.decision import Decide
from fairlead.engine.controller import Controller, LogRecord, RolloutKey, Wake
from kubeloop.informer import Informer
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import Resource
from kubeloop.store import Named


class OfPod(Protocol):
    """A Snapshot about one pod."""

    @property
    def pod(self) -> Pod: ...


P = TypeVar("P", bound=OfPod)


class PodRounds:
    """The pods of these informers, by namespace; that of all namespaces is under an empty name."""

    def __init__(self, informers: Mapping[str, Informer[Pod]]) -> None:
        self._informers = informers

    def controller(
        self,
        name: str,
        decide: Decide[P],
        *,
        subscribe: Callable[[Wake], None],
        due: Callable[[], Iterable[RolloutKey]],
        gather: Callable[[Pod, Answers], P],
        done: Mapping[Does, LogRecord],
        write_timeout: float = inf,
    ) -> Controller[P]:
        """In the background; `due` are the pods that there is something to decide about."""

        def gathered(key: RolloutKey, answers: Answers) -> P | None:
            pod = self._pod(key)
            return None if pod is None else gather(pod, answers)

        return Controller(
            name=name,
            informers=(),
            subscribe=subscribe,
            watched=self._watched,
            scopes=self._scopes,
            rollouts=due,
            gather=gathered,
            versions=lambda seen: (f"{seen.pod.metadata.uid}@{seen.pod.metadata.resource_version}",),
            decide=decide,
            say=lambda *_: (),
            writes=frozenset(done),
            done=done,
            background=True,
            write_timeout=write_timeout,
        )

    def _of(self, key: RolloutKey) -> Informer[Pod]:
        return self._informers.get(key.namespace) or self._informers[""]

    def _pod(self, key: RolloutKey) -> Pod | None:
        return self._of(key).store.get(*key)

    def _watched(self, key: RolloutKey) -> Mapping[Resource, Informer[Named]]:
        return {PODS: cast("Informer[Named]", self._of(key))}

    def _scopes(self, key: RolloutKey) -> Iterable[str]:
        pod = self._pod(key)
        return () if pod is None else (pod.metadata.uid,)


def key_of(pod: Pod) -> RolloutKey:
    return RolloutKey((pod.metadata.namespace, pod.metadata.name))
