"""Section 3.6 and section 3.4 case 1: N was said to be promoted, and now is, whatever the spec says by now.

Every pass may begin from the start. Nothing of A goes before environmentd of N was heard to lead in the same pass, and
everything that is asked of environmentd it may be asked twice.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import structs

from fairlead.contracts.environments.decide.applying import applied, lacking, missing, sorted_out
from fairlead.contracts.environments.decide.generation_origin import made_of
from fairlead.contracts.environments.decide.leader import (
    IS_LEADER,
    Leader,
    Made,
    state_of,
    unheard,
)
from fairlead.contracts.environments.decide.live import Looked, makeable
from fairlead.contracts.environments.decide.moments import soon
from fairlead.contracts.environments.decide.objects.generation import generation_objects, public_service
from fairlead.contracts.environments.decide.objects.names import environmentd_name
from fairlead.contracts.environments.decide.readiness import SILENCES, pod_wait
from fairlead.contracts.environments.decide.refusals import refusal_of, undone
from fairlead.contracts.environments.decide.standing import Standing, has_environment_id
from fairlead.contracts.environments.decide.statuses import promoted, record
from fairlead.contracts.environments.decide.stuck import told_of
from fairlead.contracts.environments.decide.teardown import leaving, refs_of, teardown
from fairlead.core.act import Does
from fairlead.core.ask import Bad, Need
from fairlead.core.decision import Hold, Move, Verdict
from fairlead.core.reason import Reason


def promote(stand: Standing, now: datetime) -> Verdict | Need | None:
    """What comes next on the way to N; None while nothing is being promoted. R stays (section 3.4 point 1)."""
    if not stand.is_promoting:
        return None
    lost = recreated(stand, now)
    if lost is not None:
        return lost
    made = made_of(stand, stand.target, now)
    if not isinstance(made, Made):
        return made
    led = leads(stand, made.leader, now)
    if led is not None:
        return led
    moved = service_moved(stand, now)
    if moved is not None:
        return moved
    return teardown(stand, stand.active, now) or completed(stand, made.image, now)


def recreated(stand: Standing, now: datetime) -> Verdict | Need | None:
    """Objects of N that somebody deleted are made again, from the spec as it is; those that are there stay.

    The spec may by now name an image that may not follow the running one. The one that was being promoted is recorded
    nowhere but in the StatefulSet that is gone, and a promotion that was begun has no other way than forward.
    """
    looked = makeable(stand, refs_of(stand, stand.target))
    if not isinstance(looked, Looked):
        return looked
    going = leaving(stand, stand.target, now, looked)
    if going is not None:
        return going
    facts = structs.replace(stand.facts, existing=looked.after(stand.existing))
    if all(facts.existing(ref) is not None for ref in refs_of(stand, stand.target)):
        return None
    if not has_environment_id(stand.seen):
        sentence = f"objects of generation {stand.target} are missing: set spec.environmentId, and they come back"
        return Hold(Reason.SPEC_INVALID, details=((str(stand.ref), sentence),))
    wanted = generation_objects(stand.environment, stand.target, stand.hash, stand.settings)
    absent = missing(wanted, Does.APPLY_GENERATION, facts)
    if absent.refusals:
        return refusal_of(absent)
    return Move(Reason.PROMOTING, absent.writes) if absent.writes else undone(absent, now)


def leads(stand: Standing, leader: Leader, now: datetime) -> Verdict | Need | None:
    """None once environmentd of N says that it leads.

    The public Service selects N only after that was heard; then it is heard again before it is told again.
    """
    answers = stand.seen.answers
    if stand.serves(stand.target):
        if todo := answers.lacking((leader.status,)):
            return Need(todo)
        if state_of(answers[leader.status]) == IS_LEADER:
            return None
    if todo := answers.lacking((leader.promote,)):
        return Need(todo)
    told = answers[leader.promote]
    if isinstance(told, Bad):
        return unpromoted(stand, told, now)
    if todo := answers.lacking((leader.status,)):
        return Need(todo)
    heard = answers[leader.status]
    state = state_of(heard)
    if state == IS_LEADER:
        return None
    about = f"service/{environmentd_name(stand.environment.resource_id, stand.target)}"
    detail = f"it says {state}" if state else unheard(heard)
    return Hold(Reason.NOT_YET_LEADER, soon(stand.uid, now), ((about, detail),))


def unpromoted(stand: Standing, answer: Bad, now: datetime) -> Hold | Need:
    """environmentd did not take the promotion; while its pod starts, or is stuck, nobody is there to take it."""
    statefulset = stand.statefulset(stand.target)
    pending = None if statefulset is None or answer.code else pod_wait(statefulset)
    if pending is not None:
        told = told_of(stand, pending, now)
        return told if isinstance(told, Need) else Hold(told.reason, soon(stand.uid, now), ((told.about, told.detail),))
    about = f"service/{environmentd_name(stand.environment.resource_id, stand.target)}"
    if answer.kind in SILENCES:
        return Hold(SILENCES[answer.kind], soon(stand.uid, now), ((about, unheard(answer)),))
    return Hold(Reason.PROMOTE_FAILED, details=((about, answer.text or answer.kind),))


def service_moved(stand: Standing, now: datetime) -> Verdict | None:
    """The public Service selects N."""
    wanted = public_service(stand.environment, stand.target, stand.settings)
    facts = stand.facts
    outdated = lacking((wanted,), Does.MOVE_SERVICE, facts)
    if not outdated and not stand.serves(stand.target):
        outdated = sorted_out((applied(wanted, Does.MOVE_SERVICE, facts),), facts)
    if outdated.refusals:
        return refusal_of(outdated)
    if outdated.writes:
        return Move(Reason.PROMOTING, outdated.writes)
    return undone(outdated, now)


def completed(stand: Standing, image: str, now: datetime) -> Verdict:
    """Section 3.4 points 2 to 4: N is A; L is the rollout that was recorded, whatever is wanted by now."""
    write = record(
        stand,
        promoted(stand),
        now,
        active_generation=stand.target,
        last_completed_rollout_hash=stand.requested,
        last_completed_rollout_environmentd_image_ref=image,
    )
    if write is None:
        raise RuntimeError("the end of a promotion always changes the status")
    return Move(Reason.PROMOTING, (write,))
