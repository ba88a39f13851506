"""The controller of phased Deployments: those that a gate holds, and what they wait for.

At rest it costs the watch of Deployments; a pod event costs a look at the Deployments that are held in its namespace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import cast

from msgspec import structs

from fairlead.contracts.zones.decide.admission import review_reading
from fairlead.contracts.zones.decide.phased import phased_admission
from fairlead.contracts.zones.decide.phased.phased_rollout import (
    PhasedSnapshot,
    decide,
    depends_on,
    holding,
    is_pod_of,
    reference,
)
from fairlead.contracts.zones.settings import Settings
from fairlead.core.act import Does
from fairlead.core.ask import Answers
from fairlead.core.decision import Decision, Hold
from fairlead.engine.controller import BackOff, Controller, LogRecord, RolloutKey, Wake
from fairlead.engine.part import Part
from fairlead.engine.webhooks.admission import WebhookEndpoint
from kubeloop.caches import Caches
from kubeloop.informer import Change, Informer
from kubeloop.objects.apps import DEPLOYMENTS, Deployment
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import Resource
from kubeloop.objects.review import Review
from kubeloop.store import Named

NAME = "phased-deployments"
PATH = "/admission/phased-deployment"
MAY_WRITE = frozenset({Does.RELEASE_DEPLOYMENT, Does.BLOCK_DEPLOYMENT})
DONE = {
    Does.RELEASE_DEPLOYMENT: LogRecord("info", "deployment released"),
    Does.BLOCK_DEPLOYMENT: LogRecord("warn", "deployment blocked"),
}
_HELD = "held"


def _held(deployment: Deployment) -> Iterator[str]:
    if holding(deployment) is not None:
        yield deployment.metadata.namespace


DEPLOYMENT_INDEXES = {_HELD: _held}

Watched = tuple[Informer[Deployment], Informer[Pod]]


def endpoint(settings: Settings) -> WebhookEndpoint[review_reading.ReviewSnapshot]:
    def seen(review: Review, answers: Answers) -> review_reading.ReviewSnapshot:
        return review_reading.ReviewSnapshot(review, answers, settings)

    return WebhookEndpoint(
        "phased-deployment", (PATH,), phased_admission.judge, seen, review_reading.log_keys, settings.request_timeout
    )


BACK_OFF = BackOff(5.0, 30.0)
"""People wait for a Deployment whose gate is open, however long its release was refused."""


def with_phased(part: Part, caches: Caches, namespaces: tuple[str, ...], settings: Settings) -> Part:
    """A part with phased Deployments beside what it has; no namespace means all."""
    first, *others = part.controllers
    watched: dict[str, Watched] = {
        namespace: (
            caches.informer(DEPLOYMENTS, Deployment, namespace=namespace, indexes=DEPLOYMENT_INDEXES),
            caches.informer(PODS, Pod, namespace=namespace, annotations=frozenset()),
        )
        for namespace in namespaces or ("",)
    }
    of_deployments = (cast("Informer[Named]", deployments) for deployments, _ in watched.values())
    return structs.replace(
        part,
        controllers=(
            structs.replace(first, informers=(*first.informers, *of_deployments)),
            *others,
            phased(watched),
        ),
        endpoints=(*part.endpoints, endpoint(settings)),
    )


def phased(watched: Mapping[str, Watched]) -> Controller[PhasedSnapshot]:
    """The controller on these informers, by namespace; those of all namespaces are under an empty name."""
    deployments = _Deployments(watched)
    return Controller(
        name=NAME,
        informers=(),
        subscribe=deployments.subscribe,
        watched=deployments.informers_of,
        scopes=deployments.scopes,
        rollouts=deployments.held,
        gather=deployments.gather,
        versions=_versions,
        decide=decide,
        say=_say,
        writes=MAY_WRITE,
        done=DONE,
        rolled=lambda seen, _: reference(seen.deployment),
        background=True,
        back_off=BACK_OFF,
    )


class _Deployments:
    def __init__(self, watched: Mapping[str, Watched]) -> None:
        self._watched = watched

    def subscribe(self, wake: Wake) -> None:
        for deployments, pods in self._watched.values():
            _subscribe(deployments, pods, wake)

    def held(self) -> Iterator[RolloutKey]:
        for deployments, _ in self._watched.values():
            for deployment in deployments.store.items():
                if holding(deployment) is not None:
                    yield _key(deployment)

    def informers_of(self, key: RolloutKey) -> Mapping[Resource, Informer[Named]]:
        deployments, pods = self._of(key)
        return {DEPLOYMENTS: cast("Informer[Named]", deployments), PODS: cast("Informer[Named]", pods)}

    def scopes(self, key: RolloutKey) -> Iterable[str]:
        deployment = self._of(key)[0].store.get(*key)
        return () if deployment is None else (deployment.metadata.uid,)

    def gather(self, key: RolloutKey, answers: Answers) -> PhasedSnapshot | None:
        deployments, pods = self._of(key)
        deployment = deployments.store.get(*key)
        if deployment is None or holding(deployment) is None:
            return None
        chain = tuple(_chain(deployment, deployments))
        of_first = (pod for pod in pods.store.items() if chain and is_pod_of(chain[0], pod))
        return PhasedSnapshot(deployment, chain, tuple(of_first))

    def _of(self, key: RolloutKey) -> Watched:
        return self._watched.get(key.namespace) or self._watched[""]


def _chain(first: Deployment, deployments: Informer[Deployment]) -> Iterator[Deployment]:
    met = {first.metadata.name}
    name = depends_on(first)
    while name not in met and (found := deployments.store.get(first.metadata.namespace, name)) is not None:
        yield found
        met.add(name)
        name = depends_on(found)


def _subscribe(deployments: Informer[Deployment], pods: Informer[Pod], wake: Wake) -> None:
    def changed(change: Change[Deployment]) -> None:
        newest = change.new or change.old
        assert newest is not None, "a change has a side"  # noqa: S101
        name = newest.metadata.name
        if any(side is not None and holding(side) is not None for side in (change.old, change.new)):
            wake(_key(newest), change.initial)
        for other in deployments.store.by(_HELD, newest.metadata.namespace):
            if depends_on(other) == name:
                wake(_key(other), change.initial)

    def pod_changed(change: Change[Pod]) -> None:
        pod = change.new or change.old
        assert pod is not None, "a change has a side"  # noqa: S101
        for other in deployments.store.by(_HELD, pod.metadata.namespace):
            dependency = deployments.store.get(pod.metadata.namespace, depends_on(other))
            if dependency is not None and is_pod_of(dependency, pod):
                wake(_key(other), change.initial)

    deployments.subscribe(changed)
    pods.subscribe(pod_changed)


def _key(deployment: Deployment) -> RolloutKey:
    return RolloutKey((deployment.metadata.namespace, deployment.metadata.name))


def _versions(seen: PhasedSnapshot) -> Iterator[str]:
    shown: tuple[Named, ...] = (seen.deployment, *seen.chain, *seen.pods)
    return (f"{item.metadata.uid}@{item.metadata.resource_version}" for item in shown)


def _say(seen: PhasedSnapshot, decision: Decision, now: datetime) -> tuple[LogRecord, ...]:
    """Waits, when they change; what is done, the audit says."""
    if not isinstance(decision.verdict, Hold) or not decision.verdict.details:
        return ()
    text = "; ".join(text for _, text in decision.verdict.details)
    level = "warn" if any(tell.warning for tell in decision.tell) else "info"
    return (LogRecord(level, "deployment held", {"reason": decision.verdict.reason.word, "waiting_for": text}),)
