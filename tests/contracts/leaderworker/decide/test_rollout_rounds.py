"""Rounds of a set on its way: how far a rollout goes in one of them, what holds it, and what follows its end."""

from __future__ import annotations

from typing import Any

from fairlead.contracts.leaderworker.decide.revisions import key_of
from fairlead.contracts.leaderworker.kinds import (
    PAUSED,
    REVISION_HISTORY_LIMIT,
    RollingUpdate,
    RolloutStrategy,
)
from fairlead.core.act import Apply, Delete, Does, Patch
from fairlead.core.reason import Reason
from tests.contracts.leaderworker.decide.rounds import (
    APPLY,
    RECORD,
    STATUS,
    Settled,
    a_set_seen,
    applied,
    going,
    numbers,
    set_settled,
)
from tests.contracts.leaderworker.decide.some import a_leader, a_revision, a_set, some_workers


def test_a_change_is_recorded_and_selected_and_moves_no_group() -> None:
    """Row 2 of section 3.10."""
    old = a_revision(a_set("nginx:1"))
    given = a_set("nginx:2")
    settled = set_settled(a_set_seen(given, revision=old, leaders=applied(a_set("nginx:1"), old)))
    assert settled.does == [RECORD, APPLY, STATUS]
    assert settled.reason is Reason.ROLLING
    assert numbers(settled) == (2, 2)
    apply = settled.writes[1]
    assert isinstance(apply, Apply)
    assert (apply.resource_version, apply.tell) == ("5", None)
    status = settled.writes[2]
    assert isinstance(status, Patch)
    assert (status.resource_version, status.subresource) == ("1", "status")
    assert settled.body(STATUS)["status"]["observedGeneration"] == 2


def a_rollout(replicas: int = 2, partition: int = 2, **changes: Any) -> Settled:
    """Of two groups on the old key, with both revisions there."""
    annotations = changes.pop("annotations", {})
    old_set = a_set("nginx:1", annotations=annotations)
    given = a_set("nginx:2", annotations=annotations, **changes.pop("spec", {}))
    old, new = a_revision(old_set), a_revision(given, 2)
    leaders = applied(given, new, partition=partition, leaders=replicas)
    key = key_of(old)
    seen = {
        "pods": tuple(a_leader(index, key) for index in range(replicas)),
        "workers": tuple(some_workers(index, key) for index in range(replicas)),
        **changes,
    }
    return set_settled(a_set_seen(given, revisions=(old, new), leaders=leaders, **seen))


def test_a_rollout_lowers_the_partition_and_tells_which_groups() -> None:
    settled = a_rollout()
    assert settled.does == [APPLY, STATUS]
    assert numbers(settled) == (1, 2)
    note = settled.writes[0].tell
    assert note is not None
    assert (note.text, note.reason, note.action) == ("Updating replica 1", "GroupsUpdating", "Update")
    assert note.related is not None
    assert note.related.name == a_revision(a_set("nginx:2"), 2).metadata.name


def test_old_groups_that_are_not_ready_block_it_and_are_named() -> None:
    """Section 5.24."""
    old = key_of(a_revision(a_set("nginx:1")))
    pods = (a_leader(0, old, ready=False), a_leader(1, old), a_leader(2, old))
    workers = tuple(some_workers(index, old) for index in range(3))
    settled = a_rollout(3, 3, pods=pods, workers=workers, spec={"replicas": 3})
    assert settled.reason is Reason.OLD_GROUPS_NOT_READY
    assert settled.does == [STATUS]
    assert settled.told == [
        "The rollout waits for old groups that are not ready: 0; to update others would exceed the budget"
    ]


def test_a_pause_holds_it() -> None:
    settled = a_rollout(annotations={PAUSED: "true"})
    assert (settled.reason, settled.does) == (Reason.PAUSED, [STATUS])


def test_a_partition_holds_it() -> None:
    strategy = RolloutStrategy(rolling_update_configuration=RollingUpdate(partition=2))
    settled = a_rollout(2, 2, spec={"rollout_strategy": strategy})
    assert settled.reason is Reason.PARTITION_REACHED
    assert settled.body(STATUS)["status"]["conditions"][0]["type"] == "Available"
    assert Does.FORGET_REVISION not in settled.does


def test_a_group_below_the_partition_that_is_not_ready_is_waited_for() -> None:
    strategy = RolloutStrategy(rolling_update_configuration=RollingUpdate(partition=2))
    old = key_of(a_revision(a_set("nginx:1")))
    pods = (a_leader(0, old, ready=False), a_leader(1, old))
    settled = a_rollout(2, 2, pods=pods, spec={"rollout_strategy": strategy})
    assert settled.reason is Reason.GROUPS_NOT_READY


def test_surge_groups_that_go_are_told() -> None:
    strategy = RolloutStrategy(rolling_update_configuration=RollingUpdate(max_surge=1, max_unavailable=0))
    key = key_of(a_revision(a_set("nginx:2")))
    pods, workers = (tuple(make(index, key) for index in range(3)) for make in (a_leader, some_workers))
    settled = a_rollout(3, 0, pods=pods, workers=workers, spec={"rollout_strategy": strategy})
    assert numbers(settled) == (0, 2)
    assert settled.told == ["deleting surge replica a-2"]


def test_a_finished_update_reports_first_and_then_forgets() -> None:
    """Section 3.12 point 9."""
    key = key_of(a_revision(a_set("nginx:2")))
    pods, workers = (tuple(make(index, key) for index in range(2)) for make in (a_leader, some_workers))
    settled = a_rollout(2, 0, pods=pods, workers=workers)
    assert settled.does == [STATUS, Does.FORGET_REVISION]
    forgotten = settled.writes[-1]
    assert isinstance(forgotten, Delete)
    assert forgotten.ref.uid == a_revision(a_set("nginx:1")).metadata.uid
    assert settled.reason is Reason.COMPLETE


def test_a_history_that_is_asked_for_is_kept() -> None:
    """Section 6.4."""
    key = key_of(a_revision(a_set("nginx:2")))
    pods, workers = (tuple(make(index, key) for index in range(2)) for make in (a_leader, some_workers))
    settled = a_rollout(2, 0, pods=pods, workers=workers, annotations={REVISION_HISTORY_LIMIT: "1"})
    assert settled.does == [STATUS]


def test_a_group_whose_leader_is_going_keeps_no_revision_but_counts_as_away() -> None:
    key = key_of(a_revision(a_set("nginx:2")))
    pods = (a_leader(0, key), going(a_leader(1, key)))
    workers = tuple(some_workers(index, key) for index in range(2))
    settled = a_rollout(2, 1, pods=pods, workers=workers)
    assert APPLY not in settled.does
