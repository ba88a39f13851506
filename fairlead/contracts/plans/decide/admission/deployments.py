"""Whether an ApplicationDeployment may be as it is (A-2, A-3 and A-5 to A-9).

What it names is read only where it is named anew: a rollout may be paused after its source has gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from fairlead.contracts.plans.applications.kinds import DeploymentSpec
from fairlead.contracts.plans.decide.admission import updates
from fairlead.contracts.plans.decide.admission.validation import PLAN, plan_refusals
from fairlead.contracts.plans.decide.reading import read
from fairlead.contracts.plans.kinds import APPLICATIONS, Json
from fairlead.core.ask import Answers, Ask, Bad, Good, Read
from fairlead.core.field_errors import invalid, required
from kubeloop.objects.meta import Ref
from kubeloop.unreadable import UNREADABLE

TARGET, SOURCE = "spec.targetApplicationName", "spec.sourceApplicationName"
COMPONENTS = "spec.componentList"


def questions(new: Json, old: Json | None, namespace: str) -> tuple[Ask, ...]:
    """The Applications that must be known."""
    spec = _spec(new)
    if old is not None and not _chooses_anew(spec, _spec(old)):
        return ()
    return tuple(_question(name, namespace) for name in dict.fromkeys(_names(spec)) if name)


def unread(asked: tuple[Ask, ...], answers: Answers) -> str:
    """Why an answer cannot be given now; empty where it can."""
    for each in asked:
        answer = answers[each]
        if isinstance(answer, Bad) and answer.kind != "absent" and isinstance(each.to, Read):
            detail = answer.text or answer.kind
            return f"the Application {each.to.ref.name} cannot be read ({detail}): try again"
    return ""


def refusals(new: Json, old: Json | None, namespace: str, answers: Answers) -> Iterator[str]:
    """Of an ApplicationDeployment in this namespace, whatever it holds; all `questions` are answered."""
    given = new.get("spec")
    spec, wrong = read(DeploymentSpec, given, "spec")
    if not isinstance(given, dict):
        yield from wrong or (required("spec"),)
        return
    yield from wrong
    yield from _chosen(spec)
    if given.get("rolloutPlan") is None:
        yield required(PLAN)
    yield from plan_refusals(spec.rollout_plan)
    if questions(new, old, namespace):
        yield from _found(spec, _application(spec.target_application_name, namespace, answers), namespace, answers)
    if old is not None:
        before = _spec(old)
        others = frozenset({COMPONENTS}) if spec.component_list != before.component_list else frozenset[str]()
        yield from updates.refusals(new, old, is_renamed=_names(spec) != _names(before), others=others)


def _chosen(spec: DeploymentSpec) -> Iterator[str]:
    target, source = _names(spec)
    if not target:
        yield required(TARGET)
    elif target == source:
        yield invalid(SOURCE, source, "must not be the target")
    if len(spec.component_list) > 1:
        yield invalid(COMPONENTS, list(spec.component_list), "must have one component at most")


def _found(spec: DeploymentSpec, target: dict[str, str] | None, namespace: str, answers: Answers) -> Iterator[str]:
    target_name, source_name = _names(spec)
    if target is None and target_name:
        yield invalid(TARGET, target_name, "there is no such Application: create it first")
    source = _application(source_name, namespace, answers) if source_name else None
    if source is None and source_name:
        yield invalid(SOURCE, source_name, "there is no such Application: name one that is there, or none")
    if target is None or (source is None and source_name) or len(spec.component_list) > 1:
        return
    applications = {target_name: target, **({} if source is None else {source_name: source})}
    yield from _component(spec.component_list, applications)


def _component(chosen: tuple[str, ...], applications: dict[str, dict[str, str]]) -> Iterator[str]:
    """`applications` are types of components by their names, by the name of the Application."""
    names = " and ".join(applications)
    common = [each for each in next(iter(applications.values())) if all(each in one for one in applications.values())]
    if chosen and chosen[0] not in common:
        lacking = next(name for name, components in applications.items() if chosen[0] not in components)
        yield invalid(f"{COMPONENTS}[0]", chosen[0], f"is no component of the Application {lacking}")
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


def _application(name: str, namespace: str, answers: Answers) -> dict[str, str] | None:
    """The types of its components by their names; None where it is not there."""
    answer = answers.known.get(_question(name, namespace))
    if not isinstance(answer, Good):
        return None
    try:
        tree: Any = msgspec.json.decode(answer.value)
    except UNREADABLE:
        return {}
    spec = tree.get("spec") if isinstance(tree, dict) else None
    components = spec.get("components") if isinstance(spec, dict) else None
    entries = [each for each in components if isinstance(each, dict)] if isinstance(components, list) else []
    return {str(each.get("name", "")): str(each.get("type", "")) for each in entries}


def _question(name: str, namespace: str) -> Ask:
    return Ask(Read(Ref(APPLICATIONS, namespace, name)))


def _spec(deployment: Json) -> DeploymentSpec:
    return read(DeploymentSpec, deployment.get("spec"), "spec")[0]


def _chooses_anew(after: DeploymentSpec, before: DeploymentSpec) -> bool:
    return (_names(after), after.component_list) != (_names(before), before.component_list)


def _names(spec: DeploymentSpec) -> tuple[str, str]:
    return spec.target_application_name, spec.source_application_name
