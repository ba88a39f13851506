"""Finding the target of a Rollout (C-1 to C-4): the component revisions it names, and the workload of the newer."""

from __future__ import annotations

import msgspec

from fairlead.contracts.plans.decide.applications.asking import Flow
from fairlead.contracts.plans.decide.applications.handover import Pending, Refused, Writing
from fairlead.contracts.plans.decide.applications.loose_writes import annotate
from fairlead.contracts.plans.decide.applications.missing_revisions import missing_component_revision
from fairlead.contracts.plans.decide.applications.revision_rollouts import RolloutSeen
from fairlead.contracts.plans.decide.applications.revision_workloads import (
    LocatingStep,
    MadeTarget,
    Making,
    kind_for,
    made,
    target_of,
    unfit,
)
from fairlead.contracts.plans.decide.applications.revisions import ComponentRevision, named_revisions
from fairlead.contracts.plans.decide.applications.trees import Tree
from fairlead.contracts.plans.kinds import APPLICATION, ROLLOUTS, WORKLOAD_KIND, WORKLOAD_NAME, Json
from fairlead.core.act import AnyWrite


def located(seen: RolloutSeen) -> Flow[LocatingStep]:
    making = yield from _making(seen)
    if not isinstance(making, Making):
        return making
    target = yield from target_of(making)
    if not isinstance(target, MadeTarget):
        return target
    noted = _noted(seen, target)
    return made(target) if noted is None else Writing((noted,))


def _making(seen: RolloutSeen) -> Flow[Making | Pending | Refused]:
    spec = seen.spec
    names = seen.wanted.after(seen.last)
    name, source = names.target, names.source
    if not name:
        return Refused("targetRevisionName is empty: name the component revision to go to")
    if name == source:
        return Refused(f"the revision {name} is both target and source: name another")
    found = yield from named_revisions(seen.namespace, filter(None, (name, source)))
    if name not in found:
        return Pending((yield from missing_component_revision(seen.namespace, name)))
    for each in found.values():
        if problem := _unfit(each, spec.component_name):
            return Refused(problem)
    kind = yield from kind_for(found[name], found.get(source))
    if isinstance(kind, Refused):
        return kind
    application = seen.object.metadata.labels.get(APPLICATION, "")
    return Making(seen, found[name], *kind, source, owners_of(seen), application, follows=seen.follows)


def _unfit(revision: ComponentRevision, component: str) -> str:
    if component and revision.component != component:
        return f"the revision {revision.name} is of the component {revision.component}, and not of {component}"
    return unfit(revision, "a Rollout")


def owners_of(seen: RolloutSeen) -> tuple[Json, ...]:
    """C-4: those of the Rollout."""
    return tuple(
        {"apiVersion": each.api_version, "kind": each.kind, "name": each.name, "uid": each.uid}
        for each in seen.object.metadata.owner_references
    )


def _noted(seen: RolloutSeen, target: MadeTarget) -> AnyWrite | None:
    """C-1: on the Rollout, before the workload is there."""
    metadata = seen.object.metadata
    kind = {"apiVersion": target.reference.api_version, "kind": target.reference.kind}
    wanted = {WORKLOAD_NAME: target.reference.name, WORKLOAD_KIND: msgspec.json.encode(kind).decode()}
    if all(metadata.annotations.get(key) == value for key, value in wanted.items()):
        return None
    named = {"name": metadata.name, "namespace": metadata.namespace, "uid": metadata.uid}
    return annotate(Tree(ROLLOUTS, {"metadata": named}), wanted, scope=seen.uid)
