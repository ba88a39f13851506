"""WorkloadDefinitions and TraitDefinitions: the one of an application's namespace, then that of the system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from fairlead.contracts.plans.applications.kinds import (
    KubeSchematic,
    TraitDefinitionSpec,
    WorkloadDefinitionSpec,
)
from fairlead.contracts.plans.decide.applications import built_in
from fairlead.contracts.plans.decide.applications.asking import Flow, list_all, read_all
from fairlead.contracts.plans.decide.applications.built_in import RenderFault
from fairlead.contracts.plans.decide.applications.trees import Tree, mapping, with_path
from fairlead.contracts.plans.decide.reading import read
from fairlead.contracts.plans.kinds import ROLLOUT_TRAITS, ROLLOUTS, TRAIT_DEFINITIONS, WORKLOAD_DEFINITIONS, Json
from kubeloop.objects.meta import Ref, Resource

_KINDS: dict[str, type | tuple[type, ...]] = {"string": str, "number": (int, float), "boolean": bool}


class TraitDefinition(Struct, frozen=True):
    name: str
    spec: TraitDefinitionSpec
    labels: dict[str, str] = {}


class Definitions(Struct, frozen=True):
    """Those that a set of types names, as far as they are there."""

    workloads: Mapping[str, WorkloadDefinitionSpec] = {}
    traits: Mapping[str, TraitDefinition] = {}

    @property
    def rollout(self) -> Resource:
        """C-7: what the trait `rollout` is; upstream's definition only says that it makes the workload."""
        found, ours = self.traits.get(built_in.ROLLOUT), built_in.REVISION_ROLLOUT
        if found is None:
            return ROLLOUT_TRAITS
        is_meant = found.spec.manage_workload or found.spec.definition_ref == ours.definition_ref
        return ROLLOUTS if is_meant else ROLLOUT_TRAITS

    def trait(self, name: str) -> TraitDefinition | None:
        if name == built_in.ROLLOUT and self.rollout == ROLLOUTS:
            return TraitDefinition(name, built_in.REVISION_ROLLOUT)
        if name in built_in.TRAITS:
            return TraitDefinition(name, built_in.TRAITS[name])
        return self.traits.get(name)


class DefinitionTrees(Struct, frozen=True):
    """The same as they are stored."""

    workloads: Mapping[str, Tree] = {}
    traits: Mapping[str, Tree] = {}


def named(workloads: Iterable[str], traits: Iterable[str], namespace: str, system: str) -> Flow[Definitions]:
    """The definitions under these names; those that are built in are not asked for, but for `rollout`."""
    return read_trees((yield from trees_of(workloads, traits, namespace, system)))


def read_trees(trees: DefinitionTrees) -> Definitions:
    return Definitions(
        workloads={
            name: read(WorkloadDefinitionSpec, tree.tree.get("spec"), "spec")[0]
            for name, tree in trees.workloads.items()
        },
        traits={name: trait_definition(tree) for name, tree in trees.traits.items()},
    )


def trees_of(workloads: Iterable[str], traits: Iterable[str], namespace: str, system: str) -> Flow[DefinitionTrees]:
    kinds = sorted(set(workloads) - {built_in.RAW, built_in.WEB_SERVICE, built_in.WORKER, built_in.CLONE_SET_SERVICE})
    wanted = sorted(set(traits) - (built_in.TRAITS.keys() - {built_in.ROLLOUT}))
    places = tuple(dict.fromkeys((namespace, system)))
    refs = [
        *_refs(WORKLOAD_DEFINITIONS, kinds, places),
        *_refs(TRAIT_DEFINITIONS, wanted, places),
    ]
    found = yield from read_all(refs)
    by_ref = dict(zip(refs, found, strict=True))
    return DefinitionTrees(
        workloads={
            name: tree for name in kinds if (tree := _nearest(by_ref, WORKLOAD_DEFINITIONS, name, places)) is not None
        },
        traits={
            name: tree for name in wanted if (tree := _nearest(by_ref, TRAIT_DEFINITIONS, name, places)) is not None
        },
    )


def all_traits(namespace: str, system: str) -> Flow[tuple[TraitDefinition, ...]]:
    """Every definition that counts in the namespace, the built-in ones first."""
    near = yield from list_all(TRAIT_DEFINITIONS, namespace)
    far = () if system == namespace else (yield from list_all(TRAIT_DEFINITIONS, system))
    found = {each.name: trait_definition(each) for each in (*far, *near)}
    return known_traits(found.values())


def known_traits(found: Iterable[TraitDefinition]) -> tuple[TraitDefinition, ...]:
    ours = (TraitDefinition(name, spec) for name, spec in built_in.TRAITS.items())
    other = TraitDefinition(built_in.ROLLOUT, built_in.REVISION_ROLLOUT)
    return (*ours, other, *(each for each in found if each.name not in built_in.TRAITS))


def trait_definition(tree: Tree) -> TraitDefinition:
    spec, _ = read(TraitDefinitionSpec, tree.tree.get("spec"), "spec")
    return TraitDefinition(tree.name, spec, tree.labels)


def _refs(resource: Resource, names: Iterable[str], namespaces: Iterable[str]) -> Iterable[Ref]:
    return [Ref(resource, namespace, name) for name in names for namespace in namespaces]


def _nearest(found: Mapping[Ref, Tree | None], resource: Resource, name: str, places: Iterable[str]) -> Tree | None:
    return next((tree for place in places if (tree := found[Ref(resource, place, name)]) is not None), None)


def filled(schematic: KubeSchematic, values: object, shown: str) -> Json | RenderFault:
    """The template with these values; each goes to every path of its parameter."""
    given, tree = mapping(values), mapping(schematic.template)
    if not tree:
        return RenderFault(f"the definition of {shown} has no schematic.kube.template that is an object")
    known = {each.name for each in schematic.parameters}
    if unknown := sorted(given.keys() - known):
        return RenderFault(
            f"{shown} has no parameter {unknown[0]}: its definition knows {', '.join(sorted(known)) or 'none'}"
        )
    for parameter in schematic.parameters:
        value = given.get(parameter.name)
        if value is None:
            if parameter.required:
                return RenderFault(f"{shown} lacks the parameter {parameter.name}, which its definition requires")
            continue
        kind = _KINDS.get(parameter.type, object)
        if not isinstance(value, kind) or (isinstance(value, bool) and parameter.type == "number"):
            return RenderFault(f"the parameter {parameter.name} of {shown} must be a {parameter.type}")
        for path in parameter.field_paths:
            tree = with_path(tree, path, value)
    return tree
