"""Section 3.4 case 2 and section 3.5: the spec's hash is not the completed one, so N is made, waited for and promoted.

Rules are tried in order. Each step is recorded in the status before the next one rests on it: R before N is touched,
and the point of no return before environmentd is told to lead.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import structs

from fairlead.contracts.environments.decide import statuses
from fairlead.contracts.environments.decide.applying import Refusal, lacking
from fairlead.contracts.environments.decide.hash import rollout_hash
from fairlead.contracts.environments.decide.images import refused_upgrade
from fairlead.contracts.environments.decide.moments import later, soon
from fairlead.contracts.environments.decide.objects.generation import generation_objects
from fairlead.contracts.environments.decide.readiness import Broken, NotReady, readiness
from fairlead.contracts.environments.decide.refusals import undone
from fairlead.contracts.environments.decide.rehearsal import INVALID, rehearsed
from fairlead.contracts.environments.decide.seen import Snapshot
from fairlead.contracts.environments.decide.standing import (
    FAILED_DEPLOY,
    IMMEDIATELY,
    MANUALLY,
    READY_TO_PROMOTE,
    ROLLOUT_TIMEOUT,
    Standing,
    has_environment_id,
    is_promoting,
)
from fairlead.contracts.environments.decide.statuses import record
from fairlead.contracts.environments.decide.stuck import told_of
from fairlead.contracts.environments.decide.teardown import leaving, removed, teardown
from fairlead.contracts.environments.kinds import ROLLOUT_HASH
from fairlead.core.act import Does
from fairlead.core.ask import Bad, Need
from fairlead.core.decision import Hold, Move, Rule, Verdict
from fairlead.core.reason import Reason
from kubeloop.objects.apps import STATEFULSETS, StatefulSet

LONG_TERMINATING = timedelta(minutes=10)
"""No pod of environmentd takes so long to shut down."""


def needs_update(seen: Snapshot) -> bool:
    """Whether another generation than the serving one is on its way, as far as the object tells."""
    resource, status = seen.environment, seen.environment.status
    if resource.metadata.deletion_timestamp is not None or status is None:
        return False
    if is_promoting(status) or status.last_completed_rollout_hash is None:
        return True
    if not has_environment_id(seen):
        return False
    return rollout_hash(resource.spec, resource.metadata.annotations) != status.last_completed_rollout_hash


def refuse_upgrade(stand: Standing, now: datetime) -> Verdict | None:
    """An image that may not follow the running one: nothing is touched, and this is said once."""
    running = stand.status.last_completed_rollout_environmentd_image_ref
    sentence = refused_upgrade(running, stand.spec.environmentd_image_ref) if running and has_run(stand) else ""
    if not sentence:
        return None
    write = record(stand, statuses.refused(sentence), now, requested_rollout_hash=stand.hash)
    again = later(stand.uid, now)
    if write is not None:
        return Move(Reason.UPGRADE_REFUSED, (write,), again)
    return Hold(Reason.UPGRADE_REFUSED, again, ((str(stand.ref), sentence),))


def has_run(stand: Standing) -> bool:
    """Whether there is something to be up- or downgraded: before the first pod got ready, an image may be corrected."""
    if stand.active > 0 or stand.completed is not None:
        return True
    first_one = stand.statefulset(stand.target)
    return first_one is not None and first_one.status.ready_replicas > 0


def stay_cancelled(stand: Standing, now: datetime) -> Verdict | Need | None:
    """A rollout that took too long is not begun again before something else is wanted."""
    if stand.requested != stand.hash or stand.reason != ROLLOUT_TIMEOUT:
        return None
    write = record(stand, statuses.cancelled(stand), now)
    gone = teardown(stand, stand.target, now, surely=write is not None)
    if gone is not None:
        return gone
    again = later(stand.uid, now)
    if write is not None:
        return Move(Reason.ROLLOUT_TIMED_OUT, (write,), again)
    return Hold(Reason.ROLLOUT_TIMED_OUT, again, ((str(stand.ref), f"it was given up after {stand.timeout_text}"),))


def start_rollout(stand: Standing, now: datetime) -> Verdict | None:
    """R is what is wanted, in the stored status; what waits or has failed for it already goes on as it is."""
    if stand.requested == stand.hash and stand.reason in (READY_TO_PROMOTE, FAILED_DEPLOY):
        return None
    changes = {"requested_rollout_hash": stand.hash}
    if not has_run(stand):
        # As if it began with this spec: the image that never ran is nothing to be compared with any more.
        changes["last_completed_rollout_environmentd_image_ref"] = stand.spec.environmentd_image_ref
    write = record(stand, statuses.applying(stand), now, **changes)
    return None if write is None else Move(Reason.APPLYING, (write,))


def time_out(stand: Standing, now: datetime) -> Verdict | Need | None:
    """B1: a rollout that is on its way for too long is given up: N goes, and A serves on."""
    if stand.expires is None or now < stand.expires:
        return None
    gone = teardown(stand, stand.target, now)
    if gone is not None:
        return gone
    write = record(stand, statuses.cancelled(stand), now)
    return None if write is None else Move(Reason.ROLLOUT_TIMED_OUT, (write,))


def vacate_active(stand: Standing, now: datetime) -> Verdict | Need | None:
    """With the strategy that accepts a downtime, A is gone before anything of N is there, if N can be made."""
    if stand.spec.rollout_strategy != IMMEDIATELY or stand.active < 1:
        return None
    if stand.seen.applied is None and stand.reason == FAILED_DEPLOY:
        return None  # whoever only looks tries nothing, and the status says what came of it
    invalid = rehearsed(stand)
    if isinstance(invalid, Need):
        return invalid
    if invalid:
        return failed(stand, invalid, now)
    gone = teardown(stand, stand.active, now, surely=stand.statefulset(stand.target) is None, refusable=True)
    return unless_refused(stand, gone, now) if isinstance(gone, Hold | Move) else gone


def apply_generation(stand: Standing, now: datetime) -> Verdict | None:
    """N's objects are those of the spec (section 3.4 point 5); what cannot be patched into shape is replaced."""
    going = leaving(stand, stand.target, now)
    if going is not None:
        return going
    if is_broken(stand) or is_overdue(stand, now):
        return taken_up(stand, unless_refused(stand, replaced(stand), now), now)
    wanted = generation_objects(stand.environment, stand.target, stand.hash, stand.settings)
    outdated = lacking(wanted, Does.APPLY_GENERATION, stand.facts)
    if outdated.refusals:
        return unapplied(stand, outdated.refusals[0], now)
    if outdated.writes:
        return taken_up(stand, Move(Reason.APPLYING, outdated.writes), now)
    return undone(outdated, now)


def taken_up(stand: Standing, verdict: Verdict, now: datetime) -> Verdict:
    """A rollout that another operator began counts its time from the moment at which N is made to be of it."""
    if not stand.is_inherited or stand.reason == FAILED_DEPLOY or not isinstance(verdict, Move):
        return verdict
    write = record(stand, statuses.applying(stand, anew=True), now)
    return verdict if write is None else structs.replace(verdict, writes=(write, *verdict.writes))


def is_broken(stand: Standing) -> bool:
    """Whether N has no ready pod, and is of another rollout or keeps a pod of another.

    A StatefulSet waits for a pod to be ready before it replaces it by one of a newer template, so that a pod which
    never gets ready would be waited for for ever.
    """
    statefulset = stand.statefulset(stand.target)
    if statefulset is None or statefulset.status.ready_replicas > 0:
        return False
    if statefulset.metadata.annotations.get(ROLLOUT_HASH) != stand.hash:
        return True
    # A pod that is being replaced is terminating, and is not counted among those of its revision.
    return is_superseded(statefulset) and statefulset.status.current_replicas > 0


def is_superseded(statefulset: StatefulSet) -> bool:
    """Whether its pods are all of another template than its newest, as far as its status is up to date."""
    status = statefulset.status
    return (
        (status.observed_generation or 0) >= statefulset.metadata.generation
        and status.replicas > 0
        and status.updated_replicas == 0
        and "" not in (status.current_revision, status.update_revision)
        and status.current_revision != status.update_revision
    )


def is_overdue(stand: Standing, now: datetime) -> bool:
    """Whether N is so long of this rollout without a ready pod that none of an earlier one can be still terminating.

    The pod may be of a template between the two that the StatefulSet counts pods of, and then only time tells.
    """
    statefulset, condition = stand.statefulset(stand.target), stand.condition
    if statefulset is None or condition is None or statefulset.status.ready_replicas > 0:
        return False
    return is_superseded(statefulset) and now - condition.last_transition_time >= LONG_TERMINATING


def replaced(stand: Standing) -> Move:
    """The StatefulSet of N goes, so that the next pass makes another."""
    left = [each for each in stand.left_of(stand.target) if each[0].resource == STATEFULSETS]
    return Move(Reason.APPLYING, tuple(removed(stand, ref, found, refusable=True) for ref, found in left))


def unapplied(stand: Standing, refusal: Refusal, now: datetime) -> Verdict:
    """A field that cannot be changed is changed by another StatefulSet; any other refusal is a failure."""
    exists = stand.statefulset(stand.target) is not None
    if refusal.answer.code == INVALID and refusal.ref.resource == STATEFULSETS and exists:
        return unless_refused(stand, replaced(stand), now)
    return failed(stand, refusal.text, now)


def unless_refused(stand: Standing, verdict: Verdict, now: datetime) -> Verdict:
    """The verdict, or the failure that one of its writes has met."""
    for write in verdict.writes if isinstance(verdict, Move) else ():
        answer = stand.seen.answers.known.get(write)
        if isinstance(answer, Bad):
            return failed(stand, answer.text or answer.kind, now)
    return verdict


def await_readiness(stand: Standing, now: datetime) -> Verdict | Need | None:
    """N runs and could take over."""
    found = readiness(stand)
    match told_of(stand, found, now) if isinstance(found, NotReady) else found:
        case Need() as need:
            return need
        case NotReady(reason=Reason.NEEDS_ANSWER) if stand.reason == READY_TO_PROMOTE and not stand.is_forced:
            return None  # it was ready when it was asked last
        case NotReady(reason, about, detail):
            write = None if reason is Reason.NEEDS_ANSWER else record(stand, statuses.applying(stand), now)
            if write is not None:
                return Move(Reason.APPLYING, (write,))
            return Hold(reason, first(soon(stand.uid, now), stand.expires), ((about, detail),))
        case Broken(error):
            return failed(stand, error, now)
    return None


def await_approval(stand: Standing, now: datetime) -> Verdict | None:
    """A person promotes, or lets the time run out."""
    if stand.spec.rollout_strategy != MANUALLY or stand.is_forced:
        return None
    write = record(stand, statuses.ready_to_promote(stand), now)
    again = first(later(stand.uid, now), stand.expires)
    if write is not None:
        return Move(Reason.AWAITING_PROMOTION, (write,), again)
    command = f"fairlead promote {stand.environment.name} -n {stand.environment.namespace}"
    approve = f"approve it with `{command}`, which sets spec.forcePromote to {stand.hash}"
    return Hold(Reason.AWAITING_PROMOTION, again, ((str(stand.ref), approve),))


def commit_promotion(stand: Standing, now: datetime) -> Verdict:
    """The point of no return, recorded; only a pass that sees the record tells environmentd to lead."""
    write = record(stand, statuses.promoting(stand), now)
    if write is None:
        raise RuntimeError("a promotion that was recorded is not decided here")
    return Move(Reason.PROMOTING, (write,))


def failed(stand: Standing, error: str, now: datetime) -> Verdict:
    """FailedDeploy; the same failure is not written twice."""
    write = record(stand, statuses.failed(stand, error), now)
    if write is not None:
        return Move(Reason.GENERATION_REFUSED, (write,))
    return Hold(Reason.GENERATION_REFUSED, details=((str(stand.ref), error),))


def first(moment: datetime, other: datetime | None) -> datetime:
    return moment if other is None else min(moment, other)


RULES: tuple[Rule[Standing], ...] = (
    Rule("refuse_upgrade", refuse_upgrade),
    Rule("stay_cancelled", stay_cancelled),
    Rule("start_rollout", start_rollout),
    Rule("time_out", time_out),
    Rule("vacate_active", vacate_active),
    Rule("apply_generation", apply_generation),
    Rule("await_readiness", await_readiness),
    Rule("await_approval", await_approval),
    Rule("commit_promotion", commit_promotion),
)
