"""Section 3.7: the objects of a generation go one after the other, each when the one before it is gone."""

from __future__ import annotations

from datetime import datetime

from msgspec import structs

from fairlead.contracts.environments.decide.live import Looked, look
from fairlead.contracts.environments.decide.moments import soon
from fairlead.contracts.environments.decide.objects.generation import generation_refs
from fairlead.contracts.environments.decide.standing import Standing
from fairlead.core.act import Delete, Does
from fairlead.core.ask import Need
from fairlead.core.decision import Hold, Move, Verdict
from fairlead.core.reason import Reason
from kubeloop.objects.meta import Meta, Ref


def teardown(
    stand: Standing, generation: int, now: datetime, *, surely: bool = True, refusable: bool = False
) -> Verdict | Need | None:
    """The next deletion, or the wait for the last one; None once nothing of the generation is left.

    When something rests on that, it is made sure of past the caches, which do not show an object without its label.
    """
    left = stand.left_of(generation)
    if not left and surely:
        looked = look(stand, refs_of(stand, generation))
        if not isinstance(looked, Looked):
            return looked
        left = tuple(looked.ours.items())
    if not left:
        return None
    ref, found = left[0]
    if found.deletion_timestamp is not None:
        return going(stand, ref, now)
    return Move(Reason.RETIRING, (removed(stand, ref, found, refusable=refusable),))


def refs_of(stand: Standing, generation: int) -> tuple[Ref, ...]:
    """The names of the objects of a generation, in the order in which they are taken down."""
    return generation_refs(stand.environment.namespace, stand.environment.resource_id, generation)


def removed(stand: Standing, ref: Ref, found: Meta, *, refusable: bool = False) -> Delete:
    """Of exactly this incarnation, and not before what belongs to it is gone."""
    return Delete(
        repeatable=True,
        ref=structs.replace(ref, uid=found.uid),
        propagation="Foreground",
        does=Does.REMOVE_GENERATION,
        scope=stand.uid,
        refusable=refusable,
    )


def leaving(stand: Standing, generation: int, now: datetime, looked: Looked | None = None) -> Hold | None:
    """The wait for objects of a generation that are being deleted; applying them would not keep them."""
    hidden = tuple(looked.ours.items()) if looked is not None else ()
    for ref, found in (*stand.left_of(generation), *hidden):
        if found.deletion_timestamp is not None:
            return going(stand, ref, now)
    return None


def going(stand: Standing, ref: Ref, now: datetime) -> Hold:
    return Hold(Reason.OBJECTS_GOING, soon(stand.uid, now), ((str(ref), "it is being deleted"),))
