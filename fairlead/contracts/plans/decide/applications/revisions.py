"""Revisions of a component (section 2.8): ControllerRevisions `<component>-v<N>` that hold the Component as it was."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from fairlead.contracts.plans.applications.kinds import ComponentSpec
from fairlead.contracts.plans.decide.applications.asking import Flow, list_each, read_all
from fairlead.contracts.plans.decide.applications.trees import Tree, mapping
from fairlead.contracts.plans.decide.reading import read
from fairlead.contracts.plans.decide.workloads.kind_table import kind_of
from fairlead.contracts.plans.decide.workloads.live import Style, WorkloadKind
from fairlead.contracts.plans.kinds import COMPONENTS, REVISION_OF, Json, WorkloadReference
from kubeloop.objects.apps import CONTROLLER_REVISIONS
from kubeloop.objects.meta import Ref


class ComponentRevision(Struct, frozen=True):
    tree: Tree

    @property
    def name(self) -> str:
        return self.tree.name

    @property
    def number(self) -> int:
        found = self.tree.tree.get("revision")
        return found if isinstance(found, int) and not isinstance(found, bool) else 0

    @property
    def snapshot(self) -> Json:
        return mapping(self.tree.tree.get("data"))

    @property
    def component(self) -> str:
        name = mapping(self.snapshot.get("metadata")).get("name")
        return str(name or self.tree.labels.get(REVISION_OF, ""))

    @property
    def spec(self) -> Json:
        return mapping(self.snapshot.get("spec"))

    @property
    def read(self) -> ComponentSpec:
        return read(ComponentSpec, self.spec, "spec")[0]

    @property
    def workload(self) -> Json:
        return mapping(self.read.workload)


def revision_name(component: str, number: int) -> str:
    return f"{component}-v{number}"


def revisions_of(namespace: str, components: Iterable[str]) -> Flow[dict[str, tuple[ComponentRevision, ...]]]:
    """All of them by component, the oldest first."""
    names = tuple(dict.fromkeys(components))
    found = yield from list_each(CONTROLLER_REVISIONS, namespace, (f"{REVISION_OF}={each}" for each in names))
    return {
        name: tuple(sorted(map(ComponentRevision, trees), key=lambda each: (each.number, each.name)))
        for name, trees in zip(names, found, strict=True)
    }


def named_revisions(namespace: str, names: Iterable[str]) -> Flow[dict[str, ComponentRevision]]:
    """By name, as far as they are there."""
    refs = [Ref(CONTROLLER_REVISIONS, namespace, each) for each in dict.fromkeys(names)]
    found = yield from read_all(refs)
    return {ref.name: ComponentRevision(each) for ref, each in zip(refs, found, strict=True) if each is not None}


def body_of(component: Tree, number: int) -> Json:
    name, namespace = component.name, component.namespace
    owner = {
        "apiVersion": COMPONENTS.api_version,
        "kind": COMPONENTS.kind,
        "name": name,
        "uid": component.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "apiVersion": CONTROLLER_REVISIONS.api_version,
        "kind": CONTROLLER_REVISIONS.kind,
        "metadata": {
            "name": revision_name(name, number),
            "namespace": namespace,
            "labels": {REVISION_OF: name},
            "ownerReferences": [owner],
        },
        "revision": number,
        "data": {
            "apiVersion": COMPONENTS.api_version,
            "kind": COMPONENTS.kind,
            "metadata": {"name": name, "namespace": namespace},
            "spec": component.tree.get("spec"),
        },
    }


def workload_reference(revision: ComponentRevision) -> WorkloadReference:
    """T-6: what the revision instantiates where a rollout is about it: paired kinds are named after the revision, those
    that are updated in place after the component."""
    tree = revision.workload
    reference = WorkloadReference(str(tree.get("apiVersion", "")), str(tree.get("kind", "")))
    name = revision.name if is_paired(reference) else revision.component
    return WorkloadReference(reference.api_version, reference.kind, name)


def is_paired(reference: WorkloadReference, extensions: dict[tuple[str, str], object] | None = None) -> bool:
    """Whether old and new pods are those of two objects; a kind that nobody can roll counts as one that is not."""
    kind = kind_of(reference, extensions or {})
    return isinstance(kind, WorkloadKind) and kind.style is Style.PAIR
