"""Objects that were refused or changed back: what is said of them, and when they are tried again."""

from __future__ import annotations

from datetime import datetime

from fairlead.contracts.environments.decide.applying import Lacking
from fairlead.contracts.environments.words import text_of
from fairlead.core.ask import REFUSAL_HOLDS
from fairlead.core.decision import Hold, SideNote
from fairlead.core.reason import Reason

UNDONE = "somebody changed it back, or deleted it, right after it was written"


def refusal_of(lacking: Lacking) -> Hold:
    """The pass fails because of these."""
    details = tuple((str(refusal.ref), refusal.text) for refusal in lacking.refusals)
    return Hold(Reason.OBJECT_REFUSED, details=details)


def undone(lacking: Lacking, now: datetime) -> Hold | None:
    """Somebody else keeps changing what is written: it is left to them for a while, and nothing rests on it."""
    if not lacking.undone:
        return None
    details = tuple((str(ref), UNDONE) for ref in lacking.undone)
    return Hold(Reason.OBJECT_UNDONE, now + REFUSAL_HOLDS, details)


def undoings(lacking: Lacking) -> tuple[SideNote, ...]:
    """The same, where it keeps nothing else from being done."""
    reason = Reason.OBJECT_UNDONE
    return tuple(SideNote(ref, reason, text_of(reason, str(ref), UNDONE)) for ref in lacking.undone)
