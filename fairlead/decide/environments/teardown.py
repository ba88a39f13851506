"""Section 3.7: the objects of a generation go one after the other, each when the one before it is gone."""

from __future__ import annotations

from datetime import datetime

from msgspec import structs

from fairlead.api.meta import Meta, Ref
from fairlead.decide.act import Delete, Does
from fairlead.decide.decision import Hold, Move, Verdict
from fairlead.decide.environments.moments import soon
from fairlead.decide.environments.standing import Standing
from fairlead.decide.reason import Reason


def teardown(stand: Standing, generation: int, now: datetime, *, refusable: bool = False) -> Verdict | None:
    """The next deletion, or the wait for the last one; None once nothing of the generation is left."""
    left = stand.left_of(generation)
    if not left:
        return None
    ref, found = left[0]
    if found.deletion_timestamp is not None:
        return going(stand, ref, now)
    return Move(Reason.RETIRING, (removed(stand, ref, found, refusable=refusable),))


def removed(stand: Standing, ref: Ref, found: Meta, *, refusable: bool = False) -> Delete:
    """Of exactly this incarnation, and not before what belongs to it is gone."""
    return Delete(
        ref=structs.replace(ref, uid=found.uid),
        propagation="Foreground",
        does=Does.REMOVE_GENERATION,
        scope=stand.uid,
        refusable=refusable,
    )


def leaving(stand: Standing, generation: int, now: datetime) -> Hold | None:
    """The wait for objects of a generation that are being deleted; applying them would not keep them."""
    for ref, found in stand.left_of(generation):
        if found.deletion_timestamp is not None:
            return going(stand, ref, now)
    return None


def going(stand: Standing, ref: Ref, now: datetime) -> Hold:
    return Hold(Reason.OBJECTS_GOING, soon(stand.uid, now), ((str(ref), "it is being deleted"),))
