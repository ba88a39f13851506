"""The components of an ApplicationConfiguration: the revision of each, the workload it stands for, and its traits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.plans.applications.kinds import (
    MANUAL_SCALER,
    TEMPLATED,
    TEMPLATING,
    ComponentStatus,
    ConfigurationSpec,
    ConfigurationStatus,
    ConfiguredComponent,
    WorkloadStatus,
)
from fairlead.contracts.plans.decide.applications import conflicts, definitions
from fairlead.contracts.plans.decide.applications.asking import Flow, read_all, served_kinds
from fairlead.contracts.plans.decide.applications.conflicts import Present
from fairlead.contracts.plans.decide.applications.definitions import TraitDefinition, known_traits
from fairlead.contracts.plans.decide.applications.revisions import (
    ComponentRevision,
    is_paired,
    named_revisions,
    workload_reference,
)
from fairlead.contracts.plans.decide.applications.seen import FamilySeen
from fairlead.contracts.plans.decide.applications.trees import Tree, at, mapping, with_path, with_value
from fairlead.contracts.plans.decide.reach import out_of_reach
from fairlead.contracts.plans.decide.reading import read
from fairlead.contracts.plans.decide.workloads.kind_table import kind_of
from fairlead.contracts.plans.decide.workloads.live import WorkloadKind
from fairlead.contracts.plans.kinds import COMPONENTS, CREATING, ROLLING_COMPONENTS, ROLLOUTS, Json, WorkloadReference
from fairlead.core.reason import Reason
from kubeloop.objects.meta import Ref, Resource

_BUILT_IN = known_traits(())


class Stuck(Struct, frozen=True):
    """Nothing is emitted until somebody, or some other controller, does something about it."""

    text: str
    reason: Reason = Reason.APPLICATION_PENDING


class Trait(Struct, frozen=True):
    tree: Json
    present: Present | None
    resource: Resource | None
    """None for what is no object of the cluster."""

    @property
    def is_scaler(self) -> bool:
        return self.tree.get("kind") == MANUAL_SCALER

    @property
    def is_rollout(self) -> bool:
        return (self.tree.get("apiVersion"), self.tree.get("kind")) == (ROLLOUTS.api_version, ROLLOUTS.kind)

    @property
    def reference(self) -> WorkloadReference:
        name = str(mapping(self.tree.get("metadata")).get("name", ""))
        return WorkloadReference(str(self.tree.get("apiVersion", "")), str(self.tree.get("kind", "")), name)


class Part(Struct, frozen=True):
    """One component, with the workload that it stands for in this configuration."""

    component: str
    revision: ComponentRevision
    tree: Json
    """The workload, with the values of parameters."""
    reference: WorkloadReference
    resource: Resource
    traits: tuple[Trait, ...]
    by_trait: bool
    """Whether a trait of it is enabled for revisions, so that a rollout brings each of them."""
    by_handover: bool
    """Whether an ApplicationDeployment brings it."""
    is_recorded: bool = False
    """Whether a configuration of its application had a workload for it."""
    is_left: bool = False
    """Whether its workload is left to a rollout that makes it (C-7)."""

    @property
    def is_rolled(self) -> bool:
        return self.by_trait or self.by_handover

    @property
    def has_rollout(self) -> bool:
        return any(each.is_rollout for each in self.traits)

    @property
    def rolled_to(self) -> str:
        """The revision that a Rollout of it goes to: the one that it names, else that of the component."""
        named = (at(each.tree, "spec.targetRevisionName") for each in self.traits if each.is_rollout)
        return next((each for each in named if isinstance(each, str) and each), self.revision.name)

    @property
    def kind(self) -> WorkloadKind | None:
        found = kind_of(self.reference, {})
        return found if isinstance(found, WorkloadKind) else None


def rolling_components(annotations: dict[str, str]) -> frozenset[str]:
    return frozenset(filter(None, (each.strip() for each in annotations.get(ROLLING_COMPONENTS, "").split(","))))


def parts_of(
    seen: FamilySeen, spec: ConfigurationSpec, status: ConfigurationStatus, previous: Sequence[ConfigurationStatus]
) -> Flow[tuple[Part, ...] | Stuck]:
    """`previous` are the statuses of the configurations before this one, the newest first."""
    if (wrong := next(_wrong(spec), None)) is not None:
        return Stuck(wrong, Reason.SPEC_INVALID)
    names = yield from _revision_names(seen, spec)
    if isinstance(names, Stuck):
        return names
    found = yield from named_revisions(seen.namespace, names)
    if missing := next((each for each in names if each not in found), None):
        return Stuck(f"waiting for the revision {missing}: there is no such ControllerRevision")
    known = yield from _definitions(seen, spec)
    rolling = rolling_components(seen.annotations)
    is_handed = CREATING in seen.annotations or status.rolling_status in (TEMPLATING, TEMPLATED)
    parts = []
    for given, name in zip(spec.components, names, strict=True):
        part = _part(given, found[name], known, is_handed=is_handed and found[name].component in rolling)
        if isinstance(part, Stuck):
            return part
        parts.append(_named(part, (status, *previous)))
    return (yield from _served(parts))


def _wrong(spec: ConfigurationSpec) -> Iterator[str]:
    for place, each in enumerate(spec.components):
        if each.component_name and each.revision_name:
            yield f"spec.components[{place}] has componentName and revisionName: keep one of them"
        if not each.component_name and not each.revision_name:
            yield f"spec.components[{place}] names neither a component nor a revision"


def _revision_names(seen: FamilySeen, spec: ConfigurationSpec) -> Flow[tuple[str, ...] | Stuck]:
    named = [each.component_name for each in spec.components if each.component_name]
    trees = yield from read_all(Ref(COMPONENTS, seen.namespace, each) for each in named)
    latest = {}
    for name, tree in zip(named, trees, strict=True):
        if tree is None:
            return Stuck(f"waiting for the Component {name}: it is not there")
        status, _ = read(ComponentStatus, tree.tree.get("status"), "status")
        if status.latest_revision is None or status.observed_generation < tree.generation:
            return Stuck(f"waiting for the revision of the Component {name}")
        latest[name] = status.latest_revision.name
    return tuple(each.revision_name or latest[each.component_name] for each in spec.components)


def _definitions(seen: FamilySeen, spec: ConfigurationSpec) -> Flow[tuple[TraitDefinition, ...]]:
    """Those of the cluster are listed only where a trait is not of a built-in one."""
    trees = (mapping(each.trait) for component in spec.components for each in component.traits)
    if all(conflicts.present(each, _BUILT_IN) is not None for each in trees):
        return _BUILT_IN
    return (yield from definitions.all_traits(seen.namespace, seen.settings.system_namespace))


def _part(
    given: ConfiguredComponent, revision: ComponentRevision, known: Sequence[TraitDefinition], *, is_handed: bool
) -> Part | Stuck:
    tree = _with_parameters(given, revision)
    if isinstance(tree, Stuck):
        return tree
    trees = [mapping(each.trait) for each in given.traits]
    presents = [conflicts.present(each, known) for each in trees]
    refusal = conflicts.refusal(revision.component, [each for each in presents if each is not None], tree)
    if refusal:
        return Stuck(refusal, Reason.SPEC_INVALID)
    reference = WorkloadReference(str(tree.get("apiVersion", "")), str(tree.get("kind", "")))
    if not reference.api_version or not reference.kind:
        return Stuck(f"the revision {revision.name} holds no workload with apiVersion and kind", Reason.SPEC_INVALID)
    for each in trees:
        if each.get("kind") == MANUAL_SCALER:
            tree = with_value(tree, ("spec", "replicas"), at(each, "spec.replicaCount"))
    traits = tuple(
        Trait(_with_name(each, revision.component), present, None)
        for each, present in zip(trees, presents, strict=True)
    )
    by_trait = any(each is not None and each.definition.spec.revision_enabled for each in presents)
    return Part(revision.component, revision, tree, reference, Resource("", "", "", ""), traits, by_trait, is_handed)


def _with_name(trait: Json, component: str) -> Json:
    metadata = mapping(trait.get("metadata"))
    return {**trait, "metadata": {**metadata, "name": metadata.get("name") or component}}


def _with_parameters(given: ConfiguredComponent, revision: ComponentRevision) -> Json | Stuck:
    tree, values = revision.workload, {each.name: each.value for each in given.parameter_values}
    shown = f"the component {revision.component}"
    for parameter in revision.read.parameters:
        value = values.pop(parameter.name, None)
        if value is None and parameter.required:
            return Stuck(f"{shown} lacks the parameter {parameter.name}, which it requires", Reason.SPEC_INVALID)
        for path in parameter.field_paths if value is not None else ():
            tree = with_path(tree, path, value)
    if values:
        return Stuck(f"{shown} has no parameter {min(values)}", Reason.SPEC_INVALID)
    return tree


def _named(part: Part, statuses: Iterable[ConfigurationStatus]) -> Part:
    """T-2 and U-3: a rollout brings paired kinds under the name of the revision; everything else goes where it was, and
    so does a revision that is there already."""
    found = [*_recorded(part, statuses)]
    if not part.is_rolled:
        name = found[0].workload_ref.name if found else part.component
    elif found and found[0].component_revision_name == part.revision.name:
        name = found[0].workload_ref.name
    else:
        name = workload_reference(part.revision).name if is_paired(part.reference) else part.component
    return replace(part, reference=replace(part.reference, name=name), is_recorded=bool(found))


def _recorded(part: Part, statuses: Iterable[ConfigurationStatus]) -> Iterator[WorkloadStatus]:
    for status in statuses:
        for each in status.workloads:
            kind = (each.workload_ref.group, each.workload_ref.kind)
            if each.component_name == part.component and kind == (part.reference.group, part.reference.kind):
                yield each


def _served(parts: Sequence[Part]) -> Flow[tuple[Part, ...] | Stuck]:
    objects = [each for part in parts for each in part.traits if not each.is_scaler]
    wanted = [*(each.reference for each in parts), *(each.reference for each in objects)]
    found = yield from served_kinds(wanted)
    for each in wanted:
        resource = found.get((each.api_version, each.kind))
        if resource is not None and (problem := out_of_reach(resource)):
            return Stuck(problem, Reason.SPEC_INVALID)
        if resource is None:
            text = f"this cluster does not serve {each.kind} of {each.api_version or 'no apiVersion'}: install the kind"
            return Stuck(text, Reason.KIND_MISSING)
    return tuple(
        replace(
            part,
            resource=found[part.reference.api_version, part.reference.kind],
            traits=tuple(
                replace(each, resource=found.get((each.reference.api_version, each.reference.kind)))
                for each in part.traits
            ),
        )
        for part in parts
    )


def live_of(namespace: str, wanted: Iterable[tuple[Resource, str]]) -> Flow[dict[tuple[Resource, str], Tree | None]]:
    """By resource and name; None for those that are not there."""
    keys = tuple(dict.fromkeys(wanted))
    found = yield from read_all(Ref(resource, namespace, name) for resource, name in keys)
    return dict(zip(keys, found, strict=True))
