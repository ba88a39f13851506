"""What people see of a rollout one of whose objects cannot be read: the others are shown, and this one with why."""

from __future__ import annotations

import re

from msgspec import structs

from fairlead.core.explain import Block, Explain, Stands
from fairlead.core.outcome import BLOCKED
from fairlead.core.reason import Reason

RULE = "read"
PHASE = "Blocked"
_PLACE = re.compile(r"^(?P<problem>.*) - at `(?P<path>[^`]*)`$", re.DOTALL)
"""How a decoder says where something is wrong."""


def said_of(kind: str, name: str, why: str) -> str:
    """That the object cannot be read, with the path of the field: `LeaderWorkerSet a cannot be read: spec.size: …`."""
    found = _PLACE.match(why)
    if found is None:
        return f"{kind} {name} cannot be read: {why}"
    path, problem = found["path"].removeprefix("$").removeprefix("."), found["problem"]
    where = f"{path}: " if path else ""
    return f"{kind} {name} cannot be read: {where}{problem[:1].lower()}{problem[1:]}"


def document(part: str, noun: str, namespace: str, rollout: str) -> Explain:
    """Of a rollout of which nothing else is known."""
    return Explain(part=part, noun=noun, namespace=namespace, rollout=rollout, stands=Stands(PHASE, 0, 0, "objects"))


def unread(shown: Explain, about: str, text: str) -> Explain:
    """The document with what of it cannot be read, which comes before everything else: the rest is seen without it."""
    reason = Reason.OBJECT_UNREADABLE
    block = Block(RULE, reason.word, about, text, reason.clears, kind=reason.kind.value)
    return structs.replace(
        shown,
        outcome=BLOCKED,
        stands=structs.replace(shown.stands, phase=PHASE),
        next=(),
        blocked_by=(block, *shown.blocked_by),
    )


def lacking(shown: Explain, text: str) -> Explain:
    """The document of a rollout that may consist of an object which cannot be read."""
    return structs.replace(shown, notes=(*shown.notes, f"{text}; what is shown here is without it"))
