"""Rollouts whose trait was taken off its component before they came to their end (T-7).

Pods of two revisions would stay side by side, with nobody to move them.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from fairlead.contracts.plans.decide.applications import built_in, conflicts
from fairlead.contracts.plans.decide.applications.configuration_parts import Part, Trait
from fairlead.contracts.plans.decide.applications.definitions import TraitDefinition
from fairlead.contracts.plans.decide.applications.emitted_workloads import Scene
from fairlead.contracts.plans.decide.applications.naming import (
    ROLLOUT_KINDS,
    has_ended,
    has_moved,
    has_succeeded,
)
from fairlead.contracts.plans.decide.applications.trees import Tree
from fairlead.contracts.plans.kinds import COMPONENT

_ROLLOUT = TraitDefinition(built_in.ROLLOUT, built_in.TRAITS[built_in.ROLLOUT])


class HeldRollout(Struct, frozen=True):
    tree: Tree
    component: str

    @property
    def is_at_work(self) -> bool:
        return not has_ended(self.tree)

    @property
    def text(self) -> str:
        """What it waits for; empty where it goes by itself."""
        if self.tree.is_leaving:
            return ""
        shown, kind = f"the {self.tree.shown} is not described any more", self.tree.resource.kind.lower()
        if self.is_at_work:
            return (
                f"{shown} and is at work: it goes when it has succeeded, and `fairlead abort {self.tree.name}` ends it"
            )
        return (
            f"{shown} and has failed: `fairlead retry {self.tree.name}` takes all pods to the new revision, and "
            f"`kubectl delete {kind} {self.tree.name}` leaves them as they are"
        )


def held_rollouts(parts: Iterable[Part], scene: Scene) -> tuple[HeldRollout, ...]:
    """Those that a configuration of the application made; none that has moved all pods or none, and none whose
    component is gone as well."""
    described = {part.component: part.traits for part in parts}
    return tuple(
        HeldRollout(each, component)
        for each in scene.rollouts.found
        if scene.emits(each) and (component := each.labels.get(COMPONENT, "")) in described
        if not any(each.reference.names_same(one.reference) for one in described[component])
        if not has_succeeded(each) and has_moved(each)
    )


def unhindered(traits: Iterable[Trait], held: Iterable[HeldRollout]) -> tuple[Trait, ...]:
    """Without those that would fight with a rollout at work: another one, and what conflicts with any (D-3)."""
    if not any(each.is_at_work for each in held):
        return tuple(traits)
    return tuple(each for each in traits if each.resource not in ROLLOUT_KINDS and not is_hindering(each))


def is_hindering(trait: Trait) -> bool:
    """Whether a rollout cannot stand it beside itself."""
    return trait.present is not None and bool(conflicts.conflicting_with(_ROLLOUT, (trait.present,)))
