"""Going back: target and source are exchanged, which abandons an attempt in flight and begins one the other way."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from fairlead.contracts.plans.decide import states
from fairlead.contracts.plans.decide.applications.app_rollouts import last_of as last_snapshot
from fairlead.contracts.plans.decide.applications.planned import Names
from fairlead.contracts.plans.decide.applications.revision_rollouts import last_of as last_revision
from fairlead.contracts.plans.decide.facts import BUILT_IN
from fairlead.contracts.plans.decide.reading import read
from fairlead.contracts.plans.decide.verbs.gates import partition_at
from fairlead.contracts.plans.decide.verbs.gates import shown as gate_lines
from fairlead.contracts.plans.decide.verbs.targets import VerbTarget, target_named
from fairlead.contracts.plans.decide.workloads.kind_table import kind_of
from fairlead.contracts.plans.decide.workloads.live import Style, WorkloadKind
from fairlead.contracts.plans.kinds import (
    ABANDONED,
    APP_ROLLOUTS,
    ROLLOUT_TRAITS,
    ROLLOUTS,
    SUCCEEDED,
    WorkloadReference,
)
from fairlead.contracts.plans.verb_options import FULL, TO_SOURCE
from fairlead.core.ask import Answers, Ask, Bad, Need, Read
from fairlead.core.verb import Nothing, Refused, Tree, VerbAnswer, VerbPlan, VerbRequest, follow
from kubeloop.objects.meta import Ref

APPLICATIONS = ("targetApplicationName", "sourceApplicationName")
REVISIONS = ("targetRevisionName", "sourceRevisionName")
SNAPSHOTS = ("targetAppRevisionName", "sourceAppRevisionName")


class Exchange(Struct, frozen=True):
    """What becomes of the spec."""

    to: str
    """What the pods go back to."""
    spec: Tree
    lines: tuple[str, ...]


def undo(request: VerbRequest, answers: Answers, _: datetime) -> VerbAnswer | Need:
    target = target_named(request, answers)
    if not isinstance(target, VerbTarget):
        return target
    if target.state == ABANDONED:
        return Refused(f"{target.name} is being released for another target: wait until it begins again")
    if not target.status.target_generation and target.status.carried is None:
        return Refused(f"nothing of {target.name} is rolled yet: change its spec instead")
    if states.is_reverted(target.status):
        return Nothing(f"{target.name} is reverted already: `fairlead explain {target.place}` shows its workloads")
    match target.resource:
        case resource if resource == ROLLOUT_TRAITS:
            found: Exchange | Refused | Need = _workloads(target, request, answers)
        case resource if resource == ROLLOUTS:
            found = _revisions(target, REVISIONS, last_revision(target.stored.status), "revision")
        case resource if resource == APP_ROLLOUTS:
            found = _revisions(target, SNAPSHOTS, last_snapshot(target.stored.status), "ApplicationRevision")
        case _:
            found = _applications(target)
    return _planned(target, found, request) if isinstance(found, Exchange) else found


def _planned(target: VerbTarget, found: Exchange, request: VerbRequest) -> VerbPlan:
    gates, lines = _gates(target, opens=bool(request.option(FULL.flag)))
    routing, services = _services(target)
    plan = {**gates, **routing}
    spec = {**found.spec, **({"rolloutPlan": plan} if plan else {})}
    shown = (*found.lines, *lines, *services)
    text = "\n".join(f"  {each}" for each in shown)
    head = f"{target.name} goes back to {found.to} in its batches"
    ends = [] if target.state == SUCCEEDED else ["the attempt in flight is abandoned"]
    partition = target.plan.partition
    if not gates and partition is not None and partition < target.last_batch:
        ends.append(f"its gate after batch {partition} stays: `fairlead promote {target.place}` opens it")
    if target.plan.paused:
        ends.append(f"it is paused until `fairlead resume {target.place}`")
    ends += ["take the change out of your manifest as well", follow(target.namespace, target.name)]
    told = "; ".join(ends)
    return VerbPlan(
        rollout=target.name,
        writes=(target.patched(spec, shown),),
        said=f"{head}:\n{text}\n{told[0].upper()}{told[1:]}",
        did=f"took {target.name} back to {found.to}",
        event="RolloutUndone",
        before=f"{head}:\n{text}",
        warnings=target.put_back_by("spec", next(iter(found.spec))),
    )


def _gates(target: VerbTarget, *, opens: bool) -> tuple[dict[str, int], tuple[str, ...]]:
    is_closed = target.plan.partition is not None and target.plan.partition < target.last_batch
    if not opens or not is_closed:
        return {}, ()
    return partition_at(target, target.last_batch), tuple(gate_lines(target, target.last_batch))


def _services(target: VerbTarget) -> tuple[Tree, tuple[str, ...]]:
    """Those that the plan names are exchanged as well: each is that of its side's pods."""
    routing = target.plan.traffic_routing
    names = ("", "") if routing is None else (routing.source_service, routing.target_service)
    if not any(names):
        return {}, ()
    after = {"sourceService": names[1] or None, "targetService": names[0] or None}
    path = "spec.rolloutPlan.trafficRouting"
    lines = (
        f"{path}.{name}: {before or 'none'} -> {after[name] or 'none'}"
        for name, before in zip(after, names, strict=True)
    )
    return {"trafficRouting": after}, tuple(lines)


def _workloads(target: VerbTarget, request: VerbRequest, answers: Answers) -> Exchange | Refused | Need:
    spec = target.spec
    if (why := _in_place(target, spec.target_ref)) is not None:
        return why
    sources = [each for each in spec.source_ref if not each.names_same(spec.target_ref)]
    wanted = request.option(TO_SOURCE.flag)
    names = ", ".join(each.name for each in sources)
    if not sources:
        return _without_source(target)
    chosen = [each for each in sources if each.name == wanted] if wanted else sources
    if not chosen:
        return Refused(f"{target.name} has no source {wanted}; there are {names}")
    if len(chosen) > 1:
        return Refused(f"{target.name} has several sources ({names}): choose one with {TO_SOURCE.flag} NAME")
    missing = _missing(target, chosen[0], answers)
    if missing is not None:
        return missing
    trees = _references(target)
    others = [each for each in sources if each is not chosen[0]]
    after = [trees[spec.target_ref], *(trees[each] for each in others)]
    left = ", ".join(map(_shown, (spec.target_ref, *others)))
    return Exchange(
        _shown(chosen[0]),
        {"targetRef": trees[chosen[0]], "sourceRef": after},
        (
            f"spec.targetRef: {_shown(spec.target_ref)} -> {_shown(chosen[0])}",
            f"spec.sourceRef: {', '.join(map(_shown, sources))} -> {left}",
        ),
    )


def _in_place(target: VerbTarget, reference: WorkloadReference) -> Refused | None:
    kind = kind_of(reference, {})
    if not isinstance(kind, WorkloadKind) or kind.style is Style.PAIR:
        return None
    first = "" if target.has_ended else f"stop it with `fairlead abort {target.place}`, "
    return Refused(
        f"the {reference.kind} {reference.name} is updated in place, so {target.name} has no source to go back to:"
        f" {first}put the earlier pod template back into the {reference.kind}, frozen as before, and start a rollout"
        " of it under another name"
    )


def _without_source(target: VerbTarget) -> Refused:
    size = target.status.rollout_original_size
    if not target.has_ended:
        return Refused(
            f"{target.name} scales one workload and has no source:"
            f" `fairlead abort {target.place} --revert` goes back to {size} pods"
        )
    return Refused(f"{target.name} scaled one workload and has no source: set spec.rolloutPlan.targetSize to {size}")


def _missing(target: VerbTarget, reference: WorkloadReference, answers: Answers) -> Refused | Need | None:
    """Pods can only go back to what is still there; of kinds that are not built in that is found out later."""
    resources = BUILT_IN.get((reference.group, reference.kind))
    if not resources:
        return None
    question = Ask(Read(Ref(resources[0], target.namespace, reference.name)))
    if todo := answers.lacking((question,)):
        return Need(todo)
    answer = answers[question]
    if isinstance(answer, Bad):
        return Refused(f"the {_shown(reference)} is not there any more: create it again, paused and without pods")
    return None


def _references(target: VerbTarget) -> dict[WorkloadReference, Tree]:
    """As they are stored, with all of their fields."""
    sources = target.tree.get("sourceRef")
    trees = [target.tree.get("targetRef"), *(sources if isinstance(sources, list) else ())]
    return {read(WorkloadReference, each, "")[0]: each for each in trees if isinstance(each, dict)}


def _applications(target: VerbTarget) -> Exchange | Refused:
    ours, theirs = (str(target.tree.get(name) or "") for name in APPLICATIONS)
    if not theirs:
        return Refused(f"{target.name} deploys its first application and has no source to go back to")
    lines = (f"spec.{APPLICATIONS[0]}: {ours} -> {theirs}", f"spec.{APPLICATIONS[1]}: {theirs} -> {ours}")
    return Exchange(f"the Application {theirs}", dict(zip(APPLICATIONS, (theirs, ours), strict=True)), lines)


def _revisions(target: VerbTarget, fields: tuple[str, str], last: Names, kind: str) -> Exchange | Refused:
    """The source may be one that nobody named; its workload may be gone, and is made again."""
    ours, named = (str(target.tree.get(name) or "") for name in fields)
    theirs = Names(ours, named).after(last).source
    if not theirs:
        size = target.status.rollout_original_size
        how = f"set spec.rolloutPlan.targetSize to scale it, which began with {size} pods"
        if not target.has_ended:
            how = f"`fairlead abort {target.place} --revert` goes back to {size} pods"
        return Refused(f"{target.name} brought the first {kind} and has no source to go back to: {how}")
    lines = (f"spec.{fields[0]}: {ours} -> {theirs}", f"spec.{fields[1]}: {named or 'none'} -> {ours}")
    return Exchange(f"the {kind} {theirs}", dict(zip(fields, (theirs, ours), strict=True)), lines)


def _shown(reference: WorkloadReference) -> str:
    return f"{reference.kind} {reference.name}"
