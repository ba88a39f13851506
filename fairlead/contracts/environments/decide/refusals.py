"""Objects that were refused or changed back: what is said of them, and when they are tried again."""

from __future__ import annotations

from datetime import datetime

from fairlead.contracts.environments.decide.applying import Lacking
from fairlead.contracts.environments.words import text_of
from fairlead.core.ask import REFUSAL_HOLDS
from fairlead.core.decision import Hold, SideNote
from fairlead.core.reason import Reason
from kubeloop.objects.meta import Ref

UNDONE = "somebody changed it back, or deleted it, right after it was written"
GOING = "it is being deleted, and is made again then"


def refusal_of(lacking: Lacking) -> Hold:
    """The pass fails because of these."""
    details = tuple((str(refusal.ref), refusal.text) for refusal in lacking.refusals)
    return Hold(Reason.OBJECT_REFUSED, details=details)


def undone(lacking: Lacking, now: datetime) -> Hold | None:
    """Somebody else keeps changing what is written: it is left to them for a while, and nothing rests on it."""
    if not lacking.is_left:
        return None
    reason, refs, text = _left(lacking)[0]
    return Hold(reason, now + REFUSAL_HOLDS, tuple((str(ref), text) for ref in refs))


def undoings(lacking: Lacking) -> tuple[SideNote, ...]:
    """The same, where it keeps nothing else from being done."""
    return tuple(
        SideNote(ref, reason, text_of(reason, str(ref), text), advice=_advice(reason, ref))
        for reason, refs, text in _left(lacking)
        for ref in refs
    )


def _left(lacking: Lacking) -> list[tuple[Reason, tuple[Ref, ...], str]]:
    kinds = ((Reason.OBJECT_UNDONE, lacking.undone, UNDONE), (Reason.OBJECTS_GOING, lacking.going, GOING))
    return [each for each in kinds if each[1]]


def _advice(reason: Reason, ref: Ref) -> tuple[str, ...]:
    return (advice_on_going(ref.namespace, str(ref)),) if reason is Reason.OBJECTS_GOING else ()


def advice_on_going(namespace: str, about: str) -> str:
    """An object that is being deleted goes when its finalizers do, and they are somebody else's."""
    return f"see whose finalizers keep it: kubectl -n {namespace} get {about} -o jsonpath='{{.metadata.finalizers}}'"
