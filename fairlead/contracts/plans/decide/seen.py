"""What a pass over a rollout is decided on."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from msgspec import Struct

from fairlead.contracts.plans.decide.reading import rollout_status, trait_spec
from fairlead.contracts.plans.kinds import (
    CONFIGURATIONS,
    ROLLOUT_TRAITS,
    TRAIT_FINALIZER,
    VERIFYING,
    Json,
    RolloutStatus,
    RolloutTrait,
    TraitMeta,
    TraitSpec,
    WorkloadReference,
)
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.core.ask import Answers
from kubeloop.objects.meta import Ref, Resource

_AS_ROLLOUT = "as_rollout"


class RolloutObject(Struct, frozen=True, kw_only=True, dict=True):
    """An object with a plan, whatever its spec and status hold; its passes are those of a RolloutTrait.

    A round reads its spec and its status in many places, so that what was read is kept with the object.
    """

    resource: Resource
    finalizer: str
    metadata: TraitMeta
    spec: Any = None
    """As of a RolloutTrait: the workloads are named."""
    status: Any = None
    configurations: frozenset[str] = frozenset()
    """Names of the ApplicationConfigurations that it rolls for."""
    source_application: str = ""
    """The Application that it comes from, where it goes to another."""
    first_state: str = VERIFYING
    """In which every attempt begins."""
    first_names: Json = {}
    """What the first status holds besides; upstream's definition of its kind asks for it."""

    @property
    def ref(self) -> Ref:
        return Ref(self.resource, self.metadata.namespace, self.metadata.name, self.metadata.uid)

    @cached_property
    def read_spec(self) -> tuple[TraitSpec, tuple[str, ...]]:
        """With a sentence for each value that is of another kind than its field."""
        return trait_spec(self.spec)

    @cached_property
    def read_status(self) -> RolloutStatus:
        return rollout_status(self.status)


def of_trait(trait: RolloutTrait) -> RolloutObject:
    """The same for as long as the trait is kept: indexes, wake-ups and rounds ask for it, and reading costs most."""
    kept = vars(trait)
    if _AS_ROLLOUT not in kept:
        kept[_AS_ROLLOUT] = _as_rollout(trait)
    found: RolloutObject = kept[_AS_ROLLOUT]
    return found


def _as_rollout(trait: RolloutTrait) -> RolloutObject:
    return RolloutObject(
        resource=ROLLOUT_TRAITS,
        finalizer=TRAIT_FINALIZER,
        metadata=trait.metadata,
        spec=trait.spec,
        status=trait.status,
        configurations=frozenset(
            each.name for each in trait.metadata.owner_references if each.kind == CONFIGURATIONS.kind
        ),
    )


class LiveObject(Struct, frozen=True):
    """A workload as it is stored, under the resource that it was read by."""

    resource: Resource
    tree: Json


class Extension(Struct, frozen=True):
    """`extension.rollout` of the WorkloadDefinition of a kind."""

    group: str
    kind: str
    rollout: Any


class TraitSeen(Struct, frozen=True, kw_only=True):
    """Everything that a pass over one rollout may read."""

    rollout: RolloutObject
    namespace_uid: str = ""
    """Of the namespace that guards claims; empty where nobody asked for it."""
    workloads: tuple[LiveObject, ...] = ()
    """Those that the spec or the status names, as far as they are there."""
    pods: tuple[Json, ...] = ()
    """Of the target, where its kind needs them."""
    revisions: tuple[Json, ...] = ()
    """ControllerRevisions of the target, where its kind needs them."""
    gone: frozenset[str] = frozenset()
    """UIDs of controllers of these workloads that are known to exist no more."""
    autoscalers: dict[str, str] = {}
    """By name of a workload, the HorizontalPodAutoscaler that aims at it."""
    extensions: tuple[Extension, ...] = ()
    unserved: frozenset[str] = frozenset()
    """Kinds that the cluster does not serve, as `CloneSet.apps.kruise.io`."""
    unlisted: frozenset[str] = frozenset()
    """Kinds of these workloads that are served and not listed yet: nobody can say which of them are there."""
    settings: PlanSettings = PlanSettings()
    answers: Answers = Answers()

    def live(self, reference: WorkloadReference) -> LiveObject | None:
        return next((each for each in self.workloads if _is_named(each, reference)), None)


def _is_named(live: LiveObject, reference: WorkloadReference) -> bool:
    metadata = live.tree.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    found = (live.resource.group, live.resource.kind, name)
    return found == (reference.group, reference.kind, reference.name)
