"""Rounds of groups: when a group is recreated, how often, and what is kept of that (section 3.4)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide.revisions import key_of
from fairlead.contracts.leaderworker.kinds import (
    GROUP_RECREATIONS,
    MAX_GROUP_RESTARTS,
    RECREATE_BACK_OFF,
    LeaderWorkerSet,
    Pod,
    StatefulSet,
)
from fairlead.core.act import Apply, Delete, Does
from fairlead.core.reason import Reason
from tests.contracts.leaderworker.decide.group_pods import KEY, a_worker, restarted
from tests.contracts.leaderworker.decide.rounds import NOW, a_group_seen, applied, going, group_settled
from tests.contracts.leaderworker.decide.some import a_leader, a_revision, a_set, a_template

Tree = dict[str, Any]


@pytest.mark.parametrize("mishap", ["worker restarted", "worker gone", "leader restarted"])
def test_a_group_is_recreated_in_the_foreground(mishap: str) -> None:
    """Section 3.9 point 5."""
    leader, worker = a_leader(0, KEY), a_worker()
    if mishap == "leader restarted":
        leader = restarted(leader)
    elif mishap == "worker restarted":
        worker = restarted(worker)
    gone = (worker,) if mishap == "worker gone" else ()
    pods = (leader,) if gone else (leader, worker)
    settled = group_settled(a_group_seen(leader=leader, pods=pods, gone=gone))
    (deleted,) = settled.writes
    assert isinstance(deleted, Delete)
    assert (deleted.ref.uid, deleted.propagation, deleted.scope) == ("leader-0", "Foreground", "leader-0")
    failed = "a-0" if mishap == "leader restarted" else "a-0-1"
    assert deleted.tell is not None
    assert deleted.tell.text == f"Worker pod {failed} failed, deleted leader pod a-0 to recreate group 0"


def test_the_policy_is_that_of_the_groups_own_revision() -> None:
    """Section 3.9 point 1."""
    none = a_set(template=a_template(restartPolicy="None"))
    leader = restarted(a_leader(0, key_of(a_revision(none))))
    assert group_settled(a_group_seen(a_set(), revision=a_revision(none), leader=leader)).writes == ()
    leader = restarted(a_leader(0, KEY))
    assert group_settled(a_group_seen(none, revision=a_revision(a_set()), leader=leader)).does == [Does.RECREATE_GROUP]


def test_a_worker_of_the_leader_before_recreates_nothing() -> None:
    """Section 5.28."""
    dying = going(a_worker(owner="workers-before"))
    leader = a_leader(0, KEY)
    assert group_settled(a_group_seen(leader=leader, pods=(leader, dying), gone=(dying,))).writes == ()


def counted(given: LeaderWorkerSet, **entry: object) -> StatefulSet:
    leaders = applied(given, a_revision(given))
    text = msgspec.json.encode({f"{KEY}/0": entry}).decode()
    annotations = {**leaders.metadata.annotations, GROUP_RECREATIONS: text}
    return replace(leaders, metadata=replace(leaders.metadata, annotations=annotations))


LIMITED = {RECREATE_BACK_OFF: "10s,60s", MAX_GROUP_RESTARTS: "2"}


def test_a_recreation_that_is_counted_is_written_before_the_deletion() -> None:
    """Section 6.8."""
    given = a_set(annotations=LIMITED)
    leader = restarted(a_leader(0, KEY))
    settled = group_settled(a_group_seen(given, leader=leader))
    assert settled.does == [Does.COUNT_RECREATION, Does.RECREATE_GROUP]
    count = settled.writes[0]
    assert isinstance(count, Apply)
    assert (count.manager, count.resource_version, count.contested) == ("fairlead", "5", True)
    written = msgspec.json.decode(settled.body(Does.COUNT_RECREATION)["metadata"]["annotations"][GROUP_RECREATIONS])
    assert written == {f"{KEY}/0": {"n": 1, "at": "2026-03-01T12:00:00Z", "of": "leader-0"}}


def test_a_recreation_that_must_wait_is_kept() -> None:
    """Section 6.8: also over a restart of the operator."""
    given = a_set(annotations=LIMITED)
    leader = restarted(a_leader(0, KEY, meta={"creation_timestamp": NOW}))
    at = NOW - timedelta(seconds=3)
    settled = group_settled(a_group_seen(given, leader=leader, leaders=counted(given, n=1, at=at)))
    assert settled.reason is Reason.RECREATION_SPACING
    assert settled.held.again == at + timedelta(seconds=10)
    assert settled.does == [Does.COUNT_RECREATION]
    written = msgspec.json.decode(settled.body(Does.COUNT_RECREATION)["metadata"]["annotations"][GROUP_RECREATIONS])
    assert written[f"{KEY}/0"]["due"] == "leader-0"


def test_a_group_that_was_recreated_often_enough_is_left_and_told() -> None:
    given = a_set(annotations=LIMITED)
    leader = restarted(a_leader(0, KEY, meta={"creation_timestamp": NOW}))
    leaders = counted(given, n=2, at=NOW - timedelta(hours=1), due="leader-0")
    settled = group_settled(a_group_seen(given, leader=leader, leaders=leaders))
    assert (settled.reason, settled.writes) == (Reason.RESTARTS_EXCEEDED, ())
    assert settled.told == ["Group 0 was recreated as often as allowed and is left as it is: delete a-0 to start anew"]


@pytest.mark.parametrize("minutes", [0, 1])
def test_recreations_are_forgotten_once_the_group_was_ready_for_long(minutes: int) -> None:
    """Section 6.8; until then the group is looked at again in time."""
    given = a_set(annotations=LIMITED)
    pods = tuple(_ready_since_now(each) for each in (a_leader(0, KEY), a_worker()))
    leaders = counted(given, n=1, at=NOW - timedelta(minutes=5))
    seen = a_group_seen(given, leader=pods[0], pods=pods, leaders=leaders)
    settled = group_settled(seen, NOW + timedelta(minutes=minutes))
    if minutes:
        assert (settled.reason, settled.does) == (Reason.SETTLING, [Does.COUNT_RECREATION])
        annotations = settled.body(Does.COUNT_RECREATION)["metadata"]["annotations"]
        assert annotations == {GROUP_RECREATIONS: "{}"}
    else:
        assert (settled.reason, settled.writes) == (Reason.COMPLETE, ())
        assert settled.held.again == NOW + timedelta(seconds=60)


def _ready_since_now(pod: Pod) -> Pod:
    conditions = tuple(replace(each, last_transition_time=NOW) for each in pod.status.conditions)
    return replace(pod, status=replace(pod.status, conditions=conditions))


@pytest.mark.parametrize("limits", [{}, {RECREATE_BACK_OFF: "1s"}], ids=["at once", "counted"])
def test_a_recreation_that_is_refused_stands_with_the_group(limits: Tree) -> None:
    seen = a_group_seen(a_set(annotations=limits), leader=restarted(a_leader(0, KEY)))

    settled = group_settled(seen, refused=Does.RECREATE_GROUP)

    assert (settled.reason, settled.writes) == (Reason.WRITE_REFUSED, ())
    assert settled.held.details == (("pod/a-0", "no"),)


def test_a_count_that_is_refused_stands_with_the_group() -> None:
    given = a_set(annotations={MAX_GROUP_RESTARTS: "0"})

    settled = group_settled(a_group_seen(given, leader=restarted(a_leader(0, KEY))), refused=Does.COUNT_RECREATION)

    assert (settled.reason, settled.writes) == (Reason.WRITE_REFUSED, ())
