"""Facts for passes over rollouts: the workloads that one names, and whom a change of a workload concerns."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from zlib import crc32

from fairlead.contracts.plans.cached_objects import tree_of
from fairlead.contracts.plans.decide.deadline import end_of
from fairlead.contracts.plans.decide.facts import workloads_of
from fairlead.contracts.plans.decide.hooks import longest
from fairlead.contracts.plans.decide.seen import LiveObject, RolloutObject, TraitSeen, of_trait
from fairlead.contracts.plans.kinds import ACTION, RolloutTrait, TraitMeta, WorkloadReference
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.contracts.plans.watched import WatchedWorkloads, place_of
from fairlead.core.ask import Answers
from fairlead.engine.decide.guard import GuardedObject, subject_of
from kubeloop import clock

LEAST = 5.0
"""Seconds that a pass has for its questions, however near the deadline is."""
NAMES = "names"
"""Index of rollouts: by the workloads that they name."""


def by_names(trait: RolloutTrait) -> Iterator[str]:
    namespace = trait.metadata.namespace
    for each in workloads_of(of_trait(trait)).all:
        yield "/".join(place_of(namespace, each))


def snapshot(rollout: RolloutObject, watched: WatchedWorkloads, settings: PlanSettings, answers: Answers) -> TraitSeen:
    """Everything that a pass over the rollout may read; its kinds are watched from now on."""
    namespace = rollout.metadata.namespace
    workloads = workloads_of(rollout, answers)
    for each in workloads.all:
        watched.want(each, answers)
    found = {each: live for each in workloads.all if (live := watched.live(namespace, each)) is not None}
    target = found.get(workloads.target)
    owner = "" if target is None else target[1].metadata.uid
    return TraitSeen(
        rollout=rollout,
        workloads=tuple(LiveObject(resource, workload.tree) for resource, workload in found.values()),
        pods=tuple(map(tree_of, watched.pods(owner))),
        revisions=tuple(map(tree_of, watched.revisions(owner))),
        autoscalers={each.name: name for each in workloads.all if (name := watched.autoscaler(namespace, each))},
        unserved=frozenset(_kind(each) for each in workloads.all if watched.is_unserved(each)),
        unlisted=frozenset(each.kind for each in workloads.all if watched.is_unlisted(each)),
        settings=settings,
        answers=answers,
    )


def _kind(reference: WorkloadReference) -> str:
    return f"{reference.kind}.{reference.group}"


def subject(seen: TraitSeen) -> GuardedObject:
    """Nothing is made for a rollout: the workloads that it names are somebody else's."""
    meta = seen.rollout.metadata
    return subject_of(seen.rollout.resource, meta, meta.annotations, (), seen.answers)


def versions(seen: TraitSeen) -> Iterator[str]:
    yield f"{seen.rollout.metadata.uid}@{seen.rollout.metadata.resource_version}"
    for tree in (*(each.tree for each in seen.workloads), *seen.pods, *seen.revisions):
        yield f"{tree['metadata']['uid']}@{tree['metadata']['resourceVersion']}"
    yield from (f"{workload}@{name}" for workload, name in seen.autoscalers.items())


def observed(seen: TraitSeen) -> dict[str, int]:
    """By the name that documents have for it."""
    return generation_of(seen.rollout)


def generation_of(rollout: RolloutObject) -> dict[str, int]:
    """With a checksum of what a person asks for by an annotation, which makes no new generation."""
    action = rollout.metadata.annotations.get(ACTION, "")
    asked = {f"{rollout.ref} {ACTION}": crc32(action.encode())} if action else {}
    return {str(rollout.ref): rollout.metadata.generation, **asked}


def edition(metadata: TraitMeta) -> Hashable:
    """R-1 and X-5: a hook that hangs does not hold up who edits, deletes, aborts or takes back."""
    return metadata.generation, metadata.deletion_timestamp, metadata.annotations.get(ACTION)


def asks_within(seen: TraitSeen) -> float:
    """R-26: seconds for the questions of a pass, and never less than its hooks may take; R-9: but no longer than until
    the deadline, which ends the attempt whatever a hook that hangs would have said."""
    plan, status = seen.rollout.read_spec[0].rollout_plan, seen.rollout.read_status
    most = max(seen.settings.reconcile_timeout, longest(plan, status.current_batch))
    end = end_of(plan, status)
    return most if end is None else min(most, max(LEAST, (end - clock.now()).total_seconds()))
