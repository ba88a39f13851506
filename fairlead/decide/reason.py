"""Why a rollout does or does not move: one internal vocabulary for all parts.

A Reason names a state of the world, not a part or a wire word; each part's `words.py` maps it to the words of its
contract. Its kind says who can end the wait, `clears` says how.
"""

from __future__ import annotations

from enum import Enum


class Kind(Enum):
    WAITING = "waiting"
    HELD = "held"
    BLOCKED = "blocked"
    INVALID = "invalid"
    FAILED = "failed"
    MOVING = "moving"
    DONE = "done"


class Reason(Enum):
    """Members are `(word, kind, what clears it)`."""

    POD_TERMINATING = "PodTerminating", Kind.WAITING, "the pod finishes shutting down"
    POD_MISSING = "PodMissing", Kind.WAITING, "the StatefulSet controller creates the pod"
    PODS_NOT_READY = "PodsNotReady", Kind.WAITING, "the pod becomes ready"
    STATUS_STALE = "StatusStale", Kind.WAITING, "the StatefulSet controller observes the newest generation"
    CACHE_BEHIND = "CacheBehind", Kind.WAITING, "the watch delivers the newest version of the object"
    ZONE_LEAVING = "ZoneLeaving", Kind.WAITING, "the StatefulSet is gone"
    PAUSED = "Paused", Kind.HELD, "the pause is taken off"
    OTHER_ZONE_AHEAD = "OtherZoneAhead", Kind.WAITING, "the zone before it is done"
    OTHER_ZONE_NOT_READY = "OtherZoneNotReady", Kind.BLOCKED, "the other zone is ready again"
    TWO_ZONES_NOT_READY = "TwoZonesNotReady", Kind.BLOCKED, "all but one of these zones are ready again"
    BUDGET_USED = "BudgetUsed", Kind.WAITING, "a pod of the zone becomes ready"
    WRONG_STRATEGY = "WrongStrategy", Kind.INVALID, "spec.updateStrategy.type is set to OnDelete"
    REVISION_UNKNOWN = "RevisionUnknown", Kind.INVALID, "the StatefulSet controller records its revisions in the status"
    READ_FAILED = "ReadFailed", Kind.FAILED, "the API server answers the read"
    ROLLING = "Rolling", Kind.MOVING, ""
    COMPLETE = "Complete", Kind.DONE, ""

    def __init__(self, word: str, kind: Kind, clears: str) -> None:
        self.word = word
        self.kind = kind
        self.clears = clears

    @property
    def fails(self) -> bool:
        """Whether a round that ends so counts as failed and is retried with back-off."""
        return self.kind in (Kind.INVALID, Kind.FAILED)
