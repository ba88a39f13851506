"""Why an attempt waits or fails: the words of its conditions, each with the reason that the engine knows."""

from __future__ import annotations

from enum import Enum

from fairlead.core.reason import Reason


class Why(Enum):
    """Members are `(word of the condition, reason of the decision)`."""

    PODS_NOT_READY = "PodsNotReady", Reason.PODS_NOT_READY
    POD_STUCK = "PodStuck", Reason.POD_STUCK
    SOURCE_NOT_SHRUNK = "SourceNotShrunk", Reason.SOURCE_NOT_SHRUNK
    STATUS_STALE = "StatusStale", Reason.WORKLOAD_STALE
    STATUS_LOST = "StatusLost", Reason.WORKLOAD_STALE
    WORKLOAD_MISSING = "WorkloadMissing", Reason.WORKLOAD_MISSING
    WORKLOAD_SCALING = "WorkloadScaling", Reason.WORKLOAD_SCALING
    INSTANCE_SPACING = "InstanceSpacing", Reason.INSTANCE_SPACING
    WRITE_REFUSED = "WriteRefused", Reason.WRITE_REFUSED
    APPLICATION_PENDING = "ApplicationPending", Reason.APPLICATION_PENDING
    HOOK_REFUSED = "HookRefused", Reason.HOOK_REFUSED
    PAUSED = "Paused", Reason.PAUSED
    PARTITION_REACHED = "PartitionReached", Reason.GATE_CLOSED
    TRAFFIC_PENDING = "TrafficPending", Reason.TRAFFIC_PENDING
    METRIC_PENDING = "MetricPending", Reason.METRIC_PENDING
    METRIC_UNKNOWN = "MetricUnknown", Reason.METRIC_UNKNOWN
    METRIC_REFUSED = "MetricRefused", Reason.ROLLOUT_FAILED
    SOAKING = "Soaking", Reason.BATCH_SOAKING
    SPEC_INVALID = "SpecInvalid", Reason.SPEC_INVALID
    BATCH_SUM = "BatchSum", Reason.ROLLOUT_FAILED
    KIND_UNSUPPORTED = "KindUnsupported", Reason.KIND_MISSING
    NOT_SERVED = "NotServed", Reason.ROLLOUT_FAILED
    NOT_FROZEN = "NotFrozen", Reason.ROLLOUT_FAILED
    CONTROLLED = "ControllerOwner", Reason.ROLLOUT_FAILED
    DRIFT = "Drift", Reason.ROLLOUT_FAILED
    BATCH_REMOVED = "BatchRemoved", Reason.ROLLOUT_FAILED
    ABORTED = "Aborted", Reason.ROLLOUT_FAILED
    REVERT_ASKED = "RevertAsked", Reason.ROLLOUT_FAILED
    DEADLINE_PASSED = "DeadlinePassed", Reason.ROLLOUT_FAILED

    def __init__(self, word: str, reason: Reason) -> None:
        self.word = word
        self.reason = reason
