"""An Application as workloads and traits (section 2.8): trees that name no cluster, revision or size of a rollout."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from fairlead.contracts.plans.applications.kinds import (
    TRAIT_DEFINITION,
    ApplicationComponent,
    ApplicationSpec,
    ApplicationTrait,
)
from fairlead.contracts.plans.decide.applications import built_in
from fairlead.contracts.plans.decide.applications.built_in import RenderFault
from fairlead.contracts.plans.decide.applications.definitions import Definitions, filled
from fairlead.contracts.plans.decide.applications.trees import mapping
from fairlead.contracts.plans.kinds import Json
from fairlead.core.names import is_label


class RenderedTrait(Struct, frozen=True):
    definition: str
    tree: Json


class Rendered(Struct, frozen=True):
    name: str
    workload: Json
    traits: tuple[RenderedTrait, ...] = ()

    @property
    def component_spec(self) -> Json:
        """Of the Component that this becomes."""
        return {"workload": self.workload}


def rendered(spec: ApplicationSpec, definitions: Definitions) -> tuple[Rendered, ...] | RenderFault:
    if (wrong := next(_wrong(spec), None)) is not None:
        return RenderFault(wrong)
    found = []
    for component in spec.components:
        one = _component(component, definitions)
        if isinstance(one, RenderFault):
            return one
        found.append(one)
    return tuple(found)


def _wrong(spec: ApplicationSpec) -> Iterator[str]:
    if not spec.components:
        yield "the application has no components: list at least one in spec.components"
    known: set[str] = set()
    for place, name in enumerate(each.name for each in spec.components):
        if not is_label(name):
            yield f"spec.components[{place}].name is {name!r}: write lower-case letters, digits and dashes"
        if name in known:
            yield f"the component {name} is there twice: give each component a name of its own"
        known.add(name)
    for component in spec.components:
        twice = _twice(each.name for each in component.traits)
        if twice is not None:
            yield f"the component {component.name} has the trait {twice} twice: keep one of them"


def _twice(names: Iterable[str]) -> str | None:
    """The first that was there before."""
    known: set[str] = set()
    for each in names:
        if each in known:
            return each
        known.add(each)
    return None


def _component(component: ApplicationComponent, definitions: Definitions) -> Rendered | RenderFault:
    workload = rendered_workload(component, definitions)
    if isinstance(workload, RenderFault):
        return workload
    traits = []
    for each in component.traits:
        trait = rendered_trait(component.name, each, definitions)
        if isinstance(trait, RenderFault):
            return trait
        traits.append(trait)
    return Rendered(component.name, workload, tuple(traits))


def rendered_workload(component: ApplicationComponent, definitions: Definitions) -> Json | RenderFault:
    made = built_in.workload(component.name, component.type, component.settings)
    if made is not None:
        return made
    definition = definitions.workloads.get(component.type)
    shown = f"the component {component.name} of type {component.type}"
    if definition is None:
        return RenderFault(
            f"the component {component.name} is of the type {component.type}, for which there is no "
            "WorkloadDefinition: create one, or write raw, webservice, worker or clonesetservice"
        )
    if definition.schematic is None or definition.schematic.kube is None:
        return RenderFault(
            f"the WorkloadDefinition {component.type} has no schematic.kube, and no other schematic is rendered here"
        )
    return filled(definition.schematic.kube, component.settings, shown)


def rendered_trait(component: str, given: ApplicationTrait, definitions: Definitions) -> RenderedTrait | RenderFault:
    made = built_in.trait(component, given.name, given.properties, definitions.rollout)
    if isinstance(made, RenderFault):
        return made
    if made is not None:
        return RenderedTrait(given.name, _marked(made, given.name))
    definition = definitions.traits.get(given.name)
    if definition is None:
        return RenderFault(
            f"the component {component} has the trait {given.name}, for which there is no TraitDefinition: "
            "create one, or write rollout, scaler, hpa or expose"
        )
    schematic = definition.spec.schematic
    if schematic is None or schematic.kube is None:
        return RenderFault(
            f"the TraitDefinition {given.name} has no schematic.kube, and no other schematic is rendered here"
        )
    tree = filled(schematic.kube, given.properties, f"the trait {given.name} of the component {component}")
    if isinstance(tree, RenderFault):
        return tree
    metadata = mapping(tree.get("metadata"))
    named = {**tree, "metadata": {**metadata, "name": metadata.get("name") or f"{component}-{given.name}"}}
    return RenderedTrait(given.name, _marked(named, given.name))


def _marked(tree: Json, definition: str) -> Json:
    """With the definition in a label, by which conflicts are found."""
    metadata = mapping(tree.get("metadata"))
    labels = {**mapping(metadata.get("labels")), TRAIT_DEFINITION: definition}
    return {**tree, "metadata": {**metadata, "labels": labels}}
