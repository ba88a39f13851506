"""Events on a rollout (section 2.12): the reasons are the contract's words, the texts are ours."""

from __future__ import annotations

from msgspec import Struct

from fairlead.contracts.plans.decide.states import Event
from fairlead.contracts.plans.kinds import ABANDONED, FAILED, SUCCEEDED

VERIFY_FAILED, UNSUPPORTED, HOOK_FAILED = "VerifyFailed", "Unsupported workload", "WebhookFailed"
METRIC_FAILED, TRAFFIC_FAILED, AUTOSCALER_ACTIVE = "MetricCheckFailed", "TrafficFailed", "AutoscalerActive"
PAUSED, RESTARTED, REVERTED, DELETED = "Rollout paused", "Rollout Restarted", "Rollout Reverted", "Rollout Deleted"
NOT_TEMPLATED, AVAILABLE = "Rollout Paused", "Batch Available"
BLOCKED = "RolloutBlocked"


class Note(Struct, frozen=True):
    """What people are told; `warning` says whether it is to be looked at."""

    reason: str
    text: str
    warning: bool = False


def of_event(event: Event, *, state: str, batch: int, is_scale: bool) -> Note | None:
    """What an event tells; `state` is the one that it led to, `batch` the one that it was about."""
    word = "Scale" if is_scale else "Rollout"
    match event:
        case Event.SPEC_VERIFIED:
            return Note(f"{word} Verified", "the plan and the workloads fit together")
        case Event.INITIALIZED:
            return Note(f"{word} Initialized", "the workloads are claimed")
        case Event.BATCH_ROLLED:
            return Note("Batch Rollout", f"everything of batch {batch} is written")
        case Event.BATCH_AVAILABLE:
            return Note(AVAILABLE, f"the pods of batch {batch} are ready")
        case Event.BATCH_FINISHED:
            return Note("Batch Finalized", f"batch {batch} is done")
        case Event.ALL_FINISHED:
            return Note("All batches rolled out", f"batch {batch} was the last")
        case Event.FINALIZED if state == SUCCEEDED:
            return Note(f"{word} Finalized", "the rollout succeeded, and the workloads are released")
        case Event.FINALIZED if state == FAILED:
            return Note(f"{word} Finalized", "the rollout failed, and the workloads are released")
        case Event.MODIFIED if state != ABANDONED:
            return Note(RESTARTED, "the target, the source or the target size is another one")
    return None


def failed_to_get(kind: str, text: str) -> Note:
    return Note(f"Failed to get the {kind}", text, warning=True)


def failed_to_release(kind: str, text: str) -> Note:
    return Note(f"Failed to release the {kind}", text, warning=True)
