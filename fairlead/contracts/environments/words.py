"""The environment contract's words: log level, message and text of each reason and each write."""

from __future__ import annotations

from fairlead.core.act import Does
from fairlead.core.reason import Reason
from fairlead.core.words import Words

FAILED = "reconcile failed"
BLOCKED = "RolloutBlocked"
"""Reason of the Event that tells, once, that a rollout does not go on by itself."""

REASONS: dict[Reason, Words] = {
    Reason.ENVIRONMENT_LEAVING: Words("info", "environment is being deleted", "{object} is being deleted"),
    Reason.INVALID_ANNOTATION: Words("warn", f"{FAILED}: invalid annotation", "{object} has no status yet: {detail}"),
    Reason.SPEC_INVALID: Words("warn", f"{FAILED}: invalid spec", "the spec of {object} cannot be used: {detail}"),
    Reason.SECRET_MISSING: Words("warn", f"{FAILED}: backend secret missing", "{object} does not exist: {detail}"),
    Reason.LICENSE_INVALID: Words("warn", f"{FAILED}: license key invalid", "{object} cannot be used: {detail}"),
    Reason.ENVIRONMENT_MISMATCH: Words(
        "warn", f"{FAILED}: license key of another environment", "{object} is not changed: {detail}"
    ),
    Reason.DUPLICATE_ENVIRONMENT: Words(
        "warn", f"{FAILED}: environment id used twice", "{object} is not changed: {detail}"
    ),
    Reason.STATUS_CONTRADICTED: Words(
        "warn", f"{FAILED}: status contradicted", "{object} contradicts the status, and nothing is changed: {detail}"
    ),
    Reason.KIND_MISSING: Words("warn", f"{FAILED}: kind not served", "{object} cannot be created: {detail}"),
    Reason.OBJECT_REFUSED: Words("warn", f"{FAILED}: object refused", "{object} was refused: {detail}"),
    Reason.OBJECT_UNDONE: Words("warn", "object changed by somebody else", "{object} is not as it should be: {detail}"),
    Reason.READ_FAILED: Words("warn", f"{FAILED}: object not read", "{object} cannot be read: {detail}"),
    Reason.GENERATION_REFUSED: Words(
        "warn", f"{FAILED}: generation not deployed", "the next generation of {object} cannot be deployed: {detail}"
    ),
    Reason.UPGRADE_REFUSED: Words("warn", "upgrade refused", "{object} is not upgraded: {detail}"),
    Reason.ROLLOUT_TIMED_OUT: Words(
        "warn", "rollout cancelled", "the rollout of {object} is not tried again: {detail}"
    ),
    Reason.OBJECTS_GOING: Words("info", "waiting for objects to go", "waiting for {object} to be gone: {detail}"),
    Reason.CACHE_BEHIND: Words("debug", "waiting for the cache", "waiting for {object}: {detail}"),
    Reason.STATUS_STALE: Words(
        "debug", "waiting for the statefulset controller", "waiting for the status of {object}: {detail}"
    ),
    Reason.POD_MISSING: Words("info", "waiting for the pod", "{object} does not exist: {detail}"),
    Reason.PODS_NOT_READY: Words("info", "waiting for the pod", "waiting for {object} to become ready: {detail}"),
    Reason.POD_STUCK: Words("warn", "rollout blocked", "{object} does not become ready: {detail}"),
    Reason.NEEDS_ANSWER: Words("debug", "environmentd not asked", "only the operator asks {object}: {detail}"),
    Reason.LEADER_SILENT: Words("info", "waiting for environmentd to answer", "{object} does not answer: {detail}"),
    Reason.LEADER_INITIALIZING: Words(
        "info", "waiting for environmentd to catch up", "{object} is not ready to be promoted: {detail}"
    ),
    Reason.CATCH_UP_KEPT: Words(
        "info", "waiting for environmentd to catch up", "{object} is not ready to be promoted: {detail}"
    ),
    Reason.SIGN_IN_FAILED: Words("warn", "sign-in failed", "the operator cannot sign in to {object}: {detail}"),
    Reason.AWAITING_PROMOTION: Words("info", "waiting for approval", "{object} is ready to be promoted: {detail}"),
    Reason.PROMOTE_FAILED: Words("warn", f"{FAILED}: promotion not taken", "{object} is not promoted: {detail}"),
    Reason.NOT_YET_LEADER: Words("info", "waiting for environmentd to lead", "{object} does not lead yet: {detail}"),
    Reason.BALANCER_NOT_READY: Words(
        "info", "waiting for the balancer", "the Console waits for Balancer {object}: {detail}"
    ),
    Reason.DEPLOYMENT_NOT_READY: Words("info", "waiting for the deployment", "{object} is not available: {detail}"),
    Reason.SELECTOR_CHANGING: Words(
        "info", "waiting for a selector to change", "{object} gets another selector: {detail}"
    ),
    Reason.IDENTIFYING: Words("debug", "environment being identified", "{object} is being prepared"),
    Reason.APPLYING: Words("debug", "generation being applied", "the next generation of {object} is being applied"),
    Reason.PROMOTING: Words("info", "generation being promoted", "the next generation of {object} is being promoted"),
    Reason.RETIRING: Words("info", "generation being removed", "a generation of {object} is being removed"),
    Reason.SETTLING: Words("debug", "environment settling", "{object} is being completed"),
    Reason.COMPLETE: Words("debug", "environment up to date", "{object} is as its spec says"),
}

WRITES: dict[Does, Words] = {
    Does.ADD_FINALIZER: Words("debug", "finalizer added"),
    Does.REMOVE_FINALIZER: Words("info", "finalizer removed"),
    Does.REPORT_STATUS: Words("info", "status written"),
    Does.SET_ENVIRONMENT_ID: Words("info", "environment id set"),
    Does.APPLY_OBJECT: Words("info", "object applied"),
    Does.APPLY_GENERATION: Words("info", "generation applied"),
    Does.MOVE_SERVICE: Words("info", "public service moved"),
    Does.REMOVE_GENERATION: Words("info", "generation removed"),
    Does.REMOVE_COMPANION: Words("info", "companion removed"),
    Does.MIGRATE_SELECTOR: Words("info", "selector being changed"),
}
"""Logged once the write has succeeded."""


def text_of(reason: Reason, about: str, detail: str) -> str:
    """What is said of an object, given as `kind/name`."""
    return REASONS[reason].text.format(object=about, detail=detail)
