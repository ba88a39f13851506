"""The words of DisaggregatedSets: log level, message and text of each reason and each write."""

from __future__ import annotations

from fairlead.contracts.leaderworker.words import FAILED
from fairlead.core.act import Does
from fairlead.core.reason import Reason
from fairlead.core.words import Words

REASONS: dict[Reason, Words] = {
    Reason.SET_LEAVING: Words("info", "set is being deleted", "{object} is being deleted"),
    Reason.NAME_TAKEN: Words("warn", "name taken", "{detail}"),
    Reason.SPEC_INVALID: Words("warn", f"{FAILED}: set unusable", "{object} cannot be used: {detail}"),
    Reason.LABEL_CHANGED: Words("warn", "label changed", "{object}: {detail}"),
    Reason.OBJECT_REFUSED: Words("warn", f"{FAILED}: object refused", "{object} was refused: {detail}"),
    Reason.READ_FAILED: Words("warn", f"{FAILED}: object not read", "{object} cannot be read: {detail}"),
    Reason.CACHE_BEHIND: Words("debug", "waiting for the cache", "waiting for the cache to show scalers"),
    Reason.OBJECTS_GOING: Words("info", "waiting for objects to go", "{object}: {detail}"),
    Reason.GROUPS_NOT_READY: Words("info", "waiting for roles", "{detail}"),
    Reason.ROLLING: Words("info", "roles being rolled", "the roles of {object} are being rolled"),
    Reason.SCALING: Words("info", "roles being scaled", "the roles of {object} are being scaled"),
    Reason.RETIRING: Words("info", "roles being removed", "what is left of {object} is being removed"),
    Reason.APPLYING: Words("info", "services being switched", "the Services of {object} are being switched"),
    Reason.COMPLETE: Words("debug", "up to date", "{object} is as its spec says"),
}

WRITES: dict[Does, Words] = {
    Does.CREATE_ROLE: Words("info", "role created"),
    Does.REMOVE_ROLE: Words("info", "role removed"),
    Does.NOTE_REPLICAS: Words("debug", "replicas noted"),
    Does.SCALE: Words("info", "role scaled"),
    Does.CREATE_SCALER: Words("info", "scaler created"),
    Does.REMOVE_SCALER: Words("info", "scaler removed"),
    Does.CREATE_SERVICE: Words("info", "service created"),
    Does.REMOVE_SERVICE: Words("info", "service removed"),
    Does.REPORT_STATUS: Words("debug", "status reported"),
}
"""Logged once the write has succeeded."""
