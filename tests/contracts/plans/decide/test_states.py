"""The state machine (sections 3.2 and 3.3 and 3.4), every state by every event, and the conditions of section 2.10."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.contracts.plans.decide import conditions, notes, states
from fairlead.contracts.plans.decide.states import Event
from fairlead.contracts.plans.kinds import (
    BATCH_STATES,
    STATES,
    Carried,
    MetricRecord,
    RolloutCondition,
    RolloutStatus,
    SourceSize,
    WorkloadReference,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(seconds=7)
D1, D2 = (WorkloadReference("apps/v1", "Deployment", name) for name in ("d1", "d2"))
PLACES = [(state, "") for state in STATES if state != "rollingInBatches"] + [
    ("rollingInBatches", batch) for batch in BATCH_STATES
]
NEXT = {
    ("locatingTargetApp", Event.LOCATED): ("verifyingSpec", "batchInitializing"),
    ("verifyingSpec", Event.SPEC_VERIFIED): ("initializing", "batchInitializing"),
    ("initializing", Event.INITIALIZED): ("rollingInBatches", "batchInitializing"),
    ("batchInitializing", Event.BATCH_INITIALIZED): ("rollingInBatches", "batchInRolling"),
    ("batchInRolling", Event.BATCH_ROLLED): ("rollingInBatches", "batchVerifying"),
    ("batchVerifying", Event.BATCH_AVAILABLE): ("rollingInBatches", "batchFinalizing"),
    ("batchFinalizing", Event.BATCH_FINISHED): ("rollingInBatches", "batchReady"),
    ("batchReady", Event.BATCH_APPROVED): ("rollingInBatches", "batchInitializing"),
    ("finalising", Event.FINALIZED): ("rolloutSucceed", "batchReady"),
    ("rolloutFailing", Event.FINALIZED): ("rolloutFailed", "batchInitializing"),
    ("RolloutDeletingState", Event.FINALIZED): ("rolloutFailed", "batchInitializing"),
    ("rolloutAbandoned", Event.FINALIZED): ("verifyingSpec", "batchInitializing"),
    ("rolloutSucceed", Event.MODIFIED): ("verifyingSpec", "batchInitializing"),
    ("rolloutFailed", Event.MODIFIED): ("verifyingSpec", "batchInitializing"),
    ("rolloutFailed", Event.DELETED): ("RolloutDeletingState", "batchInitializing"),
    ("RolloutDeletingState", Event.DELETED): ("RolloutDeletingState", "batchInitializing"),
}
"""Beside what every state does alike when a rollout is modified or deleted, and every batch when a check refuses it."""


def _at(state: str, batch: str = "", **fields: object) -> RolloutStatus:
    return replace(
        RolloutStatus(rolling_state=state, batch_rolling_state=batch, current_batch=1, hook_failures=2), **fields
    )


def _condition(status: RolloutStatus, kind: str) -> RolloutCondition:
    (found,) = (each for each in status.conditions if each.type == kind)
    return found


def _expected(state: str, batch: str, event: Event) -> tuple[str, str] | None:
    place = batch or state
    if event is Event.LOCATED and state != "locatingTargetApp":
        return state, batch
    if event is Event.CHECK_REFUSED and batch:
        return "rolloutFailing", "batchVerifyFailed"
    if place in ("rolloutSucceed", "rolloutFailed", "RolloutDeletingState"):
        return NEXT.get((place, event))
    match event:
        case Event.MODIFIED:
            return "rolloutAbandoned", "batchInitializing"
        case Event.DELETED:
            return "RolloutDeletingState", "batchInitializing"
    return NEXT.get((place, event))


@pytest.mark.parametrize(("state", "batch"), PLACES)
@pytest.mark.parametrize("event", [each for each in Event if each is not Event.ALL_FINISHED])
def test_every_state_by_every_event(state: str, batch: str, event: Event) -> None:
    """R-10: what the table does not list ends the attempt with a sentence."""
    status = states.after(_at(state, batch), event, NOON)

    expected = _expected(state, batch, event)
    if expected is None:
        assert status.rolling_state == "rolloutFailed"
        told = _condition(status, "RolloutFailed")
        assert (told.status, told.message) == (
            "True",
            f"the state {batch or state} cannot follow the event {event.value}",
        )
    else:
        assert (status.rolling_state, status.batch_rolling_state) == expected


@pytest.mark.parametrize(("state", "batch"), PLACES)
def test_the_last_batch_has_an_event_of_its_own(state: str, batch: str) -> None:
    last = states.after(_at(state, batch), Event.ALL_FINISHED, NOON, is_last=True)
    other = states.after(_at(state, batch), Event.ALL_FINISHED, NOON, is_last=False)

    is_finalizing = batch == "batchFinalizing"
    assert (last.rolling_state == "finalising") is is_finalizing
    assert last.rolling_state in ("finalising", "rolloutFailed")
    assert other.rolling_state == "rolloutFailed"
    assert states.after(_at("rollingInBatches", "batchFinalizing"), Event.BATCH_FINISHED, NOON, is_last=True) != last


def test_a_kind_that_makes_its_target_begins_by_locating_it() -> None:
    again = states.after(_at("rolloutSucceed"), Event.MODIFIED, NOON, first="locatingTargetApp")
    abandoned = states.after(_at("rolloutAbandoned"), Event.FINALIZED, NOON, first="locatingTargetApp")

    assert {again.rolling_state, abandoned.rolling_state} == {"locatingTargetApp"}
    assert again.batch_start_time == NOON


def test_what_fails_before_anything_is_claimed_has_nothing_to_release() -> None:
    failed = states.failed(_at("locatingTargetApp"), "SpecInvalid", "it is empty", NOON)

    assert failed.rolling_state == "rolloutFailed"
    assert _condition(failed, "TargetAppLocating").message == "it is empty"


def test_a_succeeded_rollout_is_not_deleted_by_the_machine() -> None:
    """R-14: its finalizer goes at once."""
    assert ("rolloutSucceed", Event.DELETED) not in states.TABLE


@pytest.mark.parametrize(
    ("state", "batch", "event", "kind"),
    [
        ("locatingTargetApp", "", Event.LOCATED, "TargetAppLocating"),
        ("verifyingSpec", "", Event.SPEC_VERIFIED, "RolloutSpecVerifying"),
        ("initializing", "", Event.INITIALIZED, "RolloutInitializing"),
        ("rollingInBatches", "batchInRolling", Event.BATCH_ROLLED, "RolloutInProgress"),
        ("rollingInBatches", "batchVerifying", Event.BATCH_AVAILABLE, "BatchVerifying"),
        ("rollingInBatches", "batchFinalizing", Event.BATCH_FINISHED, "BatchFinalizing"),
        ("rollingInBatches", "batchReady", Event.BATCH_APPROVED, "BatchReady"),
        ("finalising", "", Event.FINALIZED, "RolloutFinalizing"),
        ("rolloutFailing", "", Event.FINALIZED, "RolloutFailing"),
        ("rolloutAbandoned", "", Event.FINALIZED, "RolloutAbandoning"),
        ("RolloutDeletingState", "", Event.FINALIZED, "RolloutDeleting"),
    ],
)
def test_leaving_a_state_makes_its_condition_true(state: str, batch: str, event: Event, kind: str) -> None:
    before = conditions.holds(_at(state, batch), kind, "Old", "", NOON)

    status = states.after(before, event, LATER)

    told = _condition(status, kind)
    assert (told.status, told.last_transition_time) == ("True", LATER)


def test_the_start_of_a_batch_writes_no_condition() -> None:
    status = states.after(_at("rollingInBatches", "batchInitializing"), Event.BATCH_INITIALIZED, NOON)

    assert status.conditions == ()


@pytest.mark.parametrize(
    ("event", "text"), [(Event.MODIFIED, "Rollout Spec is modified"), (Event.DELETED, "Rollout is being deleted")]
)
def test_what_somebody_ends_says_so(event: Event, text: str) -> None:
    status = states.after(_at("rollingInBatches", "batchInRolling"), event, NOON)

    told = _condition(status, "RolloutInProgress")
    assert (told.status, told.message) == ("False", text)


def test_r_9_fails_before_anything_was_claimed_at_once() -> None:
    status = states.failed(_at("verifyingSpec"), "BatchSum", "it does not fit", NOON)

    assert status.rolling_state == "rolloutFailed"
    assert _condition(status, "RolloutSpecVerifying").status == "False"
    assert _condition(status, "RolloutFailed") == RolloutCondition(
        "RolloutFailed", "True", "Failed", "it does not fit", NOON
    )


@pytest.mark.parametrize(("state", "batch"), [("initializing", ""), ("rollingInBatches", "batchVerifying")])
def test_r_9_releases_first_what_was_claimed(state: str, batch: str) -> None:
    status = states.failed(_at(state, batch), "Drift", "the source is 3", NOON)

    assert (status.rolling_state, status.batch_rolling_state) == ("rolloutFailing", "batchInitializing")
    ended = states.after(status, Event.FINALIZED, LATER)
    assert ended.rolling_state == "rolloutFailed"
    assert _condition(ended, "RolloutFailed").message == "the source is 3"


def test_a_refused_batch_keeps_its_state_to_the_end() -> None:
    refused = states.check_refused(_at("rollingInBatches", "batchVerifying"), "MetricRefused", "5 is above 1", NOON)

    assert (refused.rolling_state, refused.batch_rolling_state) == ("rolloutFailing", "batchVerifyFailed")
    assert _condition(refused, "BatchVerifying").message == "5 is above 1"
    ended = states.after(refused, Event.FINALIZED, LATER)
    assert (ended.rolling_state, ended.batch_rolling_state) == ("rolloutFailed", "batchVerifyFailed")


def test_a_retry_keeps_its_time_as_long_as_it_says_the_same() -> None:
    first = states.retried(_at("initializing"), "PodsNotReady", "waiting for a", NOON)
    again = states.retried(first, "PodsNotReady", "waiting for a", LATER)
    other = states.retried(again, "PodsNotReady", "waiting for b", LATER)

    assert first.rolling_state == "initializing"
    assert again == first
    assert _condition(other, "RolloutInitializing").last_transition_time == LATER
    assert len(other.conditions) == 1


def test_a_pause_keeps_its_time_until_it_ends() -> None:
    first = conditions.still_holds(_at("rollingInBatches", "batchReady"), "BatchPaused", "Paused", "paused", NOON)
    again = conditions.still_holds(first, "BatchPaused", "Paused", "paused", LATER)
    ended = conditions.ended(again, "BatchPaused", LATER)

    assert again == first
    assert (_condition(ended, "BatchPaused").status, _condition(ended, "BatchPaused").last_transition_time) == (
        "False",
        LATER,
    )
    assert conditions.ended(ended, "BatchPaused", NOON) == ended


def test_r_11_begins_again_and_keeps_what_an_attempt_leaves() -> None:
    status = _at(
        "rolloutFailed",
        conditions=(RolloutCondition("RolloutFailed", "True"),),
        target_generation="abc",
        last_applied_pod_template_identifier="old",
        rollout_target_size=5,
        upgraded_replicas=3,
        sources=(SourceSize(D1, 5),),
        last_target_ref=D2,
        last_action="abort@2026",
    )

    found = states.after(status, Event.MODIFIED, NOON)

    assert found == RolloutStatus(
        conditions=status.conditions,
        rolling_state="verifyingSpec",
        batch_rolling_state="batchInitializing",
        batch_start_time=NOON,
        carried=Carried((D1, D2), 5),
        last_action="abort@2026",
        last_target_ref=D2,
    )
    assert found.rollout_target_size == -1


def test_success_leaves_nothing_to_the_next_attempt() -> None:
    status = _at("rolloutSucceed", target_generation="abc", rollout_target_size=5, sources=(SourceSize(D1, 5),))

    assert states.after(status, Event.MODIFIED, NOON).carried is None


def test_an_attempt_that_was_not_verified_passes_on_what_it_got() -> None:
    carried = Carried((D1,), 4)

    assert states.after(_at("rolloutFailed", carried=carried), Event.MODIFIED, NOON).carried == carried


def test_each_batch_starts_its_own_clock() -> None:
    status = _at(
        "rollingInBatches",
        "batchReady",
        batch_start_time=NOON,
        batch_available_time=NOON,
        last_instance_time=NOON,
        metrics=(MetricRecord("a"),),
    )

    found = states.after(status, Event.BATCH_APPROVED, LATER)

    assert (found.current_batch, found.batch_start_time, found.hook_failures) == (2, LATER, 0)
    assert (found.batch_available_time, found.last_instance_time, found.metrics) == (None, None, ())
    assert states.after(found, Event.BATCH_INITIALIZED, NOON).batch_start_time == LATER


def test_a_state_of_another_release_is_read_as_ours() -> None:
    assert states.known(_at("rolloutAbandoning")).rolling_state == "rolloutAbandoned"


@pytest.mark.parametrize("status", [_at("locating"), _at("rollingInBatches", "batchDancing")])
def test_a_state_that_nobody_knows_ends_the_attempt(status: RolloutStatus) -> None:
    assert not states.is_known(status)

    found = states.unknown(status, NOON)

    assert found.rolling_state == "rolloutFailed"
    assert (status.batch_rolling_state or status.rolling_state) in _condition(found, "RolloutFailed").message


@given(
    st.lists(st.tuples(st.sampled_from(Event), st.booleans()), max_size=12),
    st.sampled_from(PLACES),
)
def test_no_row_of_events_leaves_the_states_or_goes_back(
    events: list[tuple[Event, bool]], start: tuple[str, str]
) -> None:
    """I-2: the batch never falls within an attempt; conditions stay one of a type."""
    status = _at(*start)
    for event, is_last in events:
        before, status = status, states.after(status, event, NOON, is_last=is_last)
        assert states.is_known(status)
        assert status.rolling_state == "verifyingSpec" or status.current_batch >= before.current_batch
        kinds = [each.type for each in status.conditions]
        assert len(kinds) == len(set(kinds))


@pytest.mark.parametrize(
    ("event", "state", "is_scale", "reason"),
    [
        (Event.SPEC_VERIFIED, "initializing", False, "Rollout Verified"),
        (Event.SPEC_VERIFIED, "initializing", True, "Scale Verified"),
        (Event.INITIALIZED, "rollingInBatches", False, "Rollout Initialized"),
        (Event.INITIALIZED, "rollingInBatches", True, "Scale Initialized"),
        (Event.BATCH_INITIALIZED, "rollingInBatches", False, None),
        (Event.BATCH_ROLLED, "rollingInBatches", False, "Batch Rollout"),
        (Event.BATCH_AVAILABLE, "rollingInBatches", False, "Batch Available"),
        (Event.BATCH_FINISHED, "rollingInBatches", False, "Batch Finalized"),
        (Event.ALL_FINISHED, "finalising", False, "All batches rolled out"),
        (Event.BATCH_APPROVED, "rollingInBatches", False, None),
        (Event.FINALIZED, "rolloutSucceed", False, "Rollout Finalized"),
        (Event.FINALIZED, "rolloutFailed", True, "Scale Finalized"),
        (Event.FINALIZED, "verifyingSpec", False, None),
        (Event.MODIFIED, "verifyingSpec", False, "Rollout Restarted"),
        (Event.MODIFIED, "rolloutAbandoned", False, None),
        (Event.DELETED, "RolloutDeletingState", False, None),
    ],
)
def test_events_are_told_in_the_words_of_the_contract(
    event: Event, state: str, is_scale: bool, reason: str | None
) -> None:
    """Section 2.12."""
    told = notes.of_event(event, state=state, batch=2, is_scale=is_scale)

    assert (told.reason if told else None) == reason
    assert told is None or told.warning is (event is Event.CHECK_REFUSED)
