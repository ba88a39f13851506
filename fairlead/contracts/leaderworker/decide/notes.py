"""Events of sets, each by itself and with the words of the contract (section 2.15)."""

from __future__ import annotations

from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide.planner import Plan
from fairlead.contracts.leaderworker.decide.revisions import Drafted, Occasion
from fairlead.contracts.leaderworker.decide.status import (
    GROUPS_PROGRESSING,
    GROUPS_UPDATING,
    MAX_RESTARTS_EXCEEDED,
    StatusEvent,
)
from fairlead.contracts.leaderworker.decide.stuck import StuckPod
from fairlead.contracts.leaderworker.kinds import (
    DISRUPTION_BUDGET,
    GROUP_INDEX,
    LEADER_NAME,
    LEADER_WORKER_SETS,
    REVISION_KEY,
    LeaderWorkerSet,
)
from fairlead.core.act import EventNote
from kubeloop.objects.apps import CONTROLLER_REVISIONS
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Meta, Ref

CREATING_REVISION, RECREATE_GROUP = "CreatingRevision", "RecreateGroup"
FAILED_CREATE, FAILED_UPDATE = "FailedCreate", "FailedUpdate"
ROLLOUT_BLOCKED = "RolloutBlocked"
REVISION_ASSUMED = "RevisionAssumed"
INVALID_ANNOTATION = "InvalidAnnotation"
BUDGET_TOO_LARGE, BUDGET_UNAVAILABLE = "DisruptionBudgetTooLarge", "DisruptionBudgetUnavailable"
_CREATE, _UPDATE, _DELETE = "Create", "Update", "Delete"
_OCCASIONS = {
    Occasion.MISSING: "Creating missing revision with key {} for existing LeaderWorkerSet",
    Occasion.NEW: "Creating revision with key {} for a newly created LeaderWorkerSet",
    Occasion.UPDATED: "Creating revision with key {} for updated LWS",
}


def set_ref(seen: LeaderWorkerSet) -> Ref:
    return Ref(LEADER_WORKER_SETS, seen.metadata.namespace, seen.metadata.name, seen.metadata.uid)


def pod_ref(pod: Meta) -> Ref:
    return Ref(PODS, pod.namespace, pod.name, pod.uid)


def revision_ref(seen: LeaderWorkerSet, name: str, uid: str = "") -> Ref:
    return Ref(CONTROLLER_REVISIONS, seen.metadata.namespace, name, uid)


def creating_revision(seen: LeaderWorkerSet, drafted: Drafted) -> EventNote:
    text = _OCCASIONS[drafted.occasion].format(drafted.key)
    return _note(seen, CREATING_REVISION, _CREATE, text, revision_ref(seen, drafted.name))


def created_leaders(seen: LeaderWorkerSet, revision: Ref) -> EventNote:
    return _note(seen, GROUPS_PROGRESSING, _CREATE, f"Created leader statefulset {seen.metadata.name}", revision)


def created_workers(seen: LeaderWorkerSet, leader: Meta) -> EventNote:
    text = f"Created worker statefulset for leader pod {leader.name}"
    return _note(seen, GROUPS_PROGRESSING, _CREATE, text, pod_ref(leader))


def updating(seen: LeaderWorkerSet, partition: int, drawn: Plan, revision: Ref) -> EventNote | None:
    """When the partition goes down from `partition`."""
    if drawn.partition >= partition:
        return None
    first, last = drawn.partition, partition - 1
    text = f"Updating replica {first}" if first == last else f"Updating replicas {first} to {last} (inclusive)"
    return _note(seen, GROUPS_UPDATING, _UPDATE, text, revision)


def reclaiming(seen: LeaderWorkerSet, replicas: int, drawn: Plan) -> EventNote | None:
    """When the leaders become fewer than `replicas`."""
    if drawn.replicas >= replicas:
        return None
    name, first, last = seen.metadata.name, drawn.replicas, replicas - 1
    one = f"deleting surge replica {name}-{first}"
    several = f"deleting surge replicas from {name}-{first} to {name}-{last}"
    return _note(seen, GROUPS_PROGRESSING, _DELETE, one if first == last else several)


def turned(seen: LeaderWorkerSet, turn: StatusEvent) -> EventNote:
    return _note(seen, turn.reason, _UPDATE, turn.note)


def recreated(seen: LeaderWorkerSet, failed: str, leader: Meta) -> EventNote:
    group = leader.labels.get(GROUP_INDEX, "")
    text = f"Worker pod {failed} failed, deleted leader pod {leader.name} to recreate group {group}"
    return _note(seen, RECREATE_GROUP, _DELETE, text, pod_ref(leader))


def replaced(seen: LeaderWorkerSet, leader: Meta) -> EventNote:
    """Where its StatefulSet, which has as many leaders unavailable as it may, does not do that."""
    group = leader.labels.get(GROUP_INDEX, "")
    text = f"deleted leader pod {leader.name}, which is not ready, to update group {group}"
    return _note(seen, GROUPS_UPDATING, _DELETE, text, pod_ref(leader))


def leaders_not_created(seen: LeaderWorkerSet, error: str) -> EventNote:
    return _warning(seen, FAILED_CREATE, _CREATE, f"Failed to create leader statefulset {seen.metadata.name}: {error}")


def leaders_not_updated(seen: LeaderWorkerSet, error: str) -> EventNote:
    return _warning(seen, FAILED_UPDATE, _UPDATE, f"Failed to update leader statefulset {seen.metadata.name}: {error}")


def workers_not_created(seen: LeaderWorkerSet, leader: Meta, error: str) -> EventNote:
    text = f"Failed to create worker statefulset for leader pod {leader.name}: {error}"
    return _warning(seen, FAILED_CREATE, _CREATE, text, pod_ref(leader))


def service_not_created(seen: LeaderWorkerSet, error: str) -> EventNote:
    return _warning(seen, FAILED_CREATE, _CREATE, f"Failed to create headless service for error: {error}")


def nested_leader(seen: LeaderWorkerSet, leader: Meta) -> EventNote:
    """A server without start ordinals makes worker 0 of a worker StatefulSet: it would be a leader without end."""
    text = (
        f"leader pod {leader.namespace}/{leader.name} contains mistake annotation '{LEADER_NAME}': "
        "requires Kubernetes ≥v1.27 or v1.26 with StatefulSetStartOrdinal feature"
    )
    return _warning(seen, FAILED_CREATE, _CREATE, text, pod_ref(leader))


def pod_group_not_created(seen: LeaderWorkerSet, leader: Meta, error: str) -> EventNote:
    text = f"Failed to create PodGroup for leader pod {leader.name}: {error}"
    return _warning(seen, FAILED_CREATE, _CREATE, text, pod_ref(leader))


def revision_missing(seen: LeaderWorkerSet, leader: Meta) -> EventNote:
    """A group that is rebuilt waits for it until the rollout reaches the group (section 5.6)."""
    key = leader.labels.get(REVISION_KEY, "")
    text = f"There is no ControllerRevision with key {key}: no workers are made for leader pod {leader.name}"
    return _warning(seen, FAILED_CREATE, _CREATE, text, pod_ref(leader))


def revision_assumed(seen: LeaderWorkerSet, key: str) -> EventNote:
    """Nobody knows any more what the key stood for (section 5.8)."""
    text = (
        f"There was no ControllerRevision with key {key}: what the spec says now is recorded under it, although leader "
        f"statefulset {seen.metadata.name} has other containers; its leaders are replaced without a rollout"
    )
    return _warning(seen, REVISION_ASSUMED, _CREATE, text)


def restarts_exceeded(seen: LeaderWorkerSet, leader: Meta) -> EventNote:
    group = leader.labels.get(GROUP_INDEX, "")
    text = f"Group {group} was recreated as often as allowed and is left as it is: delete {leader.name} to start anew"
    return _warning(seen, MAX_RESTARTS_EXCEEDED, _UPDATE, text, pod_ref(leader))


def invalid_annotation(seen: LeaderWorkerSet, problem: str) -> EventNote:
    """Once per generation (section 6.8)."""
    note = _warning(seen, INVALID_ANNOTATION, _UPDATE, problem)
    return replace(note, occurrence=str(seen.metadata.generation))


def budget_too_large(seen: LeaderWorkerSet, groups: int) -> EventNote:
    """Once per generation (section 6.8)."""
    text = (
        f"{DISRUPTION_BUDGET} lets {groups} of {seen.spec.replicas} groups be disturbed at once, which is all of them:"
        " evictions are not bounded"
    )
    note = _warning(seen, BUDGET_TOO_LARGE, _UPDATE, text)
    return replace(note, occurrence=str(seen.metadata.generation))


def budget_not_kept(seen: LeaderWorkerSet, problem: str) -> EventNote:
    text = f"Evictions are not bounded as {DISRUPTION_BUDGET} asks: {problem}"
    note = _warning(seen, BUDGET_UNAVAILABLE, _UPDATE, text)
    return replace(note, occurrence=str(seen.metadata.generation))


def blocked(seen: LeaderWorkerSet, drawn: Plan) -> EventNote | None:
    """When old groups that are not ready hold the rollout up (section 3.10 point 9)."""
    if not drawn.blocked_by:
        return None
    groups = ", ".join(map(str, drawn.blocked_by))
    text = f"The rollout waits for old groups that are not ready: {groups}; to update others would exceed the budget"
    return _warning(seen, ROLLOUT_BLOCKED, _UPDATE, text)


def stuck(seen: LeaderWorkerSet, found: StuckPod) -> EventNote:
    """Once for each pod and cause: neither says how often a container was restarted."""
    meta = found.pod.metadata
    text = f"Group {found.index} does not become ready: pod {meta.name} is stuck, {found.cause}"
    note = _warning(seen, ROLLOUT_BLOCKED, _UPDATE, text, pod_ref(meta))
    return replace(note, occurrence=f"{meta.uid} {found.cause}")


def _note(seen: LeaderWorkerSet, reason: str, action: str, text: str, related: Ref | None = None) -> EventNote:
    return EventNote(set_ref(seen), False, reason, text, action=action, related=related)


def _warning(seen: LeaderWorkerSet, reason: str, action: str, text: str, related: Ref | None = None) -> EventNote:
    return EventNote(set_ref(seen), True, reason, text, action=action, related=related)
