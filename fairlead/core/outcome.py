"""How a rollout stands in one word that means the same for every contract.

It follows from the decision and its reason and is told in the explain document; views, exit codes and commands go by
it and judge nothing themselves.
"""

from __future__ import annotations

from fairlead.core.reason import Reason, ReasonKind

DONE = "done"
MOVING = "moving"
WAITING = "waiting"
HELD = "held"
BLOCKED = "blocked"
FAILED = "failed"

OUTCOMES = (DONE, MOVING, WAITING, HELD, BLOCKED, FAILED)
STOPPED = (HELD, BLOCKED, FAILED)
"""It does not go on before a person acts."""

_BY_KIND = {
    ReasonKind.DONE: DONE,
    ReasonKind.MOVING: MOVING,
    ReasonKind.WAITING: WAITING,
    ReasonKind.HELD: HELD,
    ReasonKind.BLOCKED: BLOCKED,
    ReasonKind.INVALID: BLOCKED,
    ReasonKind.FAILED: FAILED,
}


def outcome_of(reason: Reason) -> str:
    """The word for a rollout about which this was decided; what is invalid blocks until it is corrected."""
    return _BY_KIND[reason.kind]
