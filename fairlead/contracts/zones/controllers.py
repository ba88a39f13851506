"""The controller of zones: StatefulSets with a group label and the pods of their namespaces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import chain
from typing import cast

from structlog.types import FilteringBoundLogger

from fairlead.contracts.zones import gather as gathering
from fairlead.contracts.zones.decide import decide
from fairlead.contracts.zones.decide.budgets.own_evictions import own_evictions
from fairlead.contracts.zones.decide.groups import group_of
from fairlead.contracts.zones.decide.rollout.zone_order import moved_first
from fairlead.contracts.zones.decide.seen import Snapshot
from fairlead.contracts.zones.decide.waits import waits_of
from fairlead.contracts.zones.explain import explain
from fairlead.contracts.zones.kinds import NOUN, PART
from fairlead.contracts.zones.metrics import GroupSeries, ZoneMetrics
from fairlead.contracts.zones.progress_metrics import standings_of
from fairlead.contracts.zones.settings import Settings
from fairlead.contracts.zones.watched import DeprecatedLabels, WatchedZones, wake_groups
from fairlead.contracts.zones.words import IMPOSSIBLE, LOGGED, MOVED_FIRST, REASONS, WRITES
from fairlead.core.act import Does
from fairlead.core.ask import Answers
from fairlead.core.decision import Decision, Hold, SideNote
from fairlead.engine.controller import Controller, LogRecord, RolloutKey, Wake
from kubeloop.informer import Informer
from kubeloop.objects.apps import STATEFULSETS, StatefulSet
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import Resource
from kubeloop.store import Named

MAY_WRITE = frozenset(
    {Does.TERMINATE_POD, Does.COMPLETE_REVISION, Does.SCALE, Does.STAMP_HEALTH_CHECK, Does.REPORT_REPLICAS}
)


def controller(
    watched: Mapping[str, WatchedZones], settings: Settings, metrics: ZoneMetrics, log: FilteringBoundLogger
) -> Controller[Snapshot]:
    """The controller on these informers, by namespace; those of all namespaces are under an empty name."""

    def of(key: RolloutKey) -> WatchedZones:
        return watched.get(key.namespace) or watched[""]

    def subscribe(wake: Wake) -> None:
        labels = DeprecatedLabels(log)
        for each in watched.values():
            wake_groups(each, wake, log)
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

    return Controller(
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
        rolled=gathering.zone_ref,
        watcher=GroupSeries(metrics),
        optional=tuple(one for each in watched.values() for one in (each.budgets.informer, each.checks.informer)),
    )


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
