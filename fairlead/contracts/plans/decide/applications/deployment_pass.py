"""A pass over an ApplicationDeployment (section 3.14): that of any rollout, with its Applications around it.

Before the plan is verified the Applications are made ready; before anything is claimed autoscalers go; before the end
of an attempt is stored the Applications are told what became of it.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.plans.applications.kinds import DeploymentNames, DeploymentSpec
from fairlead.contracts.plans.decide import notes, trait_pass
from fairlead.contracts.plans.decide.applications.asking import known
from fairlead.contracts.plans.decide.applications.autoscalers import set_aside
from fairlead.contracts.plans.decide.applications.closing import Ending, closing_writes
from fairlead.contracts.plans.decide.applications.deployments import (
    DeploymentSeen,
    is_application,
    is_recorded,
    names_tree,
)
from fairlead.contracts.plans.decide.applications.handover import Pending, Pinned, Refused, Writing, prepared
from fairlead.contracts.plans.decide.facts import completed
from fairlead.contracts.plans.decide.notes import Note
from fairlead.contracts.plans.decide.reading import read, rollout_status
from fairlead.contracts.plans.decide.seen import TraitSeen
from fairlead.contracts.plans.decide.trait_pass import Answered
from fairlead.contracts.plans.decide.turns import Pass, Turn, fails, waits
from fairlead.contracts.plans.decide.why import Why
from fairlead.contracts.plans.decide.workloads import reverts
from fairlead.contracts.plans.decide.workloads.answers import Fail, Retry
from fairlead.contracts.plans.decide.workloads.live import Style
from fairlead.contracts.plans.decide.writes import status_write
from fairlead.contracts.plans.kinds import DELETING, FAILED, FAILING, INITIALIZING, SUCCEEDED, VERIFYING, RolloutStatus
from fairlead.core.act import AnyWrite
from fairlead.core.ask import Need
from fairlead.core.decision import Decision, Move, Outcome
from fairlead.core.reason import Reason

AGAIN = timedelta(seconds=3)
"""D-7: after so long it is looked again whether the Applications are ready, should nothing have woken it."""


def decide(seen: DeploymentSeen, now: datetime) -> Outcome:
    """Facts about workloads are asked for once it is known which these are."""
    status = rollout_status(seen.object.status)
    found = completed(seen.trait) if _is_pinned(status) else seen.trait
    if not isinstance(found, TraitSeen):
        return found
    return trait_pass.decide(found, now, _Applications(replace(seen, trait=found)))


class _Applications(Struct, frozen=True):
    """What is around the plan."""

    seen: DeploymentSeen

    def prepare(self, given: Pass) -> Answered:
        match given.status.rolling_state:
            case state if state == VERIFYING and not _is_pinned(given.status):
                return self._made_ready(given)
            case state if state == INITIALIZING:
                return self._without_autoscalers(given)
        return None

    def _made_ready(self, given: Pass) -> Answered:
        seen = self.seen
        _, wrong = read(DeploymentSpec, seen.object.spec, "spec")
        if wrong:
            return _refused(given, wrong[0])
        if not is_recorded(seen.spec, seen.names):
            spec = seen.spec
            names = DeploymentNames(spec.target_application_name, spec.source_application_name)
            return self._stored(given, given.status, names)
        match known(prepared(seen), seen.trait.answers):
            case Writing(writes):
                return Decision("hand_over", Move(Reason.APPLYING, writes, given.now + AGAIN))
            case Pending(text):
                return _waits(given, text)
            case Refused(text):
                return _refused(given, text)
            case Pinned(names, target, sources):
                status = replace(given.status, last_target_ref=target, last_source_ref=sources)
                return self._stored(given, status, names)
            case unknown:
                return unknown

    def _stored(self, given: Pass, status: RolloutStatus, names: DeploymentNames) -> Decision:
        write = status_write(given.seen.rollout, status, names_tree(names))
        writes = () if write is None else (write,)
        return Decision("pin", Move(Reason.APPLYING, writes, given.now + AGAIN))

    def _without_autoscalers(self, given: Pass) -> Answered:
        """D-3: the old workload's autoscaler would fight for its size."""
        found = known(set_aside(self.seen, given.status), self.seen.trait.answers)
        if not isinstance(found, tuple):
            return found
        return Decision("set_aside", Move(Reason.APPLYING, found, given.now + AGAIN)) if found else None

    def close(self, given: Pass, turn: Turn) -> tuple[AnyWrite, ...] | Need | Decision:
        if given.status.rolling_state == SUCCEEDED:
            return ()
        return known(closing_writes(self.seen, _ending(given, turn)), self.seen.trait.answers)


def _is_pinned(status: RolloutStatus) -> bool:
    return status.last_target_ref is not None and not is_application(status.last_target_ref)


def _ending(given: Pass, turn: Turn) -> Ending:
    if turn.status.rolling_state == SUCCEEDED:
        return Ending.SUCCESS
    return Ending.REVERTED if _is_reverted(given) else Ending.LEFT


def _is_reverted(given: Pass) -> bool:
    """Whether going back was due and is done: no new pods are left."""
    attempt, state = given.found.attempt, given.status.rolling_state
    is_due = (state in (DELETING, FAILED) and reverts.is_due_on_deletion(attempt)) or (
        state == FAILING and reverts.is_due_on_failure(attempt)
    )
    if not is_due or attempt.target is None:
        return False
    if given.found.kind.style is Style.PAIR:
        return attempt.target.size == 0
    return attempt.target.identifier != attempt.status.target_generation


def _waits(given: Pass, text: str) -> Turn:
    told = (Note(notes.NOT_TEMPLATED, text),)
    return waits(given, Retry(Why.APPLICATION_PENDING, text, given.now + AGAIN), told=told)


def _refused(given: Pass, text: str) -> Turn:
    return fails(given, Fail(Why.SPEC_INVALID, text), (Note(notes.VERIFY_FAILED, text, warning=True),))
