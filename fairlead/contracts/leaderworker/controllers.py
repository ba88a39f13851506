"""The controllers of leaders and workers: rounds of sets and rounds of groups, on one set of informers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from fairlead.contracts.leaderworker import gather as gathering
from fairlead.contracts.leaderworker.decide import group_round, set_round
from fairlead.contracts.leaderworker.decide.seen import GroupSeen, ReportedStatus, SetSeen
from fairlead.contracts.leaderworker.explain import explain
from fairlead.contracts.leaderworker.gather import MEMBERS, Stores
from fairlead.contracts.leaderworker.group_decisions import GroupDecisions
from fairlead.contracts.leaderworker.kinds import (
    EVENT_SOURCE,
    GROUP_CONTROLLER,
    NOUN,
    PART,
    LeaderWorkerSet,
    Pod,
)
from fairlead.contracts.leaderworker.metrics import LeaderWorkerMetrics
from fairlead.contracts.leaderworker.node_watch import NodeWatch
from fairlead.contracts.leaderworker.settings import Settings
from fairlead.contracts.leaderworker.shown import Shown
from fairlead.contracts.leaderworker.watched import Watched, WatchedNamespace
from fairlead.contracts.leaderworker.words import REASONS, WRITES
from fairlead.core.act import AnyWrite, Does, Patch
from fairlead.core.ask import Answers, Bad
from fairlead.core.decision import Decision
from fairlead.core.explain import Explain
from fairlead.core.pod_trouble import is_failing
from fairlead.engine.controller import Controller, RolloutKey, Telling, Wake
from fairlead.engine.driver.applied import Applied
from fairlead.engine.log_records import done, said
from kubeloop import clock
from kubeloop.informer import Change, Informer
from kubeloop.store import Readable

SET_WRITES = frozenset(
    {
        Does.RECORD_REVISION,
        Does.RENEW_REVISION,
        Does.FORGET_REVISION,
        Does.APPLY_LEADERS,
        Does.REPLACE_LEADER,
        Does.CREATE_SERVICE,
        Does.REPORT_STATUS,
        Does.KEEP_DISRUPTION_BUDGET,
        Does.REMOVE_DISRUPTION_BUDGET,
    }
)
GROUP_WRITES = frozenset(
    {
        Does.CREATE_SERVICE,
        Does.CREATE_POD_GROUP,
        Does.CREATE_WORKERS,
        Does.REMOVE_WORKERS,
        Does.RECREATE_GROUP,
        Does.COUNT_RECREATION,
    }
)
TELLING = Telling(component=EVENT_SOURCE, joined=False)
"""Every note has its own Event, in its own words (section 2.15)."""


class _Reports:
    """What this process last wrote of the status of each set."""

    def __init__(self, measures: LeaderWorkerMetrics) -> None:
        self.last: dict[RolloutKey, ReportedStatus] = {}
        self._measures = measures

    def wrote(self, key: RolloutKey, writes: tuple[AnyWrite, ...]) -> None:
        self._measures.set_wrote(key, writes)
        for each in writes:
            if each.does is Does.REPORT_STATUS and isinstance(each, Patch):
                self.last[key] = ReportedStatus(clock.now(), each.body)

    def started(self, key: RolloutKey) -> None:
        self._measures.of_sets.started(key)

    def ended(self, key: RolloutKey, seconds: float, *, failed: bool, at: float) -> None:
        self._measures.of_sets.ended(key, seconds, failed=failed, at=at)

    def vanished(self, key: RolloutKey) -> None:
        self._measures.of_sets.vanished(key)
        self.last.pop(key, None)


def controllers(
    watched: Watched, nodes: NodeWatch, settings: Settings, measures: LeaderWorkerMetrics
) -> tuple[Controller[Any], ...]:
    return _of_sets(watched, settings, measures), _of_groups(watched, nodes, settings, measures)


def _of_sets(watched: Watched, settings: Settings, measures: LeaderWorkerMetrics) -> Controller[SetSeen]:
    reports, applied = _Reports(measures), Applied()

    def stores(key: RolloutKey) -> Stores:
        return watched.of(key.namespace).stores

    def gather(key: RolloutKey, answers: Answers) -> SetSeen | None:
        given = stores(key).sets.get(*key)
        as_left = {} if given is None else applied.of(given.metadata.uid, watched.informers_of(key))
        return gathering.set_snapshot(key, stores(key), settings, answers, reports.last.get(key), as_left)

    def subscribe(wake: Wake) -> None:
        for each in watched:
            _wake_sets(each, wake)

    return Controller(
        name=PART,
        noun=NOUN,
        informers=watched.informers,
        subscribe=subscribe,
        watched=watched.informers_of,
        scopes=lambda key: gathering.set_scopes(key, stores(key)),
        rollouts=watched.sets,
        gather=gather,
        versions=gathering.set_versions,
        decide=set_round.decide,
        guards=gathering.set_subject,
        say=lambda _seen, decision, _now: said(decision, REASONS),
        writes=SET_WRITES,
        done=done(SET_WRITES, WRITES),
        telling=TELLING,
        observe=measures.set_decided,
        wrote=reports.wrote,
        explain=_explained(lambda key: stores(key).pods, measures.decisions),
        observed=gathering.observed,
        optional=tuple(one for each in watched for one in each.optional),
        refuses=_is_said_by_the_server,
        watcher=reports,
        queue_watcher=measures.set_queue,
        applied=applied,
    )


def _of_groups(
    watched: Watched, nodes: NodeWatch, settings: Settings, measures: LeaderWorkerMetrics
) -> Controller[GroupSeen]:
    def gather(key: RolloutKey, answers: Answers) -> GroupSeen | None:
        each = watched.of(key.namespace)
        found = gathering.group_snapshot(key, each.stores, each.gone, settings, answers)
        if found is None:
            nodes.forget(key)
        return found

    def observe(key: RolloutKey, seen: GroupSeen, decision: Decision, now: datetime) -> None:
        measures.group_decided(key, seen, decision, now)
        nodes.decided(key, seen, decision)

    wakes: list[Wake] = []

    def handled(seen: GroupSeen, _: Decision) -> None:
        for each in watched:
            each.gone.forget(seen.gone)
        if not seen.pods:  # no change of the group comes any more: one more round forgets what is remembered of it
            for key in dict.fromkeys(filter(None, map(gathering.group_of, seen.gone))):
                for wake in wakes:
                    wake(key, False)

    def subscribe(wake: Wake) -> None:
        wakes.append(wake)
        for each in watched:
            _wake_groups(each, wake)
        nodes.subscribe(wake)

    return Controller(
        name=GROUP_CONTROLLER,
        kind="group",
        informers=watched.informers,
        subscribe=subscribe,
        watched=watched.informers_of,
        scopes=lambda key: gathering.group_scopes(key, watched.of(key.namespace).stores),
        rollouts=watched.groups,
        gather=gather,
        versions=gathering.group_versions,
        decide=group_round.decide,
        guards=gathering.group_subject,
        say=lambda _seen, decision, _now: said(decision, REASONS),
        writes=GROUP_WRITES,
        done=done(GROUP_WRITES, WRITES),
        handled=handled,
        telling=TELLING,
        observe=observe,
        wrote=measures.group_wrote,
        refuses=_is_said_by_the_server,
        watcher=measures.of_groups,
        queue_watcher=measures.group_queue,
    )


def _is_said_by_the_server(bad: Bad) -> bool:
    """One that cannot be reached, or asks for patience, says nothing about what was sent: it is sent again soon."""
    return bad.code != 0 and bad.kind != "limited"


def _explained(
    pods_of: Callable[[RolloutKey], Readable[Pod]], decisions: GroupDecisions
) -> Callable[[SetSeen, Decision, datetime], Explain]:
    """With the pods as they are when somebody looks: rounds of a set see its leaders alone."""

    def explained(seen: SetSeen, decision: Decision, _: datetime) -> Explain:
        given = seen.set.metadata
        key = RolloutKey((given.namespace, given.name))
        pods = pods_of(key).by(MEMBERS, str(key))
        rounds, since = decisions.of(given.namespace, [each.metadata.name for each in seen.pods])
        return explain(Shown(seen=seen, decision=decision, pods=pods, rounds=rounds, since=since, at=clock.now()))

    return explained


def _fails(pod: Pod | None) -> bool:
    return pod is not None and is_failing(pod)


def _newest(change: Change[Any]) -> Any:
    return change.new if change.new is not None else change.old


def _wake_sets(watched: WatchedNamespace, wake: Wake) -> None:
    """Section 3.1 point 1; leader pods too, because groups are ready by what their pods say.

    Of workers their StatefulSet tells what counts; that one cannot be brought up, only the pod itself.
    """

    def set_changed(change: Change[LeaderWorkerSet]) -> None:
        meta = _newest(change).metadata
        wake(RolloutKey((meta.namespace, meta.name)), change.initial)

    def made_changed(change: Change[Any]) -> None:
        if (key := gathering.set_of(_newest(change))) is not None:
            wake(key, change.initial)

    def pod_changed(change: Change[Pod]) -> None:
        if gathering.is_leader(_newest(change)) or _fails(change.old) != _fails(change.new):
            made_changed(change)

    watched.sets.subscribe(set_changed)
    watched.pods.subscribe(pod_changed)
    made: tuple[Informer[Any], ...] = (watched.statefulsets, watched.revisions, watched.services, *watched.optional)
    for each in made:
        each.subscribe(made_changed)


def _wake_groups(watched: WatchedNamespace, wake: Wake) -> None:
    """Section 3.1 point 2; a set that changes concerns all its groups, and so does what is made for all of them."""

    def pod_changed(change: Change[Pod]) -> None:
        if (key := gathering.group_of(_newest(change))) is not None:
            wake(key, change.initial)

    def named_alike(change: Change[Any]) -> None:
        meta = _newest(change).metadata
        if watched.pods.store.get(meta.namespace, meta.name) is not None:
            wake(RolloutKey((meta.namespace, meta.name)), change.initial)

    def all_of(key: RolloutKey | None, initial: bool) -> None:
        for pod in watched.pods.store.by(gathering.SET, str(key)) if key is not None else ():
            wake(RolloutKey((pod.metadata.namespace, pod.metadata.name)), initial)

    def set_changed(change: Change[LeaderWorkerSet]) -> None:
        meta = _newest(change).metadata
        old, new = change.old, change.new
        same = old is not None and new is not None and old.spec == new.spec
        if not same or (old and new and old.metadata.annotations != new.metadata.annotations):
            all_of(RolloutKey((meta.namespace, meta.name)), change.initial)

    def came(change: Change[Any]) -> None:
        if change.old is None and change.new is not None:
            all_of(gathering.set_of_all_groups(change.new), change.initial)

    watched.pods.subscribe(pod_changed)
    watched.statefulsets.subscribe(named_alike)
    watched.statefulsets.subscribe(came)
    watched.services.subscribe(named_alike)
    watched.sets.subscribe(set_changed)
    watched.revisions.subscribe(came)
