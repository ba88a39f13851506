"""One round of a DisaggregatedSet (section 6.7): slices that are too many, scalers, every slice by itself, Services,
and then what is told of it all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from msgspec import Struct

from fairlead.contracts.leaderworker.decide.disaggregated import notes
from fairlead.contracts.leaderworker.decide.disaggregated.children import Child, Generation, owned
from fairlead.contracts.leaderworker.decide.disaggregated.rolling import SliceState
from fairlead.contracts.leaderworker.decide.disaggregated.scalers import RoleTargets, scaler_reports, scaling_of
from fairlead.contracts.leaderworker.decide.disaggregated.seen import DisaggregatedSeen
from fairlead.contracts.leaderworker.decide.disaggregated.services import (
    lacking_services,
    owned_services,
    questions,
    removed,
    service_steps,
    slice_of,
)
from fairlead.contracts.leaderworker.decide.disaggregated.slices import deleted, slice_steps, state_of
from fairlead.contracts.leaderworker.decide.disaggregated.status import is_available, reported, status_of
from fairlead.contracts.leaderworker.decide.disaggregated.steps import Steps, as_allowed, details_of
from fairlead.contracts.leaderworker.decide.disaggregated.target import target_revision
from fairlead.contracts.leaderworker.decide.seen import Service
from fairlead.contracts.leaderworker.disaggregated.kinds import REVISION, SLICE
from fairlead.contracts.leaderworker.kinds import MOST_SLICES
from fairlead.core.ask import Need
from fairlead.core.decision import Decision, Hold, Move, Outcome, Verdict
from fairlead.core.reason import Reason

AGAIN = timedelta(seconds=5)
"""After so long it is looked again whether what is in the way is gone."""

SOON = timedelta(seconds=1)
"""After so long it is looked again whether the scalers are known."""

MOST_REFUSED = 8
"""Slices of which a write was refused, after which a round leaves the others alone."""


class RoundView(Struct, frozen=True):
    """What a round makes of its set before it decides anything."""

    children: tuple[Child, ...]
    revision: str
    """The target."""
    scaling: RoleTargets
    slices: tuple[SliceState, ...]


def standing(seen: DisaggregatedSeen) -> RoundView:
    children = owned(seen)
    revision = target_revision(seen.set, children)
    scaling = scaling_of(seen, children)
    slices = tuple(state_of(index, children, revision, scaling.targets) for index in range(_bounded(seen)))
    return RoundView(children, revision, scaling, slices)


def _bounded(seen: DisaggregatedSeen) -> int:
    return min(seen.set.spec.slices, MOST_SLICES)


def decide(seen: DisaggregatedSeen, now: datetime) -> Outcome:
    given = seen.set
    if given.metadata.deletion_timestamp is not None:
        return Decision("leave", Hold(Reason.SET_LEAVING))
    if given.spec.slices > MOST_SLICES:
        problem = f"spec.slices is {given.spec.slices}: sets of more than {MOST_SLICES} slices are left alone"
        return Decision(
            "leave", Hold(Reason.SPEC_INVALID, details=((f"disaggregatedset/{given.metadata.name}", problem),))
        )
    if not seen.knows_scalers and any(role.is_external for role in given.spec.roles):
        return Decision("await_scalers", Hold(Reason.CACHE_BEHIND, now + SOON))
    found = standing(seen)
    lacking = [each for state in found.slices for each in lacking_services(seen, state.target)]
    if stages := seen.answers.lacking(questions(seen, lacking)):
        return Need(stages)
    moment = now.replace(microsecond=0)  # as conditions carry times
    status = status_of(given, found.children, found.revision, found.scaling.targets, moment)
    several = tuple(_allowed(seen, found))
    return Decision(
        "roll" if any(state.olds for state in found.slices) else "settle",
        _verdict(several, is_available(status), now),
        tell=tuple(note for each in several for note in each.tell),
        reports=(*scaler_reports(seen, found.children, moment), *reported(given, status)),
    )


def _allowed(seen: DisaggregatedSeen, found: RoundView) -> Iterator[Steps]:
    """Slices beyond those that were refused often enough are not tried: whatever refuses them refuses all alike."""
    refused = 0
    for wanted in _all_steps(seen, found):
        steps = as_allowed(seen.set, seen.answers, wanted)
        yield steps
        refused += steps.reason is Reason.OBJECT_REFUSED
        if refused == MOST_REFUSED:
            return


def _all_steps(seen: DisaggregatedSeen, found: RoundView) -> Iterable[Steps]:
    yield _removed_slices(seen, found.children)
    yield found.scaling.steps
    if (unsliced := _made_anew(seen, found)).writes:
        # The Service of a child without a slice would find the pods of all slices, so that nothing else is made yet.
        yield unsliced
        return
    for state in found.slices:
        yield slice_steps(seen, state)
        yield service_steps(seen, state.index, state.target, state.olds)


def _removed_slices(seen: DisaggregatedSeen, children: Iterable[Child]) -> Steps:
    given, slices = seen.set, seen.set.spec.slices
    gone = [
        deleted(given, each, notes.deleted_with_slice(given, each.name, each.slice))
        for each in children
        if each.slice >= slices and not each.is_leaving
    ]
    services = [removed(given, each) for each in owned_services(seen) if slice_of(each) >= slices]
    writes = (*gone, *services)
    return Steps(Reason.RETIRING if writes else Reason.COMPLETE, writes)


def _made_anew(seen: DisaggregatedSeen, found: RoundView) -> Steps:
    """Children of the target from before there were slices, once there is more than one: their Services go first."""
    given = seen.set
    if given.spec.slices <= 1:
        return Steps()
    target: Generation = found.slices[0].target
    children = [each for each in target.roles.values() if each.is_legacy]
    services = [each for each in owned_services(seen) if children and _is_unsliced(each, target.revision)]
    writes = (
        *(removed(given, each) for each in services),
        *(deleted(given, each, notes.deleted_for_slices(given, each.name)) for each in children),
    )
    return Steps(Reason.RETIRING if writes else Reason.COMPLETE, writes)


def _is_unsliced(service: Service, revision: str) -> bool:
    labels = service.metadata.labels
    return SLICE not in labels and labels.get(REVISION) == revision


_TROUBLES = (Reason.OBJECT_REFUSED, Reason.READ_FAILED, Reason.NAME_TAKEN, Reason.LABEL_CHANGED)
_WAITS = (Reason.OBJECTS_GOING, Reason.GROUPS_NOT_READY)
_MOVES = (Reason.ROLLING, Reason.SCALING, Reason.RETIRING, Reason.APPLYING)


def _verdict(several: tuple[Steps, ...], is_reached: bool, now: datetime) -> Verdict:
    """Whatever can be done is done; then troubles are told before waits."""
    reasons = {each.reason for each in several}
    writes = tuple(write for each in several for write in each.writes)
    again = now + AGAIN if Reason.NAME_TAKEN in reasons else None
    if writes:
        return Move(next((each for each in _MOVES if each in reasons), Reason.SCALING), writes, again)
    for reason in (*_TROUBLES, *_WAITS):
        if reason in reasons:
            return Hold(reason, again, details_of(each for each in several if each.reason is reason))
    return Hold(Reason.COMPLETE if is_reached else Reason.GROUPS_NOT_READY)
