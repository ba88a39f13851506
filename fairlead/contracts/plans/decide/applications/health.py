"""Whether a workload is well: all of its pods are ready, and its status is about its present spec."""

from __future__ import annotations

from fairlead.contracts.plans.decide.applications.trees import Tree, at
from fairlead.contracts.plans.decide.workloads.kind_table import kind_of
from fairlead.contracts.plans.decide.workloads.live import Workload, WorkloadKind


def health_of(tree: Tree | None) -> tuple[bool, str]:
    """And what is waited for; a kind that nobody knows is well once it is there."""
    if tree is None:
        return False, "the workload is not there"
    kind = kind_of(tree.reference, {})
    if not isinstance(kind, WorkloadKind):
        return True, ""
    workload = Workload(tree.resource, tree.tree, kind)
    if not workload.is_observed:
        return False, f"waiting for the controller of the {tree.shown} to observe its newest spec"
    wanted = workload.size if kind.paths.replicas else at(tree.tree, kind.paths.status_replicas)
    size = wanted if isinstance(wanted, int) else 0
    if workload.ready < size:
        return False, f"{workload.ready} of {size} pods of the {tree.shown} are ready"
    return True, ""
