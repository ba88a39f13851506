"""The words of plans: log level, message and text of each reason and each write."""

from __future__ import annotations

from fairlead.core.act import Does
from fairlead.core.reason import Reason
from fairlead.core.words import Words

FAILED = "reconcile failed"

REASONS: dict[Reason, Words] = {
    Reason.SET_LEAVING: Words("info", "rollout is being deleted", "{object} is being deleted"),
    Reason.READ_FAILED: Words("warn", f"{FAILED}: object not read", "{object} cannot be read: {detail}"),
    Reason.WRITE_REFUSED: Words("warn", f"{FAILED}: write refused", "{object} cannot be written: {detail}"),
    Reason.CACHE_BEHIND: Words("debug", "waiting for the cache", "{detail}"),
    Reason.PODS_NOT_READY: Words("info", "waiting for pods", "{detail}"),
    Reason.POD_STUCK: Words("warn", "pod stuck", "{detail}"),
    Reason.SOURCE_NOT_SHRUNK: Words("info", "waiting for old pods to go", "{detail}"),
    Reason.WORKLOAD_STALE: Words("debug", "waiting for the status of a workload", "{detail}"),
    Reason.WORKLOAD_MISSING: Words("warn", "workload missing", "{detail}"),
    Reason.WORKLOAD_SCALING: Words("info", "waiting for a workload to settle", "{detail}"),
    Reason.INSTANCE_SPACING: Words("info", "waiting between two pods", "{detail}"),
    Reason.HOOK_REFUSED: Words("warn", "hook refused", "{detail}"),
    Reason.PAUSED: Words("info", "plan paused", "{detail}"),
    Reason.GATE_CLOSED: Words("info", "waiting at a gate", "{detail}"),
    Reason.BATCH_SOAKING: Words("info", "batch soaking", "{detail}"),
    Reason.METRIC_PENDING: Words("info", "waiting for a metric", "{detail}"),
    Reason.METRIC_UNKNOWN: Words("warn", "metric unknown", "{detail}"),
    Reason.TRAFFIC_PENDING: Words("info", "waiting for the traffic", "{detail}"),
    Reason.APPLICATION_PENDING: Words("info", "waiting for an application", "{detail}"),
    Reason.SPEC_INVALID: Words("warn", f"{FAILED}: invalid spec", "the spec of {object} cannot be used: {detail}"),
    Reason.KIND_MISSING: Words("warn", "kind not supported", "{detail}"),
    Reason.ROLLOUT_FAILED: Words("warn", "rollout failed", "{detail}"),
    Reason.ROLLOUT_REVERTED: Words("warn", "rollout reverted", "{detail}"),
    Reason.APPLYING: Words("debug", "rollout being taken on", "{object} is being taken on"),
    Reason.SETTLING: Words("info", "rollout given up", "{object} is gone, and its workloads stay"),
    Reason.ROLLING: Words("info", "plan being rolled", "{object} is being rolled"),
    Reason.COMPLETE: Words("debug", "rolled out", "{object} is rolled out"),
}

WRITES: dict[Does, Words] = {
    Does.ADD_FINALIZER: Words("debug", "finalizer added"),
    Does.REMOVE_FINALIZER: Words("debug", "finalizer removed"),
    Does.REPORT_STATUS: Words("debug", "status reported"),
    Does.CLAIM_WORKLOAD: Words("info", "workload claimed"),
    Does.RELEASE_WORKLOAD: Words("info", "workload released"),
    Does.RESIZE_WORKLOAD: Words("info", "workload resized"),
    Does.ADVANCE_PARTITION: Words("info", "partition advanced"),
    Does.TERMINATE_POD: Words("info", "pod deleted"),
    Does.ROUTE_TRAFFIC: Words("info", "traffic routed"),
}
"""Logged once the write has succeeded."""


def text_of(reason: Reason, about: str, detail: str) -> str:
    """What is said of an object by its name."""
    return REASONS[reason].text.format(object=about, detail=detail)
