"""What is taken out of a target Application while its component is rolled, and put back afterwards (D-3 and D-8)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.plans.applications.kinds import Adjustments, ApplicationSpec, ApplicationTrait
from fairlead.contracts.plans.decide.applications import built_in, conflicts
from fairlead.contracts.plans.decide.applications.conflicts import Present
from fairlead.contracts.plans.decide.applications.definitions import Definitions, TraitDefinition
from fairlead.contracts.plans.decide.applications.rendering import RenderedTrait, rendered_trait
from fairlead.contracts.plans.decide.applications.trees import Tree, at, decoded, mapping
from fairlead.contracts.plans.decide.reading import read
from fairlead.contracts.plans.kinds import ADJUSTMENTS, Json
from kubeloop.objects.core import SERVICES

ROLLOUT = TraitDefinition(built_in.ROLLOUT, built_in.TRAITS[built_in.ROLLOUT])


class Split(Struct, frozen=True):
    kept: tuple[Json, ...]
    taken: tuple[Json, ...]


def adjustments_of(application: Tree) -> Adjustments:
    """Nothing where there is no record that can be read."""
    return read(Adjustments, decoded(application.annotations.get(ADJUSTMENTS, "null")), ADJUSTMENTS)[0]


def recorded(adjustments: Adjustments) -> str | None:
    """As the annotation has it; None where nothing is to be put back."""
    if not adjustments.traits and not adjustments.autoscalers:
        return None
    return msgspec.json.encode(adjustments).decode()


def components_of(application: Tree) -> list[Json]:
    found = at(application.tree, "spec.components")
    return [mapping(each) for each in found] if isinstance(found, list) else []


def split(application: Tree, component: str, definitions: Definitions, held: frozenset[str], *, holds: bool) -> Split:
    """The traits of the component: those that stay, and those that a rollout cannot stand beside it.

    `held` are names of Services that the source has; where `holds`, one of the target under such a name waits.
    """
    traits = _traits(application, component)
    taken = [each for each in traits if _is_taken(component, each, definitions, held, holds=holds)]
    return Split(tuple(each for each in traits if each not in taken), tuple(taken))


def _is_taken(component: str, tree: Json, definitions: Definitions, held: frozenset[str], *, holds: bool) -> bool:
    trait = ApplicationTrait(str(tree.get("name", "")), tree.get("properties"))
    definition = definitions.trait(trait.name)
    if definition is None or trait.name == built_in.ROLLOUT:
        return False
    made = rendered_trait(component, trait, definitions)
    rendered = made.tree if isinstance(made, RenderedTrait) else {}
    group = str(rendered.get("apiVersion", "")).rpartition("/")[0]
    if conflicts.conflicting_with(ROLLOUT, (Present(definition, group),)):
        return True
    is_service = (rendered.get("apiVersion"), rendered.get("kind")) == (SERVICES.api_version, SERVICES.kind)
    return holds and is_service and mapping(rendered.get("metadata")).get("name") in held


def _traits(application: Tree, component: str) -> list[Json]:
    found = next((each for each in components_of(application) if each.get("name") == component), {})
    traits = found.get("traits")
    return [mapping(each) for each in traits] if isinstance(traits, list) else []


def taken_out(application: Tree, component: str, found: Split) -> Json:
    """The patch of the target: the traits go from its spec into the record, in one write."""
    before = adjustments_of(application)
    taken = tuple(read(ApplicationTrait, each, "trait")[0] for each in found.taken)
    known = {each.name for each in before.traits}
    after = replace(
        before, component=component, traits=(*before.traits, *(each for each in taken if each.name not in known))
    )
    return {
        "metadata": {"annotations": {ADJUSTMENTS: recorded(after)}},
        "spec": {"components": _with_traits(application, component, found.kept)},
    }


def put_back(application: Tree) -> Json:
    """The patch that restores every trait of the record; empty where there is none."""
    record = adjustments_of(application)
    if ADJUSTMENTS not in application.annotations:
        return {}
    present = _traits(application, record.component)
    known = {each.get("name") for each in present}
    lacking = [_tree(each) for each in record.traits if each.name not in known]
    body: Json = {"metadata": {"annotations": {ADJUSTMENTS: None}}}
    if lacking:
        body["spec"] = {"components": _with_traits(application, record.component, [*present, *lacking])}
    return body


def _tree(trait: ApplicationTrait) -> Json:
    return {"name": trait.name, **({} if trait.properties is None else {"properties": trait.properties})}


def _with_traits(application: Tree, component: str, traits: Sequence[Json]) -> list[Json]:
    return [
        {**each, "traits": [*traits]} if each.get("name") == component else each for each in components_of(application)
    ]


def noted(application: Tree, autoscalers: Iterable[Tree]) -> Json:
    """The patch that keeps autoscalers, so that they can be made again as they are."""
    before = adjustments_of(application)
    known = {mapping(each.get("metadata")).get("name") for each in before.autoscalers}
    new = tuple(_kept(each) for each in autoscalers if each.name not in known)
    after = replace(before, autoscalers=(*before.autoscalers, *new))
    return {"metadata": {"annotations": {ADJUSTMENTS: recorded(after)}}}


def _kept(tree: Tree) -> Json:
    metadata = {
        key: tree.metadata[key] for key in ("name", "labels", "annotations", "ownerReferences") if key in tree.metadata
    }
    return {**{key: tree.tree.get(key) for key in ("apiVersion", "kind", "spec")}, "metadata": metadata}


def common_component(chosen: Sequence[str], target: Tree, source: Tree | None) -> tuple[str, str]:
    """The component that is rolled (section 2.7), and why there is none."""
    kinds = {str(each.get("name", "")): str(each.get("type", "")) for each in components_of(target)}
    shown = f"the {target.shown}"
    other: dict[str, str] = kinds
    if source is not None:
        other = {str(each.get("name", "")): str(each.get("type", "")) for each in components_of(source)}
        shown = f"the {target.resource.kind}s {target.name} and {source.name}"
    common = [each for each in kinds if each in other]
    if len(chosen) > 1:
        return "", "componentList names several components, and one is rolled at a time: name one"
    if chosen and chosen[0] not in common:
        return "", f"the component {chosen[0]} is not in {shown}"
    if not chosen and len(common) != 1:
        several = (
            f"the components {', '.join(common)}: name one in componentList" if common else "no component in common"
        )
        return "", f"{shown} {'has' if source is None else 'have'} {several}"
    name = chosen[0] if chosen else common[0]
    if kinds[name] != other[name]:
        return "", f"the component {name} is a {kinds[name]} in the target and a {other[name]} in the source"
    return name, ""


def service_names(application: Tree | None, component: str, definitions: Definitions) -> frozenset[str]:
    """Of the Services that the component of this Application emits."""
    if application is None:
        return frozenset()
    spec, _ = read(ApplicationSpec, application.tree.get("spec"), "spec")
    found = set()
    for each in spec.components:
        for trait in each.traits if each.name == component else ():
            made = rendered_trait(component, trait, definitions)
            if isinstance(made, RenderedTrait) and made.tree.get("kind") == SERVICES.kind:
                found.add(str(mapping(made.tree.get("metadata")).get("name")))
    return frozenset(found)
