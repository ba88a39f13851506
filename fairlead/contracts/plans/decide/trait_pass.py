"""One pass over a rollout (R-2): rules in their order, the first that answers is the pass.

The object itself comes first (finalizer, status, what somebody changed), then what keeps a plan from going on, then one
step of its state. Workloads are written before the status, so that a status never says more than there is.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Protocol, TypeAlias

from msgspec.structs import replace

from fairlead.contracts.plans.decide import conditions, deadline, modification, notes, states, stuck
from fairlead.contracts.plans.decide.batches import Rolled, resized
from fairlead.contracts.plans.decide.located import located
from fairlead.contracts.plans.decide.lost_status import verify_again
from fairlead.contracts.plans.decide.notes import Note
from fairlead.contracts.plans.decide.notices.news import notices
from fairlead.contracts.plans.decide.seen import TraitSeen
from fairlead.contracts.plans.decide.set_back import not_ahead
from fairlead.contracts.plans.decide.states import Event
from fairlead.contracts.plans.decide.steps import STEPS, reopened
from fairlead.contracts.plans.decide.turns import Pass, Turn, fails, left_claims, moved, waits
from fairlead.contracts.plans.decide.why import Why
from fairlead.contracts.plans.decide.workloads import reverts
from fairlead.contracts.plans.decide.workloads.answers import Done, Fail, Purpose, Retry, WorkloadChange
from fairlead.contracts.plans.decide.workloads.live import Style
from fairlead.contracts.plans.decide.workloads.nodes import kept_new, size_of
from fairlead.contracts.plans.decide.writes import event, finalizer_write, status_write, workload_write
from fairlead.contracts.plans.kinds import (
    ABANDONED,
    ACTION,
    BATCH_FINALIZING,
    BATCH_INITIALIZING,
    BATCH_READY,
    BATCH_ROLLING,
    BATCH_VERIFYING,
    DELETING,
    FAILED,
    FAILING,
    FINALISING,
    INITIALIZING,
    LOCATING,
    PAUSED_CONDITION,
    ROLLING,
    SUCCEEDED,
    TERMINAL,
    VERIFYING,
    RolloutStatus,
)
from fairlead.core.act import AnyWrite
from fairlead.core.ask import Bad, Need
from fairlead.core.decision import Decision, Hold, Move, Outcome
from fairlead.core.reason import Reason

AGAIN = timedelta(seconds=5)
"""R-3: after so long a rollout that is not done is looked at without being woken."""
_AWAITING = frozenset({BATCH_ROLLING, BATCH_VERIFYING, BATCH_FINALIZING, BATCH_READY})
_AT_WORK = frozenset({LOCATING, VERIFYING, INITIALIZING, ROLLING, FINALISING})
Answered: TypeAlias = Turn | Need | Decision | None


class Surroundings(Protocol):
    """What a kind of rollouts does around the plan; a RolloutTrait does nothing."""

    def prepare(self, given: Pass) -> Answered:
        """Before a step of the plan; None where the step may be taken."""

    def close(self, given: Pass, turn: Turn) -> tuple[AnyWrite, ...] | Need | Decision:
        """Written before the end of an attempt is stored."""


def decide(seen: TraitSeen, now: datetime, around: Surroundings | None = None) -> Outcome:
    spec, wrong = seen.rollout.read_spec
    status = not_ahead(states.known(seen.rollout.read_status), now)
    given = Pass(seen, spec, status, now, located(seen, spec, status))
    for rule in RULES:
        if rule is step and around is not None and (prepared := around.prepare(given)) is not None:
            return _decided("prepare", given, prepared) if isinstance(prepared, Turn) else prepared
        match rule(given, wrong):
            case None:
                continue
            case Turn() if rule is stop_at_deadline and (ahead := _goes_on(given, wrong, around)):
                if isinstance(ahead, Need):
                    return ahead
            case Turn() as turn:
                return _closed(rule.__name__, given, turn, around)
            case answer:
                return answer
    raise AssertionError("the last rule answers every state")


def _closed(rule: str, given: Pass, turn: Turn, around: Surroundings | None) -> Outcome:
    """With what is written around the plan when an attempt ends."""
    before, after = given.status.rolling_state, turn.status.rolling_state
    if around is None or not (turn.is_over or (before != after and (after in TERMINAL or before == ABANDONED))):
        return _decided(rule, given, turn)
    closing = around.close(given, turn)
    return _decided(rule, given, turn, closing) if isinstance(closing, tuple) else closing


def leave(given: Pass, _wrong: tuple[str, ...]) -> Answered:
    """R-14: what has nothing to give back goes at once; the rest is released first."""
    metadata = given.seen.rollout.metadata
    if metadata.deletion_timestamp is None:
        return None
    if given.seen.rollout.finalizer not in metadata.finalizers:
        return Decision("leave", Hold(Reason.SET_LEAVING))
    state = given.status.rolling_state
    is_reverted = state == FAILED and reverts.is_due_on_deletion(given.found.attempt)
    if state in ("", *TERMINAL) and not is_reverted:
        claims = left_claims(given)
        return Turn(status=given.status, changes=claims) if claims else Turn(status=given.status, is_over=True)
    if state == DELETING:
        return None
    known = given.status if given.is_in_known_state else replace(given.status, rolling_state=FAILING)
    return moved(given, Event.DELETED, known)


def add_finalizer(given: Pass, _wrong: tuple[str, ...]) -> Answered:
    rollout = given.seen.rollout
    if rollout.finalizer in rollout.metadata.finalizers or rollout.metadata.deletion_timestamp is not None:
        return None
    return Decision("add_finalizer", Move(Reason.APPLYING, (finalizer_write(rollout, is_added=True),)))


def begin(given: Pass, _wrong: tuple[str, ...]) -> Answered:
    if given.status.rolling_state:
        return None
    return Turn(status=modification.recorded(given.begun_again, given.spec))


def refuse_unknown_state(given: Pass, _wrong: tuple[str, ...]) -> Answered:
    return None if given.is_in_known_state else Turn(status=states.unknown(given.status, given.now))


def obey(given: Pass, _wrong: tuple[str, ...]) -> Answered:
    """X-5: what a person asks for by an annotation, once."""
    asked, state = given.seen.rollout.metadata.annotations.get(ACTION, ""), given.status.rolling_state
    if not asked or asked == given.status.last_action or given.seen.rollout.metadata.deletion_timestamp is not None:
        return None
    heard = replace(given, status=replace(given.status, last_action=asked))
    match asked.partition("@")[0]:
        case "abort" | "revert" if state == ABANDONED:
            return None  # what is given up already is not what anybody wants to stop: the attempt that follows hears it
        case "abort" | "revert" as action if state == FAILING:
            return _given_up_otherwise(heard, is_back=action == "revert")
        case "abort" if state in _AT_WORK:
            return fails(heard, Fail(Why.ABORTED, "aborted"))
        case "revert" if state in states.UNCLAIMED:
            return fails(heard, Fail(Why.ABORTED, "aborted: nothing of this attempt is rolled that could go back"))
        case "revert" if state in _AT_WORK:
            return fails(heard, Fail(Why.REVERT_ASKED, "aborted, to go back to what was there before"))
        case "retry" if state == FAILED:
            again = modification.recorded(heard.begun_again, given.spec)
            return Turn(status=again, notes=(Note(notes.RESTARTED, "somebody asked to try again"),))
    return Turn(status=heard.status)


def _given_up_otherwise(given: Pass, *, is_back: bool) -> Turn:
    """Of an attempt that has failed and is not released yet: it goes back after all, or no further."""
    status = given.status
    if is_back == reverts.is_due_on_failure(given.found.attempt):
        return Turn(status=status)
    word = Why.REVERT_ASKED.word if is_back else Why.ABORTED.word
    return Turn(status=replace(conditions.with_cause(status, word), batch_start_time=given.now))


def refuse_spec(given: Pass, wrong: tuple[str, ...]) -> Answered:
    """Nothing is decided on a spec that cannot be read; what is being given up goes by the status."""
    state = given.status.rolling_state
    if not wrong or state in (FAILING, ABANDONED, DELETING, *TERMINAL):
        return None
    if state in states.UNCLAIMED:
        note = Note(notes.VERIFY_FAILED, wrong[0], warning=True)
        return fails(given, Fail(Why.SPEC_INVALID, wrong[0]), (note,))
    return waits(given, Retry(Why.SPEC_INVALID, wrong[0]))


def restart(given: Pass, wrong: tuple[str, ...]) -> Answered:
    """R-12: an attempt that has ended begins again; one that runs is abandoned, and goes on with its own names."""
    status = given.status
    is_nodes = given.found.kind.style is Style.NODES
    generation = given.seen.rollout.metadata.generation
    if wrong or status.rolling_state == ABANDONED:
        return None
    if not modification.is_modified(given.spec, status, generation, follows_nodes=is_nodes):
        return None
    turn = moved(given, Event.MODIFIED)
    if status.rolling_state in TERMINAL:
        return replace(turn, status=modification.recorded(turn.status, given.spec))
    return turn


def rest(given: Pass, _wrong: tuple[str, ...]) -> Answered:
    """A plan runs once; of an edit that begins nothing again it is stored that it was seen."""
    rollout, status = given.seen.rollout, given.status
    if status.rolling_state not in TERMINAL:
        return None
    reports: tuple[AnyWrite, ...] = ()
    if rollout.metadata.generation > status.observed_generation:
        stored = status_write(rollout, replace(status, observed_generation=rollout.metadata.generation))
        reports = () if stored is None else (stored,)
    if status.rolling_state == SUCCEEDED:
        return Decision("rest", Hold(Reason.COMPLETE), reports=reports)
    said = conditions.cause(status)
    details = ((str(rollout.ref), said),) if said else ()
    reason = Reason.ROLLOUT_REVERTED if states.is_reverted(status) else Reason.ROLLOUT_FAILED
    return Decision("rest", Hold(reason, details=details), reports=reports)


def refuse_plan(given: Pass, _wrong: tuple[str, ...]) -> Answered:
    """R-6 and R-17 of a plan that somebody changed where no webhook saw it."""
    found = given.found
    if given.status.rolling_state not in (INITIALIZING, ROLLING):
        return None
    if found.problem:
        return fails(given, Fail(Why.KIND_UNSUPPORTED, found.problem))
    if found.mismatch:
        return fails(given, Fail(Why.BATCH_SUM, found.mismatch))
    if found.attempt.batches is None or given.status.rollout_target_size < 0 or given.status.current_batch < 0:
        return fails(given, Fail(Why.DRIFT, "the status lost what the verification recorded"))
    last = found.attempt.settled.last
    if given.status.current_batch > last:
        text = f"batch {given.status.current_batch} is being rolled, but the plan ends with batch {last}"
        return fails(given, Fail(Why.BATCH_REMOVED, text))
    return None


def stop_at_deadline(given: Pass, _wrong: tuple[str, ...]) -> Answered:
    if not deadline.is_over(given):
        return None
    seconds = given.spec.rollout_plan.progress_deadline_seconds
    return fails(given, Fail(Why.DEADLINE_PASSED, f"no progress within {seconds} s: {_wait(given.status)}"))


def _goes_on(given: Pass, wrong: tuple[str, ...], around: Surroundings | None) -> bool | Need:
    """Whether nothing is left to wait for in the batch, although its deadline has passed.

    What came while nobody looked, because no operator ran or its machine slept, came in time as far as anybody knows.
    Old pods may go for new ones that are ready; no new one is asked for.
    """
    status = given.status
    if status.rolling_state != ROLLING or status.batch_rolling_state not in _AWAITING:
        return False
    if around is not None and (prepared := around.prepare(given)) is not None:
        return prepared if isinstance(prepared, Need) else False
    made = step(given, wrong)
    if not isinstance(made, Turn):
        return made if isinstance(made, Need) else False
    after = made.status
    has_moved = (after.batch_rolling_state, after.current_batch) != (status.batch_rolling_state, status.current_batch)
    only_shrinks = given.found.kind.style is Style.PAIR and not given.found.attempt.plan.is_decrease_first
    is_written = not made.routed and (only_shrinks or not made.changes)
    return is_written and (after.rolling_state == FINALISING or (after.rolling_state == ROLLING and has_moved))


def _wait(status: RolloutStatus) -> str:
    kind = conditions.condition_type(status)
    said = next((each for each in status.conditions if each.type == kind and each.status == conditions.FALSE), None)
    return states.place(status) if said is None else said.message


def pause(given: Pass, _wrong: tuple[str, ...]) -> Answered:
    """R-7: only between the first and the last batch."""
    found = given.found
    if given.status.rolling_state != ROLLING or not given.spec.rollout_plan.paused:
        return None
    is_new = conditions.said_since(given.status, PAUSED_CONDITION) is not None or not any(
        each.type == PAUSED_CONDITION for each in given.status.conditions
    )
    status = conditions.still_holds(given.status, PAUSED_CONDITION, Why.PAUSED.word, "the plan is paused", given.now)
    if status.paused_since is None:
        status = replace(status, paused_since=given.now)
    if status.batch_available_time is not None and not isinstance(found.handler.available(found.attempt), Done):
        status = replace(status, batch_available_time=None)  # what is lost meanwhile is lost
    told = (Note(notes.PAUSED, "the plan is paused: unset paused to go on"),) if is_new else ()
    return Turn(status=status, notes=told, why=Why.PAUSED, text="the plan is paused")


def follow_nodes(given: Pass, _wrong: tuple[str, ...]) -> Answered:
    """The size of a DaemonSet is that of the cluster; the batches that are left share what is left.

    New pods that went with their nodes are no longer waited for.
    """
    found, status = given.found, given.status
    attempt = found.attempt
    if found.kind.style is not Style.NODES or status.rolling_state != ROLLING or attempt.target is None:
        return None
    size = size_of(attempt.target)
    if not attempt.target.is_observed or size in (0, status.rollout_target_size):
        return None
    is_rolled = status.batch_rolling_state not in (BATCH_INITIALIZING, BATCH_ROLLING)
    rolled = Rolled(status.current_batch + is_rolled, kept_new(attempt, attempt.target))
    batches = resized(attempt.settled, status.current_batch, given.spec.rollout_plan, size, rolled)
    return Turn(
        status=replace(
            status,
            rollout_target_size=size,
            rollout_original_size=size,
            effective_batches=batches.sizes,
            upgraded_replicas=batches.goal(status.current_batch) if is_rolled else status.upgraded_replicas,
        )
    )


def step(given: Pass, _wrong: tuple[str, ...]) -> Answered:
    """What the state does; a pause that ended is over in the same pass."""
    status = conditions.ended(given.status, PAUSED_CONDITION, given.now)
    if status.rolling_state == ROLLING and status.batch_rolling_state != BATCH_READY:
        status = reopened(status, given)
    batches = given.found.attempt.batches
    if batches is not None:
        status = replace(status, effective_batches=batches.sizes)
    again = replace(
        given, status=status, found=replace(given.found, attempt=replace(given.found.attempt, status=status))
    )
    turn = STEPS[states.place(status)](again)
    return stuck.told(again, turn) if isinstance(turn, Turn) else turn


Rule: TypeAlias = Callable[[Pass, tuple[str, ...]], Answered]
RULES: tuple[Rule, ...] = (
    leave,
    add_finalizer,
    begin,
    refuse_unknown_state,
    obey,
    refuse_spec,
    restart,
    rest,
    verify_again,
    refuse_plan,
    stop_at_deadline,
    pause,
    follow_nodes,
    step,
)


def _decided(rule: str, given: Pass, turn: Turn, closing: tuple[AnyWrite, ...] = ()) -> Decision:
    rollout = given.seen.rollout
    told = tuple(event(each, rollout, turn.status) for each in turn.notes)
    if turn.is_over:
        gone = event(Note(notes.DELETED, "the rollout is gone, and its workloads stay"), rollout, turn.status)
        left = finalizer_write(rollout, is_added=False)
        return Decision(rule, Move(Reason.SETTLING, (*closing, left)), tell=(*told, gone))
    if (refused := _kept_by_refusal(rule, given, turn)) is not None:
        return refused
    turn = deadline.noted(given, _held_by_refusal(given, turn))
    told = (*told, *notices(given, turn))
    status = replace(turn.status, observed_generation=rollout.metadata.generation)
    stored = status_write(rollout, status)
    writes = (*turn.routed, *(workload_write(each, rollout) for each in turn.changes), *closing)
    again = None if status.rolling_state in TERMINAL else given.now + AGAIN
    if turn.until is not None and again is not None:
        again = min(again, max(turn.until, given.now))
    if turn.why is not None and not writes and status.rolling_state == given.status.rolling_state:
        details = ((str(turn.about or rollout.ref), turn.text),)
        reports = () if stored is None else (stored,)
        return Decision(rule, Hold(turn.why.reason, again, details), tell=told, reports=reports)
    done = writes if stored is None else (*writes, stored)
    if not done:
        return Decision(rule, Hold(Reason.PODS_NOT_READY, again), tell=told)
    return Decision(rule, Move(Reason.ROLLING, done, again), tell=told)


def _held_by_refusal(given: Pass, turn: Turn) -> Turn:
    """What the API server does not take may pass later; until then the condition says what stands in the way."""
    for each in turn.changes:
        answer = given.seen.answers.known.get(workload_write(each, given.seen.rollout))
        if isinstance(answer, Bad):
            text = f"the {each.ref.resource.kind} {each.ref.name} was not changed: {answer.text or answer.kind}"
            return replace(waits(given, Retry(Why.WRITE_REFUSED, text)), about=each.ref)
    return turn


def _kept_by_refusal(rule: str, given: Pass, turn: Turn) -> Decision | None:
    """A workload that the API server does not let go: people are told, and it is tried again later and later.

    Who has lost the Lease has asked nobody, and has nothing to tell.
    """
    rollout = given.seen.rollout
    for each in turn.changes:
        answer = given.seen.answers.known.get(workload_write(each, rollout))
        if isinstance(answer, Bad) and isinstance(each, WorkloadChange) and each.purpose is Purpose.RELEASE:
            told = event(notes.failed_to_release(each.ref.resource.kind, answer.text), rollout, given.status)
            tell = () if answer.kind == "not-sent" else (told,)
            return Decision(rule, Hold(Reason.WRITE_REFUSED, details=((str(each.ref), answer.text),)), tell=tell)
    return None
