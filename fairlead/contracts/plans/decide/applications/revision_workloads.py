"""Making the workload of a component revision for a rollout (C-1 and C-2): as it is described, with no pod yet.

What was done already is read from the objects themselves, so that whoever comes after a crash goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from msgspec import Struct

from fairlead.contracts.plans.applications.kinds import ConfigurationStatus
from fairlead.contracts.plans.decide.applications.asking import Flow, list_all, read_all, resources
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
from fairlead.contracts.plans.decide.applications.naming import claimant
from fairlead.contracts.plans.decide.applications.planned import PlannedSeen
from fairlead.contracts.plans.decide.applications.revision_rollouts import revision_reference
from fairlead.contracts.plans.decide.applications.revisions import ComponentRevision, workload_reference
from fairlead.contracts.plans.decide.applications.rival_rollouts import rival
from fairlead.contracts.plans.decide.applications.trees import Tree, at, mapping, texts
from fairlead.contracts.plans.decide.applications.writes import created, patched
from fairlead.contracts.plans.decide.facts import workloads_of
from fairlead.contracts.plans.decide.reading import read
from fairlead.contracts.plans.decide.workloads.kind_table import kind_of, unsupported
from fairlead.contracts.plans.decide.workloads.live import Style, WorkloadKind
from fairlead.contracts.plans.kinds import (
    APP_ROLLOUTS,
    APPLICATION,
    COMPONENT,
    COMPONENT_REVISION,
    CONFIGURATIONS,
    INACTIVE,
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
    source: str | None = None
    """The revision that pods were found at, where nobody named one; empty where that is not known."""


LocatingStep: TypeAlias = Pending | Refused | Writing | Found


class Making(Struct, frozen=True):
    """A target to be made."""

    seen: PlannedSeen
    revision: ComponentRevision
    resource: Resource
    kind: WorkloadKind
    source: str
    """The component revision to come from; empty for none."""
    owners: tuple[Json, ...] = ()
    """They become owners of the workload that do not control it."""
    application: str = ""
    follows: bool = False
    """Whether nobody named a source to an attempt that comes after another: the pods may be anywhere."""

    @property
    def is_paired(self) -> bool:
        return self.kind.style is Style.PAIR

    @property
    def component(self) -> str:
        return self.revision.component

    def instances(self, revision: str) -> tuple[Ref, ...]:
        """T-2: where the workload of a revision may be; a configuration may have made it under the component's name."""
        names = (revision, self.component) if self.is_paired else (self.component,)
        return tuple(Ref(self.resource, self.seen.namespace, each) for each in dict.fromkeys(names))

    def instance(self, revision: str, found: Iterable[Tree | None], others: Iterable[Tree]) -> Tree | None:
        """Which of these it is; a configuration may have changed one of the `others` of the component to it in place
        (U-3)."""
        live = [each for each in found if each is not None]
        if not self.is_paired:
            return next(iter(live), None)
        labelled = [each for each in (*live, *others) if _is_of(each, self.component, revision)]
        named = [each for each in (*labelled, *live) if each.name == revision]
        same = [each for each in named if each in labelled]
        with_pods = [each for each in labelled if _has_pods(each)]
        return next(iter((*same, *with_pods, *labelled, *named)), None)


def _is_of(live: Tree, component: str, revision: str) -> bool:
    return (live.labels.get(COMPONENT), live.labels.get(COMPONENT_REVISION)) == (component, revision)


class MadeTarget(Struct, frozen=True):
    """What is made, and what there is of it."""

    making: Making
    live: Tree | None
    sources: tuple[Tree, ...]
    has_found: bool = False
    """Whether the source is one that nobody named, but that has the pods."""

    @property
    def reference(self) -> WorkloadReference:
        described = workload_reference(self.making.revision)
        return described if self.live is None else self.live.reference


def kind_for(
    revision: ComponentRevision, other: ComponentRevision | None
) -> Flow[tuple[Resource, WorkloadKind] | Refused]:
    """How workloads of the revision are rolled; `other` is the one to come from, and must be alike."""
    reference = workload_reference(revision)
    kind = kind_of(reference, {})
    served = yield from resources((reference,))
    resource = served.get((reference.api_version, reference.kind))
    if not isinstance(kind, WorkloadKind) or resource is None:
        return Refused(kind if isinstance(kind, str) else unsupported(reference))
    if other is not None:
        source = workload_reference(other)
        if (source.group, source.kind) != (reference.group, reference.kind):
            return Refused(
                f"the revision {revision.name} is a {reference.kind} and {other.name} a {source.kind}: "
                "they must be alike"
            )
    return resource, kind


def unfit(revision: ComponentRevision, gives: str) -> str:
    """Why nothing can be made of the revision for a rollout of this kind; empty where it can."""
    if not revision.workload.get("apiVersion") or not revision.workload.get("kind"):
        return f"the revision {revision.name} holds no workload with apiVersion and kind"
    lacking = [each.name for each in revision.read.parameters if each.required]
    if lacking:
        return f"the revision {revision.name} requires the parameter {lacking[0]}, and {gives} gives none"
    return ""


def target_of(making: Making) -> Flow[MadeTarget | Pending | Refused]:
    """Refused where pods of another component would go, and where a configuration or another rollout runs the component
    besides: pods of neither side would stay."""
    wanted = making.instances(making.revision.name)
    sources = making.instances(making.source) if making.source and making.is_paired else ()
    there = yield from read_all((*wanted, *sources))
    alike = yield from _alike(making)
    live = making.instance(making.revision.name, there[: len(wanted)], alike)
    source = making.instance(making.source, there[len(wanted) :], alike) if sources else None
    is_other = source is not None and (live is None or source.name != live.name)
    target = MadeTarget(making, live, (source,) if source is not None and is_other and _counts(making, source) else ())
    found = _others(target, alike)
    others = tuple(each for each in found if _has_pods(each))
    has_pods = any(map(_has_pods, target.sources))
    if not has_pods and len(others) == 1 and (making.follows or _is_taken(making, others[0])):
        target, others = MadeTarget(making, live, others, has_found=True), ()
    problem = _occupied(target) or (yield from _mixed(target)) or (yield from _configured(target))
    problem = problem or _beside(making, others)
    if problem:
        return Refused(problem)
    empty = [each for each in found if not _has_pods(each)]
    other = yield from rival(making.seen.namespace, making.seen.uid, empty)
    if other is not None:
        return Pending(other.text) if other.is_awaited else Refused(other.text)
    return target


def _is_taken(making: Making, other: Tree) -> bool:
    """Whether this attempt has found its pods there before, where no revision tells the name of that."""
    taken = making.seen.trait.rollout.read_status.last_source_ref
    return not making.source and any(other.reference.names_same(each) for each in taken)


def _has_pods(live: Tree) -> bool:
    return at(live.tree, "spec.replicas") != 0


def _mixed(target: MadeTarget) -> Flow[str]:
    """C-3: pods of another component would go, those of the source or what an attempt left in the middle."""
    making = target.making
    carried = making.seen.trait.rollout.read_status.carried
    left = () if carried is None or not making.is_paired else carried.refs
    named = (each.name for each in left if each.kind == making.resource.kind)
    found = yield from read_all(Ref(making.resource, making.seen.namespace, each) for each in named)
    for each in (*target.sources, *found):
        if each is not None and (other := each.labels.get(COMPONENT, making.component)) != making.component:
            return (
                f"the {each.shown} is of the component {other}, and the revision {making.revision.name} of "
                f"{making.component}: a rollout is of one component, so make another one for {making.component}"
            )
    return ""


def _counts(making: Making, source: Tree) -> bool:
    """B-4: a source that stayed without pods is none where nothing was left in the middle and a size is asked for."""
    rollout = making.seen.trait.rollout
    is_scaled = rollout.read_spec[0].rollout_plan.target_size is not None
    is_spent = rollout.resource == APP_ROLLOUTS and rollout.read_status.carried is None and is_scaled
    return not source.is_leaving and not (is_spent and at(source.tree, "spec.replicas") == 0)


def _configured(target: MadeTarget) -> Flow[str]:
    """C-6: the configuration that runs the component in a workload which this rollout would leave alone."""
    making = target.making
    rollout = making.seen.trait.rollout
    known = (target.reference, *(each.reference for each in target.sources), *workloads_of(rollout).all)
    configurations = yield from list_all(CONFIGURATIONS, making.seen.namespace)
    running = [
        (each, one.workload_ref)
        for each in configurations
        if each.annotations.get(INACTIVE) != "true" and not each.is_leaving
        for one in read(ConfigurationStatus, each.tree.get("status"), "status")[0].workloads
        if one.component_name == making.component and one.workload_ref.names_same(_named(making, one.workload_ref))
        if not any(one.workload_ref.names_same(other) for other in known)
    ]
    trees = yield from read_all(Ref(making.resource, making.seen.namespace, ref.name) for _, ref in running)
    for (configuration, _), tree in zip(running, trees, strict=True):
        if tree is not None and not tree.is_leaving and _has_pods(tree):
            revision = tree.labels.get(COMPONENT_REVISION) or "another revision"
            return (
                f"the {configuration.shown} runs the component {making.component} as the {tree.shown} of {revision}, "
                "which is neither target nor source: name its revision as the source"
            )
    return ""


def _occupied(target: MadeTarget) -> str:
    """C-1: pods of another revision would change at once, where they have the place of the target's."""
    making, live = target.making, target.live
    if live is None or not making.is_paired or not _has_pods(live) or claimant(live.owners) is not None:
        return ""
    revision = live.labels.get(COMPONENT_REVISION, making.revision.name)
    if revision == making.revision.name:
        return ""
    return (
        f"the {live.shown} has pods of {revision}, and those of {making.revision.name} would take its place: go to "
        "another revision first, or take its pods away"
    )


def _alike(making: Making) -> Flow[tuple[Tree, ...]]:
    """Workloads of the component and of its application, whoever made them; of a kind that is updated in place there is
    but one."""
    if not making.is_paired:
        return ()
    found = yield from list_all(making.resource, making.seen.namespace, f"{COMPONENT}={making.component}")
    return tuple(
        each for each in found if each.labels.get(APPLICATION, "") == making.application and not each.is_leaving
    )


def _others(target: MadeTarget, alike: Iterable[Tree]) -> tuple[Tree, ...]:
    """C-6: those that are neither target nor source, nor left by an attempt before."""
    carried = target.making.seen.trait.rollout.read_status.carried
    left = () if carried is None else carried.refs
    known = (target.reference, *(each.reference for each in target.sources), *left)
    return tuple(each for each in alike if not any(each.reference.names_same(other) for other in known))


def _beside(making: Making, others: tuple[Tree, ...]) -> str:
    for each in others:
        revision = each.labels.get(COMPONENT_REVISION) or "another revision"
        return (
            f"the {each.shown} of {revision} has pods of the component {making.component} and is neither target "
            "nor source: name its revision as the source, or take its pods away first"
        )
    return ""


def _named(making: Making, reference: WorkloadReference) -> WorkloadReference:
    """An object of the kind under that name."""
    return WorkloadReference(making.resource.api_version, making.resource.kind, reference.name)


def made(target: MadeTarget) -> LocatingStep:
    """The next writes; what is rolled once there are none."""
    making = target.making
    emitted = _emitted(target)
    if not isinstance(emitted, tuple):
        return emitted
    if emitted:
        return Writing(emitted)
    if making.is_paired:
        source = target.sources[0].labels.get(COMPONENT_REVISION, "") if target.has_found else None
        return Found(target.reference, tuple(each.reference for each in target.sources), source)
    return Found(target.reference, (revision_reference(making.source),) if making.source else ())


def _emitted(target: MadeTarget) -> tuple[AnyWrite, ...] | Pending | Refused:
    making, live = target.making, target.live
    scope = making.seen.uid
    if live is None:
        desired = _desired(target)
        if making.is_paired:
            desired = with_revision_selected(desired, making.revision.name)
        body = new_body(desired, starting_values(making.kind), with_owners(making.owners, ()))
        return (created(making.resource, making.seen.namespace, body, Does.APPLY_OBJECT, scope=scope),)
    if live.is_leaving:
        return Pending(f"waiting for the {live.shown} to be gone: it is being deleted")
    if (holder := claimant(live.owners)) is not None:
        is_stale = live.labels.get(COMPONENT_REVISION) != making.revision.name and holder.get("uid") != scope
        if is_stale and not making.is_paired:
            return Refused(f"the {live.shown} has a controller owner {holder.get('kind')} {holder.get('name')}")
        return ()  # verification says whose it is
    if live.labels.get(COMPONENT) != making.component:
        return Refused(
            f"the {live.shown} is there already, and is not of the component {making.component}: delete it, "
            "or rename the component"
        )
    is_current = live.labels.get(COMPONENT_REVISION) == making.revision.name
    if is_current and (live.controller or {}).get("kind") == CONFIGURATIONS.kind:
        return ()  # its configuration keeps it as the revision describes it, until it is claimed
    size = at(live.tree, "spec.replicas")
    body = change_of(
        live,
        fitting(_desired(target), live.tree),
        with_owners(making.owners, live.owners),
        untouched=managed_paths(making.kind),
        frozen=frozen_values(making.kind, size if isinstance(size, int) else 1),
    )
    said = (live.labels.get(COMPONENT_REVISION, ""), making.revision.name)
    return (patched(live, body, Does.APPLY_OBJECT, said, scope=scope),) if body else ()


def _desired(target: MadeTarget) -> Json:
    making = target.making
    tree = with_pod_labels(making.revision.workload, making.component, making.revision.name)
    own = mapping(tree.get("metadata"))
    application = making.application or (target.live.labels.get(APPLICATION) if target.live is not None else "")
    labels = {
        **texts(own.get("labels")),
        **({APPLICATION: application} if application else {}),
        **workload_labels(making.component, making.revision.name, WORKLOAD_TYPE),
    }
    named = {"name": target.reference.name, "namespace": making.seen.namespace, "labels": labels}
    return {**tree, "metadata": {**own, **named}}


def with_owners(added: Iterable[Json], owners: Iterable[Json]) -> tuple[Json, ...]:
    """C-4: with owners none of which controls the workload."""
    kept = tuple(owners)
    known = {each.get("uid") for each in kept}
    return (*kept, *({**each, "controller": False} for each in added if each.get("uid") not in known))
