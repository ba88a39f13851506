"""What the status of a PodDisruptionBudget says about itself: its condition DisruptionAllowed.

The controller writes it with the counts it has worked out; an eviction writes it when it takes the last disruption.
"""

from __future__ import annotations

from kubesim.store.versions import Tree, timestamp

CONDITION = "DisruptionAllowed"
SUFFICIENT, INSUFFICIENT, SYNC_FAILED = "SufficientPods", "InsufficientPods", "SyncFailed"


def condition_in(status: Tree) -> Tree | None:
    """The condition, if the status has it."""
    return next((each for each in status.get("conditions") or [] if each["type"] == CONDITION), None)


def note_allowance(status: Tree) -> None:
    """Says in the condition whether anything may be disrupted."""
    allowed = (status.get("disruptionsAllowed") or 0) > 0
    _note(status, allowed=allowed, reason=SUFFICIENT if allowed else INSUFFICIENT, message="")


def note_failure(status: Tree, why: str) -> None:
    """Allows nothing, because it is not known what would be right."""
    status["disruptionsAllowed"] = 0
    _note(status, allowed=False, reason=SYNC_FAILED, message=why)


def is_noted(status: Tree) -> bool:
    """Whether the condition says what the count does."""
    condition = condition_in(status)
    if condition is None:
        return False
    allowed = (status.get("disruptionsAllowed") or 0) > 0
    said = condition.get("status"), condition.get("reason")
    return said == (("True", SUFFICIENT) if allowed else ("False", INSUFFICIENT))


def _note(status: Tree, *, allowed: bool, reason: str, message: str) -> None:
    known = condition_in(status)
    said: Tree = {"type": CONDITION, "status": "True" if allowed else "False"}
    if status.get("observedGeneration"):
        said["observedGeneration"] = status["observedGeneration"]
    turned = known is None or known.get("status") != said["status"]
    said["lastTransitionTime"] = timestamp() if known is None or turned else known.get("lastTransitionTime")
    said |= {"reason": reason, "message": message}
    others = list(status.get("conditions") or [])
    status["conditions"] = [said if each is known else each for each in others] + ([] if known is not None else [said])
