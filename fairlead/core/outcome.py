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
GATED = "gated"
"""It has come to a place where it stops by its own plan, until a person lets it go on."""
BLOCKED = "blocked"
FAILED = "failed"
REVERTED = "reverted"
"""It was given up, and everything is back as it was."""

OUTCOMES = (DONE, MOVING, WAITING, HELD, GATED, BLOCKED, FAILED, REVERTED)
STOPPED = (FAILED, REVERTED, BLOCKED, HELD, GATED)
"""It does not go on before a person acts; the worst first."""

_BY_KIND = {
    ReasonKind.DONE: DONE,
    ReasonKind.MOVING: MOVING,
    ReasonKind.WAITING: WAITING,
    ReasonKind.HELD: HELD,
    ReasonKind.BLOCKED: BLOCKED,
    ReasonKind.INVALID: BLOCKED,
    ReasonKind.FAILED: FAILED,
}
_BY_REASON = {
    Reason.GATE_CLOSED: GATED,
    Reason.AWAITING_PROMOTION: GATED,
    Reason.ROLLOUT_FAILED: FAILED,
    Reason.ROLLOUT_REVERTED: REVERTED,
}
"""Where the kind does not say it all."""


def outcome_of(reason: Reason) -> str:
    """The word for a rollout about which this was decided; what is invalid blocks until it is corrected."""
    return _BY_REASON.get(reason) or _BY_KIND[reason.kind]
