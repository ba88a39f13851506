"""Rollouts whose trait was taken off its component before they came to their end (T-7).

Pods of two revisions would stay side by side, with nobody to move them.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from fairlead.contracts.plans.decide.applications.configuration_parts import Part
from fairlead.contracts.plans.decide.applications.naming import (
    ROLLOUT_KINDS,
    has_ended,
    has_rolled_nothing,
    has_succeeded,
)
from fairlead.contracts.plans.decide.applications.trees import Tree
from fairlead.contracts.plans.kinds import COMPONENT


class HeldRollout(Struct, frozen=True):
    tree: Tree
    component: str

    @property
    def text(self) -> str:
        shown, kind = f"the {self.tree.shown} is not described any more", self.tree.resource.kind.lower()
        if not has_ended(self.tree):
            return (
                f"{shown} and is at work: it goes when it has succeeded, and `fairlead abort {self.tree.name}` ends it"
            )
        return (
            f"{shown} and has failed: `fairlead retry {self.tree.name}` takes all pods to the new revision, and "
            f"`kubectl delete {kind} {self.tree.name}` leaves them as they are"
        )


def held_rollout(trait: Tree, parts: Iterable[Part]) -> HeldRollout | None:
    """None of what may go: no rollout, one that has moved all pods or none, or one whose component is gone as well."""
    component = trait.labels.get(COMPONENT, "")
    if trait.resource not in ROLLOUT_KINDS or not any(each.component == component for each in parts):
        return None
    if has_succeeded(trait) or has_rolled_nothing(trait):
        return None
    return HeldRollout(trait, component)
