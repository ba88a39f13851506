"""Making the target of a Rollout (C-1 to C-4): the workload that its revision describes, with no pod yet.

What was done already is read from the objects themselves, so that whoever comes after a crash goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import msgspec
from msgspec import Struct

from fairlead.contracts.plans.decide.applications.asking import Flow, read, resources
from fairlead.contracts.plans.decide.applications.emission import (
    change_of,
    fitting,
    frozen_values,
    managed_paths,
    new_body,
    starting_values,
    with_pod_labels,
    with_revision_selected,
    workload_labels,
)
from fairlead.contracts.plans.decide.applications.handover import Pending, Refused, Writing
from fairlead.contracts.plans.decide.applications.loose_writes import annotate
from fairlead.contracts.plans.decide.applications.naming import claimant
from fairlead.contracts.plans.decide.applications.revision_rollouts import RolloutSeen, revision_reference, source_of
from fairlead.contracts.plans.decide.applications.revisions import (
    ComponentRevision,
    named_revisions,
    workload_reference,
)
from fairlead.contracts.plans.decide.applications.trees import Tree, at, mapping, texts
from fairlead.contracts.plans.decide.applications.writes import created, patched
from fairlead.contracts.plans.decide.workloads.kind_table import kind_of, unsupported
from fairlead.contracts.plans.decide.workloads.live import Kind, Style
from fairlead.contracts.plans.kinds import (
    APPLICATION,
    COMPONENT,
    CONFIGURATIONS,
    CORE_GROUP,
    ROLLOUTS,
    WORKLOAD_KIND,
    WORKLOAD_NAME,
    WORKLOAD_TYPE,
    Json,
    WorkloadReference,
)
from fairlead.core.act import AnyWrite, Does
from kubeloop.objects.meta import Ref, Resource


class Found(Struct, frozen=True):
    """The target is there: what is rolled, and from where."""

    target: WorkloadReference
    sources: tuple[WorkloadReference, ...]


Located: TypeAlias = Pending | Refused | Writing | Found


class _Given(Struct, frozen=True):
    seen: RolloutSeen
    revision: ComponentRevision
    reference: WorkloadReference
    resource: Resource
    kind: Kind
    source: str

    @property
    def is_paired(self) -> bool:
        return self.kind.style is Style.PAIR


def located(seen: RolloutSeen) -> Flow[Located]:
    given = yield from _given(seen)
    if not isinstance(given, _Given):
        return given
    if (noted := _noted(given)) is not None:
        return Writing((noted,))
    live = yield from read(Ref(given.resource, seen.namespace, given.reference.name))
    emitted = _emitted(given, live)
    if not isinstance(emitted, tuple):
        return emitted
    sources = yield from _sources(given)
    writes = (*emitted, *(each for tree in sources if (each := _set_aside(given, tree)) is not None))
    if writes:
        return Writing(writes)
    if given.is_paired:
        return Found(given.reference, tuple(each.reference for each in sources))
    return Found(given.reference, (revision_reference(given.source),) if given.source else ())


def _given(seen: RolloutSeen) -> Flow[_Given | Pending | Refused]:
    spec = seen.spec
    name, source = spec.target_revision_name, source_of(spec, seen.names)
    if not name:
        return Refused("targetRevisionName is empty: name the component revision to go to")
    if name == source:
        return Refused(f"the revision {name} is both target and source: name another")
    found = yield from named_revisions(seen.namespace, filter(None, (name, source)))
    if name not in found:
        return Pending(f"the ControllerRevision {name} is not there: it is made with its Component")
    for each in found.values():
        if problem := _unfit(each, spec.component_name):
            return Refused(problem)
    revision = found[name]
    reference = workload_reference(revision)
    kind = kind_of(reference, {})
    served = yield from resources((reference,))
    resource = served.get((reference.api_version, reference.kind))
    if not isinstance(kind, Kind) or resource is None:
        return Refused(kind if isinstance(kind, str) else unsupported(reference))
    if source in found:
        other = workload_reference(found[source])
        if (other.group, other.kind) != (reference.group, reference.kind):
            return Refused(f"the revision {name} is a {reference.kind} and {source} a {other.kind}: they must be alike")
    return _Given(seen, revision, reference, resource, kind, source)


def _unfit(revision: ComponentRevision, component: str) -> str:
    """Why nothing can be made of the revision."""
    if component and revision.component != component:
        return f"the revision {revision.name} is of the component {revision.component}, and not of {component}"
    if not revision.workload.get("apiVersion") or not revision.workload.get("kind"):
        return f"the revision {revision.name} holds no workload with apiVersion and kind"
    lacking = [each.name for each in revision.read.parameters if each.required]
    if lacking:
        return f"the revision {revision.name} requires the parameter {lacking[0]}, and a Rollout gives none"
    return ""


def _noted(given: _Given) -> AnyWrite | None:
    """C-1: on the Rollout, before the workload is there."""
    metadata = given.seen.object.metadata
    kind = {"apiVersion": given.reference.api_version, "kind": given.reference.kind}
    wanted = {WORKLOAD_NAME: given.reference.name, WORKLOAD_KIND: msgspec.json.encode(kind).decode()}
    if all(metadata.annotations.get(key) == value for key, value in wanted.items()):
        return None
    named = {"name": metadata.name, "namespace": metadata.namespace, "uid": metadata.uid}
    return annotate(Tree(ROLLOUTS, {"metadata": named}), wanted, scope=given.seen.uid)


def _emitted(given: _Given, live: Tree | None) -> tuple[AnyWrite, ...] | Pending | Refused:
    scope = given.seen.uid
    if live is None:
        desired = _desired(given)
        if given.is_paired:
            desired = with_revision_selected(desired, given.revision.name)
        body = new_body(desired, starting_values(given.kind), passed_on(given.seen, ()))
        return (created(given.resource, given.seen.namespace, body, Does.APPLY_OBJECT, scope=scope),)
    if live.is_leaving:
        return Pending(f"waiting for the {live.shown} to be gone: it is being deleted")
    if claimant(live.owners) is not None:
        return ()  # verification says whose it is
    if live.labels.get(COMPONENT) != given.revision.component:
        return Refused(
            f"the {live.shown} is there already, and is not of the component {given.revision.component}: delete it, "
            "or rename the component"
        )
    size = at(live.tree, "spec.replicas")
    body = change_of(
        live,
        fitting(_desired(given), live.tree),
        passed_on(given.seen, _uncontrolled(live)),
        untouched=managed_paths(given.kind),
        frozen=frozen_values(given.kind, size if isinstance(size, int) else 1),
    )
    said = (live.labels.get(COMPONENT, ""), given.revision.name)
    return (patched(live, body, Does.APPLY_OBJECT, said, scope=scope),) if body else ()


def _desired(given: _Given) -> Json:
    revision, metadata = given.revision, given.seen.object.metadata
    tree = with_pod_labels(revision.workload, revision.component, revision.name)
    own = mapping(tree.get("metadata"))
    application = metadata.labels.get(APPLICATION)
    labels = {
        **texts(own.get("labels")),
        **({APPLICATION: application} if application else {}),
        **workload_labels(revision.component, revision.name, WORKLOAD_TYPE),
    }
    named = {"name": given.reference.name, "namespace": given.seen.namespace, "labels": labels}
    return {**tree, "metadata": {**own, **named}}


def passed_on(seen: RolloutSeen, owners: Iterable[Json]) -> tuple[Json, ...]:
    """C-4: with the owners of the Rollout, none of which controls the workload."""
    kept = tuple(owners)
    known = {each.get("uid") for each in kept}
    added = (
        {"apiVersion": each.api_version, "kind": each.kind, "name": each.name, "uid": each.uid, "controller": False}
        for each in seen.object.metadata.owner_references
        if each.uid not in known
    )
    return (*kept, *added)


def _uncontrolled(live: Tree) -> tuple[Json, ...]:
    """C-2: configurations let go of what a Rollout brings; anybody else who controls it is respected."""
    return tuple({**each, "controller": False} if _is_configuration(each) else each for each in live.owners)


def _is_configuration(owner: Mapping[str, object]) -> bool:
    group = str(owner.get("apiVersion", "")).rpartition("/")[0]
    return owner.get("controller") is True and (group, owner.get("kind")) == (CORE_GROUP, CONFIGURATIONS.kind)


def _set_aside(given: _Given, source: Tree) -> AnyWrite | None:
    if not any(map(_is_configuration, source.owners)):
        return None
    body = {"metadata": {"ownerReferences": [*_uncontrolled(source)]}}
    return patched(source, body, Does.HAND_OVER, ("controlled", "set aside"), scope=given.seen.uid)


def _sources(given: _Given) -> Flow[tuple[Tree, ...]]:
    """The workload of the source; one that is not there counts as none, as of any rollout."""
    if not given.source or not given.is_paired:
        return ()
    found = yield from read(Ref(given.resource, given.seen.namespace, given.source))
    return () if found is None or found.is_leaving else (found,)
