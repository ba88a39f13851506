"""The words of leaders and workers: log level, message and text of each reason and each write."""

from __future__ import annotations

from fairlead.core.act import Does
from fairlead.core.reason import Reason
from fairlead.core.words import Words

FAILED = "reconcile failed"

REASONS: dict[Reason, Words] = {
    Reason.SET_LEAVING: Words("info", "set is being deleted", "{object} is being deleted"),
    Reason.LEADERS_LEAVING: Words("info", "waiting for the leaders to go", "the old leaders of {object} are going"),
    Reason.NAME_TAKEN: Words("warn", "name taken", "{detail}"),
    Reason.READ_FAILED: Words("warn", f"{FAILED}: object not read", "{object} cannot be read: {detail}"),
    Reason.CACHE_BEHIND: Words("debug", "waiting for the cache", "waiting for the cache to show {object}"),
    Reason.REVISION_UNREADABLE: Words("warn", "revision unreadable", "{detail}"),
    Reason.REVISION_MISSING: Words("warn", "revision missing", "{detail}"),
    Reason.OBJECT_REFUSED: Words("warn", f"{FAILED}: object refused", "{object} was refused: {detail}"),
    Reason.WRITE_REFUSED: Words("warn", f"{FAILED}: write refused", "{object}: {detail}"),
    Reason.SPEC_INVALID: Words("warn", f"{FAILED}: label unreadable", "{object} cannot be used: {detail}"),
    Reason.GROUPS_NOT_READY: Words("info", "waiting for groups", "{detail}"),
    Reason.OLD_GROUPS_NOT_READY: Words("warn", "rollout blocked", "{detail}"),
    Reason.PARTITION_REACHED: Words("info", "partition reached", "{detail}"),
    Reason.POD_MISSING: Words("info", "waiting for pods", "{object} does not exist yet: {detail}"),
    Reason.PODS_NOT_READY: Words("info", "waiting for pods", "{object} is not ready: {detail}"),
    Reason.POD_TERMINATING: Words("info", "waiting for pods", "{object} is shutting down{detail}"),
    Reason.LABEL_CHANGED: Words("warn", "label changed", "{object}: {detail}"),
    Reason.POD_STUCK: Words("warn", "pod stuck", "{object} is stuck: {detail}"),
    Reason.PAUSED: Words("info", "rollout paused", "{object} is paused{detail}"),
    Reason.LEADER_UNBOUND: Words("info", "waiting for the leader's node", "{object}: {detail}"),
    Reason.NODE_UNLABELLED: Words("warn", f"{FAILED}: node without topology", "{object}: {detail}"),
    Reason.LEADER_STARTING: Words("info", "waiting for the leader", "{object}: {detail}"),
    Reason.WORKERS_LEAVING: Words("info", "waiting for old workers to go", "{object}: {detail}"),
    Reason.OBJECTS_GOING: Words("info", "waiting for objects to go", "{object}: {detail}"),
    Reason.GROUP_LEAVING: Words("debug", "group is going", "{object} is being deleted"),
    Reason.GROUP_NESTED: Words("warn", "leader is a worker", "{object}: {detail}"),
    Reason.RECREATION_SPACING: Words("info", "recreation postponed", "{object}: {detail}"),
    Reason.RESTARTS_EXCEEDED: Words("warn", "group given up", "{object}: {detail}"),
    Reason.RECREATING: Words("info", "group being recreated", "{object} is being recreated"),
    Reason.RETIRING: Words("info", "workers being removed", "the workers of {object} are being removed"),
    Reason.SETTLING: Words("debug", "recreations forgotten", "{object} has been ready for long enough"),
    Reason.SCALING: Words("info", "set being scaled", "{object} is being scaled"),
    Reason.ROLLING: Words("info", "set being rolled", "{object} is being rolled"),
    Reason.COMPLETE: Words("debug", "up to date", "{object} is as its spec says"),
}

WRITES: dict[Does, Words] = {
    Does.RECORD_REVISION: Words("info", "revision recorded"),
    Does.RENEW_REVISION: Words("info", "revision renewed"),
    Does.FORGET_REVISION: Words("info", "revision forgotten"),
    Does.APPLY_LEADERS: Words("info", "leaders applied"),
    Does.CREATE_SERVICE: Words("info", "service created"),
    Does.REPORT_STATUS: Words("debug", "status reported"),
    Does.CREATE_WORKERS: Words("info", "workers created"),
    Does.REMOVE_WORKERS: Words("info", "workers removed"),
    Does.CREATE_POD_GROUP: Words("info", "pod group created"),
    Does.RECREATE_GROUP: Words("info", "group recreated"),
    Does.REPLACE_LEADER: Words("info", "leader replaced"),
    Does.COUNT_RECREATION: Words("debug", "recreation counted"),
    Does.KEEP_DISRUPTION_BUDGET: Words("info", "disruption budget kept"),
    Does.REMOVE_DISRUPTION_BUDGET: Words("info", "disruption budget removed"),
}
"""Logged once the write has succeeded."""


def text_of(reason: Reason, about: str, detail: str) -> str:
    """What is said of an object by its name."""
    return REASONS[reason].text.format(object=about, detail=detail)
