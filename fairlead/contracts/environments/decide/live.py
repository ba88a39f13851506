"""Objects that the caches do not show, looked up by their names.

The caches hold what carries the label of a resource id. An object that lost the label still runs, so nothing is created
again and nothing counts as gone on the word of a cache alone: it is read first. What names the environment as its owner
is the environment's. Nothing is read while the caches show all there should be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct

from fairlead.contracts.environments.decide.applying import Existing
from fairlead.contracts.environments.decide.standing import Standing
from fairlead.core.ask import Ask, Bad, Good, Need, Read
from fairlead.core.decision import Hold
from fairlead.core.reason import Reason
from kubeloop.objects.meta import Meta, Ref


class Looked(Struct, frozen=True):
    """What is there although no cache shows it."""

    ours: Mapping[Ref, Meta] = {}
    others: tuple[Ref, ...] = ()
    """Somebody else's, under a name that the environment needs."""

    def after(self, existing: Existing) -> Existing:
        """What is there, by the caches and by this look."""
        return lambda ref: existing(ref) or self.ours.get(ref)


class _Object(Struct, frozen=True):
    metadata: Meta


def look(stand: Standing, refs: Iterable[Ref]) -> Looked | Hold | Need:
    """At those of the objects that the caches do not show."""
    questions = {Ask(Read(ref)): ref for ref in refs if stand.existing(ref) is None}
    if todo := stand.seen.answers.lacking(tuple(questions)):
        return Need(todo)
    ours: dict[Ref, Meta] = {}
    others: list[Ref] = []
    for question, ref in questions.items():
        match stand.seen.answers[question]:
            case Good(value=value):
                found = msgspec.json.decode(value, type=_Object).metadata
                if is_owned(found, stand.uid):
                    ours[ref] = found
                else:
                    others.append(ref)
            case Bad(kind="absent" | "not-sent"):
                continue  # whoever only looks may go by the caches
            case Bad(kind=kind, text=text):
                return Hold(Reason.READ_FAILED, details=((str(ref), text or kind),))
    return Looked(ours, tuple(others))


def makeable(stand: Standing, refs: Iterable[Ref]) -> Looked | Hold | Need:
    """The look before objects are created: a name that somebody else took is in the way."""
    looked = look(stand, refs)
    if not isinstance(looked, Looked) or not looked.others:
        return looked
    sentence = "an object of this name belongs to somebody else: delete it, and the operator creates its own"
    return Hold(Reason.OBJECT_REFUSED, details=tuple((str(ref), sentence) for ref in looked.others))


def is_owned(metadata: Meta, uid: str) -> bool:
    """By UID: the version that an owner was written in does not matter."""
    return any(owner.uid == uid for owner in metadata.owner_references)
