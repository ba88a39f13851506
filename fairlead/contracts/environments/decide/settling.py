"""Section 3.4 case 3: what is wanted serves; what is left of an abandoned rollout goes, and what is missing comes.

Nothing of A that exists is ever changed here, so that another version or other flags of the operator change no running
environment.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import structs

from fairlead.contracts.environments.decide.applying import missing
from fairlead.contracts.environments.decide.live import Looked, makeable
from fairlead.contracts.environments.decide.moments import later
from fairlead.contracts.environments.decide.objects.generation import generation_objects, public_service
from fairlead.contracts.environments.decide.refusals import refusal_of, undone
from fairlead.contracts.environments.decide.standing import Standing
from fairlead.contracts.environments.decide.statuses import record, unchanged
from fairlead.contracts.environments.decide.strays import remove_strays
from fairlead.contracts.environments.decide.teardown import leaving, teardown
from fairlead.core.act import Does
from fairlead.core.ask import Need
from fairlead.core.decision import Hold, Move, Verdict
from fairlead.core.reason import Reason


def settle(stand: Standing, now: datetime) -> Verdict | Need | None:
    """A whole, N gone, and said so; None while something else is wanted."""
    if not stand.is_settled:
        return None
    healed = heal(stand, now)
    if healed is not None:
        return healed
    # At rest the caches are believed: whoever made something since wrote the status, or is somebody else.
    gone = teardown(stand, stand.target, now, surely=not is_said(stand))
    if gone is not None:
        return said_with(stand, gone, now)
    write = None if is_said(stand) else record(stand, unchanged(stand), now, requested_rollout_hash=stand.hash)
    if write is not None:
        return Move(Reason.SETTLING, (write,))
    return remove_strays(stand, now) or Hold(Reason.COMPLETE, later(stand.uid, now))


def heal(stand: Standing, now: datetime) -> Verdict | Need | None:
    """Section 3.4 point 6 and B14: what is missing of A, and the public Service, is created from A's spec."""
    if stand.active < 1:
        return None
    environment, settings = stand.environment, stand.settings
    wanted = (
        *generation_objects(environment, stand.active, stand.hash, settings),
        public_service(environment, stand.active, settings),
    )
    looked = makeable(stand, (each.ref for each in wanted))
    if not isinstance(looked, Looked):
        return looked
    going = leaving(stand, stand.active, now, looked)
    if going is not None:
        return going
    facts = structs.replace(stand.facts, existing=looked.after(stand.existing))
    absent = missing(wanted, Does.APPLY_GENERATION, facts)
    if absent.refusals:
        return refusal_of(absent)
    return Move(Reason.SETTLING, absent.writes) if absent.writes else undone(absent, now)


def said_with(stand: Standing, gone: Verdict | Need, now: datetime) -> Verdict | Need:
    """That N was torn down is said when nothing else is going to be: together with its last deletion."""
    if not isinstance(gone, Move) or len(stand.left_of(stand.target)) > 1 or not is_said(stand):
        return gone
    write = record(stand, unchanged(stand), now, requested_rollout_hash=stand.hash)
    return gone if write is None else structs.replace(gone, writes=(*gone.writes, write))


def is_said(stand: Standing) -> bool:
    """Section 3.4 point 7: whether the stored status needs no word about this."""
    condition = stand.condition
    return (
        condition is not None
        and condition.status == "True"
        and condition.observed_generation == stand.seen.environment.metadata.generation
        and stand.requested == stand.hash
    )
