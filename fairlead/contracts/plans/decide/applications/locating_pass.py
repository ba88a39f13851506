"""A pass over a rollout that makes its target itself: that of any rollout, with a first state in which it is made.

The names of the attempt are stored before anything is made for it, and the workloads once they are there.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.plans.decide import notes, trait_pass, trait_round
from fairlead.contracts.plans.decide.applications.app_rollouts import is_snapshot
from fairlead.contracts.plans.decide.applications.asking import Flow, known
from fairlead.contracts.plans.decide.applications.handover import Pending, Refused, Writing
from fairlead.contracts.plans.decide.applications.planned import PlannedSeen
from fairlead.contracts.plans.decide.applications.revision_workloads import Found, LocatingStep
from fairlead.contracts.plans.decide.component_revisions import is_revision
from fairlead.contracts.plans.decide.notes import Note
from fairlead.contracts.plans.decide.reading import rollout_status
from fairlead.contracts.plans.decide.seen import TraitSeen
from fairlead.contracts.plans.decide.trait_pass import Answered
from fairlead.contracts.plans.decide.turns import Pass, Turn, fails, waits
from fairlead.contracts.plans.decide.why import Why
from fairlead.contracts.plans.decide.workloads.answers import Fail, Retry
from fairlead.contracts.plans.decide.writes import status_write
from fairlead.contracts.plans.kinds import LOCATING, SUCCEEDED, Json, RolloutStatus, WorkloadReference
from fairlead.core.act import AnyWrite
from fairlead.core.ask import Bad, Need
from fairlead.core.decision import Decision, Move, Outcome
from fairlead.core.reason import Reason

AGAIN = timedelta(seconds=3)
"""After so long it is looked again for a revision that is not there."""


class Locator(Protocol):
    """What a kind of rollouts does of its own."""

    def wrong(self) -> tuple[str, ...]:
        """What of its spec cannot be read."""

    def is_recorded(self) -> bool:
        """Whether the attempt is about what the spec names."""

    def begun(self) -> Json:
        """The names of the next attempt, as the status has them."""

    def recorded(self, source: str | None) -> Json:
        """The names of the present one, with this source where another was found than it has."""

    def located(self) -> Flow[LocatingStep]: ...

    def closed(self, given: Pass, turn: Turn) -> Flow[tuple[AnyWrite, ...]]:
        """Written before the end of a verified attempt is stored."""


def decide(seen: PlannedSeen, now: datetime, locator: Any) -> Outcome:
    """Facts about workloads are asked for once it is known which these are; `locator` makes a Locator of what is
    seen."""
    status = rollout_status(seen.object.status)
    is_due = is_located(status) and status.rolling_state != LOCATING
    found = trait_round.whole(seen.trait, now) if is_due else seen.trait
    if not isinstance(found, TraitSeen):
        return found
    return trait_pass.decide(found, now, _Around(found, locator(replace(seen, trait=found))))


def is_located(status: RolloutStatus) -> bool:
    """Whether the workloads are known that the revisions stand for."""
    target = status.last_target_ref
    return target is not None and not is_revision(target) and not is_snapshot(target)


class _Around(Struct, frozen=True):
    """What is around the plan."""

    seen: TraitSeen
    locator: Any

    def prepare(self, given: Pass) -> Answered:
        if given.status.rolling_state != LOCATING:
            return None
        locator: Locator = self.locator
        if wrong := locator.wrong():
            return _refused(given, wrong[0])
        if not locator.is_recorded():
            return _stored(given, given.status, locator.begun())
        match known(locator.located(), self.seen.answers):
            case Writing(writes):
                return self._written(given, writes)
            case Pending(text):
                return _waits(given, text)
            case Refused(text):
                return _refused(given, text)
            case Found(target, sources, source):
                if _goes_on(given.status, target, sources):
                    return None  # those of an attempt that begins again stay what they were
                status = replace(given.status, last_target_ref=target, last_source_ref=sources)
                return _stored(given, status, locator.recorded(source))
            case unknown:
                return unknown

    def _written(self, given: Pass, writes: tuple[AnyWrite, ...]) -> Answered:
        """What the API server refuses is told, and tried again later."""
        for each in writes:
            if isinstance(answer := self.seen.answers.known.get(each), Bad):
                return _waits(given, f"{each.change_to} was refused: {answer.text or answer.kind}")
        return Decision("locate", Move(Reason.APPLYING, writes, given.now + AGAIN))

    def close(self, given: Pass, turn: Turn) -> tuple[AnyWrite, ...] | Need | Decision:
        if given.status.rolling_state == SUCCEEDED or not given.status.target_generation:
            return ()
        return known(self.locator.closed(given, turn), self.seen.answers)


def _goes_on(status: RolloutStatus, target: WorkloadReference, sources: tuple[WorkloadReference, ...]) -> bool:
    """Whether an attempt begins again with its own workloads; another component may have been chosen meanwhile."""
    last = status.last_target_ref
    is_same = is_located(status) and last is not None and target.names_same(last)
    return is_same and (status.carried is not None or sources == status.last_source_ref)


def _waits(given: Pass, text: str) -> Turn:
    return waits(given, Retry(Why.APPLICATION_PENDING, text, given.now + AGAIN))


def _stored(given: Pass, status: RolloutStatus, names: Json) -> Decision:
    write = status_write(given.seen.rollout, status, names)
    return Decision("pin", Move(Reason.APPLYING, () if write is None else (write,), given.now + AGAIN))


def _refused(given: Pass, text: str) -> Turn:
    return fails(given, Fail(Why.SPEC_INVALID, text), (Note(notes.VERIFY_FAILED, text, warning=True),))
