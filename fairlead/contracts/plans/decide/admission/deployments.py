"""Whether an ApplicationDeployment or an AppRollout may be as it is (A-2, A-3 and A-5 to A-9).

What it names is read only where it is named anew: a rollout may be paused after its source has gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from fairlead.contracts.plans.applications.kinds import AppRolloutSpec, DeploymentSpec
from fairlead.contracts.plans.decide.admission import updates
from fairlead.contracts.plans.decide.admission.validation import PLAN, plan_refusals
from fairlead.contracts.plans.decide.applications.adjustments import components_of
from fairlead.contracts.plans.decide.applications.app_rollouts import asked_for, last_of
from fairlead.contracts.plans.decide.applications.snapshots import ApplicationSnapshot
from fairlead.contracts.plans.decide.applications.trees import Tree
from fairlead.contracts.plans.decide.reading import read
from fairlead.contracts.plans.kinds import APPLICATION_REVISIONS, APPLICATIONS, Json
from fairlead.core.ask import Answers, Ask, Bad, Good, Read
from fairlead.core.field_errors import invalid, required
from kubeloop.objects.meta import Ref, Resource
from kubeloop.unreadable import UNREADABLE

COMPONENTS = "spec.componentList"


class ReferenceFields(Struct, frozen=True):
    """What a kind of rollouts names its target and its source by."""

    resource: Resource
    target: str
    source: str
    spec: type[DeploymentSpec] | type[AppRolloutSpec]
    made: str
    """How one that is not there comes to be."""

    def names(self, spec: DeploymentSpec | AppRolloutSpec) -> tuple[str, str]:
        if isinstance(spec, AppRolloutSpec):
            return spec.target_app_revision_name, spec.source_app_revision_name
        return spec.target_application_name, spec.source_application_name

    def read(self, rollout: Json) -> DeploymentSpec | AppRolloutSpec:
        return read(self.spec, rollout.get("spec"), "spec")[0]

    def question(self, name: str, namespace: str) -> Ask:
        return Ask(Read(Ref(self.resource, namespace, name)))


BY_APPLICATIONS = ReferenceFields(
    APPLICATIONS, "spec.targetApplicationName", "spec.sourceApplicationName", DeploymentSpec, "create it first"
)
BY_SNAPSHOTS = ReferenceFields(
    APPLICATION_REVISIONS,
    "spec.targetAppRevisionName",
    "spec.sourceAppRevisionName",
    AppRolloutSpec,
    "it is made when its Application changes",
)


def questions(named: ReferenceFields, new: Json, old: Json | None, namespace: str) -> tuple[Ask, ...]:
    """What must be known of its target and its source."""
    spec = named.read(new)
    if old is not None and not _chooses_anew(named, spec, named.read(old)):
        return ()
    return tuple(named.question(name, namespace) for name in dict.fromkeys(named.names(spec)) if name)


def unread(asked: tuple[Ask, ...], answers: Answers) -> str:
    """Why an answer cannot be given now; empty where it can."""
    for each in asked:
        answer = answers[each]
        if isinstance(answer, Bad) and answer.kind != "absent" and isinstance(each.to, Read):
            detail = answer.text or answer.kind
            return f"the {each.to.ref.resource.kind} {each.to.ref.name} cannot be read ({detail}): try again"
    return ""


class Reviewed(Struct, frozen=True):
    """A rollout in its namespace, whatever it holds; all `questions` are answered."""

    new: Json
    old: Json | None
    namespace: str
    answers: Answers


def refusals(named: ReferenceFields, given: Reviewed) -> Iterator[str]:
    tree = given.new.get("spec")
    spec, wrong = read(named.spec, tree, "spec")
    if not isinstance(tree, dict):
        yield from wrong or (required("spec"),)
        return
    yield from wrong
    yield from _chosen(named, spec)
    if tree.get("rolloutPlan") is None:
        yield required(PLAN)
    yield from plan_refusals(spec.rollout_plan)
    if questions(named, given.new, given.old, given.namespace):
        yield from _found(named, spec, given)
    if given.old is not None:
        before = named.read(given.old)
        others = frozenset({COMPONENTS}) if spec.component_list != before.component_list else frozenset[str]()
        is_renamed = _is_renamed(named, spec, before, given.old.get("status"))
        yield from updates.refusals(given.new, given.old, is_renamed=is_renamed, others=others)


def _is_renamed(
    named: ReferenceFields,
    after: DeploymentSpec | AppRolloutSpec,
    before: DeploymentSpec | AppRolloutSpec,
    status: object,
) -> bool:
    """A-8; an AppRollout that no longer names its source goes on as it was."""
    if isinstance(after, AppRolloutSpec) and isinstance(before, AppRolloutSpec):
        return asked_for(after).are_others_than(asked_for(before), last_of(status))
    return named.names(after) != named.names(before)


def _chosen(named: ReferenceFields, spec: DeploymentSpec | AppRolloutSpec) -> Iterator[str]:
    target, source = named.names(spec)
    if not target:
        yield required(named.target)
    elif target == source:
        yield invalid(named.source, source, "must not be the target")
    if len(spec.component_list) > 1:
        yield invalid(COMPONENTS, list(spec.component_list), "must have one component at most")


def _found(named: ReferenceFields, spec: DeploymentSpec | AppRolloutSpec, given: Reviewed) -> Iterator[str]:
    target_name, source_name = named.names(spec)
    target, source = (_tree(named, each, given) if each else None for each in (target_name, source_name))
    kind = named.resource.kind
    if target is None and target_name:
        yield invalid(named.target, target_name, f"there is no such {kind}: {named.made}")
    if source is None and source_name:
        yield invalid(named.source, source_name, f"there is no such {kind}: name one that is there, or none")
    if target is None or (source is None and source_name) or len(spec.component_list) > 1:
        return
    trees = {target_name: target, **({} if source is None else {source_name: source})}
    if named is BY_SNAPSHOTS and (problem := _unreadable(trees, named)):
        yield problem
        return
    yield from _component(kind, spec.component_list, {name: _types(named, each) for name, each in trees.items()})


def _unreadable(trees: dict[str, Json], named: ReferenceFields) -> str:
    """Of ApplicationRevisions: of one Application, and with something in it."""
    found = {name: ApplicationSnapshot(Tree(named.resource, tree)) for name, tree in trees.items()}
    for path, (name, each) in zip((named.target, named.source), found.items(), strict=False):
        if each.problem:
            return invalid(path, name, each.problem)
    applications = [each.application for each in found.values()]
    if len(set(applications)) > 1:
        return invalid(named.source, [*found][1], f"is of the Application {applications[1]}, not of {applications[0]}")
    return ""


def _component(kind: str, chosen: tuple[str, ...], applications: dict[str, dict[str, str]]) -> Iterator[str]:
    """`applications` are types of components by their names, by the name of what they are in."""
    names = " and ".join(applications)
    common = [each for each in next(iter(applications.values())) if all(each in one for one in applications.values())]
    if chosen and chosen[0] not in common:
        lacking = next(name for name, components in applications.items() if chosen[0] not in components)
        yield invalid(f"{COMPONENTS}[0]", chosen[0], f"is no component of the {kind} {lacking}")
        return
    if not chosen and len(common) != 1:
        shared = f"has the components {', '.join(common)}" if len(applications) == 1 else f"share {', '.join(common)}"
        none = f"{names} {'has no component' if len(applications) == 1 else 'have no component in common'}"
        yield required(COMPONENTS, f"{names} {shared}: name one" if common else f"{none}: there is nothing to roll")
        return
    component = chosen[0] if chosen else common[0]
    types = {name: components[component] for name, components in applications.items()}
    if len(set(types.values())) > 1:
        shown = " and ".join(f"{kind} in {name}" for name, kind in types.items())
        yield invalid(f"{COMPONENTS}[0]", component, f"must be of one type, and is {shown}")


def _tree(named: ReferenceFields, name: str, given: Reviewed) -> Json | None:
    """None where it is not there; empty where it cannot be read."""
    answer = given.answers.known.get(named.question(name, given.namespace))
    if not isinstance(answer, Good):
        return None
    try:
        tree: Any = msgspec.json.decode(answer.value)
    except UNREADABLE:
        return {}
    return tree if isinstance(tree, dict) else {}


def _types(named: ReferenceFields, tree: Json) -> dict[str, str]:
    """The types of its components by their names."""
    found = Tree(named.resource, tree)
    application = ApplicationSnapshot(found).described if named is BY_SNAPSHOTS else found
    return {str(each.get("name", "")): str(each.get("type", "")) for each in components_of(application)}


def _chooses_anew(
    named: ReferenceFields, after: DeploymentSpec | AppRolloutSpec, before: DeploymentSpec | AppRolloutSpec
) -> bool:
    return (named.names(after), after.component_list) != (named.names(before), before.component_list)
