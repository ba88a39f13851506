"""Finding the target of an AppRollout (B-1 to B-4): the component that its ApplicationRevisions share, the component
revisions that hold what they describe, and the workload of the newer one."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.plans.decide.applications.adjustments import common_component
from fairlead.contracts.plans.decide.applications.app_rollouts import AppRolloutSeen
from fairlead.contracts.plans.decide.applications.asking import Flow, list_all, read, read_all, resources
from fairlead.contracts.plans.decide.applications.configuration_family import number_of
from fairlead.contracts.plans.decide.applications.configuration_writes import Sharing, shared
from fairlead.contracts.plans.decide.applications.foreign_kinds import foreign_kind
from fairlead.contracts.plans.decide.applications.handover import Pending, Refused, Writing
from fairlead.contracts.plans.decide.applications.missing_revisions import missing_snapshot
from fairlead.contracts.plans.decide.applications.revision_workloads import (
    Found,
    LocatingStep,
    MadeTarget,
    Making,
    kind_for,
    made,
    target_of,
    unfit,
)
from fairlead.contracts.plans.decide.applications.revisions import ComponentRevision, revisions_of, workload_reference
from fairlead.contracts.plans.decide.applications.snapshots import ApplicationSnapshot
from fairlead.contracts.plans.kinds import APPLICATION, APPLICATION_REVISIONS, COMPONENT_REVISION, COMPONENTS
from kubeloop.objects.meta import Ref


class _Chosen(Struct, frozen=True):
    """What is rolled."""

    target: ApplicationSnapshot
    source: ApplicationSnapshot | None
    component: str


def located(seen: AppRolloutSeen) -> Flow[LocatingStep]:
    chosen = yield from _chosen(seen)
    if not isinstance(chosen, _Chosen):
        return chosen
    making = yield from _making(seen, chosen)
    if not isinstance(making, Making):
        return making
    target = yield from target_of(making)
    found = made(target) if isinstance(target, MadeTarget) else target
    if not isinstance(found, Found) or found.source is None:
        return found
    return replace(found, source=(yield from _holding(seen, chosen, found.source)))


def _holding(seen: AppRolloutSeen, chosen: _Chosen, revision: str) -> Flow[str]:
    """The newest ApplicationRevision of the Application that describes the component as this revision of it does."""
    listed = yield from list_all(APPLICATION_REVISIONS, seen.namespace, f"{APPLICATION}={chosen.target.application}")
    revisions = yield from revisions_of(seen.namespace, (chosen.component,))
    held = [one.spec for one in revisions[chosen.component] if one.name == revision]
    fitting = [each.name for each in map(ApplicationSnapshot, listed) if each.component(chosen.component) in held]
    return max(fitting, key=number_of, default="")


def _chosen(seen: AppRolloutSeen) -> Flow[_Chosen | Pending | Refused]:
    """B-1."""
    names = [*filter(None, (seen.wanted.target, seen.wanted.source))]
    if not seen.wanted.target:
        return Refused("targetAppRevisionName is empty: name the ApplicationRevision to go to")
    if len(names) > len(set(names)):
        return Refused(f"the ApplicationRevision {names[0]} is both target and source: name another")
    if said := (yield from foreign_kind()):
        return Pending(said)
    trees = yield from read_all(Ref(APPLICATION_REVISIONS, seen.namespace, each) for each in names)
    found = [ApplicationSnapshot(each) for each in trees if each is not None]
    if len(found) < len(names):
        return Pending((yield from missing_snapshot(seen.namespace, names[trees.index(None)])))
    target, source = found[0], found[1] if len(found) > 1 else None
    if source is None and (last := (yield from _last(seen))) is not None:
        chosen = _paired(seen, target, last)
        if isinstance(chosen, _Chosen) and not _unrolled(target, last, chosen.component):
            return chosen
    chosen = _paired(seen, target, source)
    if not isinstance(chosen, _Chosen):
        return chosen
    problem = _unrolled(target, source, chosen.component)
    return Refused(problem) if problem else chosen


def _last(seen: AppRolloutSeen) -> Flow[ApplicationSnapshot | None]:
    """What the last attempt went to, where no source is named; None where there is none, or not any more."""
    name = seen.wanted.after(seen.last).source
    tree = (yield from read(Ref(APPLICATION_REVISIONS, seen.namespace, name))) if name else None
    return None if tree is None else ApplicationSnapshot(tree)


def _paired(seen: AppRolloutSeen, target: ApplicationSnapshot, source: ApplicationSnapshot | None) -> _Chosen | Refused:
    for each in (target, source):
        if each is not None and each.problem:
            return Refused(each.problem)
    if source is not None and source.application != target.application:
        return Refused(
            f"the ApplicationRevision {target.name} is of the Application {target.application}, and {source.name} of "
            f"{source.application}: name two of one Application"
        )
    component, problem = common_component(
        seen.spec.component_list, target.described, None if source is None else source.described
    )
    return Refused(problem) if problem else _Chosen(target, source, component)


def _unrolled(target: ApplicationSnapshot, source: ApplicationSnapshot | None, component: str) -> str:
    """Why the component cannot be rolled from one to the other; empty where it can."""
    for each in (target, source):
        if each is not None and not each.component(component).get("workload"):
            return (
                f"the ApplicationRevision {each.name} holds no Component {component} with a workload: "
                "change its Application to have another"
            )
    if source is None or target.component(component) != source.component(component):
        return ""
    return (
        f"the component {component} is the same in the ApplicationRevisions {target.name} and {source.name}: "
        "there is nothing to roll"
    )


def _making(seen: AppRolloutSeen, chosen: _Chosen) -> Flow[Making | Pending | Refused | Writing]:
    component, snapshots = chosen.component, [each for each in (chosen.target, chosen.source) if each is not None]
    found = yield from revisions_of(seen.namespace, (component,))
    fitting = [[one for one in found[component] if one.spec == each.component(component)] for each in snapshots]
    if not fitting[0]:
        return (yield from _component(seen, chosen))
    is_found = chosen.source is not None and bool(fitting[1])
    if chosen.source is not None and not is_found and seen.wanted.source:
        return Refused(
            f"no revision of the component {component} holds what the ApplicationRevision {chosen.source.name} "
            "describes, so that none of its pods are here: leave sourceAppRevisionName out"
        )
    target = yield from _in_use(seen, fitting[0])
    source = (yield from _in_use(seen, fitting[1])) if is_found else None
    revisions = [target, *filter(None, (source,))]
    if problem := next((text for one in revisions if (text := unfit(one, "an AppRollout"))), ""):
        return Refused(problem)
    kind = yield from kind_for(target, source)
    if isinstance(kind, Refused):
        return kind
    name = "" if source is None else source.name
    snapshot = chosen.target
    return Making(seen, target, *kind, name, snapshot.owners, snapshot.application, follows=seen.follows)


def _component(seen: AppRolloutSeen, chosen: _Chosen) -> Flow[Writing | Pending]:
    """B-2: the Component as the target describes it, of which its controller makes a revision."""
    snapshot, component = chosen.target, chosen.component
    live = yield from read(Ref(COMPONENTS, seen.namespace, component))
    sharing = Sharing(seen.namespace, seen.uid, snapshot.owners)
    writes = tuple(shared(sharing, component, snapshot.component(component), live))
    return Writing(writes) if writes else Pending(f"waiting for the revision of the component {component}")


def _in_use(seen: AppRolloutSeen, fitting: Sequence[ComponentRevision]) -> Flow[ComponentRevision]:
    """Of several that hold the same: the newest that has a workload, else the newest."""
    newest = fitting[-1]
    if len(fitting) == 1:
        return newest
    references = {each.name: workload_reference(each) for each in reversed(fitting)}
    served = yield from resources(references.values())
    kind = served.get((references[newest.name].api_version, references[newest.name].kind))
    if kind is None:
        return newest
    names = dict.fromkeys((*(each.name for each in references.values()), newest.component))
    trees = yield from read_all(Ref(kind, seen.namespace, each) for each in names)
    used = {each.labels.get(COMPONENT_REVISION) for each in trees if each is not None and not each.is_leaving}
    return next((each for each in reversed(fitting) if each.name in used), newest)
