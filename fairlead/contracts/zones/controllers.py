"""The controllers of zones: StatefulSets with a group label and the pods of their namespaces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import chain
from typing import TypeVar, cast

from structlog.types import FilteringBoundLogger

from fairlead.contracts.zones import gather as gathering
from fairlead.contracts.zones.configured_objects import BUDGETS, CHECKS, Configured
from fairlead.contracts.zones.decide import decide
from fairlead.contracts.zones.decide.admission.spacing import rests_on_label
from fairlead.contracts.zones.decide.budgets.own_evictions import own_evictions
from fairlead.contracts.zones.decide.budgets.zpdb import DisruptionBudget
from fairlead.contracts.zones.decide.groups import group_of
from fairlead.contracts.zones.decide.rollout.zone_order import moved_first
from fairlead.contracts.zones.decide.seen import Snapshot
from fairlead.contracts.zones.decide.waits import waits_of
from fairlead.contracts.zones.explain import explain
from fairlead.contracts.zones.kinds import GROUP_LABEL, MIN_TIME, NOUN, PART, POD_ANNOTATIONS
from fairlead.contracts.zones.metrics import GroupSeries, ZoneMetrics
from fairlead.contracts.zones.progress_metrics import standings_of
from fairlead.contracts.zones.ready_time_controller import stamping
from fairlead.contracts.zones.settings import Settings
from fairlead.contracts.zones.unfinished_controller import unfinished
from fairlead.contracts.zones.webhooks import CacheLookups, endpoints
from fairlead.contracts.zones.words import IMPOSSIBLE, LOGGED, MOVED_FIRST, REASONS, WRITES
from fairlead.core.act import Does
from fairlead.core.ask import Answers
from fairlead.core.decision import Decision, Hold, SideNote
from fairlead.engine.controller import Controller, LogRecord, RolloutKey, Wake
from fairlead.engine.part import Part
from kubeloop.caches import Caches
from kubeloop.informer import Change, Informer
from kubeloop.objects.apps import STATEFULSETS, StatefulSet
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import Resource
from kubeloop.store import Named

N = TypeVar("N", bound=Named)

MAY_WRITE = frozenset(
    {Does.TERMINATE_POD, Does.COMPLETE_REVISION, Does.SCALE, Does.STAMP_HEALTH_CHECK, Does.REPORT_REPLICAS}
)


class _Watched:
    """The informers of one namespace, or of all of them."""

    def __init__(self, caches: Caches, namespace: str, log: FilteringBoundLogger, metrics: ZoneMetrics) -> None:
        indexes = gathering.STATEFULSET_INDEXES
        self.zones = caches.informer(
            STATEFULSETS, StatefulSet, namespace=namespace, labels=GROUP_LABEL, indexes=indexes
        )
        self.pods = caches.informer(
            PODS, Pod, namespace=namespace, indexes=gathering.POD_INDEXES, annotations=POD_ANNOTATIONS
        )
        self.budgets = Configured(BUDGETS, caches, namespace, log, metrics.observed_configuration)
        self.checks = Configured(CHECKS, caches, namespace, log, metrics.observed_health_check)


def zones(
    caches: Caches, namespaces: tuple[str, ...], settings: Settings, metrics: ZoneMetrics, log: FilteringBoundLogger
) -> Part:
    """The part for these namespaces; none means all."""
    watched = {namespace: _Watched(caches, namespace, log, metrics) for namespace in namespaces or ("",)}

    def of(key: RolloutKey) -> _Watched:
        return watched.get(key.namespace) or watched[""]

    def subscribe(wake: Wake) -> None:
        labels = _Labels(log)
        for each in watched.values():
            _subscribe(each, wake, log)
            each.zones.subscribe(labels.observed)

    def informers_of(key: RolloutKey) -> Mapping[Resource, Informer[Named]]:
        each = of(key)
        return {STATEFULSETS: _any(each.zones), PODS: _any(each.pods)}

    def rollouts() -> Iterable[RolloutKey]:
        return chain.from_iterable(gathering.all_groups(each.zones.store) for each in watched.values())

    def scopes(key: RolloutKey) -> Iterable[str]:
        return gathering.scopes(key, of(key).zones.store)

    def gather(key: RolloutKey, answers: Answers) -> Snapshot | None:
        each = of(key)
        budgets, checks = each.budgets.of(key.namespace), each.checks.of(key.namespace)
        return gathering.snapshot(key, each.zones.store, each.pods.store, settings, answers, {}, budgets, checks)

    def observe(key: RolloutKey, seen: Snapshot, decision: Decision, now: datetime) -> None:
        metrics.progress.passed(key, standings_of(seen, now))
        for reason, status in own_evictions(seen, now) if decision.rule == "roll" else ():
            metrics.evictions.labels(reason, str(status)).inc()

    controller = Controller(
        name=PART,
        noun=NOUN,
        informers=tuple(_any(one) for each in watched.values() for one in (each.zones, each.pods)),
        subscribe=subscribe,
        watched=informers_of,
        scopes=scopes,
        rollouts=rollouts,
        gather=gather,
        versions=gathering.versions,
        decide=decide,
        say=_say,
        writes=MAY_WRITE,
        done={does: LogRecord(words.level, words.message) for does, words in WRITES.items()},
        observe=observe,
        explain=explain,
        observed=gathering.observed,
        watcher=GroupSeries(metrics),
        optional=tuple(one for each in watched.values() for one in (each.budgets.informer, each.checks.informer)),
    )
    return Part(
        name=PART,
        controllers=(
            controller,
            stamping({name: (each.pods, each.budgets) for name, each in watched.items()}, settings),
            unfinished({name: each.pods for name, each in watched.items()}, settings),
        ),
        endpoints=endpoints(settings, _caches(watched), metrics),
        leads=metrics.leads,
        counts=metrics.counts,
    )


def _caches(watched: Mapping[str, _Watched]) -> CacheLookups:
    """What webhooks see; of a namespace that is not watched, nothing is cached and no budget is in force."""

    def guards(namespace: str) -> tuple[DisruptionBudget, ...] | None:
        each = watched.get(namespace) or watched.get("")
        return () if each is None else each.budgets.known_of(namespace)

    def pod(namespace: str, name: str) -> Pod | None:
        each = watched.get(namespace) or watched.get("")
        return None if each is None or each.pods.is_outdated else each.pods.store.get(namespace, name)

    def zones(namespace: str) -> tuple[StatefulSet, ...]:
        each = watched.get(namespace) or watched.get("")
        items = () if each is None else each.zones.store.items()
        return tuple(zone for zone in items if zone.metadata.namespace == namespace)

    return CacheLookups(guards, pod, zones)


def _any(informer: Informer[StatefulSet] | Informer[Pod]) -> Informer[Named]:
    """The engine only runs informers, asks them for lists and reads them; it never puts an object into one."""
    return cast("Informer[Named]", informer)


def _say(seen: Snapshot, decision: Decision, now: datetime) -> tuple[LogRecord, ...]:
    reason, group = decision.verdict.reason, group_of(seen, now)
    held = waits_of(group, decision.verdict) if isinstance(decision.verdict, Hold) else ()
    waits = "; ".join(wait.text for wait in held)
    keys = {"reason": reason.word, "waiting_for": waits} if waits else {"reason": reason.word}
    words = REASONS[reason]
    first = moved_first(group) if decision.rule == "roll" else None
    beside = {aside.text for aside in decision.asides}
    return (
        LogRecord(words.level, words.message, keys),
        *((LogRecord(MOVED_FIRST.level, MOVED_FIRST.message, {"zone": first.name}),) if first is not None else ()),
        *(
            LogRecord(told.level, told.message, {"object": str(tell.about), "text": tell.text})
            for tell in decision.tell
            if (told := LOGGED.get(tell.reason)) and tell.text not in beside
        ),
        *map(_said_beside, decision.asides),
    )


def _said_beside(aside: SideNote) -> LogRecord:
    """A scaling error is said in every pass, as the contract wants it (rule 22, E-14)."""
    words, reason = REASONS[aside.reason], aside.reason.word
    keys = {"reason": reason, "object": str(aside.about), "text": aside.text}
    return LogRecord(words.level, words.message, keys, repeated=words.message == IMPOSSIBLE)


def _subscribe(watched: _Watched, wake: Wake, log: FilteringBoundLogger) -> None:
    """Rule 4: what has a group looked at."""

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

    def rules_changed(namespace: str, initial: bool) -> None:
        for key in gathering.all_groups(watched.zones.store):
            if key.namespace == namespace:
                wake(key, initial)

    watched.zones.subscribe(zone_changed)
    watched.pods.subscribe(pod_changed)
    watched.budgets.subscribe(rules_changed)
    watched.checks.subscribe(rules_changed)


class _Labels:
    """U-2: warns once in the life of the process that the minimum between downscales still stands in a label."""

    def __init__(self, log: FilteringBoundLogger) -> None:
        self._log = log
        self._warned = False

    def observed(self, change: Change[StatefulSet]) -> None:
        if self._warned or change.new is None or not rests_on_label(change.new):
            return
        self._warned = True
        metadata = change.new.metadata
        self._log.warning("deprecated label", label=MIN_TIME, name=metadata.name, use="an annotation of the same key")


def _belonging(pod: Pod) -> tuple[object, ...]:
    return pod.metadata.labels, pod.metadata.owner_references


def _observed(change: Change[StatefulSet], log: FilteringBoundLogger) -> None:
    """B-7: debug records of what happens to StatefulSets; a change of their status alone is not worth one."""
    match change.old, change.new:
        case None, StatefulSet(metadata=metadata):
            log.debug("observed statefulset added", name=metadata.name, namespace=metadata.namespace)
        case StatefulSet(metadata=metadata), None:
            log.debug("observed statefulset deleted", name=metadata.name, namespace=metadata.namespace)
        case StatefulSet(metadata=before), StatefulSet(metadata=metadata) if before.generation != metadata.generation:
            log.debug("observed statefulset updated", name=metadata.name, generation=metadata.generation)


def _both(*sides: N | None) -> Iterator[N]:
    return (side for side in sides if side is not None)
