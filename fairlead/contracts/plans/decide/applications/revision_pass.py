"""A pass over a Rollout (section 3.19): that of any rollout, with its revisions around it.

Its target is made before the plan is verified, and after a success its source is cleared away.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.plans.applications.kinds import RevisionNames, RolloutSpec
from fairlead.contracts.plans.decide import notes, trait_pass, trait_round
from fairlead.contracts.plans.decide.applications.asking import Flow, known, read_all, resources
from fairlead.contracts.plans.decide.applications.handover import Pending, Refused, Writing
from fairlead.contracts.plans.decide.applications.locating import Found, located, passed_on
from fairlead.contracts.plans.decide.applications.revision_rollouts import (
    RolloutSeen,
    is_located,
    is_recorded,
    names_tree,
    source_of,
)
from fairlead.contracts.plans.decide.applications.trees import Tree, at
from fairlead.contracts.plans.decide.applications.writes import deleted, patched
from fairlead.contracts.plans.decide.component_revisions import is_revision
from fairlead.contracts.plans.decide.notes import Note
from fairlead.contracts.plans.decide.reading import read, rollout_status
from fairlead.contracts.plans.decide.seen import TraitSeen
from fairlead.contracts.plans.decide.trait_pass import Answered
from fairlead.contracts.plans.decide.turns import Pass, Turn, fails, waits
from fairlead.contracts.plans.decide.why import Why
from fairlead.contracts.plans.decide.workloads.answers import Fail, Retry
from fairlead.contracts.plans.decide.workloads.live import Style
from fairlead.contracts.plans.decide.writes import status_write
from fairlead.contracts.plans.kinds import LOCATING, SUCCEEDED, RolloutStatus, WorkloadReference
from fairlead.core.act import AnyWrite, Does
from fairlead.core.ask import Need
from fairlead.core.decision import Decision, Move, Outcome
from fairlead.core.reason import Reason
from kubeloop.objects.meta import Ref

AGAIN = timedelta(seconds=3)
"""After so long it is looked again for a revision that is not there."""


def decide(seen: RolloutSeen, now: datetime) -> Outcome:
    """Facts about workloads are asked for once it is known which these are."""
    status = rollout_status(seen.object.status)
    is_due = is_located(status) and status.rolling_state != LOCATING
    found = trait_round.whole(seen.trait, now) if is_due else seen.trait
    if not isinstance(found, TraitSeen):
        return found
    return trait_pass.decide(found, now, _Revisions(replace(seen, trait=found)))


class _Revisions(Struct, frozen=True):
    """What is around the plan."""

    seen: RolloutSeen

    def prepare(self, given: Pass) -> Answered:
        if given.status.rolling_state != LOCATING:
            return None
        seen = self.seen
        _, wrong = read(RolloutSpec, seen.object.spec, "spec")
        if wrong:
            return _refused(given, wrong[0])
        if not is_recorded(seen.spec, seen.names):
            names = RevisionNames(seen.spec.target_revision_name, source_of(seen.spec, seen.names))
            return _stored(given, given.status, names)
        match known(located(seen), seen.trait.answers):
            case Writing(writes):
                return Decision("locate", Move(Reason.APPLYING, writes, given.now + AGAIN))
            case Pending(text):
                return waits(given, Retry(Why.APPLICATION_PENDING, text, given.now + AGAIN))
            case Refused(text):
                return _refused(given, text)
            case Found(target, sources):
                return _pinned(given, seen.names, target, sources)
            case unknown:
                return unknown

    def close(self, given: Pass, turn: Turn) -> tuple[AnyWrite, ...] | Need | Decision:
        if given.status.rolling_state == SUCCEEDED or not given.status.target_generation:
            return ()
        return known(self._closed(given, turn), self.seen.trait.answers)

    def _closed(self, given: Pass, turn: Turn) -> Flow[tuple[AnyWrite, ...]]:
        """C-4: owners to whatever stays; after a success the old workloads go. What is gone counts as done."""
        status, is_done = given.status, turn.status.rolling_state == SUCCEEDED
        is_paired = given.found.kind.style is Style.PAIR
        old = [each.ref for each in status.sources if not is_revision(each.ref)] if is_paired else []
        named = [*filter(None, (status.last_target_ref,)), *old]
        served = yield from resources(named)
        kinds = {each: kind for each in named if (kind := served.get((each.api_version, each.kind))) is not None}
        found = yield from read_all(Ref(kind, self.seen.namespace, each.name) for each, kind in kinds.items())
        live = {each: tree for each, tree in zip(kinds, found, strict=True) if tree is not None and not tree.is_leaving}
        writes: list[AnyWrite] = []
        for each, tree in live.items():
            if is_done and each in old:
                writes += self._removed(each, tree, status)
            elif (owners := passed_on(self.seen, tree.owners)) != tree.owners:
                body = {"metadata": {"ownerReferences": [*owners]}}
                writes.append(patched(tree, body, Does.HAND_OVER, ("", "owners passed on"), scope=self.seen.uid))
        return tuple(writes)

    def _removed(self, reference: WorkloadReference, tree: Tree, status: RolloutStatus) -> tuple[AnyWrite, ...]:
        """Never what has pods, what somebody controls, or the target."""
        is_target = status.last_target_ref is not None and reference.names_same(status.last_target_ref)
        if is_target or tree.controller is not None or at(tree.tree, "spec.replicas") != 0:
            return ()
        return (deleted(tree, scope=self.seen.uid),)


def _pinned(
    given: Pass, names: RevisionNames, target: WorkloadReference, sources: tuple[WorkloadReference, ...]
) -> Answered:
    """None once the workloads are recorded; those of an attempt that begins again stay what they were."""
    if is_located(given.status):
        return None
    return _stored(given, replace(given.status, last_target_ref=target, last_source_ref=sources), names)


def _stored(given: Pass, status: RolloutStatus, names: RevisionNames) -> Decision:
    write = status_write(given.seen.rollout, status, names_tree(names))
    return Decision("pin", Move(Reason.APPLYING, () if write is None else (write,), given.now + AGAIN))


def _refused(given: Pass, text: str) -> Turn:
    return fails(given, Fail(Why.SPEC_INVALID, text), (Note(notes.VERIFY_FAILED, text, warning=True),))
