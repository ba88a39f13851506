"""A pass over a Rollout (section 3.19): that of any rollout, with its revisions around it.

Its target is made before the plan is verified, and after a success its source is cleared away.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from fairlead.contracts.plans.applications.kinds import RolloutSpec
from fairlead.contracts.plans.decide.applications import locating_pass
from fairlead.contracts.plans.decide.applications.asking import Flow, read_all, resources
from fairlead.contracts.plans.decide.applications.locating import located, owners_of
from fairlead.contracts.plans.decide.applications.revision_rollouts import (
    RolloutSeen,
    names_tree,
)
from fairlead.contracts.plans.decide.applications.revision_workloads import LocatingStep, with_owners
from fairlead.contracts.plans.decide.applications.trees import Tree, at
from fairlead.contracts.plans.decide.applications.writes import deleted, patched
from fairlead.contracts.plans.decide.component_revisions import is_revision
from fairlead.contracts.plans.decide.reading import read
from fairlead.contracts.plans.decide.turns import Pass, Turn
from fairlead.contracts.plans.decide.workloads.live import Style
from fairlead.contracts.plans.kinds import SUCCEEDED, Json, RolloutStatus, WorkloadReference
from fairlead.core.act import AnyWrite, Does
from fairlead.core.decision import Outcome
from kubeloop.objects.meta import Ref


def decide(seen: RolloutSeen, now: datetime) -> Outcome:
    return locating_pass.decide(seen, now, _Revisions)


class _Revisions(Struct, frozen=True):
    """What is around the plan."""

    seen: RolloutSeen

    def wrong(self) -> tuple[str, ...]:
        return read(RolloutSpec, self.seen.object.spec, "spec")[1]

    def is_recorded(self) -> bool:
        return self.seen.wanted.are_those_of(self.seen.last)

    def begun(self) -> Json:
        return names_tree(self.seen.wanted.after(self.seen.last))

    def recorded(self, source: str | None) -> Json:
        return names_tree(self.seen.last.found_at(source))

    def located(self) -> Flow[LocatingStep]:
        return located(self.seen)

    def closed(self, given: Pass, turn: Turn) -> Flow[tuple[AnyWrite, ...]]:
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
            elif (owners := with_owners(owners_of(self.seen), tree.owners)) != tree.owners:
                body = {"metadata": {"ownerReferences": [*owners]}}
                writes.append(patched(tree, body, Does.HAND_OVER, ("", "owners passed on"), scope=self.seen.uid))
        return tuple(writes)

    def _removed(self, reference: WorkloadReference, tree: Tree, status: RolloutStatus) -> tuple[AnyWrite, ...]:
        """Never what has pods, what somebody controls, or the target."""
        is_target = status.last_target_ref is not None and reference.names_same(status.last_target_ref)
        if is_target or tree.controller is not None or at(tree.tree, "spec.replicas") != 0:
            return ()
        return (deleted(tree, scope=self.seen.uid),)
