"""What a Deployment's status says: counts, whether enough pods are available, and whether the rollout moves.

A condition keeps the time of its last transition while its status stays, and all of itself while its reason stays; only
progress is told again with the same words and a new time, because the deadline counts from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from kubesim.controllers.deployment_plan import Condition, Deployment, Status, limits, total_available, total_size
from kubesim.controllers.replicas import FAILURE, ReplicaSet

AVAILABLE, PROGRESSING = "Available", "Progressing"

COMPLETE = "NewReplicaSetAvailable"
MOVING = "ReplicaSetUpdated"
CREATED = "NewReplicaSetCreated"
FOUND = "FoundNewReplicaSet"
CREATE_FAILED = "ReplicaSetCreateError"
TIMED_OUT = "ProgressDeadlineExceeded"
PAUSED, RESUMED = "DeploymentPaused", "DeploymentResumed"


def condition_of(status: Status, type_: str) -> Condition | None:
    return next((each for each in status.conditions if each.type == type_), None)


def with_condition(status: Status, said: Condition, now: datetime) -> Status:
    """The status with the condition as of now, unless it says the same already."""
    known = condition_of(status, said.type)
    if known is not None and (known.status, known.reason) == (said.status, said.reason):
        return status
    moment = now.replace(microsecond=0)
    since = said.last_transition_time or moment
    if known is not None and known.status == said.status:
        since = known.last_transition_time or moment
    said = replace(said, last_update_time=said.last_update_time or moment, last_transition_time=since)
    return replace(status, conditions=(*without(status, said.type).conditions, said))


def without(status: Status, type_: str) -> Status:
    return replace(status, conditions=tuple(each for each in status.conditions if each.type != type_))


def counted(
    deployment: Deployment, status: Status, sets: Sequence[ReplicaSet], new: ReplicaSet | None, now: datetime
) -> Status:
    """The status that follows from the statuses of the sets; `status` is the one before."""
    available = total_available(sets)
    made = Status(
        observed_generation=deployment.metadata.generation,
        replicas=sum(each.count for each in sets),
        updated_replicas=new.count if new is not None else 0,
        ready_replicas=sum(each.status.ready_replicas for each in sets),
        available_replicas=available,
        unavailable_replicas=max(total_size(sets) - available, 0),
        terminating_replicas=_going(sets),
        collision_count=status.collision_count,
        conditions=status.conditions,
    )
    if available >= deployment.size - limits(deployment.spec)[1]:
        text = "Deployment has minimum availability."
        return with_condition(made, Condition(AVAILABLE, "True", "MinimumReplicasAvailable", text), now)
    text = "Deployment does not have minimum availability."
    return with_condition(made, Condition(AVAILABLE, "False", "MinimumReplicasUnavailable", text), now)


def _going(sets: Sequence[ReplicaSet]) -> int | None:
    """Sets that were never looked at add nothing; one that was and does not tell leaves the sum unknown."""
    known = [each.status for each in sets if each.status.observed_generation]
    told = [each.terminating_replicas for each in known if each.terminating_replicas is not None]
    return sum(told) if len(told) == len(known) else None


def is_complete(deployment: Deployment, status: Status) -> bool:
    """All pods that are wanted are new and available, and no old one is left."""
    size = deployment.size
    return (
        status.updated_replicas == status.replicas == status.available_replicas == size
        and status.observed_generation >= deployment.metadata.generation
    )


def rolled(
    deployment: Deployment, status: Status, sets: Sequence[ReplicaSet], new: ReplicaSet | None, now: datetime
) -> Status:
    """The status during a rollout: counts, progress, and the failure of a set if there is one."""
    made = counted(deployment, status, sets, new, now)
    made = _progress(deployment, status, made, new, now) if deployment.spec.has_deadline else without(made, PROGRESSING)
    failures = [
        *(new.status.conditions if new is not None else ()),
        *(c for each in sets for c in each.status.conditions),
    ]
    failure = next((each for each in failures if each.type == FAILURE), None)
    if failure is None:
        return without(made, FAILURE)
    since = failure.last_transition_time
    said = Condition(FAILURE, failure.status, failure.reason, failure.message, since, since)
    return with_condition(made, said, now)


def _progress(deployment: Deployment, before: Status, made: Status, new: ReplicaSet | None, now: datetime) -> Status:
    known = condition_of(before, PROGRESSING)
    if known is not None and known.reason == COMPLETE and made.replicas == made.updated_replicas:
        return made  # no rollout is under way
    name = f'ReplicaSet "{new.metadata.name}"' if new is not None else f'Deployment "{deployment.metadata.name}"'
    if is_complete(deployment, made):
        said = Condition(PROGRESSING, "True", COMPLETE, f"{name} has successfully progressed.")
        return with_condition(made, said, now)
    if has_progressed(before, made):
        since = known.last_transition_time if known is not None and known.status == "True" else None
        said = Condition(PROGRESSING, "True", MOVING, f"{name} is progressing.", last_transition_time=since)
        return with_condition(without(made, PROGRESSING), said, now)
    if is_overdue(deployment, made, now):
        said = Condition(PROGRESSING, "False", TIMED_OUT, f"{name} has timed out progressing.")
        return with_condition(made, said, now)
    return made


def has_progressed(before: Status, made: Status) -> bool:
    """New pods were made, old ones have gone, or more are ready or available."""
    return (
        made.updated_replicas > before.updated_replicas
        or made.replicas - made.updated_replicas < before.replicas - before.updated_replicas
        or made.ready_replicas > before.ready_replicas
        or made.available_replicas > before.available_replicas
    )


def is_overdue(deployment: Deployment, status: Status, now: datetime) -> bool:
    condition = condition_of(status, PROGRESSING)
    if condition is None or condition.reason == COMPLETE:
        return False
    if condition.reason == TIMED_OUT or condition.last_update_time is None:
        return condition.reason == TIMED_OUT
    return condition.last_update_time + timedelta(seconds=deployment.spec.progress_deadline_seconds) < now


def next_look(deployment: Deployment, status: Status, now: datetime) -> float | None:
    """Seconds until a rollout that does not move is overdue; None when there is nothing to wait for."""
    condition = condition_of(status, PROGRESSING)
    if not deployment.spec.has_deadline or condition is None or condition.last_update_time is None:
        return None
    if is_complete(deployment, status) or condition.reason in (TIMED_OUT, COMPLETE):
        return None  # without a rollout, as while fewer pods are wanted, nothing becomes overdue
    due = condition.last_update_time + timedelta(seconds=deployment.spec.progress_deadline_seconds)
    # A second more, because times in a status have no fractions.
    return max((due - now).total_seconds() + 1.0, 0.0)


def paused_or_resumed(deployment: Deployment) -> Condition | None:
    """What is told when a pause begins or ends, so that time spent in it counts towards no deadline."""
    known = condition_of(deployment.status, PROGRESSING)
    reason = known.reason if known is not None else ""
    if not deployment.spec.has_deadline or reason == TIMED_OUT or deployment.spec.paused == (reason == PAUSED):
        return None
    if deployment.spec.paused:
        return Condition(PROGRESSING, "Unknown", PAUSED, "Deployment is paused")
    return Condition(PROGRESSING, "Unknown", RESUMED, "Deployment is resumed")
