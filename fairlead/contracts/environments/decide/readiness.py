"""Section 3.6: N runs as it is wanted, and environmentd in it says that it could take over.

The pod must be one of the newest template: one of a template that was superseded must never be promoted.
"""

from __future__ import annotations

from msgspec import Struct

from fairlead.contracts.environments.decide.leader import INITIALIZING, Leader, leader_by_spec, state_of, unheard
from fairlead.contracts.environments.decide.objects.names import environmentd_name
from fairlead.contracts.environments.decide.standing import Standing
from fairlead.core.ask import Bad, Need
from fairlead.core.reason import Reason
from kubeloop.objects.apps import StatefulSet

TOO_EARLY = 400
UNKNOWN_CALL = 404
SILENCES = {"sign-in": Reason.SIGN_IN_FAILED, "not-sent": Reason.NEEDS_ANSWER}
"""Why a call was not made, which says nothing about environmentd."""


class Ready(Struct, frozen=True):
    pass


class NotReady(Struct, frozen=True):
    reason: Reason
    about: str
    detail: str


class Broken(Struct, frozen=True):
    """environmentd answered with an error that is not one of waiting."""

    error: str


Readiness = Ready | NotReady | Broken


def readiness(stand: Standing) -> Readiness | Need:
    """Whether N can be promoted; asked once all its objects are as they are wanted."""
    statefulset = stand.statefulset(stand.target)
    if statefulset is None:
        return NotReady(Reason.CACHE_BEHIND, f"materialize/{stand.environment.name}", "its StatefulSet is not seen yet")
    if (pending := pod_wait(statefulset)) is not None:
        return pending
    return caught_up(stand, leader_by_spec(stand, statefulset.metadata.uid))


def pod_wait(statefulset: StatefulSet) -> NotReady | None:
    """(b): what the StatefulSet waits for; None when a pod of its newest template is ready."""
    metadata, status = statefulset.metadata, statefulset.status
    about = f"statefulset/{metadata.name}"
    if (status.observed_generation or 0) < metadata.generation:
        detail = (
            f"its status is of generation {status.observed_generation or 0}, and the newest is {metadata.generation}"
        )
        return NotReady(Reason.STATUS_STALE, about, detail)
    if status.ready_replicas < 1:
        pod = f"pod/{metadata.name}-0"
        if status.replicas < 1:
            is_scaled = statefulset.spec.replicas < 1
            why = "its StatefulSet is scaled to 0" if is_scaled else "its StatefulSet has not created it yet"
            return NotReady(Reason.POD_MISSING, pod, why)
        return NotReady(Reason.PODS_NOT_READY, pod, "it is not ready")
    both = status.current_revision and status.update_revision
    if both and status.current_revision != status.update_revision and status.updated_replicas < 1:
        return NotReady(Reason.PODS_NOT_READY, f"pod/{metadata.name}-0", "it still has the earlier template")
    return None


def caught_up(stand: Standing, leader: Leader) -> Readiness | Need:
    """(c) to (e): environmentd answers, and has caught up or is told to skip that."""
    about = f"service/{environmentd_name(stand.environment.resource_id, stand.target)}"
    if todo := stand.seen.answers.lacking((leader.status,)):
        return Need(todo)
    answer = stand.seen.answers[leader.status]
    state = state_of(answer)
    if not state:
        kind = answer.kind if isinstance(answer, Bad) else ""
        return NotReady(SILENCES.get(kind, Reason.LEADER_SILENT), about, unheard(answer))
    by_itself = Ready() if state != INITIALIZING else NotReady(Reason.LEADER_INITIALIZING, about, "it is catching up")
    return skipped(stand, leader, by_itself, about) if stand.is_forced else by_itself


def skipped(stand: Standing, leader: Leader, by_itself: Readiness, about: str) -> Readiness | Need:
    """Forced: catching up is cut short; environmentd of a version that cannot do that is waited for as ever."""
    if todo := stand.seen.answers.lacking((leader.skip_catchup,)):
        return Need(todo)
    match stand.seen.answers[leader.skip_catchup]:
        case Bad(kind=kind) as bad if kind in SILENCES:
            return NotReady(SILENCES[kind], about, unheard(bad))
        case Bad(code=code) if code == UNKNOWN_CALL:
            return by_itself
        case Bad(code=code) if code == TOO_EARLY:
            # With nothing left to catch up on there is nothing to skip either.
            early = NotReady(Reason.CATCH_UP_KEPT, about, "it is too early to skip catching up")
            return by_itself if isinstance(by_itself, Ready) else early
        case Bad(kind=kind, text=text):
            return Broken(f"skipping the catch-up of {about.partition('/')[2]} failed: {text or kind}")
    return Ready()
