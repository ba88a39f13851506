"""Other rollouts at work on workloads of the same component that have no pods yet (C-6): they are about to give them
some, and these would stay beside those of this rollout.

Who has located its target looks for others once more before it goes on, so that of two that begin together one sees the
other at least. Where both do, the older one waits, and the younger one is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from fairlead.contracts.plans.decide.applications.asking import Flow, list_many
from fairlead.contracts.plans.decide.applications.naming import ROLLOUT_KINDS, has_ended, targets_of
from fairlead.contracts.plans.decide.applications.trees import Tree, at
from fairlead.contracts.plans.kinds import LOCATING
from fairlead.core.ask import Listing


class Rival(Struct, frozen=True):
    rollout: Tree
    workload: Tree
    is_awaited: bool
    """Whether it gives way, or goes on before us: it has not decided yet, and is the younger one."""

    @property
    def text(self) -> str:
        shown = f"the {self.rollout.shown} is at work on the {self.workload.shown} of the same component"
        if self.is_awaited:
            return f"{shown}: waiting for it to go on or to give way"
        return f"{shown}, whose pods would stay beside those of this rollout: let it end, or delete it first"


def rival(namespace: str, uid: str, workloads: Sequence[Tree]) -> Flow[Rival | None]:
    """Of the rollout with this UID; `workloads` are those of the component that are neither its target nor a source."""
    if not workloads:
        return None
    listed = yield from list_many(Listing(each, namespace) for each in ROLLOUT_KINDS)
    rollouts = [each for found in listed for each in found]
    ours = next((_age(each) for each in rollouts if each.uid == uid), ("", uid))
    for each in rollouts:
        if each.uid == uid or each.is_leaving or has_ended(each):
            continue
        named = targets_of(each)
        for workload in workloads:
            if any(workload.reference.names_same(one) for one in named):
                is_open = at(each.tree, "status.rollingState") == LOCATING
                return Rival(each, workload, is_awaited=is_open and ours < _age(each))
    return None


def _age(rollout: Tree) -> tuple[str, str]:
    """Times as they are stored follow one another as texts."""
    return str(rollout.metadata.get("creationTimestamp", "")), rollout.uid
