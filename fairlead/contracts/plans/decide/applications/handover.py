"""Getting ready to roll an Application (D-2 to D-7): adopt the target, adjust it, hand it over, wait, and pin.

What was done already is read from the objects themselves, so that whoever comes after a crash goes on from there, and
control goes back to the application controller exactly once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from msgspec import Struct

from fairlead.contracts.plans.applications.kinds import (
    COMPLETED,
    TEMPLATED,
    ApplicationStatus,
    DeploymentNames,
)
from fairlead.contracts.plans.decide.applications import adjustments, definitions
from fairlead.contracts.plans.decide.applications.asking import Flow, read, read_all
from fairlead.contracts.plans.decide.applications.configuration_family import Configuration
from fairlead.contracts.plans.decide.applications.configuration_parts import rolling_components
from fairlead.contracts.plans.decide.applications.conflicts import conflicting_with, present
from fairlead.contracts.plans.decide.applications.deployments import DeploymentSeen
from fairlead.contracts.plans.decide.applications.foreign_kinds import foreign_kind
from fairlead.contracts.plans.decide.applications.loose_writes import (
    annotate,
    rolling_status,
)
from fairlead.contracts.plans.decide.applications.revisions import is_paired
from fairlead.contracts.plans.decide.applications.trees import Tree, at, mapping
from fairlead.contracts.plans.decide.applications.writes import patched
from fairlead.contracts.plans.decide.reading import read as read_struct
from fairlead.contracts.plans.kinds import (
    APPLICATION_DEPLOYMENTS,
    APPLICATIONS,
    CONFIGURATIONS,
    CREATING,
    INACTIVE,
    REVISION_ONLY,
    ROLLING_COMPONENTS,
    ROLLOUT_TEMPLATE,
    Json,
    WorkloadReference,
)
from fairlead.core.act import AnyWrite, Does
from kubeloop.objects.core import NAMESPACES
from kubeloop.objects.meta import Ref


class Pending(Struct, frozen=True):
    """What is waited for."""

    text: str


class Refused(Struct, frozen=True):
    """Why this can never be rolled as it is."""

    text: str


class Writing(Struct, frozen=True):
    writes: tuple[AnyWrite, ...]


class Pinned(Struct, frozen=True):
    """Both Applications are ready: what is rolled, and from where."""

    names: DeploymentNames
    target: WorkloadReference
    sources: tuple[WorkloadReference, ...]


Prepared: TypeAlias = Pending | Refused | Writing | Pinned


class _Given(Struct, frozen=True):
    seen: DeploymentSeen
    target: Tree
    source: Tree | None
    component: str

    @property
    def scope(self) -> str:
        return self.seen.uid

    @property
    def is_adopted(self) -> bool:
        return any(each.get("uid") == self.scope for each in self.target.owners)


def prepared(seen: DeploymentSeen) -> Flow[Prepared]:
    spec, namespace = seen.spec, seen.namespace
    if not spec.target_application_name:
        return Refused("targetApplicationName is empty: name the Application to go to")
    if spec.target_application_name == spec.source_application_name:
        return Refused(f"the Application {spec.target_application_name} is both target and source: name another")
    if said := (yield from foreign_kind()):
        return Pending(said)
    names = [each for each in (spec.target_application_name, spec.source_application_name) if each]
    trees = yield from read_all(Ref(APPLICATIONS, namespace, each) for each in names)
    found = [each for each in trees if each is not None and not each.is_leaving]
    if len(found) < len(names):
        name, tree = next((name, tree) for name, tree in zip(names, trees, strict=True) if tree not in found)
        return Pending(f"the Application {name} is {'not there' if tree is None else 'being deleted'}")
    target, source = found[0], found[1] if len(found) > 1 else None
    component, problem = adjustments.common_component(spec.component_list, target, source)
    if problem:
        return Refused(problem)
    given = _Given(seen, target, source, component)
    for stage in (_handed_over, _activated):
        answer = yield from stage(given)
        if answer is not None:
            return answer
    return (yield from _pinned(given))


def _handed_over(given: _Given) -> Flow[Prepared | None]:
    """D-2 to D-4; None once the application controller has the target."""
    target = given.target
    is_template = target.annotations.get(ROLLOUT_TEMPLATE) == "true"
    if not is_template:
        return Writing((_returned(given),)) if given.is_adopted else (yield from _running(given))
    owner = target.controller
    if owner is not None and owner.get("uid") != given.scope:
        return Pending(f"the {target.shown} is controlled by the {owner.get('kind')} {owner.get('name')}")
    if not given.is_adopted or target.annotations.get(CREATING) != "true" or not _is_named(given):
        return (yield from _adopted(given))
    adjusted = yield from _adjusted(given, holds=True)
    return Writing((_returned(given),)) if adjusted is None else adjusted


def _running(given: _Given) -> Flow[Prepared | None]:
    """A target that was not made for a rollout; the configuration of one that was holds its traits back itself."""
    configuration = yield from _configuration(given.target)
    if configuration is None or configuration.status.rolling_status != COMPLETED:
        return None
    return (yield from _adjusted(given, holds=False))


def _is_named(given: _Given) -> bool:
    return given.component in rolling_components(given.target.annotations)


def _adopted(given: _Given) -> Flow[Prepared]:
    """D-2: the target is this rollout's alone, and its workloads are made for a rollout."""
    namespace = yield from read(Ref(NAMESPACES, "", given.target.namespace))
    if namespace is None:
        return Pending(f"the Namespace {given.target.namespace} is not there")
    claim = {
        "apiVersion": APPLICATION_DEPLOYMENTS.api_version,
        "kind": APPLICATION_DEPLOYMENTS.kind,
        "name": given.seen.object.metadata.name,
        "uid": given.scope,
        "controller": True,
        "blockOwnerDeletion": False,
    }
    guard = {"apiVersion": "v1", "kind": "Namespace", "name": namespace.name, "uid": namespace.uid}
    others = [each for each in given.target.owners if each.get("uid") not in (given.scope, namespace.uid)]
    body = {
        "metadata": {
            "ownerReferences": [*others, claim, guard],
            "annotations": {CREATING: "true", ROLLING_COMPONENTS: given.component},
        }
    }
    return Writing((patched(given.target, body, Does.HAND_OVER, ("free", "adopted"), scope=given.scope),))


def _adjusted(given: _Given, *, holds: bool) -> Flow[Prepared | None]:
    """D-3; None where nothing is left to take out."""
    settings = given.seen.trait.settings
    names = [
        str(each.get("name", ""))
        for tree in (given.target, given.source)
        if tree is not None
        for each in _all_traits(tree)
    ]
    known = yield from definitions.named((), names, given.target.namespace, settings.system_namespace)
    held = adjustments.service_names(given.source, given.component, known)
    found = adjustments.split(given.target, given.component, known, held, holds=holds)
    if not found.taken:
        return None
    body = adjustments.taken_out(given.target, given.component, found)
    said = ", ".join(str(each.get("name")) for each in found.taken)
    return Writing((patched(given.target, body, Does.HAND_OVER, (said, "taken out"), scope=given.scope),))


def _all_traits(application: Tree) -> Iterable[Json]:
    for component in adjustments.components_of(application):
        traits = component.get("traits")
        yield from (mapping(each) for each in traits) if isinstance(traits, list) else ()


def _returned(given: _Given) -> AnyWrite:
    """D-4: one update, after which the application controller renders the target."""
    mine = given.scope
    guards = {each.get("uid") for each in given.target.owners if each.get("kind") == NAMESPACES.kind}
    others = [each for each in given.target.owners if each.get("uid") not in (mine, *guards)]
    body = {"metadata": {"ownerReferences": others, "annotations": {ROLLOUT_TEMPLATE: None}}}
    return patched(given.target, body, Does.HAND_OVER, ("adopted", "handed over"), scope=mine)


def _activated(given: _Given) -> Flow[Prepared | None]:
    """D-7: what an earlier rollout made a snapshot counts again; workloads are not touched."""
    for tree in (given.target, given.source):
        if tree is None or tree.annotations.get(INACTIVE) != "true":
            continue
        configuration = yield from _configuration(tree)
        if configuration is None:
            return Pending(f"the Application {tree.name} is inactive, and its ApplicationConfiguration is gone")
        writes: list[AnyWrite] = []
        if configuration.status.rolling_status != TEMPLATED:
            writes.append(rolling_status(configuration.tree, TEMPLATED, scope=given.scope))
        if configuration.is_inactive:
            marks = {INACTIVE: None, ROLLING_COMPONENTS: given.component}
            writes.append(annotate(configuration.tree, marks, scope=given.scope))
        return Writing((*writes, annotate(tree, {INACTIVE: None}, scope=given.scope)))
    return None


def _configuration(application: Tree) -> Flow[Configuration | None]:
    status, _ = read_struct(ApplicationStatus, application.tree.get("status"), "status")
    if status.latest_revision is None:
        return None
    found = yield from read(Ref(CONFIGURATIONS, application.namespace, status.latest_revision.name))
    return None if found is None else Configuration(found)


def _pinned(given: _Given) -> Flow[Prepared]:
    """D-7: both configurations have their workloads, of one kind."""
    configurations, references = [], []
    revisions = []
    for tree in (given.target, given.source):
        if tree is None:
            continue
        configuration = yield from _configuration(tree)
        if configuration is None:
            return Pending(_unrendered(tree))
        waits = _unprepared(given, configuration, is_target=tree is given.target)
        if waits:
            return Pending(waits)
        found = [each for each in configuration.status.workloads if each.component_name == given.component]
        if not found:
            return Pending(f"waiting for {configuration.name} to have a workload of the component {given.component}")
        configurations.append(configuration)
        references.append(found[0].workload_ref)
        revisions.append(found[0].component_revision_name)
    target, *sources = references
    for each in sources:
        if (each.group, each.kind) != (target.group, target.kind):
            return Refused(
                f"the component {given.component} is a {target.kind} in the target and a {each.kind} in the source"
            )
        if each.names_same(target) and is_paired(target):
            return Refused(
                f"both Applications have the same {target.kind} {target.name} for the component {given.component}: "
                "there is nothing to roll"
            )
    names = DeploymentNames(
        given.seen.spec.target_application_name,
        given.seen.spec.source_application_name,
        configurations[0].name,
        configurations[1].name if len(configurations) > 1 else "",
    )
    if not is_paired(target):
        sources = [WorkloadReference("apps/v1", "ControllerRevision", each) for each in revisions[1:]]
    return Pinned(names, target, tuple(sources))


def _unrendered(application: Tree) -> str:
    """Why it has no configuration."""
    if application.annotations.get(REVISION_ONLY) != "true":
        return f"waiting for the ApplicationConfiguration of the Application {application.name}"
    return (
        f"the {application.shown} is kept as revisions only and has no ApplicationConfiguration: take the annotation "
        f"{REVISION_ONLY} off, or roll its revisions with an AppRollout"
    )


def _unprepared(given: _Given, configuration: Configuration, *, is_target: bool) -> str:
    status, tree = configuration.status, configuration.tree
    is_ready = status.rolling_status in (TEMPLATED, COMPLETED) and status.observed_generation >= tree.generation
    if CREATING in tree.annotations or not is_ready:
        said = next((each.message for each in status.conditions if each.status == "False"), "")
        return f"waiting for the workloads of {tree.shown}" + (f": {said}" if said else "")
    if is_target and status.rolling_status == COMPLETED and _has_conflict(given, tree):
        return f"waiting for the Application {given.target.name} to be without traits that conflict with a rollout"
    return ""


def _has_conflict(given: _Given, configuration: Tree) -> bool:
    """Of a target that was running by itself: its traits are taken out first (D-3)."""
    components = at(configuration.tree, "spec.components")
    for each in map(mapping, components if isinstance(components, list) else ()):
        if not str(each.get("revisionName", "")).startswith(f"{given.component}-v"):
            continue
        traits = each.get("traits")
        for one in traits if isinstance(traits, list) else ():
            found = present(mapping(mapping(one).get("trait")), definitions.known_traits(()))
            if found is not None and conflicting_with(adjustments.ROLLOUT, (found,)):
                return True
    return False
