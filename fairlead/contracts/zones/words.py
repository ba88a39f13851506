"""The zone contract's words: log level and message, Event and text of each reason and each write (section 2.11)."""

from __future__ import annotations

from msgspec import Struct

from fairlead.core.act import Does
from fairlead.core.reason import Reason


class Words(Struct, frozen=True):
    level: str
    """`debug`, `info`, `warn` or `error`."""
    message: str
    """Constant, so that logs can be searched by it; what differs goes into keys."""
    text: str
    """For people, with the names of the objects filled in."""
    event: str = ""
    """Reason of the Event, empty where there is none."""


BLOCKED = "RolloutBlocked"
SCALING_FAILED = "ScalingFailed"
IMPOSSIBLE = "scaling impossible"
KEEPS = "{object} stays at {count} replicas instead of {limit}: {detail}"

REASONS: dict[Reason, Words] = {
    Reason.WRONG_STRATEGY: Words(
        "warn",
        "reconcile failed: wrong update strategy",
        "{object} has the update strategy {detail}, not OnDelete: no pod of the group is deleted",
        BLOCKED,
    ),
    Reason.REVISION_UNKNOWN: Words(
        "warn",
        "reconcile failed: revision unknown",
        "{object} has no revisions in its status, so it is not known which pods are outdated",
        BLOCKED,
    ),
    Reason.READ_FAILED: Words("warn", "reconcile failed: statefulset not read", "{object} cannot be read: {detail}"),
    Reason.TWO_ZONES_NOT_READY: Words(
        "warn",
        "two or more zones not ready",
        "{count} zones are not ready ({detail}): no pod is deleted while more than one is",
        BLOCKED,
    ),
    Reason.ZONES_NOT_READY: Words("warn", "two or more zones not ready", "{count} zones are not ready: {detail}"),
    Reason.POD_STUCK: Words("warn", "rollout blocked by a pod", "{object} is stuck: {detail}", BLOCKED),
    Reason.OTHER_ZONE_NOT_READY: Words(
        "warn",
        "paused zone not ready",
        "{object} is paused and not ready, which holds back {detail}",
        BLOCKED,
    ),
    Reason.PAUSED_ZONE_NOT_READY: Words(
        "warn", "paused zone not ready", "{object} is paused and not ready, which holds back {detail}"
    ),
    Reason.BUDGET_USED: Words("info", "budget reached", "{object}: {detail}"),
    Reason.DISRUPTION_BUDGET: Words(
        "info", "disruption budget reached", "{object} is not deleted because of its disruption budget: {detail}"
    ),
    Reason.DISRUPTION_STUCK: Words(
        "warn",
        "rollout blocked by a disruption budget",
        "{object} is not deleted because of its disruption budget, and waiting does not help: {detail}",
        BLOCKED,
    ),
    Reason.BUDGETS_OVERLAP: Words(
        "warn",
        "reconcile failed: disruption budgets overlap",
        "{object} is selected by several disruption budgets: {detail}",
        BLOCKED,
    ),
    Reason.PODS_NOT_READY: Words("info", "zone updated but not ready", "{object} is not ready: {detail}"),
    Reason.POD_MISSING: Words("info", "zone updated but not ready", "{object} does not exist yet"),
    Reason.POD_TERMINATING: Words("debug", "waiting for a terminating pod", "{object} is shutting down"),
    Reason.POD_UNRIPE: Words(
        "info", "zone updated but not ready", "{object} has not been ready for {limit} seconds yet: {detail}"
    ),
    Reason.SOAKING: Words("info", "waiting between zones", "{object} does not start yet: {detail}"),
    Reason.HEALTH_CHECK_FAILING: Words(
        "warn", "health check failing", "{object} does not start because of health check {detail}", BLOCKED
    ),
    Reason.HEALTH_CHECK_UNASKED: Words(
        "debug", "health check not asked for", "{object} starts when its health check passes: {detail}"
    ),
    Reason.HEALTH_CHECK_WARNING: Words(
        "warn", "health check failing", "{object} starts although a health check warns: {detail}", "HealthCheckFailing"
    ),
    Reason.HEALTH_CHECK_UNUSABLE: Words(
        "warn",
        "health check unusable",
        "{object} is rolled without a health check, because {detail}",
        "InvalidAnnotation",
    ),
    Reason.SOAK_IGNORED: Words(
        "warn", "invalid annotation", "{object} ignores its annotation {detail}", "InvalidAnnotation"
    ),
    Reason.DEADLINE_IGNORED: Words(
        "warn", "invalid annotation", "{object} ignores its annotation {detail}", "InvalidAnnotation"
    ),
    Reason.ROTATION_IGNORED: Words(
        "warn",
        "rotation marks ignored",
        "{object} has {detail} in its pod template: all new pods have it too, so it is ignored",
        "InvalidAnnotation",
    ),
    Reason.STATUS_STALE: Words(
        "debug",
        "waiting for the statefulset controller",
        "waiting for the status of {object}: it is of generation {detail}, the newest is {count}",
    ),
    Reason.CACHE_BEHIND: Words(
        "debug", "waiting for the cache", "{object} has changed since it was seen: waiting for its newest version"
    ),
    Reason.ZONE_LEAVING: Words("info", "zone is being deleted", "{object} is being deleted"),
    Reason.OTHER_ZONE_AHEAD: Words("debug", "waiting for the zone ahead", "waiting for {object}, which goes first"),
    Reason.PAUSED: Words("info", "zone paused", "{object} is paused{detail}"),
    Reason.DOWNSCALE_SPACING: Words("info", "waiting between downscales", KEEPS),
    Reason.LEADER_NOT_READY: Words("info", "waiting for the leader to become ready", KEEPS),
    Reason.DELAY_NOT_ELAPSED: Words("warn", "downscale delayed", KEEPS),
    Reason.PREPARE_FAILED: Words("warn", "downscale not prepared", KEEPS),
    Reason.NEEDS_ANSWER: Words("debug", "downscale not asked for", KEEPS),
    Reason.DELAY_INVALID: Words("warn", IMPOSSIBLE, KEEPS, "InvalidAnnotation"),
    Reason.TOO_MANY_PODS: Words("warn", IMPOSSIBLE, KEEPS, SCALING_FAILED),
    Reason.ANNOTATION_IGNORED: Words(
        "warn", "invalid annotation", "{object} ignores its annotation {detail}", "InvalidAnnotation"
    ),
    Reason.LEADER_MISSING: Words(
        "warn",
        IMPOSSIBLE,
        "{object} follows {detail}, which is not a StatefulSet of the group: no zone is scaled",
        SCALING_FAILED,
    ),
    Reason.INVALID_ANNOTATION: Words(
        "warn", IMPOSSIBLE, "{object} and the zones after it cannot be scaled: {detail}", SCALING_FAILED
    ),
    Reason.REFERENCE_UNREADABLE: Words(
        "warn", IMPOSSIBLE, "{object} and the zones after it cannot be scaled: {detail}", SCALING_FAILED
    ),
    Reason.SCALING_UNDONE: Words(
        "warn", IMPOSSIBLE, "{object} was not scaled from {count} to {limit} replicas: {detail}", SCALING_FAILED
    ),
    Reason.SCALING_REFUSED: Words(
        "warn", IMPOSSIBLE, "{object} was not scaled from {count} to {limit} replicas: {detail}", SCALING_FAILED
    ),
    Reason.SCALING_FAILED: Words(
        "warn", IMPOSSIBLE, "no zone is scaled, because {object} cannot be read: {detail}", SCALING_FAILED
    ),
    Reason.SCALING: Words("debug", "zone being scaled", "{object} is being scaled"),
    Reason.ROLLING: Words("debug", "zone being reconciled", "{object} is rolling"),
    Reason.COMPLETE: Words("debug", "rollout complete", "every zone is current"),
}
"""A wait's words; `{object}` is what is waited for, `{detail}`, `{count}` and `{limit}` depend on the reason."""

WRITES: dict[Does, Words] = {
    Does.TERMINATE_POD: Words(
        "info",
        "pod terminated",
        "Deleted pod {object} of revision {detail}; the StatefulSet creates it again",
        "PodTerminated",
    ),
    Does.COMPLETE_REVISION: Words(
        "info", "revision updated", "All pods are ready at revision {detail}", "RevisionCompleted"
    ),
    Does.SCALE: Words(
        "info", "scaling performed", "Scaled from {count} to {limit} replicas, {detail}", "ReplicasScaled"
    ),
    Does.STAMP_HEALTH_CHECK: Words("debug", "start of the rollout recorded", "{object} begins to roll"),
    Does.REPORT_REPLICAS: Words("info", "reference status updated", "{object} has {count} replicas in its status"),
}
"""Told once the write has succeeded."""

SEVERAL_TERMINATED = "Deleted {count} pods of revision {detail}: {items}; the StatefulSet creates them again"
"""Instead of the text for one, where several are told together."""

INVALID_BUDGET = Words(
    "warn",
    "invalid max-unavailable",
    "{detail}, so annotation rollout-max-unavailable counts as 1",
    "InvalidAnnotation",
)

MOVED_FIRST = Words("info", "zone moved first", "{object} is not ready, so it goes before zones with earlier names")

LOGGED: dict[str, Words] = {INVALID_BUDGET.event: INVALID_BUDGET}
"""Words for the log of what a Decision tells beside its reason, by the Event's reason."""
