"""A pass over an Application (sections 3.14 and 3.15): its Components, then a configuration of their revisions.

The number of the next configuration is stored before it is created, so that whoever dies in between is healed by
creating it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.plans.applications.kinds import (
    BUILT,
    COMPLETED,
    HEALTH_CHECK,
    HEALTH_CHECKING,
    INACTIVE_COMPLETED,
    PARSED,
    RENDERING,
    ROLLING_CONDITION,
    ROLLING_OUT,
    RUNNING,
    WAS_APPLIED,
    ApplicationSpec,
    ApplicationStatus,
    LatestConfiguration,
    ServiceHealth,
)
from fairlead.contracts.plans.decide.applications import definitions
from fairlead.contracts.plans.decide.applications.application_revisions import Snapshot, snapshot
from fairlead.contracts.plans.decide.applications.asking import Flow, outcome, read, read_all, resources
from fairlead.contracts.plans.decide.applications.built_in import RenderFault
from fairlead.contracts.plans.decide.applications.configuration_family import (
    Configuration,
    annotated,
    configuration_name,
)
from fairlead.contracts.plans.decide.applications.configuration_writes import (
    component_writes,
    configuration_body,
    configuration_spec,
    hash_of,
)
from fairlead.contracts.plans.decide.applications.foreign_kinds import foreign_kind, left_alone
from fairlead.contracts.plans.decide.applications.health import health_of
from fairlead.contracts.plans.decide.applications.rendering import Rendered, rendered
from fairlead.contracts.plans.decide.applications.revisions import ComponentRevision, revisions_of
from fairlead.contracts.plans.decide.applications.seen import FamilySeen
from fairlead.contracts.plans.decide.applications.state_conditions import with_condition
from fairlead.contracts.plans.decide.applications.trees import Tree
from fairlead.contracts.plans.decide.applications.writes import created, reported
from fairlead.contracts.plans.decide.reading import read as read_struct
from fairlead.contracts.plans.kinds import (
    COMPONENTS,
    CONFIGURATION_HASH,
    CONFIGURATIONS,
    CREATING,
    INACTIVE,
    REVISION_ONLY,
    ROLLOUT_TEMPLATE,
    Json,
    WorkloadReference,
)
from fairlead.core.act import AnyWrite, Does
from fairlead.core.ask import Bad
from fairlead.core.decision import Decision, Hold, Move, Outcome
from fairlead.core.reason import Reason
from kubeloop.objects.meta import Ref

TEMPLATE_AGAIN = timedelta(seconds=3)
REVISION_AGAIN = timedelta(minutes=1)
"""Definitions may change, and wake no Application."""
AGAIN = timedelta(seconds=5)


class _Given(Struct, frozen=True):
    seen: FamilySeen
    now: datetime
    status: ApplicationStatus

    def said(self, status: ApplicationStatus, kind: str, holds: bool, text: str) -> ApplicationStatus:
        reason = "Available" if holds else "ReconcileError"
        return replace(status, conditions=with_condition(status.conditions, kind, holds, reason, text, self.now))


def decide(seen: FamilySeen, now: datetime) -> Outcome:
    return outcome(_passed(seen, now), seen.answers)


def _passed(seen: FamilySeen, now: datetime) -> Flow[Decision]:
    given = _Given(seen, now, seen.reported.read(ApplicationStatus))
    if seen.is_leaving:
        return Decision("leave", Hold(Reason.SET_LEAVING))
    if seen.annotations.get(INACTIVE) == "true":
        return Decision("ignore", Hold(Reason.COMPLETE))
    if said := (yield from foreign_kind()):
        return left_alone(seen, said, now)
    if seen.annotations.get(ROLLOUT_TEMPLATE) == "true":
        return (yield from _kept(given, _templated(given), TEMPLATE_AGAIN))
    if seen.annotations.get(REVISION_ONLY) == "true":
        return (yield from _kept(given, given.status, REVISION_AGAIN))
    spec, wrong = read_struct(ApplicationSpec, seen.object.spec, "spec")
    if wrong:
        return _unparsed(given, wrong[0])
    known = yield from definitions.named(
        (each.type for each in spec.components),
        (trait.name for each in spec.components for trait in each.traits),
        seen.namespace,
        seen.settings.system_namespace,
    )
    parts = rendered(spec, known)
    if isinstance(parts, RenderFault):
        return _unparsed(given, parts.text)
    return (yield from _built(given, parts))


def _templated(given: _Given) -> ApplicationStatus:
    """D-1: nothing is rendered until a rollout takes the annotation off."""
    text = "an ApplicationDeployment or an AppRollout brings it"
    return given.said(replace(given.status, status=ROLLING_OUT), ROLLING_CONDITION, True, text)


def _kept(given: _Given, status: ApplicationStatus, again: timedelta) -> Flow[Decision]:
    """P-1: its revisions are all that is made of it; what a rollout has taken on is no longer the author's."""
    seen = given.seen
    found = Snapshot() if CREATING in seen.annotations else (yield from _snapshot(given))
    refusal = found.problem or _refused(seen, found.writes)
    if refusal:
        status = given.said(status, PARSED, False, refusal)
    elif found.name or found.latest is not None:
        status = given.said(status, PARSED, True, "every component and trait is rendered")
    if found.latest is not None:
        status = replace(status, latest_revision=found.latest)
    report = reported(seen.reported, status, status.status, scope=seen.uid)
    reports = () if report is None else (report,)
    if found.writes and not refusal:
        return Decision("keep", Move(Reason.APPLYING, (*found.writes, *reports), given.now + again))
    waits = "waiting for an ApplicationDeployment that names it, or an AppRollout that names a revision of it"
    text = refusal or (waits if status.status == ROLLING_OUT else f"kept as {found.name or 'revisions'} only")
    hold = Hold(Reason.APPLICATION_PENDING, given.now + again, ((str(seen.ref), text),))
    return Decision("template", hold, reports=reports)


def _snapshot(given: _Given) -> Flow[Snapshot]:
    spec, wrong = read_struct(ApplicationSpec, given.seen.object.spec, "spec")
    if wrong:
        return Snapshot(problem=wrong[0])
    return (yield from snapshot(given.seen, spec, given.status.latest_revision))


def _unparsed(given: _Given, text: str) -> Decision:
    status = given.said(replace(given.status, status=RENDERING), PARSED, False, text)
    return _waiting(given, status, text, Reason.APPLICATION_PENDING)


def _built(given: _Given, parts: tuple[Rendered, ...]) -> Flow[Decision]:
    """U-1: Components are written where no revision holds them yet, and their revisions are waited for."""
    seen = given.seen
    status = given.said(given.status, PARSED, True, "every component and trait is rendered")
    current = yield from _configuration(given)
    found: dict[str, ComponentRevision] = {}
    missing = []
    revisions = yield from revisions_of(seen.namespace, (each.name for each in parts))
    for part in parts:
        fitting = [each for each in revisions[part.name] if each.spec == part.component_spec]
        if fitting:
            found[part.name] = _chosen(fitting, current)
        else:
            missing.append(part)
    if missing:
        return (yield from _components(given, status, missing))
    unowned = yield from _unowned(given, parts)
    spec = configuration_spec(parts, {name: each.name for name, each in found.items()})
    status = given.said(status, BUILT, True, "every component has a revision")
    return (yield from _applied(given, status, spec, current, unowned))


def _chosen(fitting: list[ComponentRevision], current: Configuration | None) -> ComponentRevision:
    """That which is in use, else the newest: several may hold the same spec."""
    used = set() if current is None else {each.component_revision_name for each in current.status.workloads}
    return next((each for each in fitting if each.name in used), fitting[-1])


def _configuration(given: _Given) -> Flow[Configuration | None]:
    latest = given.status.latest_revision
    if latest is None:
        return None
    found = yield from read(Ref(CONFIGURATIONS, given.seen.namespace, latest.name))
    return None if found is None else Configuration(found)


def _components(given: _Given, status: ApplicationStatus, missing: list[Rendered]) -> Flow[Decision]:
    seen = given.seen
    trees = yield from read_all(Ref(COMPONENTS, seen.namespace, each.name) for each in missing)
    writes = [*component_writes(seen, zip(missing, trees, strict=True))]
    text = f"waiting for the revision of the component {missing[0].name}"
    if trees[0] is not None and trees[0].is_leaving:
        text = f"waiting for the {trees[0].shown} to be gone: it is being deleted"
    status = given.said(replace(status, status=RENDERING), BUILT, False, text)
    refusal = _refused(seen, writes)
    if writes and not refusal:
        return Decision("render", Move(Reason.APPLYING, tuple(writes), given.now + AGAIN))
    return _waiting(given, status, refusal or text, Reason.APPLICATION_PENDING)


def _unowned(given: _Given, parts: Iterable[Rendered]) -> Flow[tuple[AnyWrite, ...]]:
    """Components are shared by name: whoever uses one is among its owners, so that it goes with the last of them."""
    seen = given.seen
    names = [each.name for each in parts]
    trees = yield from read_all(Ref(COMPONENTS, seen.namespace, each) for each in names)
    kept = [(part, tree) for part, tree in zip(parts, trees, strict=True) if tree is not None]
    return tuple(component_writes(seen, kept, owners_only=True))


def _applied(
    given: _Given, status: ApplicationStatus, spec: Json, current: Configuration | None, before: tuple[AnyWrite, ...]
) -> Flow[Decision]:
    """U-2: the number first, then the configuration; nothing where the spec is the one that is there."""
    seen, latest = given.seen, given.status.latest_revision
    digest = hash_of(spec)
    if current is not None and latest is not None and _is_same(current, spec, digest):
        return (yield from _watched(given, status, current, before))
    number = 1 if latest is None else latest.revision + (current is not None)
    wanted = LatestConfiguration(configuration_name(seen.name, number), number, digest)
    if latest != wanted:
        status = replace(status, status=RENDERING, latest_revision=wanted)
        report = reported(seen.reported, status, wanted.name, scope=seen.uid)
        return Decision("number", Move(Reason.APPLYING, (*before, *(() if report is None else (report,)))))
    body = configuration_body(seen, wanted, spec)
    write = created(CONFIGURATIONS, seen.namespace, body, Does.APPLY_OBJECT, scope=seen.uid)
    refusal = _refused(seen, (write,))
    if refusal:
        status = given.said(replace(status, status=RENDERING), WAS_APPLIED, False, refusal)
        return _waiting(given, status, refusal, Reason.OBJECT_REFUSED)
    return Decision("configure", Move(Reason.APPLYING, (*before, write)))


def _is_same(current: Configuration, spec: Json, digest: str) -> bool:
    return current.tree.labels.get(CONFIGURATION_HASH) == digest and current.tree.tree.get("spec") == spec


def _watched(
    given: _Given, status: ApplicationStatus, current: Configuration, before: tuple[AnyWrite, ...]
) -> Flow[Decision]:
    """The configuration is there: what comes of it is told."""
    seen = given.seen
    if CREATING in seen.annotations:
        return Decision(
            "created", Move(Reason.APPLYING, (*before, annotated(seen.tree, CREATING, None, scope=seen.uid)))
        )
    configured = current.status
    status = replace(status, components=tuple(each.workload_ref for each in configured.workloads))
    status = given.said(status, WAS_APPLIED, True, f"the ApplicationConfiguration {current.name} is there")
    if configured.rolling_status not in ("", COMPLETED, INACTIVE_COMPLETED):
        text = f"the workloads of {current.name} are brought by a rollout"
        status = given.said(replace(status, status=ROLLING_OUT), ROLLING_CONDITION, True, text)
        return _reported(given, status, before, Hold(Reason.APPLICATION_PENDING, details=((str(seen.ref), text),)))
    lives = yield from _workloads(seen, status.components)
    services = tuple(
        ServiceHealth(each.component_name, *health_of(tree))
        for each, tree in zip(configured.workloads, lives, strict=True)
    )
    if any(each.type == ROLLING_CONDITION for each in status.conditions):
        status = given.said(status, ROLLING_CONDITION, False, "no rollout is under way")
    ill = next((each for each in services if not each.healthy), None)
    is_well = ill is None and bool(services)
    text = "every workload is ready" if is_well else f"{current.name} has no workloads yet"
    if ill is not None:
        text = ill.message
    status = replace(status, services=services, status=RUNNING if is_well else HEALTH_CHECKING)
    status = given.said(status, HEALTH_CHECK, is_well, text)
    hold = Hold(Reason.COMPLETE)
    if not is_well:
        hold = Hold(Reason.APPLICATION_PENDING, given.now + AGAIN, ((str(seen.ref), text),))
    return _reported(given, status, before, hold)


def _workloads(seen: FamilySeen, references: Iterable[WorkloadReference]) -> Flow[tuple[Tree | None, ...]]:
    wanted = tuple(references)
    found = yield from resources(wanted)
    refs = [
        Ref(found[each.api_version, each.kind], seen.namespace, each.name)
        for each in wanted
        if (each.api_version, each.kind) in found
    ]
    trees = iter((yield from read_all(refs)))
    return tuple(next(trees) if (each.api_version, each.kind) in found else None for each in wanted)


def _reported(given: _Given, status: ApplicationStatus, before: tuple[AnyWrite, ...], hold: Hold) -> Decision:
    report = reported(given.seen.reported, status, status.status, scope=given.seen.uid)
    reports = () if report is None else (report,)
    if before:
        return Decision("own", Move(Reason.APPLYING, (*before, *reports)))
    return Decision("watch", hold, reports=reports)


def _waiting(given: _Given, status: ApplicationStatus, text: str, reason: Reason) -> Decision:
    report = reported(given.seen.reported, status, status.status, scope=given.seen.uid)
    hold = Hold(reason, given.now + AGAIN, ((str(given.seen.ref), text),))
    return Decision("wait", hold, reports=() if report is None else (report,))


def _refused(seen: FamilySeen, writes: Iterable[AnyWrite]) -> str:
    return next(_refusals(seen, writes), "")


def _refusals(seen: FamilySeen, writes: Iterable[AnyWrite]) -> Iterator[str]:
    for each in writes:
        answer = seen.answers.known.get(each)
        if isinstance(answer, Bad):
            yield f"{each.change_to} was refused: {answer.text or answer.kind}"
