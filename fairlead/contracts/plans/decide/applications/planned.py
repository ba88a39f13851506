"""What a pass over a rollout is decided on whose workloads others stand for: Applications, or revisions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct

from fairlead.contracts.plans.applications.kinds import StoredObject
from fairlead.contracts.plans.decide.applications.trees import mapping
from fairlead.contracts.plans.decide.reading import written
from fairlead.contracts.plans.decide.seen import RolloutObject, TraitSeen
from fairlead.contracts.plans.kinds import RolloutStatus, WorkloadReference
from kubeloop.objects.meta import Resource


class PlannedSeen(Struct, frozen=True, kw_only=True):
    object: StoredObject
    trait: TraitSeen
    """The rollout that it is, with the workloads that its status names."""

    @property
    def namespace(self) -> str:
        return self.object.metadata.namespace

    @property
    def uid(self) -> str:
        return self.object.metadata.uid


class Names(Struct, frozen=True):
    """Of the revisions that an attempt goes to and comes from."""

    target: str
    source: str = ""

    def after(self, last: Names) -> Names:
        """Of the attempt that a spec with these names asks for: a source that is not named is what the `last` attempt
        went to."""
        if self.source:
            return self
        return Names(self.target, last.source if last.target == self.target else last.target)

    def found_at(self, source: str | None) -> Names:
        """With the source that the pods were found at; None where they are where these names say."""
        return self if source is None else Names(self.target, source)

    def are_those_of(self, last: Names) -> bool:
        """Whether the `last` attempt is about the revisions that a spec with these names asks for; a source that is not
        named is any."""
        return self.target == last.target and self.source in ("", last.source)

    def follow(self, last: Names) -> bool:
        """Whether these come after another attempt, and name no source."""
        return not self.source and bool(self.after(last).source)

    def are_others_than(self, before: Names, last: Names) -> bool:
        """Whether a spec that had the names of `before` gets another attempt than the `last` by them."""
        return self.target != before.target or (self.source != before.source and not self.are_those_of(last))


class RevisionSeen(PlannedSeen, frozen=True, kw_only=True):
    """Of a rollout from one revision to another."""

    def names(self) -> tuple[Names, Names]:
        """Those that the spec asks for, and those of the last attempt."""
        raise NotImplementedError

    @property
    def wanted(self) -> Names:
        return self.names()[0]

    @property
    def last(self) -> Names:
        return self.names()[1]

    @property
    def follows(self) -> bool:
        return self.wanted.follow(self.last)


def references(
    wanted: Names, last: Names, status: RolloutStatus, of: Callable[[str], WorkloadReference]
) -> tuple[WorkloadReference, tuple[WorkloadReference, ...]]:
    """The workloads, once they are known for these names; until then the revisions, as `of` refers to them."""
    if wanted.are_those_of(last) and status.last_target_ref is not None:
        return status.last_target_ref, status.last_source_ref
    source = wanted.after(last).source
    return of(wanted.target), (of(source),) if source else ()


def as_rollout(
    stored: StoredObject,
    kind: tuple[Resource, str],
    names: tuple[WorkloadReference, Iterable[WorkloadReference]],
    *,
    reverts: bool = False,
    **more: Any,
) -> RolloutObject:
    """Of this resource with its finalizer; `names` are what it goes to and comes from.

    `reverts`: `revertOnDelete` stands beside the plan, too.
    """
    plan = mapping(stored.spec).get("rolloutPlan")
    return RolloutObject(
        resource=kind[0],
        finalizer=kind[1],
        metadata=stored.metadata,
        spec={
            "targetRef": written(names[0]),
            "sourceRef": [written(each) for each in names[1]],
            "rolloutPlan": {**mapping(plan), "revertOnDelete": True} if reverts else plan,
        },
        status=stored.status,
        **more,
    )
