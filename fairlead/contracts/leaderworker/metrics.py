"""The metrics of sets (section 6.5), beside the families that upstream's users know (section 2.13)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from fairlead.contracts.leaderworker.decide.blocked_groups import blocking
from fairlead.contracts.leaderworker.decide.groups import are_ready, is_running_and_ready, key_on
from fairlead.contracts.leaderworker.decide.restart_policy import is_restarted
from fairlead.contracts.leaderworker.decide.revisions import Kept, Sameness, is_owned, readable, selection
from fairlead.contracts.leaderworker.decide.seen import GroupSeen, SetSeen
from fairlead.contracts.leaderworker.decide.status import UPDATE_IN_PROGRESS
from fairlead.contracts.leaderworker.group_decisions import GroupDecisions
from fairlead.contracts.leaderworker.kinds import LEASE, PART, SIZE
from fairlead.contracts.leaderworker.webhooks import EVICTION, JUDGES
from fairlead.core.act import AnyWrite, Does
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.reason import Reason
from fairlead.engine.controller import RolloutKey
from fairlead.engine.controller_runtime_metrics import ControllerRuntimeMetrics, PassSeries
from fairlead.engine.metrics import Metrics

SETS, GROUPS, DISAGGREGATED = "leaderworkerset", "pod", "disaggregatedset"
"""The controllers as upstream names them."""
ROLLOUT_BUCKETS = (1, 5, 10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 86400)
READY_BUCKETS = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600)
RESTARTED, DELETED = "PodRestarted", "PodDeleted"
"""Why groups are recreated."""


class SetProgress(Struct, frozen=True):
    """One set after a pass."""

    ready: int
    updated: int
    desired: int
    surge: int
    revisions: int
    is_blocked: bool


class _Standings(Collector):
    def __init__(self) -> None:
        self.standings: dict[RolloutKey, SetProgress] = {}

    def collect(self) -> Iterator[Metric]:
        labels = ("namespace", "name")
        groups = GaugeMetricFamily("fairlead_lws_groups", "Groups of a set by state.", labels=(*labels, "state"))
        revisions = GaugeMetricFamily("fairlead_lws_revisions", "Revisions that are kept of a set.", labels=labels)
        blocked = GaugeMetricFamily(
            "fairlead_lws_rollout_blocked", "Whether a set cannot go on until somebody acts.", labels=labels
        )
        for key, each in self.standings.items():
            for state in ("ready", "updated", "desired", "surge"):
                groups.add_metric((*key, state), getattr(each, state))
            revisions.add_metric(tuple(key), each.revisions)
            blocked.add_metric(tuple(key), int(each.is_blocked))
        yield from (groups, revisions, blocked)


class LeaderWorkerMetrics:
    """Of rounds of sets and groups, and what is known of groups between them."""

    def __init__(self, metrics: Metrics) -> None:
        families, registry = metrics.families, metrics.registry
        self.decisions = GroupDecisions()
        self._runtime = runtime = metrics.of(ControllerRuntimeMetrics)
        runtime.webhooks(frozenset((*JUDGES, EVICTION)))
        runtime.lead(LEASE, False)
        self.of_sets = _SetPasses(runtime, self)
        self.of_groups = _GroupPasses(runtime, self)
        self.of_disaggregated = runtime.passes(DISAGGREGATED)
        self.set_queue, self.group_queue = runtime.queue(SETS), runtime.queue(GROUPS)
        self.disaggregated_queue = runtime.queue(DISAGGREGATED)
        self.durations = families.histogram(
            "fairlead_lws_rollout_duration_seconds",
            "Duration of an update, from its begin until all groups are ready at the new revision.",
            buckets=ROLLOUT_BUCKETS,
        )
        self.recreations = families.counter(
            "fairlead_lws_group_recreations",
            "Groups that were recreated, by what happened to a pod.",
            "namespace",
            "name",
            "reason",
        )
        self.ready_seconds = families.histogram(
            "fairlead_lws_group_ready_seconds",
            "How long groups took to become ready, from the creation of the leader.",
            buckets=READY_BUCKETS,
        )
        self.equal = families.counter(
            "fairlead_lws_semantic_equal",
            "Generations of sets that were found to change nothing, by how that was found.",
            "path",
        )
        for path in Sameness:
            self.equal.labels(path.value)
        self._standings = _Standings()
        registry.register(self._standings)
        self._compared: dict[RolloutKey, tuple[str, int, str]] = {}
        """UID, generation and key of which the comparison was counted."""
        self._ending: dict[RolloutKey, float] = {}
        """Seconds that an update took which the status says is over once it is written."""
        self._recreating: dict[RolloutKey, tuple[str, str]] = {}
        """The set, and why, of a group that is to be recreated."""
        self._awaited: dict[RolloutKey, str] = {}
        """UID of the leader of a group that was seen not ready."""
        self._blocked = metrics.blocked
        self._waiting: dict[RolloutKey, SetSeen] = {}
        """What was last seen of sets that wait for their groups."""

    def leads(self, leading: bool) -> None:
        """Rounds begin or end here: what other replicas see to is not told of here."""
        self._runtime.lead(LEASE, leading)
        if not leading:
            self.decisions.clear()
            of_groups = (self._recreating, self._awaited)
            for held in (self._standings.standings, self._compared, self._ending, self._waiting, *of_groups):
                held.clear()

    def set_decided(self, key: RolloutKey, seen: SetSeen, decision: Decision, now: datetime) -> None:
        given, status = seen.set, seen.set.status
        self._standings.standings[key] = SetProgress(
            ready=status.ready_replicas,
            updated=status.updated_replicas,
            desired=given.spec.replicas,
            surge=max(0, status.replicas - given.spec.replicas),
            revisions=sum(is_owned(each, given) for each in readable(given, seen.revisions)),
            is_blocked=decision.verdict.reason.blocks,
        )
        for why in (RESTARTED, DELETED):
            # An alert looks for it: of a series that begins with its first count Prometheus sees no increase.
            self.recreations.labels(*key, why)
        self._waiting.pop(key, None)
        if isinstance(decision.verdict, Hold) and decision.verdict.reason is Reason.GROUPS_NOT_READY:
            self._waiting[key] = seen
            self._judge(key, now)
        self._compare(key, seen)
        began = next((each for each in status.conditions if each.type == UPDATE_IN_PROGRESS), None)
        self._ending.pop(key, None)
        is_running = began is not None and began.status == "True" and began.last_transition_time is not None
        if is_running and began is not None and began.last_transition_time and _is_done(decision):
            self._ending[key] = max(0.0, (now - began.last_transition_time).total_seconds())

    def _judge(self, key: RolloutKey, now: datetime) -> None:
        """Tells whether a set waits for nothing but groups that a person must help; rounds of sets do not see that."""
        seen, standing = self._waiting.get(key), self._standings.standings.get(key)
        if seen is None or standing is None:
            return
        rounds, _ = self.decisions.of(key.namespace, [each.metadata.name for each in seen.pods])
        reason = blocking(seen, rounds, now)
        self._blocked.passed(PART, key, reason or Reason.GROUPS_NOT_READY)
        self._standings.standings[key] = replace(standing, is_blocked=reason is not None)

    def _compare(self, key: RolloutKey, seen: SetSeen) -> None:
        """Once for each generation and key: rounds between them compare the same again."""
        leaders, given = seen.leaders, seen.set
        if leaders is None:
            return
        compared = (given.metadata.uid, given.metadata.generation, key_on(leaders.metadata))
        if self._compared.get(key) == compared:
            return
        self._compared[key] = compared
        chosen = selection(given, leaders, seen.revisions)
        if isinstance(chosen, Kept):
            self.equal.labels(chosen.sameness.value).inc()

    def set_wrote(self, key: RolloutKey, writes: tuple[AnyWrite, ...]) -> None:
        if any(write.does is Does.REPORT_STATUS for write in writes) and key in self._ending:
            self.durations.observe(self._ending.pop(key))

    def set_gone(self, key: RolloutKey) -> None:
        for held in (self._standings.standings, self._compared, self._ending, self._waiting):
            held.pop(key, None)
        for why in (RESTARTED, DELETED):
            with suppress(KeyError):
                self.recreations.remove(*key, why)

    def group_decided(self, key: RolloutKey, seen: GroupSeen, decision: Decision, now: datetime) -> None:
        self.decisions.decided(key, decision, now)
        self._recreating.pop(key, None)
        if isinstance(decision.verdict, Move) and seen.set is not None:
            failed = {each.change_from for each in decision.verdict.writes if each.does is Does.RECREATE_GROUP}
            why = (
                RESTARTED if any(each.metadata.name in failed and is_restarted(each) for each in seen.pods) else DELETED
            )
            if failed:
                self._recreating[key] = seen.set.metadata.name, why
        self._await(key, seen, now)
        if seen.set is not None:
            self._judge(RolloutKey((key.namespace, seen.set.metadata.name)), now)

    def _await(self, key: RolloutKey, seen: GroupSeen, now: datetime) -> None:
        """Measures a group that this process has seen before it was ready."""
        leader = seen.leader
        if leader is None:
            self._awaited.pop(key, None)
            return
        if not _is_whole(seen):
            self._awaited[key] = leader.metadata.uid
        elif self._awaited.pop(key, "") == leader.metadata.uid and leader.metadata.creation_timestamp is not None:
            self.ready_seconds.observe(max(0.0, (now - leader.metadata.creation_timestamp).total_seconds()))

    def group_wrote(self, key: RolloutKey, writes: tuple[AnyWrite, ...]) -> None:
        if any(write.does is Does.RECREATE_GROUP for write in writes) and key in self._recreating:
            name, why = self._recreating.pop(key)
            self.recreations.labels(key.namespace, name, why).inc()

    def group_gone(self, key: RolloutKey) -> None:
        self.decisions.forget(key)
        self._recreating.pop(key, None)
        self._awaited.pop(key, None)


def _is_done(decision: Decision) -> bool:
    return isinstance(decision.verdict, Hold) and decision.verdict.reason is Reason.COMPLETE


def _is_whole(seen: GroupSeen) -> bool:
    """Whether the leader runs and is ready, and so are its workers where it has any."""
    leader, workers = seen.leader, seen.workers
    if leader is None or not is_running_and_ready(leader) or leader.metadata.deletion_timestamp is not None:
        return False
    if leader.metadata.annotations.get(SIZE) == "1":
        return True
    return workers is not None and workers.metadata.controller_uid == leader.metadata.uid and are_ready(workers)


class _SetPasses(PassSeries):
    def __init__(self, runtime: ControllerRuntimeMetrics, metrics: LeaderWorkerMetrics) -> None:
        super().__init__(runtime, SETS)
        self._metrics = metrics

    def vanished(self, key: RolloutKey) -> None:
        self._metrics.set_gone(key)


class _GroupPasses(PassSeries):
    def __init__(self, runtime: ControllerRuntimeMetrics, metrics: LeaderWorkerMetrics) -> None:
        super().__init__(runtime, GROUPS)
        self._metrics = metrics

    def vanished(self, key: RolloutKey) -> None:
        self._metrics.group_gone(key)
