"""Deployments in pairs (section 3.7): what is verified, what is claimed, and whose sizes are not touched."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from fairlead.contracts.plans.decide.batches import Span
from fairlead.contracts.plans.decide.why import Why
from fairlead.contracts.plans.decide.workloads import pair
from fairlead.contracts.plans.decide.workloads.answers import Done, Fail, Retry, Stamp, Verified, WorkloadChange, Writes
from fairlead.contracts.plans.decide.workloads.attempt import Attempt
from fairlead.contracts.plans.decide.workloads.live import Workload
from fairlead.contracts.plans.kinds import Carried, RolloutBatch, RolloutPlan, RolloutStatus
from tests.contracts.plans.decide.workloads.objects import (
    OTHER,
    a_plan,
    an_attempt,
    applied,
    deployment,
    merged,
    recorded,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
CARRIED_FIVE = RolloutStatus(carried=Carried((), 5))


def _target(**fields: Any) -> Workload:
    return deployment("d2", 0, paused=True, **fields)


def _mid(target: int, source: int, batch: int = 1, **fields: Any) -> Attempt:
    """In batch `batch` of 10%, 40%, 50% of five pods."""
    plan = fields.pop("plan", a_plan("10%", "40%", "50%"))
    was = recorded(deployment("d1", 5))
    return an_attempt(
        deployment("d2", target, claimed=True, ready=fields.pop("ready", None)),
        (deployment("d1", source, claimed=True),),
        plan,
        span=Span(5, 5),
        status=RolloutStatus(sources=was, current_batch=batch, **fields.pop("status", {})),
        **fields,
    )


def test_a_pair_is_verified() -> None:
    found = pair.verify(an_attempt(_target(), (deployment("d1", 5),), a_plan("10%", "40%", "50%")))

    assert isinstance(found, Verified)
    assert (found.target_size, found.original_size, found.sizes) == (5, 5, (1, 2, 2))
    assert found.sources == recorded(deployment("d1", 5))
    assert len(found.identifier) == 16
    assert found.notes == ()


@pytest.mark.parametrize(
    ("target", "source", "wanted", "status", "size"),
    [
        (0, 5, None, RolloutStatus(), 5),
        (2, 3, None, RolloutStatus(), 5),
        (0, 5, 8, RolloutStatus(), 8),
        (5, 2, None, CARRIED_FIVE, 5),
        (0, 7, None, CARRIED_FIVE, 5),
        (0, 7, 6, CARRIED_FIVE, 6),
    ],
)
def test_the_size_is_asked_for_carried_or_what_there_is(
    target: int, source: int, wanted: int | None, status: RolloutStatus, size: int
) -> None:
    attempt = an_attempt(
        _target(pods=target), (deployment("d1", source),), RolloutPlan(target_size=wanted), status=status
    )

    found = pair.verify(attempt)

    assert isinstance(found, Verified)
    assert found.target_size == size


@pytest.mark.parametrize(
    ("target", "source", "wanted", "status", "text"),
    [
        (0, 5, 4, RolloutStatus(), "targetSize is 4, but the sources have 5 pods"),
        (0, 7, 4, CARRIED_FIVE, "targetSize is 4, but the sources have 5 pods"),
        (6, 2, 5, RolloutStatus(), "targetSize is 5, but the target has 6 pods already"),
        (6, 2, None, CARRIED_FIVE, "the size of the attempt before is 5, but the target has 6 pods already"),
    ],
)
def test_too_small_a_size_fails_with_both_numbers(
    target: int, source: int, wanted: int | None, status: RolloutStatus, text: str
) -> None:
    attempt = an_attempt(
        _target(pods=target), (deployment("d1", source),), RolloutPlan(target_size=wanted), status=status
    )

    assert pair.verify(attempt) == Fail(Why.SPEC_INVALID, text)


def test_bad_sums_fail_with_both_numbers() -> None:
    found = pair.verify(an_attempt(_target(), (deployment("d1", 6),), a_plan(1, "20%", "50%", 2)))

    assert found == Fail(
        Why.BATCH_SUM, "the rollout plan batch size mismatch, total batch size = 6, totalReplicas size = 6"
    )


def test_what_is_missing_stale_or_scaling_is_waited_for() -> None:
    """R-23 and R-4."""
    source = deployment("d1", 5)
    stale = replace(source, tree=merged(source.tree, {"metadata": {"generation": 2}}))

    missing = pair.verify(an_attempt(None, (source,)))
    unseen = pair.verify(an_attempt(_target(), (stale,)))
    scaling = pair.verify(an_attempt(_target(), (deployment("d1", 5, pods=3),)))

    assert missing == Retry(Why.WORKLOAD_MISSING, "the Deployment d2 is not there")
    assert isinstance(unseen, Retry)
    assert unseen.why is Why.STATUS_STALE
    assert scaling == Retry(Why.WORKLOAD_SCALING, "the Deployment d1 is still scaling: it has 3 of 5 pods")


@pytest.mark.parametrize("is_target", [False, True])
def test_another_controller_fails_the_verification(is_target: bool) -> None:
    target, source = _target(), deployment("d1", 5)
    foreign = target if is_target else source
    foreign.tree["metadata"]["ownerReferences"] = [OTHER]

    found = pair.verify(an_attempt(target, (source,)))

    assert isinstance(found, Fail)
    assert found.why is Why.CONTROLLED
    assert isinstance(pair.initialize(an_attempt(target, (source,), span=Span(5, 5)), NOON), Fail)


def test_equal_templates_and_autoscalers_are_told_and_no_failure() -> None:
    """R-24 and R-21."""
    attempt = an_attempt(_target(image="a"), (deployment("d1", 5, image="a"),), autoscalers={"d1": "hpa"})

    found = pair.verify(attempt)

    assert isinstance(found, Verified)
    assert [(each.reason, each.warning) for each in found.notes] == [("VerifyFailed", True), ("AutoscalerActive", True)]
    assert found.notes[0].text == "there is no difference between the source and target"
    assert "hpa" in found.notes[1].text


def test_pods_cannot_be_picked() -> None:
    plan = RolloutPlan(rollout_batches=(RolloutBatch(pod_list=("a",)), RolloutBatch()))

    assert isinstance(pair.verify(an_attempt(_target(), (deployment("d1", 5),), plan)), Fail)


@pytest.mark.parametrize(("there", "source", "size", "start"), [(0, 5, 5, 0), (0, 5, 8, 3), (3, 5, 5, 3), (2, 2, 5, 3)])
def test_the_target_starts_from_what_all_pods_need(there: int, source: int, size: int, start: int) -> None:
    target, old = _target(pods=there), deployment("d1", source, paused=True)
    attempt = an_attempt(target, (old,), span=Span(size, source), status=RolloutStatus(sources=recorded(old)))

    step = pair.initialize(attempt, NOON)

    assert isinstance(step, Writes)
    assert step.completes
    assert step.start_target_size == start
    first, second = step.changes
    assert isinstance(first, WorkloadChange)
    assert first.ref.name == "d1"
    assert applied(old, first).size == source
    assert not applied(old, first).is_paused
    assert applied(target, second).size == start
    assert not applied(target, second).is_paused


def test_a_claim_without_its_status_goes_on_without_a_write() -> None:
    attempt = an_attempt(
        deployment("d2", 3, pods=1, claimed=True),
        (deployment("d1", 5, claimed=True),),
        span=Span(8, 5),
        status=RolloutStatus(sources=recorded(deployment("d1", 5))),
    )

    assert pair.initialize(attempt, NOON) == Done(3)


def test_a_target_that_somebody_scales_meanwhile_keeps_its_size() -> None:
    """Hooks may hold the claim up for hours. Its pods are not there yet, and the claim gives it as many as it has."""
    old = deployment("d1", 5)
    status = RolloutStatus(sources=recorded(old))
    unseen = deployment("d2", 3, pods=0)
    unseen.tree["metadata"]["generation"] = 2

    for target, why in ((unseen, Why.STATUS_STALE), (deployment("d2", 3, pods=1), Why.WORKLOAD_SCALING)):
        step = pair.initialize(an_attempt(target, (old,), span=Span(5, 5), status=status), NOON)
        assert isinstance(step, Retry)
        assert step.why is why
    settled = pair.initialize(an_attempt(deployment("d2", 3), (old,), span=Span(5, 5), status=status), NOON)
    assert isinstance(settled, Writes)
    assert settled.start_target_size == 3


def test_sizes_that_changed_since_the_verification_are_not_claimed() -> None:
    status = RolloutStatus(sources=recorded(deployment("d1", 5)))

    grown = pair.initialize(an_attempt(_target(pods=9), (deployment("d1", 5),), span=Span(5, 5), status=status), NOON)
    scaled = pair.initialize(an_attempt(_target(), (deployment("d1", 3),), span=Span(5, 5), status=status), NOON)

    assert isinstance(grown, Fail)
    assert isinstance(scaled, Fail)
    assert scaled.text == "the sources have 3 pods; 5 were there when the plan was verified"


@pytest.mark.parametrize(
    ("target", "source", "is_sound"),
    [
        (1, 4, True),
        (3, 4, True),
        (3, 2, True),
        (1, 2, True),
        (2, 4, False),
        (1, 5, False),
        (4, 2, False),
        (3, 3, False),
    ],
)
def test_r_21_while_a_batch_is_rolled_only_its_own_sizes_are_sound(target: int, source: int, is_sound: bool) -> None:
    step = pair.roll(_mid(target, source), NOON)

    assert isinstance(step, Fail) is not is_sound
    assert not isinstance(step, Fail) or step.why is Why.DRIFT


@pytest.mark.parametrize("step", [pair.check, pair.finish_batch])
@pytest.mark.parametrize(("target", "source"), [(1, 4), (3, 4), (4, 2), (3, 1)])
def test_r_21_after_a_batch_only_its_goal_is_sound(step: Any, target: int, source: int) -> None:
    found = step(_mid(target, source, autoscalers={"d1": "hpa"}))

    assert isinstance(found, Fail)
    assert str(target if target != 3 else source) in found.text


def test_drift_names_numbers_and_autoscaler() -> None:
    found = pair.roll(_mid(1, 9, autoscalers={"d1": "hpa"}), NOON)

    assert found == Fail(
        Why.DRIFT,
        "the source Deployment d1, at which the HorizontalPodAutoscaler hpa aims, has 9 replicas; expected: 2 or 4",
    )


def test_a_claim_that_somebody_took_off_ends_the_attempt() -> None:
    attempt = _mid(1, 4)
    assert attempt.target is not None
    del attempt.target.tree["metadata"]["ownerReferences"]

    assert pair.roll(attempt, NOON) == Fail(Why.DRIFT, "somebody took the claim off the Deployment d2")


def test_a_partition_below_the_batch_fails() -> None:
    plan = replace(a_plan("10%", "40%", "50%"), batch_partition=0)

    found = pair.finish_batch(_mid(3, 2, plan=plan))

    assert isinstance(found, Fail)
    assert found.text.startswith("the partition is 0, but batch 1 is being rolled")


def test_a_missing_side_is_waited_for_and_the_other_not_touched() -> None:
    attempt = _mid(1, 4)

    gone = replace(attempt, sources=(replace(attempt.sources[0], live=None),))

    for step in (pair.roll(gone, NOON), pair.check(gone), pair.finish_batch(gone), pair.available(gone)):
        assert step == Retry(Why.WORKLOAD_MISSING, "the Deployment d1 is not there")


def test_availability_looks_at_both_sides() -> None:
    not_ready = pair.check(_mid(3, 2, ready=2))
    tolerated = pair.check(
        _mid(
            3,
            2,
            ready=2,
            plan=RolloutPlan(rollout_batches=(RolloutBatch(1), RolloutBatch(2, max_unavailable=1), RolloutBatch())),
        )
    )
    attempt = _mid(3, 2)
    assert attempt.sources[0].live is not None
    attempt.sources[0].live.tree["status"]["replicas"] = 4

    assert not_ready == Retry(Why.PODS_NOT_READY, "2 of 3 pods of the Deployment d2 are ready")
    assert tolerated == Done()
    assert pair.check(attempt) == Retry(Why.SOURCE_NOT_SHRUNK, "the sources have 4 pods, and go to 2")


def test_a_target_that_somebody_pauses_is_told_of() -> None:
    attempt = _mid(3, 2, ready=2)
    assert attempt.target is not None
    attempt.target.tree["spec"]["paused"] = True

    text = "2 of 3 pods of the Deployment d2 are ready; somebody paused it: set spec.paused to false"
    assert pair.check(attempt) == Retry(Why.PODS_NOT_READY, text)


@pytest.mark.parametrize("status", ["True", "False"])
def test_pods_that_a_quota_refuses_are_told_of(status: str) -> None:
    """Nothing but the Deployment says so: the pods that are waited for are not there to be looked at."""
    attempt = _mid(3, 2, ready=2)
    assert attempt.target is not None
    said = "forbidden: exceeded quota: pods"
    attempt.target.tree["status"]["conditions"] = [
        {"type": "Available", "status": "True"},
        {"type": "ReplicaFailure", "status": status, "reason": "FailedCreate", "message": f'pods "d2-x7" is {said}'},
    ]

    text = "2 of 3 pods of the Deployment d2 are ready"
    refused = f"; its pods are not made: {said}" if status == "True" else ""
    assert pair.check(attempt) == Retry(Why.PODS_NOT_READY, text + refused)


def test_success_empties_the_sources_and_keeps_them() -> None:
    attempt = _mid(5, 2)

    step = pair.finish(attempt, succeeded=True, keeps_original=False)

    assert isinstance(step, Writes)
    source, target = attempt.live_sources[0], attempt.target
    assert target is not None
    assert applied(source, step.changes[0]).size == 0
    assert applied(target, step.changes[1]).size == 5
    assert not applied(source, step.changes[0]).owners


def test_a_failure_leaves_sizes_and_missing_objects_alone() -> None:
    """R-15."""
    attempt = _mid(3, 4)

    step = pair.finish(replace(attempt, target=None), succeeded=False, keeps_original=True)

    assert isinstance(step, Writes)
    (change,) = step.changes
    assert applied(attempt.live_sources[0], change).size == 4
    assert pair.finish(replace(attempt, target=None, sources=()), succeeded=False, keeps_original=True) == Done()


def _spaced(target: int, source: int, **status: Any) -> Attempt:
    """The second batch, of two pods that go ten seconds apart."""
    batches = (RolloutBatch(1), RolloutBatch(2, instance_interval=10), RolloutBatch())
    return _mid(target, source, plan=RolloutPlan(rollout_batches=batches), status={"upgraded_replicas": 1, **status})


def test_r_22_pods_go_one_at_a_time() -> None:
    """The stamp is stored before the pod goes; then target and source move by one; then the next waits."""
    later = NOON + timedelta(seconds=9)

    assert pair.roll(_spaced(1, 4), NOON) == Stamp(1)
    raised = pair.roll(_spaced(1, 4, last_instance_time=NOON), NOON)
    lowered = pair.roll(_spaced(2, 4, last_instance_time=NOON), later)
    spaced = pair.roll(_spaced(2, 3, last_instance_time=NOON), later)
    stamped = pair.roll(_spaced(2, 3, last_instance_time=NOON), later + timedelta(seconds=1))
    last = pair.roll(_spaced(3, 3, last_instance_time=NOON, upgraded_replicas=2), later)

    assert isinstance(raised, Writes)
    assert isinstance(raised.changes[0], WorkloadChange)
    assert raised.changes[0].body == {"spec": {"replicas": 2}}
    assert isinstance(lowered, Writes)
    assert not lowered.completes
    assert spaced == Retry(Why.INSTANCE_SPACING, "10 s pass between two pods", NOON + timedelta(seconds=10))
    assert stamped == Stamp(2)
    assert isinstance(last, Writes)
    assert last.completes


def test_r_22_a_pod_waits_for_the_one_before_it() -> None:
    attempt = _spaced(2, 3, last_instance_time=NOON)
    assert attempt.target is not None
    attempt.target.tree["status"]["readyReplicas"] = 1

    found = pair.roll(attempt, NOON + timedelta(minutes=1))

    assert found == Retry(Why.PODS_NOT_READY, "the next pod waits until the 2 before it are ready")


def test_r_22_holds_for_sources_that_shrink_first() -> None:
    attempt = _spaced(1, 4)
    attempt = replace(attempt, plan=replace(attempt.plan, rollout_strategy="DecreaseFirst"))

    first = pair.roll(replace(attempt, status=replace(attempt.status, last_instance_time=NOON)), NOON)

    assert pair.roll(attempt, NOON) == Stamp(1)
    assert isinstance(first, Writes)
    assert isinstance(first.changes[0], WorkloadChange)
    assert (first.changes[0].ref.name, first.changes[0].body) == ("d1", {"spec": {"replicas": 3}})
