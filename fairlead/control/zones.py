"""The zone part: StatefulSets with a group label and the pods of their namespaces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import chain
from typing import TypeVar, cast

from structlog.types import FilteringBoundLogger

from fairlead.api.apps import STATEFULSETS, StatefulSet
from fairlead.api.core import PODS, Pod
from fairlead.api.meta import Resource
from fairlead.api.zones import GROUP_LABEL, Settings
from fairlead.control.gather import zones as gathering
from fairlead.control.part import Key, Part, Saying, Wake
from fairlead.control.troubles import Troubles
from fairlead.decide.ask import Answers
from fairlead.decide.decision import Decision, Hold
from fairlead.decide.zones import decide
from fairlead.decide.zones.course import moved_first
from fairlead.decide.zones.groups import group_of
from fairlead.decide.zones.seen import Snapshot
from fairlead.decide.zones.waits import waits_of
from fairlead.decide.zones.words import LOGGED, MOVED_FIRST, REASONS, WRITES
from fairlead.kube.client import Client
from fairlead.kube.informer import Change, Informer
from fairlead.kube.store import Named

N = TypeVar("N", bound=Named)


class _Watched:
    """The informers of one namespace, or of all of them."""

    def __init__(self, client: Client, namespace: str, log: FilteringBoundLogger) -> None:
        of_zones, of_pods = Troubles(STATEFULSETS, namespace, log), Troubles(PODS, namespace, log)
        self.zones = Informer(
            client,
            STATEFULSETS,
            StatefulSet,
            namespace=namespace,
            labels=GROUP_LABEL,
            indexes=gathering.STATEFULSET_INDEXES,
            trouble=of_zones.failed,
            restored=of_zones.restored,
        )
        self.pods = Informer(
            client,
            PODS,
            Pod,
            namespace=namespace,
            indexes=gathering.POD_INDEXES,
            trouble=of_pods.failed,
            restored=of_pods.restored,
        )


def zones(client: Client, namespaces: tuple[str, ...], settings: Settings, log: FilteringBoundLogger) -> Part[Snapshot]:
    """The part for these namespaces; none means all."""
    watched = {namespace: _Watched(client, namespace, log) for namespace in namespaces or ("",)}

    def of(key: Key) -> _Watched:
        return watched.get(key.namespace) or watched[""]

    def subscribe(wake: Wake) -> None:
        for each in watched.values():
            _subscribe(each, wake, log)

    def informers_of(key: Key) -> Mapping[Resource, Informer[Named]]:
        each = of(key)
        return {STATEFULSETS: _any(each.zones), PODS: _any(each.pods)}

    def rollouts() -> Iterable[Key]:
        return chain.from_iterable(gathering.all_groups(each.zones.store) for each in watched.values())

    def scopes(key: Key) -> Iterable[str]:
        return gathering.scopes(key, of(key).zones.store)

    def gather(key: Key, answers: Answers, since: Mapping[str, datetime]) -> Snapshot | None:
        each = of(key)
        return gathering.snapshot(key, each.zones.store, each.pods.store, settings, answers, since)

    return Part(
        name="zones",
        informers=tuple(_any(one) for each in watched.values() for one in (each.zones, each.pods)),
        subscribe=subscribe,
        watched=informers_of,
        scopes=scopes,
        rollouts=rollouts,
        gather=gather,
        versions=gathering.versions,
        decide=decide,
        say=_say,
        done={does: Saying(words.level, words.message) for does, words in WRITES.items()},
    )


def _any(informer: Informer[StatefulSet] | Informer[Pod]) -> Informer[Named]:
    """The engine only runs informers, asks them for lists and reads them; it never puts an object into one."""
    return cast("Informer[Named]", informer)


def _say(seen: Snapshot, decision: Decision) -> tuple[Saying, ...]:
    reason, group = decision.verdict.reason, group_of(seen)
    waits = "; ".join(wait.text for wait in waits_of(group, reason)) if isinstance(decision.verdict, Hold) else ""
    keys = {"reason": reason.word, "waiting_for": waits} if waits else {"reason": reason.word}
    words = REASONS[reason]
    first = moved_first(group) if decision.rule == "roll" else None
    return (
        Saying(words.level, words.message, keys),
        *((Saying(MOVED_FIRST.level, MOVED_FIRST.message, {"zone": first.name}),) if first is not None else ()),
        *(
            Saying(told.level, told.message, {"object": str(tell.about), "text": tell.text})
            for tell in decision.tell
            if (told := LOGGED.get(tell.reason))
        ),
    )


def _subscribe(watched: _Watched, wake: Wake, log: FilteringBoundLogger) -> None:
    def zone_changed(change: Change[StatefulSet]) -> None:
        _observed(change, log)
        for zone in _both(change.old, change.new):
            for key in gathering.group_of(zone):
                wake(key, change.initial)

    def pod_changed(change: Change[Pod]) -> None:
        # Only a pod that changed hands or labels concerns more groups than those of its newest state.
        moved = change.old and change.new and _belonging(change.old) != _belonging(change.new)
        for pod in _both(change.old, change.new) if moved or change.new is None else _both(change.new):
            for key in gathering.groups_of(pod, watched.zones.store):
                wake(key, change.initial)

    watched.zones.subscribe(zone_changed)
    watched.pods.subscribe(pod_changed)


def _belonging(pod: Pod) -> tuple[object, ...]:
    return pod.metadata.labels, pod.metadata.owner_references


def _observed(change: Change[StatefulSet], log: FilteringBoundLogger) -> None:
    """Debug records of what happens to StatefulSets; a change of their status alone is not worth one."""
    match change.old, change.new:
        case None, StatefulSet(metadata=metadata):
            log.debug("observed statefulset added", name=metadata.name, namespace=metadata.namespace)
        case StatefulSet(metadata=metadata), None:
            log.debug("observed statefulset deleted", name=metadata.name, namespace=metadata.namespace)
        case StatefulSet(metadata=before), StatefulSet(metadata=metadata) if before.generation != metadata.generation:
            log.debug("observed statefulset updated", name=metadata.name, generation=metadata.generation)


def _both(*sides: N | None) -> Iterator[N]:
    return (side for side in sides if side is not None)
