"""What earlier configurations left: workloads of earlier revisions, and traits that nobody describes any more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairlead.contracts.plans.applications.kinds import ConfigurationStatus, HistoryWorkload
from fairlead.contracts.plans.decide.applications.configuration_parts import Part
from fairlead.contracts.plans.decide.applications.revisions import is_paired
from fairlead.contracts.plans.decide.applications.trees import Tree, at
from fairlead.contracts.plans.kinds import WorkloadReference


def history(statuses: Sequence[ConfigurationStatus], parts: Iterable[Part]) -> tuple[HistoryWorkload, ...]:
    """T-3: workloads of earlier revisions of components that a trait rolls, the newest first, each once."""
    current = {part.component: part for part in parts if part.by_trait}
    found: dict[tuple[str, str, str], HistoryWorkload] = {}
    for status in statuses:
        recorded = (
            HistoryWorkload(each.component_name, each.component_revision_name, each.workload_ref)
            for each in status.workloads
        )
        for each in (*recorded, *status.history_workloads):
            part, ref = current.get(each.component_name), each.workload_ref
            if part is None or each.component_revision_name == part.revision.name:
                continue
            found.setdefault((ref.group, ref.kind, each.component_revision_name), each)
    return tuple(found.values())


def is_source(each: HistoryWorkload, parts: Iterable[Part]) -> bool:
    return not any(each.workload_ref.names_same(part.reference) for part in parts)


def sources(part: Part, earlier: dict[HistoryWorkload, Tree | None]) -> tuple[WorkloadReference, ...]:
    """Workloads with pods; of a kind that is updated in place, and for a Rollout, the newest of the revisions alone."""
    mine = [(each, tree) for each, tree in earlier.items() if each.component_name == part.component]
    if is_paired(part.reference):
        mine = [(each, tree) for each, tree in mine if tree is not None and _size(tree) > 0]
        if not part.has_rollout:
            return tuple(dict.fromkeys(each.workload_ref for each, _ in mine))
    named = [each.component_revision_name for each, tree in mine if tree is not None]
    return tuple(WorkloadReference("apps/v1", "ControllerRevision", each) for each in named[:1])


def _size(tree: Tree) -> int:
    found = at(tree.tree, "spec.replicas")
    return found if isinstance(found, int) else 1


def absent_traits(statuses: Sequence[ConfigurationStatus], parts: Iterable[Part]) -> tuple[WorkloadReference, ...]:
    """U-4: those that were emitted before and are not described any more."""
    wanted = {trait.reference.named for part in parts for trait in part.traits}
    found = [each.trait_ref for status in statuses[:2] for one in status.workloads for each in one.traits]
    return tuple(dict.fromkeys(each for each in found if each.named not in wanted))
