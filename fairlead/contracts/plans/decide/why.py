"""Why an attempt waits or fails: the words of its conditions, each with the reason that the engine knows."""

from __future__ import annotations

from enum import Enum

from fairlead.core.reason import Reason


class Why(Enum):
    """Members are `(word of the condition, reason of the decision)`."""

    PODS_NOT_READY = "PodsNotReady", Reason.PODS_NOT_READY
    SOURCE_NOT_SHRUNK = "SourceNotShrunk", Reason.POD_TERMINATING
    STATUS_STALE = "StatusStale", Reason.STATUS_STALE
    WORKLOAD_MISSING = "WorkloadMissing", Reason.POD_MISSING
    WORKLOAD_SCALING = "WorkloadScaling", Reason.PODS_NOT_READY
    INSTANCE_SPACING = "InstanceSpacing", Reason.SOAKING
    HOOK_REFUSED = "HookRefused", Reason.PREPARE_FAILED
    PAUSED = "Paused", Reason.PAUSED
    PARTITION_REACHED = "PartitionReached", Reason.PARTITION_REACHED
    SOAKING = "Soaking", Reason.SOAKING
    SPEC_INVALID = "SpecInvalid", Reason.SPEC_INVALID
    BATCH_SUM = "BatchSum", Reason.SPEC_INVALID
    KIND_UNSUPPORTED = "KindUnsupported", Reason.KIND_MISSING
    NOT_SERVED = "NotServed", Reason.SPEC_INVALID
    NOT_FROZEN = "NotFrozen", Reason.SPEC_INVALID
    CONTROLLED = "ControllerOwner", Reason.NAME_TAKEN
    DRIFT = "Drift", Reason.OBJECT_UNDONE
    BATCH_REMOVED = "BatchRemoved", Reason.SPEC_INVALID
    ABORTED = "Aborted", Reason.ROLLOUT_TIMED_OUT
    REVERT_ASKED = "RevertAsked", Reason.ROLLOUT_TIMED_OUT
    DEADLINE_PASSED = "DeadlinePassed", Reason.ROLLOUT_TIMED_OUT

    def __init__(self, word: str, reason: Reason) -> None:
        self.word = word
        self.reason = reason
