"""Groups, counts and conditions (sections 2.3, 2.16 and 3.11)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide.budgets import Budget
from fairlead.contracts.leaderworker.decide.groups import GroupState, carried_keys, groups_of, numbers_of
from fairlead.contracts.leaderworker.decide.planner import Leaders, PlannedGroup
from fairlead.contracts.leaderworker.decide.status import StatusEvent, StatusReport, report
from fairlead.contracts.leaderworker.kinds import (
    GROUP_INDEX,
    PAUSED,
    REPLICAS,
    LeaderWorkerSet,
    Pod,
    Revision,
    RevisionMeta,
    RollingUpdate,
    RolloutStrategy,
    StatefulSet,
)
from kubeloop.objects.apps import StatefulSetStatus
from kubeloop.objects.core import PodStatus
from kubeloop.objects.meta import OwnerReference
from tests.contracts.leaderworker.decide.group_pods import a_worker
from tests.contracts.leaderworker.decide.some import a_leader, a_set, some_workers, the_leaders

NOW = datetime(2026, 1, 2, tzinfo=UTC)
LEADERS = the_leaders(status=StatefulSetStatus(replicas=3))


def groups(*pairs: tuple[Pod, StatefulSet | None], key: str = "k", size: int = 2) -> tuple[GroupState, ...]:
    workers = [each for _, each in pairs if each is not None]
    return groups_of(LEADERS, [pod for pod, _ in pairs], workers, (), (), key, lambda _key: size)


def a_group(index: int, key: str = "k", ready: bool = True) -> tuple[Pod, StatefulSet]:
    return a_leader(index, key), some_workers(index, key, ready)


def test_a_status_that_was_meant_for_the_workers_before_counts_for_nothing() -> None:
    """Section 3.11 point 1: it names a revision that these workers do not control."""
    status = StatefulSetStatus(replicas=1, available_replicas=1, current_revision="a-0-old", update_revision="a-0-old")
    leader, workers = a_group(0)
    workers = replace(workers, status=status)
    owners = (OwnerReference("StatefulSet", "a-0", uid, controller=True) for uid in ("before", workers.metadata.uid))
    before, own = (Revision(RevisionMeta("a-0-old", "r", "1", owner_references=(each,))) for each in owners)

    found = [
        groups_of(LEADERS, [leader], [workers], (), (each,), "k", lambda _: 2)[0].is_ready for each in (before, own)
    ]

    assert found == [False, True]


@pytest.mark.parametrize(
    ("member", "is_ready"),
    [
        pytest.param(a_worker(), True, id="all pods of these workers are ready"),
        pytest.param(a_worker(owner="before"), False, id="a pod of the workers before"),
        pytest.param(a_worker(deletion_timestamp=NOW), False, id="a pod that is going"),
        pytest.param(replace(a_worker(), status=PodStatus("Running")), False, id="a pod that is not ready"),
    ],
)
def test_where_somebody_deleted_the_revision_of_workers_their_pods_are_asked(member: Pod, is_ready: bool) -> None:
    """Section 3.11 point 1: the StatefulSet controller makes it again only when something else has it look."""
    status = StatefulSetStatus(replicas=1, available_replicas=1, current_revision="a-0-x", update_revision="a-0-x")
    leader, workers = a_group(0)
    workers = replace(workers, status=status)

    (found,) = groups_of(LEADERS, [leader], [workers], [leader, member], (), "k", lambda _: 2)

    assert found.is_ready is is_ready


def told(seen: LeaderWorkerSet, *pairs: tuple[Pod, StatefulSet | None], **changes: Any) -> StatusReport:
    return report(seen, LEADERS, groups(*pairs), changes.pop("now", NOW), **changes)


def holding(found: StatusReport) -> list[str]:
    return [each.type for each in found.status.conditions if each.status == "True"]


def with_partition(seen: LeaderWorkerSet, partition: int) -> LeaderWorkerSet:
    strategy = RolloutStrategy(rolling_update_configuration=RollingUpdate(partition=partition))
    return replace(seen, spec=replace(seen.spec, rollout_strategy=strategy))


def after(seen: LeaderWorkerSet, found: StatusReport) -> LeaderWorkerSet:
    return replace(seen, status=found.status)


# Groups


@pytest.mark.parametrize(
    ("workers", "ready"),
    [
        (some_workers(), True),
        (some_workers(ready=False), False),
        (replace(some_workers(), status=StatefulSetStatus(available_replicas=1, update_revision="new")), False),
        (replace(some_workers(), status=StatefulSetStatus(), spec={"replicas": 0}), True),
        (some_workers(owner="another-leader"), False),
        (None, False),
    ],
)
def test_a_group_is_ready_with_all_its_workers(workers: StatefulSet | None, ready: bool) -> None:
    [found] = groups((a_leader(), workers))

    assert found.is_ready is ready


@pytest.mark.parametrize(("phase", "ready"), [("Pending", True), ("Running", False)])
def test_a_leader_that_does_not_run_or_is_not_ready_is_no_ready_group(phase: str, ready: bool) -> None:
    [found] = groups((a_leader(phase=phase, ready=ready), some_workers()))

    assert not found.is_ready


def test_21_a_group_of_one_needs_no_workers() -> None:
    [found] = groups((a_leader(), None), size=1)

    assert (found.is_ready, found.is_updated, found.counts) == (True, True, True)


def test_leader_and_workers_must_both_carry_the_key() -> None:
    both, leader, workers, neither = groups(
        a_group(0), (a_leader(1), some_workers(1, "old")), (a_leader(2, "old"), some_workers(2)), a_group(3, "old")
    )

    assert [each.is_updated for each in (both, leader, workers, neither)] == [True, False, False, False]


@pytest.mark.parametrize(
    "pod",
    [
        a_leader(owner="somebody"),
        a_leader(labels={GROUP_INDEX: "x"}),
        a_leader(labels={GROUP_INDEX: "7"}),
        a_leader(name="a-x"),
    ],
)
def test_pods_of_others_and_pods_without_an_index_are_no_groups(pod: Pod) -> None:
    assert groups((pod, some_workers())) == ()


def test_the_size_of_a_group_is_that_of_its_own_revision() -> None:
    sizes = {"k": 1, "old": 2}
    found = groups_of(LEADERS, [a_leader(0), a_leader(1, "old")], [], [], [], "k", sizes.__getitem__)

    assert [each.is_ready for each in found] == [True, False]


def test_keys_of_what_is_going_are_not_carried() -> None:
    going = a_leader(1, "old", meta={"deletion_timestamp": NOW})

    assert carried_keys([a_leader(0), going], [some_workers(2, "third")]) == {"k", "third"}


def test_the_planner_reads_numbers() -> None:
    leaders = the_leaders(
        {
            "metadata": {"labels": {}, "annotations": {REPLICAS: "2"}},
            "spec": {"replicas": 3, "updateStrategy": {"rollingUpdate": {"partition": 1}}},
        }
    )
    going = a_leader(2, meta={"deletion_timestamp": NOW})
    found = numbers_of(
        with_partition(a_set(annotations={PAUSED: "true"}), 1),
        Budget(1, 1),
        leaders,
        groups(a_group(0), (going, some_workers(2))),
        True,
    )

    assert found.leaders == Leaders(3, 1, 2)
    assert found.groups == (PlannedGroup(True, True), PlannedGroup(), PlannedGroup(False, True))
    assert (found.replicas, found.kept_below, found.is_new_revision, found.paused) == (2, 1, True, True)


@pytest.mark.parametrize("text", ["", "x", "1.5"])
def test_numbers_that_cannot_be_read_are_missing(text: str) -> None:
    leaders = the_leaders({"metadata": {"labels": {}, "annotations": {REPLICAS: text}}, "spec": {"replicas": "x"}})

    found = numbers_of(a_set(annotations={PAUSED: "yes"}), Budget(1, 0), leaders, (), False)

    assert (found.leaders, found.paused) == (Leaders(1, 0, None), False)


# Conditions


def test_01_a_new_set_progresses_and_updates_nothing() -> None:
    found = told(a_set(), (a_leader(0), None), a_group(1, ready=False))

    assert holding(found) == ["Progressing"]
    assert found.turn == StatusEvent(
        "GroupsProgressing", "Replicas are progressing, with 0 groups ready of total 2 groups"
    )
    assert not found.is_done


def test_02_all_groups_ready_is_available() -> None:
    seen = after(a_set(), told(a_set(), a_group(0, ready=False), a_group(1)))

    found = told(seen, a_group(0), a_group(1))

    assert (found.status.ready_replicas, found.status.updated_replicas, found.status.replicas) == (2, 2, 3)
    assert found.status.observed_generation == 2
    assert found.status.hpa_pod_selector == (
        "leaderworkerset.sigs.k8s.io/name=a,leaderworkerset.sigs.k8s.io/worker-index=0"
    )
    assert [(each.type, each.status, each.reason, each.observed_generation) for each in found.status.conditions] == [
        ("Progressing", "False", "GroupsProgressing", 2),
        ("Available", "True", "AllGroupsReady", 2),
    ]
    assert found.is_done
    assert found.turn == StatusEvent("AllGroupsReady", "All replicas are ready, with 2 groups ready of total 2 groups")


def test_04_an_update_turns_two_conditions_and_tells_one_event() -> None:
    seen = after(a_set(), told(a_set(), a_group(0), a_group(1)))

    found = told(seen, a_group(0, "old"), a_group(1, "old"), now=NOW + timedelta(hours=1))

    assert holding(found) == ["UpdateInProgress", "Progressing"]
    assert found.turn == StatusEvent(
        "GroupsUpdating", "Rolling Upgrade is in progress, with 2 groups ready of total 2 groups"
    )
    later = told(after(seen, found), a_group(0, "old"), a_group(1, ready=False), now=NOW + timedelta(hours=2))
    assert later.turn is None
    assert later.status.conditions == found.status.conditions


def test_a_failure_after_an_update_progresses_until_all_are_ready() -> None:
    """The update is over when Available turns True, and not before."""
    seen = after(a_set(), told(a_set(), a_group(0, "old"), a_group(1)))

    found = told(seen, a_group(0, ready=False), a_group(1))

    assert holding(found) == ["UpdateInProgress", "Progressing"]
    assert holding(told(after(seen, found), a_group(0), a_group(1))) == ["Available"]


def test_13_groups_below_a_partition_do_not_hold_a_set_up() -> None:
    seen = with_partition(a_set(replicas=3), 2)

    found = told(seen, a_group(0, "old"), a_group(1, "old"), a_group(2))

    assert holding(found) == ["Available"]
    assert (found.is_done, found.status.updated_replicas) == (False, 1)


def test_18_no_groups_are_available() -> None:
    found = told(a_set(replicas=0))

    assert (holding(found), found.is_done) == (["Available"], True)


def test_surge_groups_count_and_do_not_decide() -> None:
    found = told(a_set(), a_group(0), a_group(1), a_group(2, ready=False))

    assert (holding(found), found.status.updated_replicas, found.status.ready_replicas) == (["Available"], 3, 2)


def test_nothing_new_is_not_written() -> None:
    """S9; a time changes with a turn only."""
    seen = after(a_set(), told(a_set(), a_group(0), a_group(1)))

    found = told(seen, a_group(0), a_group(1), now=NOW + timedelta(days=1))

    assert (found.is_changed, found.turn) == (False, None)


def test_conditions_carry_whole_seconds() -> None:
    """As whatever Go writes: other clients need not read fractions."""
    found = told(a_set(replicas=1), a_group(0, ready=False), now=NOW + timedelta(seconds=5.75), failed=(0,))

    assert {each.last_transition_time for each in found.status.conditions} == {NOW + timedelta(seconds=5)}


def test_another_generation_is_reported_without_a_turn() -> None:
    seen = after(a_set(), told(a_set(), a_group(0), a_group(1)))
    seen = replace(seen, metadata=replace(seen.metadata, generation=9))

    found = told(seen, a_group(0), a_group(1), now=NOW + timedelta(days=1))

    assert (found.is_changed, found.turn, found.status.observed_generation) == (True, None, 9)
    assert [(each.observed_generation, each.last_transition_time) for each in found.status.conditions] == [(9, NOW)]


def test_26_groups_that_are_left_as_they_are_are_named() -> None:
    later = NOW + timedelta(hours=1)
    seen = after(a_set(), told(a_set(), a_group(0, ready=False), a_group(1), failed=[0]))

    failed = seen.status.conditions[-1]
    assert (failed.type, failed.status, failed.reason) == ("Failed", "True", "MaxGroupRestartsExceeded")
    assert failed.message.endswith("groups 0")

    more = told(seen, a_group(0, ready=False), a_group(1, ready=False), failed=[1, 0], now=later)
    assert more.status.conditions[-1].message.endswith("groups 0, 1")
    assert more.status.conditions[-1].last_transition_time == NOW

    over = told(after(seen, more), a_group(0), a_group(1), now=later)
    assert {each.type: each.status for each in over.status.conditions} == {
        "Progressing": "False",
        "Available": "True",
        "Failed": "False",
    }
    assert "Failed" not in [each.type for each in told(a_set(), a_group(0), a_group(1)).status.conditions]


STATES = st.lists(st.tuples(st.sampled_from(["k", "old"]), st.booleans()), max_size=4)


@given(st.lists(st.tuples(STATES, st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=6))
def test_s13_available_excludes_the_others(steps: list[tuple[list[tuple[str, bool]], int, int]]) -> None:
    seen = a_set()
    for minutes, (states, replicas, partition) in enumerate(steps):
        seen = with_partition(replace(seen, spec=replace(seen.spec, replicas=replicas)), partition)
        pairs = [a_group(index, key, ready) for index, (key, ready) in enumerate(states)]
        found = told(seen, *pairs, now=NOW + timedelta(minutes=minutes))
        true = holding(found)

        assert true == ["Available"] or "Available" not in true
        assert true
        assert (found.turn is not None) == bool(set(true) - set(holding(StatusReport(seen.status, True, True))))
        seen = after(seen, found)
