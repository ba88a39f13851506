"""CloneSets, StatefulSets and custom kinds with a partition (section 3.7)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from fairlead.contracts.plans.decide.batches import Span
from fairlead.contracts.plans.decide.why import Why
from fairlead.contracts.plans.decide.workloads import in_place
from fairlead.contracts.plans.decide.workloads.answers import Done, Fail, Retry, Stamp, Verified, Writes
from fairlead.contracts.plans.decide.workloads.attempt import Attempt
from fairlead.contracts.plans.decide.workloads.handlers import recorded_span, starts_as_scale
from fairlead.contracts.plans.decide.workloads.kind_table import NEWER_CLONE_SET
from fairlead.contracts.plans.decide.workloads.live import Style, Workload
from fairlead.contracts.plans.kinds import NEWER_CLONE_SETS, Json, RolloutBatch, RolloutPlan, RolloutStatus
from tests.contracts.plans.decide.workloads.objects import (
    OTHER,
    a_plan,
    an_attempt,
    applied,
    clone_set,
    merged,
    pod,
    stateful_set,
    with_kind,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PLAN = a_plan(1, 2, None)


def _mid(target: Workload, batch: int = 1, size: int = 5, **fields: Any) -> Attempt:
    plan = fields.pop("plan", PLAN)
    status = RolloutStatus(current_batch=batch, **fields.pop("status", {}))
    return an_attempt(target, (), plan, span=Span(size, size), status=status, **fields)


def _pods(revisions: str, ready: str = "", start: int = 0) -> tuple[Json, ...]:
    """`nno`: ordinals 0 and 1 are new, 2 is old; `ready` has a dot for each that is not."""
    names = {"n": "new", "o": "old"}
    return tuple(
        pod(f"s-{start + place}", names[each], of="s", ready=(ready or "r" * len(revisions))[place] == "r")
        for place, each in enumerate(revisions)
    )


@pytest.mark.parametrize(
    "strategy",
    [{"paused": True}, {"partition": 5}, {"partition": 7}, {"partition": "100%"}, {"paused": True, "partition": 0}],
)
def test_a_frozen_clone_set_is_verified(strategy: Json) -> None:
    found = in_place.verify(an_attempt(clone_set(**strategy), (), PLAN))

    assert isinstance(found, Verified)
    assert (found.target_size, found.original_size, found.sizes) == (5, 5, (1, 2, 2))


@pytest.mark.parametrize(
    "strategy", [{}, {"partition": 0}, {"partition": 4}, {"partition": "99%"}, {"partition": True}]
)
def test_one_that_updates_already_fails(strategy: Json) -> None:
    found = in_place.verify(an_attempt(clone_set(**strategy), (), PLAN))

    assert found == Fail(Why.NOT_FROZEN, "the CloneSet c is in the middle of updating, need to be paused first")


def test_what_else_keeps_a_clone_set_from_being_rolled() -> None:
    on_delete = in_place.verify(an_attempt(clone_set(paused=True, type="OnDelete"), (), PLAN))
    resized = in_place.verify(an_attempt(clone_set(paused=True), (), RolloutPlan(target_size=6)))
    owned = clone_set(paused=True)
    owned.tree["metadata"]["ownerReferences"] = [OTHER]
    scaling = clone_set(partition=5)
    scaling.tree["status"]["replicas"] = 4
    stale = clone_set(paused=True)
    stale.tree["metadata"]["generation"] = 3

    assert on_delete == Fail(
        Why.SPEC_INVALID, "the CloneSet c cannot be rolled: its pods are updated by deleting them only"
    )
    assert resized == Fail(Why.SPEC_INVALID, "targetSize is 6, but the CloneSet c has 5 replicas")
    assert isinstance(in_place.verify(an_attempt(owned, (), PLAN)), Fail)
    assert isinstance(in_place.verify(an_attempt(scaling, (), PLAN)), Retry)
    assert isinstance(in_place.verify(an_attempt(stale, (), PLAN)), Retry)
    assert isinstance(in_place.verify(an_attempt(None, (), PLAN)), Retry)


@pytest.mark.parametrize("updated", [0, 2])
def test_the_partition_starts_from_what_is_updated(updated: int) -> None:
    target = clone_set(updated=updated, paused=True, partition="100%")

    step = in_place.initialize(_mid(target, 0), NOON)

    assert isinstance(step, Writes)
    found = applied(target, step.changes[0])
    assert found.tree["spec"]["updateStrategy"] == {"paused": False, "partition": 5 - updated}
    assert in_place.initialize(_mid(found, 0), NOON) == Done()


def test_the_partition_goes_down_batch_by_batch_and_never_up() -> None:
    seen = [5]
    target = clone_set(claimed=True, partition=5)
    for batch in range(3):
        step = in_place.roll(_mid(target, batch), NOON)
        assert isinstance(step, Writes)
        assert step.completes
        target = applied(target, step.changes[0])
        seen.append(target.partition)

    assert seen == [5, 4, 2, 0]
    assert in_place.roll(_mid(target, 0), NOON) == Done()


def test_availability_counts_new_pods_that_are_ready() -> None:
    waiting = in_place.check(_mid(clone_set(claimed=True, partition=2, updated=3, ready=2)))
    more = in_place.check(_mid(clone_set(claimed=True, partition=0, updated=5)))
    plan = RolloutPlan(rollout_batches=(RolloutBatch(1), RolloutBatch(2, max_unavailable="20%"), RolloutBatch()))
    tolerated = in_place.check(_mid(clone_set(claimed=True, partition=2, updated=3, ready=2), plan=plan))

    assert waiting == Retry(Why.PODS_NOT_READY, "2 of 3 new pods of the CloneSet c are ready")
    assert more == tolerated == Done()


@pytest.mark.parametrize("step", [lambda each: in_place.roll(each, NOON), in_place.check, in_place.finish_batch])
def test_r_21_another_size_ends_the_attempt(step: Any) -> None:
    target = clone_set(6, claimed=True, partition=2)

    assert step(_mid(target)) == Fail(Why.DRIFT, "the CloneSet c has 6 replicas; expected: 5")


@pytest.mark.parametrize("step", [in_place.check, in_place.finish_batch])
def test_r_21_pods_that_a_partition_keeps_old_again_are_not_waited_for(step: Any) -> None:
    target = clone_set(claimed=True, partition=4)

    found = step(_mid(target, status={"upgraded_replicas": 3}))

    assert found == Fail(Why.DRIFT, "the partition of the CloneSet c is 4; expected: 2")


@pytest.mark.parametrize("step", [lambda each: in_place.roll(each, NOON), in_place.check, in_place.finish_batch])
def test_r_21_pods_that_nobody_updates_any_more_are_not_waited_for(step: Any) -> None:
    """Somebody changed the strategy in the middle, as whoever applies an earlier manifest does."""
    target = stateful_set(5, claimed=True, kind="OnDelete")

    found = step(_mid(target, pods=_pods("ooooo"), status={"upgraded_replicas": 3}))

    text = "somebody changed spec.updateStrategy.type of the StatefulSet s to OnDelete"
    assert found == Fail(Why.DRIFT, f"{text}: its pods are updated by deleting them only")


def test_a_workload_that_somebody_pauses_is_told_of() -> None:
    tree = merged(
        clone_set(claimed=True, partition=2, updated=3, ready=2).tree, {"spec": {"updateStrategy": {"paused": True}}}
    )

    found = in_place.check(_mid(replace(clone_set(), tree=tree)))

    text = "2 of 3 new pods of the CloneSet c are ready; somebody paused it: set spec.updateStrategy.paused to false"
    assert found == Retry(Why.PODS_NOT_READY, text)


def test_a_batch_is_finished_when_the_status_agrees() -> None:
    target = clone_set(claimed=True, partition=2)

    assert in_place.finish_batch(_mid(target, status={"upgraded_replicas": 3})) == Done()
    assert isinstance(in_place.finish_batch(_mid(target, status={"upgraded_replicas": 4})), Fail)
    assert isinstance(in_place.finish_batch(_mid(target, status={"upgraded_replicas": 0})), Fail)
    low = replace(PLAN, last_batch_to_rollout=0)
    assert isinstance(in_place.finish_batch(_mid(target, plan=low, status={"upgraded_replicas": 3})), Fail)


def test_success_lets_all_pods_be_new_and_failure_pauses() -> None:
    target = clone_set(claimed=True, partition=2, paused=False)

    done = in_place.finish(_mid(target), succeeded=True, keeps_original=False)
    failed = in_place.finish(_mid(target), succeeded=False, keeps_original=True)

    assert isinstance(done, Writes)
    assert isinstance(failed, Writes)
    assert applied(target, done.changes[0]).tree["spec"]["updateStrategy"] == {"partition": 0, "paused": False}
    assert applied(target, failed.changes[0]).tree["spec"]["updateStrategy"] == {"partition": 2, "paused": True}
    assert in_place.finish(_mid(applied(target, failed.changes[0])), succeeded=False, keeps_original=True) == Done()
    assert in_place.finish(replace(_mid(target), target=None), succeeded=False, keeps_original=True) == Done()


def test_the_newer_version_keeps_its_fields_elsewhere() -> None:
    tree = clone_set().tree
    tree = merged(tree, {"spec": {"updateStrategy": {"rollingUpdate": {"paused": True}}}})
    target = with_kind(replace(clone_set(), tree=tree), NEWER_CLONE_SETS, NEWER_CLONE_SET)

    assert isinstance(in_place.verify(an_attempt(target, (), PLAN)), Verified)
    step = in_place.initialize(_mid(target, 0), NOON)

    assert isinstance(step, Writes)
    assert applied(target, step.changes[0]).tree["spec"]["updateStrategy"] == {
        "rollingUpdate": {"paused": False, "partition": 5}
    }


def test_r_22_the_partition_goes_down_by_one() -> None:
    plan = RolloutPlan(rollout_batches=(RolloutBatch(1), RolloutBatch(2, instance_interval=10), RolloutBatch()))

    def rolled(partition: int, ready: int, later: int = 0, **status: Any) -> object:
        target = clone_set(claimed=True, partition=partition, updated=ready)
        return in_place.roll(_mid(target, plan=plan, status=status), NOON + timedelta(seconds=later))

    first = rolled(4, 1, upgraded_replicas=1, last_instance_time=NOON)
    last = rolled(3, 2, upgraded_replicas=2, last_instance_time=NOON)

    assert rolled(4, 1, upgraded_replicas=1) == Stamp(1)
    assert isinstance(first, Writes)
    assert not first.completes
    assert isinstance(rolled(3, 2, 9, upgraded_replicas=1, last_instance_time=NOON), Retry)
    assert isinstance(rolled(3, 1, 60, upgraded_replicas=1, last_instance_time=NOON), Retry)
    assert rolled(3, 2, 10, upgraded_replicas=1, last_instance_time=NOON) == Stamp(2)
    assert isinstance(last, Writes)
    assert last.completes


@pytest.mark.parametrize(
    ("revisions", "start"), [("oooo", 4), ("ooon", 3), ("oonn", 2), ("onon", 3), ("nooo", 4), ("nnnn", 0)]
)
def test_a_stateful_set_starts_below_its_new_pods_from_the_top(revisions: str, start: int) -> None:
    target = stateful_set(partition=4)

    step = in_place.initialize(_mid(target, 0, 4, plan=a_plan(1, 3), pods=_pods(revisions)), NOON)

    assert isinstance(step, Writes)
    assert applied(target, step.changes[0]).partition == start


def test_ordinals_may_start_elsewhere() -> None:
    target = stateful_set(partition=4, start=10)

    step = in_place.initialize(_mid(target, 0, 4, plan=a_plan(1, 3), pods=_pods("ooon", start=10)), NOON)

    assert isinstance(step, Writes)
    assert applied(target, step.changes[0]).partition == 3


@pytest.mark.parametrize(
    ("partition", "revisions", "is_sound"),
    [
        (4, "oooo", True),
        (None, "oooo", False),
        (3, "oooo", False),
        (3, "ooon", True),
        (2, "ooon", False),
        (0, "nnnn", True),
    ],
)
def test_a_stateful_set_that_updates_already_fails(partition: int | None, revisions: str, is_sound: bool) -> None:
    found = in_place.verify(an_attempt(stateful_set(partition=partition), (), a_plan(1, 3), pods=_pods(revisions)))

    assert isinstance(found, Verified) is is_sound
    assert is_sound or (isinstance(found, Fail) and found.why is Why.NOT_FROZEN)


def test_a_stateful_set_without_rolling_updates_fails() -> None:
    found = in_place.verify(an_attempt(stateful_set(kind="OnDelete"), (), a_plan(1, 3)))

    assert isinstance(found, Fail)


def test_old_pods_that_are_ready_do_not_count() -> None:
    target = stateful_set(partition=3, claimed=True)

    def checked(revisions: str, ready: str) -> object:
        return in_place.check(_mid(target, 0, 4, plan=a_plan(1, 3), pods=_pods(revisions, ready)))

    assert isinstance(checked("ooon", "rrr."), Retry)
    assert isinstance(checked("oooo", "rrrr"), Retry)
    assert checked("ooon", "rrrr") == Done()


def test_pods_of_others_and_pods_that_leave_do_not_count() -> None:
    target = stateful_set(partition=3, claimed=True)
    strange = (pod("s-3", "new", of="other"), pod("s-3", "new", of="s", leaving=True))

    assert isinstance(in_place.check(_mid(target, 0, 4, plan=a_plan(1, 3), pods=strange)), Retry)


def test_a_failed_stateful_set_keeps_its_partition() -> None:
    target = stateful_set(partition=3, claimed=True)

    failed = in_place.finish(_mid(target, 0, 4, plan=a_plan(1, 3)), succeeded=False, keeps_original=True)

    assert isinstance(failed, Writes)
    assert applied(target, failed.changes[0]).tree["spec"] == target.tree["spec"]


@pytest.mark.parametrize(
    ("style", "updated", "has_source", "is_scale"),
    [
        (Style.PAIR, 5, True, False),
        (Style.PAIR, 0, False, True),
        (Style.PARTITION, 5, False, True),
        (Style.PARTITION, 4, False, False),
        (Style.PARTITION, 5, True, False),
    ],
)
def test_r_25_without_a_source_old_pods_are_an_upgrade(
    style: Style, updated: int, has_source: bool, is_scale: bool
) -> None:
    assert starts_as_scale(clone_set(updated=updated), style, has_source=has_source) is is_scale


@pytest.mark.parametrize(
    ("original", "target", "sizes", "is_scale"),
    [(5, 5, (2, 3), False), (5, 5, (0, 0), True), (0, 5, (2, 3), True), (5, 0, (5,), True), (0, 0, (0,), True)],
)
def test_an_attempt_in_place_stays_what_it_started_as(
    original: int, target: int, sizes: tuple[int, ...], is_scale: bool
) -> None:
    """When all pods are new, an upgrade in place looks like a scale to whoever forgot what it was."""
    status = RolloutStatus(rollout_original_size=original, rollout_target_size=target, effective_batches=sizes)

    assert recorded_span(status) == Span(target, original, is_scale)
