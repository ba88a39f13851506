"""What is measured of sets and groups, round by round."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide.seen import GroupSeen, SetSeen
from fairlead.contracts.leaderworker.kinds import Pod, SetCondition, StatefulSet
from fairlead.contracts.leaderworker.metrics import LeaderWorkerMetrics
from fairlead.contracts.leaderworker.settings import Settings
from fairlead.core.act import AnyWrite, Delete, Does, Patch, PatchKind
from fairlead.core.ask import Answers
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.reason import Reason
from fairlead.engine.controller import RolloutKey
from fairlead.engine.metrics import Metrics
from kubeloop.objects.core import PODS, ContainerState, ContainerWaiting
from kubeloop.objects.meta import Ref
from tests.contracts.leaderworker.showing import BEFORE, NEW_KEY, NOW, a_group, a_look, a_status

SET, GROUP = RolloutKey(("default", "a")), RolloutKey(("default", "a-0"))
DONE = Decision("steady", Hold(Reason.COMPLETE))
STATUS: AnyWrite = Patch(ref=Ref(PODS, "default", "a"), kind=PatchKind.MERGE, body=b"{}", does=Does.REPORT_STATUS)
DELETION = Delete(ref=Ref(PODS, "default", "a-0"), does=Does.RECREATE_GROUP, change_from="a-0-1")


class Measured:
    def __init__(self) -> None:
        self.metrics = Metrics()
        self.of = self.metrics.of(LeaderWorkerMetrics)

    def value(self, name: str, /, **labels: str) -> float | None:
        found = self.metrics.registry.get_sample_value(name, labels)
        return None if found is None else float(found)


def a_set_seen(status: str = "True") -> SetSeen:
    seen = a_look([a_group(0, NEW_KEY)]).seen
    updating = SetCondition("UpdateInProgress", status, last_transition_time=BEFORE)
    return replace(seen, set=replace(seen.set, status=replace(seen.set.status, conditions=(updating,))))


def a_group_seen(leader: Pod | None, workers: StatefulSet | None, *pods: Pod, **changes: Any) -> GroupSeen:
    given = a_look([]).seen
    return GroupSeen(
        set=given.set, leader=leader, workers=workers, pods=pods, answers=Answers({}), settings=Settings(), **changes
    )


@pytest.mark.parametrize("controller", ["leaderworkerset", "pod", "disaggregatedset"])
def test_rounds_are_counted_under_the_names_of_upstreams_controllers(controller: str) -> None:
    """Section 2.13."""
    measured = Measured()

    assert measured.value("controller_runtime_reconcile_total", controller=controller, result="success") == 0
    assert measured.value("workqueue_adds_total", name=controller, controller=controller) == 0


def test_the_duration_of_an_update_counts_once_its_end_is_written() -> None:
    measured = Measured()
    measured.of.set_decided(SET, a_set_seen(), DONE, NOW)
    assert measured.value("fairlead_lws_rollout_duration_seconds_count") == 0
    measured.of.set_wrote(SET, (STATUS,))
    measured.of.set_wrote(SET, (STATUS,))

    assert measured.value("fairlead_lws_rollout_duration_seconds_count") == 1
    assert measured.value("fairlead_lws_rollout_duration_seconds_sum") == 60


@pytest.mark.parametrize(
    ("status", "reason"), [("False", Reason.COMPLETE), ("True", Reason.GROUPS_NOT_READY), ("True", Reason.PAUSED)]
)
def test_what_is_no_end_of_an_update_is_not_measured(status: str, reason: Reason) -> None:
    measured = Measured()
    measured.of.set_decided(SET, a_set_seen(status), Decision("any", Hold(reason)), NOW)
    measured.of.set_wrote(SET, (STATUS,))

    assert measured.value("fairlead_lws_rollout_duration_seconds_count") == 0


def test_a_generation_is_compared_once() -> None:
    measured = Measured()
    for _ in range(3):
        measured.of.set_decided(SET, a_set_seen(), DONE, NOW)

    assert measured.value("fairlead_lws_semantic_equal_total", path="bytes") == 1
    assert measured.value("fairlead_lws_semantic_equal_total", path="normal") == 0


@pytest.mark.parametrize(("restarts", "reason"), [(1, "PodRestarted"), (0, "PodDeleted")])
def test_a_recreation_counts_with_its_reason_once_it_is_carried_out(restarts: int, reason: str) -> None:
    measured = Measured()
    leader, workers, worker = a_group(0, NEW_KEY)
    worker = replace(worker, status=a_status(False, None, restarts))
    move = Decision("recreate", Move(Reason.RECREATING, (DELETION,)))
    measured.of.group_decided(GROUP, a_group_seen(leader, workers, leader, worker), move, NOW)
    labels = {"namespace": "default", "name": "a", "reason": reason}
    assert measured.value("fairlead_lws_group_recreations_total", **labels) is None

    measured.of.group_wrote(GROUP, (DELETION,))
    measured.of.group_wrote(GROUP, (DELETION,))
    assert measured.value("fairlead_lws_group_recreations_total", **labels) == 1


def test_recreations_count_from_zero_on_until_the_set_is_gone() -> None:
    """Of a series that begins with its first count Prometheus sees no increase, and an alert looks for that."""
    measured = Measured()

    def counted() -> list[float | None]:
        labels = {"namespace": "default", "name": "a"}
        return [
            measured.value("fairlead_lws_group_recreations_total", **labels, reason=reason)
            for reason in ("PodRestarted", "PodDeleted")
        ]

    measured.of.set_decided(SET, a_set_seen(), DONE, NOW)
    assert counted() == [0, 0]
    measured.of.recreations.labels("default", "a", "PodDeleted").inc()
    measured.of.set_decided(SET, a_set_seen(), DONE, NOW)
    assert counted() == [0, 1]

    measured.of.of_sets.vanished(SET)
    measured.of.of_sets.vanished(SET)
    assert counted() == [None, None]


def test_a_group_is_timed_from_its_leader_on_once_and_only_if_it_was_seen_to_start() -> None:
    measured = Measured()
    ready, workers, _ = a_group(0, NEW_KEY)
    starting, _, _ = a_group(0, NEW_KEY, ready=False)
    at_rest = Decision("furnish", Hold(Reason.COMPLETE))
    measured.of.group_decided(GROUP, a_group_seen(ready, workers), at_rest, NOW)
    assert measured.value("fairlead_lws_group_ready_seconds_count") == 0

    for leader in (starting, ready, ready):
        measured.of.group_decided(GROUP, a_group_seen(leader, workers), at_rest, NOW)
    assert measured.value("fairlead_lws_group_ready_seconds_count") == 1
    assert measured.value("fairlead_lws_group_ready_seconds_sum") == 60

    other = replace(ready, metadata=replace(ready.metadata, uid="another"))
    measured.of.group_decided(GROUP, a_group_seen(starting, None), at_rest, NOW)
    measured.of.group_decided(GROUP, a_group_seen(other, None), at_rest, NOW)
    assert measured.value("fairlead_lws_group_ready_seconds_count") == 1


def test_series_go_with_the_set_and_with_the_lead() -> None:
    measured = Measured()
    labels = {"namespace": "default", "name": "a"}
    for ends in (partial(measured.of.of_sets.vanished, SET), partial(measured.of.leads, False)):
        measured.of.set_decided(SET, a_set_seen(), Decision("blocked", Hold(Reason.OLD_GROUPS_NOT_READY)), NOW)
        assert measured.value("fairlead_lws_rollout_blocked", **labels) == 1
        assert measured.value("fairlead_lws_revisions", **labels) == 2
        ends()
        assert measured.value("fairlead_lws_rollout_blocked", **labels) is None


def test_waits_of_groups_are_as_old_as_the_first_decision_to_wait() -> None:
    decisions = Measured().of.decisions
    held = Decision("await_node", Hold(Reason.NODE_UNLABELLED, details=(("pod/a-0", "no label"),)))
    for seconds in (0, 30):
        decisions.decided(GROUP, held, NOW + timedelta(seconds=seconds))
    rounds, since = decisions.of("default", ["a-0", "a-1"])
    assert (rounds, since) == ({"a-0": held}, {"NodeUnlabelled:pod/a-0": NOW})

    decisions.decided(GROUP, DONE, NOW)
    decisions.decided(GROUP, held, NOW + timedelta(seconds=60))
    assert decisions.of("default", ["a-0"])[1] == {"NodeUnlabelled:pod/a-0": NOW + timedelta(seconds=60)}
    decisions.forget(GROUP)
    assert decisions.of("default", ["a-0"]) == ({}, {})


def test_all_families_are_there_before_anything_happens() -> None:
    exposed = Measured().metrics.exposition().decode()

    for family in (
        *("fairlead_lws_groups", "fairlead_lws_revisions", "fairlead_lws_rollout_blocked"),
        *("fairlead_lws_rollout_duration_seconds", "fairlead_lws_group_ready_seconds"),
        *("fairlead_lws_group_recreations_total", "fairlead_lws_semantic_equal_total"),
        *("controller_runtime_reconcile_total", "controller_runtime_webhook_latency_seconds", "workqueue_depth"),
        *("rest_client_requests_total", "leader_election_master_status"),
    ):
        assert f"# TYPE {family} " in exposed
    assert 'leader_election_master_status{name="b8b2488c.x-k8s.io"} 0.0' in exposed


WAITS = Decision("rolling", Hold(Reason.GROUPS_NOT_READY))
REFUSED = Decision("furnish", Hold(Reason.OBJECT_REFUSED, details=(("pod/a-2", "exceeded quota"),)))


class Waiting(Measured):
    """A set of three that waits for the groups which are not ready."""

    def __init__(self, *unready: int) -> None:
        super().__init__()
        self.groups = [a_group(index, NEW_KEY, ready=index not in unready) for index in range(3)]
        self.look()

    def look(self) -> None:
        members = tuple(pod for leader, _, worker in self.groups for pod in (leader, worker))
        self.seen = replace(a_look(self.groups).seen, members=members)
        self.set_decided(WAITS)

    def set_decided(self, decision: Decision) -> None:
        """As the engine tells it."""
        self.metrics.blocked.passed("leaderworker", SET, decision.verdict.reason)
        self.of.set_decided(SET, self.seen, decision, NOW)

    def group_decided(self, index: int, decision: Decision) -> None:
        leader, workers, worker = self.groups[index]
        key = RolloutKey(("default", f"a-{index}"))
        self.of.group_decided(key, a_group_seen(leader, workers, leader, worker), decision, NOW)

    def blocked(self) -> str | None:
        """The reason; None where it is not."""
        told = self.value("fairlead_lws_rollout_blocked", namespace="default", name="a")
        reasons = [
            reason.word
            for reason in Reason
            if self.value("fairlead_rollout_blocked", **self.labels, reason=reason.word) == 1
        ]
        assert bool(reasons) == bool(told)
        return reasons[0] if reasons else None

    labels = {"part": "leaderworker", "namespace": "default", "rollout": "a"}


def test_a_set_is_blocked_while_its_groups_wait_for_a_person() -> None:
    waiting = Waiting(2)
    assert waiting.blocked() is None

    waiting.group_decided(2, REFUSED)
    assert waiting.blocked() == "ObjectRefused"
    waiting.set_decided(WAITS)
    assert waiting.blocked() == "ObjectRefused", "the next round of the set says no less"

    waiting.group_decided(2, DONE)
    assert waiting.blocked() is None
    waiting.group_decided(2, REFUSED)
    waiting.set_decided(DONE)
    assert waiting.blocked() is None, "the set waits for nothing"
    waiting.group_decided(2, REFUSED)
    assert waiting.blocked() is None


def test_a_set_that_waits_for_another_group_as_well_is_not_blocked() -> None:
    waiting = Waiting(1, 2)

    waiting.group_decided(2, REFUSED)
    assert waiting.blocked() is None

    waiting.group_decided(1, REFUSED)
    assert waiting.blocked() == "ObjectRefused"


def test_a_group_with_a_stuck_pod_and_one_that_is_refused_block_together() -> None:
    waiting = Waiting(1, 2)
    leader, workers, worker = waiting.groups[1]
    crashing = ContainerState(waiting=ContainerWaiting("CrashLoopBackOff"))
    waiting.groups[1] = leader, workers, replace(worker, status=a_status(False, crashing, restarts=9))
    waiting.look()

    waiting.group_decided(2, REFUSED)

    assert waiting.blocked() == "ObjectRefused"


def test_a_replica_that_leads_no_more_blocks_nothing() -> None:
    waiting = Waiting(2)
    waiting.of.leads(False)

    waiting.group_decided(2, REFUSED)

    assert waiting.blocked() is None
