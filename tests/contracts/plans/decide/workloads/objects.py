"""Workloads, pods and attempts, with what a test does not say as it usually is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from fairlead.contracts.plans.decide.batches import Batches, Span, batches_of
from fairlead.contracts.plans.decide.workloads.answers import Removal, WorkloadChange
from fairlead.contracts.plans.decide.workloads.attempt import Attempt, Claimant, SourceWorkload
from fairlead.contracts.plans.decide.workloads.kind_table import (
    CLONE_SET,
    DAEMON_SET,
    DEPLOYMENT,
    STATEFUL_SET,
)
from fairlead.contracts.plans.decide.workloads.live import Workload, WorkloadKind
from fairlead.contracts.plans.kinds import (
    CLONE_SETS,
    DAEMON_SETS,
    ROLLOUT_TRAITS,
    IntOrText,
    Json,
    RolloutBatch,
    RolloutPlan,
    RolloutStatus,
    SourceSize,
)
from kubeloop.objects.apps import DEPLOYMENTS, STATEFULSETS
from kubeloop.objects.meta import Ref, Resource

OWNER = Claimant(Ref(ROLLOUT_TRAITS, "ns", "r", "uid-r"), "uid-ns")
CLAIM: Json = {
    "apiVersion": "standard.oam.dev/v1alpha1",
    "kind": "RolloutTrait",
    "name": "r",
    "uid": "uid-r",
    "controller": True,
    "blockOwnerDeletion": False,
}
GUARD: Json = {"apiVersion": "v1", "kind": "Namespace", "name": "ns", "uid": "uid-ns"}
OTHER: Json = {"apiVersion": "v1", "kind": "Other", "name": "o", "uid": "uid-o", "controller": True}


def a_plan(*sizes: IntOrText | None, **fields: Any) -> RolloutPlan:
    return RolloutPlan(rollout_batches=tuple(map(RolloutBatch, sizes)) or None, **fields)


def metadata(name: str, owners: Sequence[Json] = (), **fields: Any) -> Json:
    found: Json = {
        "name": name,
        "namespace": "ns",
        "uid": f"uid-{name}",
        "resourceVersion": "1",
        "generation": 1,
        **fields,
    }
    return {**found, "ownerReferences": list(owners)} if owners else found


def deployment(
    name: str,
    replicas: int,
    *,
    pods: int | None = None,
    ready: int | None = None,
    paused: bool = False,
    claimed: bool = False,
    image: str = "",
) -> Workload:
    there = replicas if pods is None else pods
    tree = {
        "metadata": metadata(name, (CLAIM, GUARD) if claimed else ()),
        "spec": {"replicas": replicas, "paused": paused, "template": {"image": image or name}},
        "status": {
            "observedGeneration": 1,
            "replicas": there,
            "updatedReplicas": there,
            "readyReplicas": there if ready is None else ready,
        },
    }
    return Workload(DEPLOYMENTS, tree, DEPLOYMENT)


def clone_set(
    size: int = 5, *, updated: int = 0, ready: int | None = None, claimed: bool = False, **strategy: Any
) -> Workload:
    tree = {
        "metadata": metadata("c", (CLAIM, GUARD) if claimed else ()),
        "spec": {"replicas": size, "updateStrategy": strategy, "template": {"image": "new"}},
        "status": {
            "observedGeneration": 1,
            "replicas": size,
            "updatedReplicas": updated,
            "updatedReadyReplicas": updated if ready is None else ready,
        },
    }
    return Workload(CLONE_SETS, tree, CLONE_SET)


def stateful_set(
    size: int = 4, *, partition: int | None = None, claimed: bool = False, start: int = 0, kind: str = "RollingUpdate"
) -> Workload:
    strategy: Json = {"type": kind}
    if partition is not None:
        strategy["rollingUpdate"] = {"partition": partition}
    tree = {
        "metadata": metadata("s", (CLAIM, GUARD) if claimed else ()),
        "spec": {
            "replicas": size,
            "updateStrategy": strategy,
            "template": {"image": "new"},
            **({"ordinals": {"start": start}} if start else {}),
        },
        "status": {"observedGeneration": 1, "replicas": size, "updateRevision": "new", "readyReplicas": size},
    }
    return Workload(STATEFULSETS, tree, STATEFUL_SET)


def daemon_set(nodes: int = 4, *, kind: str = "OnDelete", claimed: bool = False, **fields: Any) -> Workload:
    tree = {
        "metadata": metadata("ds", (CLAIM, GUARD) if claimed else (), **fields),
        "spec": {"updateStrategy": {"type": kind}, "template": {"image": "new"}},
        "status": {"observedGeneration": 1, "desiredNumberScheduled": nodes},
    }
    return Workload(DAEMON_SETS, tree, DAEMON_SET)


def revision(name: str, number: int, owner: str = "ds") -> Json:
    owners = [{"kind": "DaemonSet", "name": owner, "uid": f"uid-{owner}", "controller": True}]
    return {
        "metadata": metadata(f"{owner}-{name}", owners, labels={"controller-revision-hash": name}),
        "revision": number,
    }


def pod(name: str, revision: str, *, of: str, ready: bool = True, node: str = "", leaving: bool = False) -> Json:
    owners = [{"kind": "Set", "name": of, "uid": f"uid-{of}", "controller": True}]
    extra: Json = {"deletionTimestamp": "2026-03-01T12:00:00Z"} if leaving else {}
    return {
        "metadata": metadata(name, owners, labels={"controller-revision-hash": revision}, **extra),
        "spec": {"nodeName": node or name},
        "status": {"conditions": [{"type": "Ready", "status": "True" if ready else "False"}]},
    }


def an_attempt(
    target: Workload | None,
    sources: Iterable[Workload | None] = (),
    plan: RolloutPlan | None = None,
    *,
    span: Span | None = None,
    batches: Batches | None = None,
    status: RolloutStatus | None = None,
    **fields: Any,
) -> Attempt:
    """With the batches that the plan comes to over this span."""
    plan = RolloutPlan() if plan is None else plan
    if span is not None and batches is None:
        found = batches_of(plan, span)
        assert isinstance(found, Batches), found
        batches = found
    reference = (target or deployment("d2", 0)).reference
    return Attempt(
        owner=OWNER,
        plan=plan,
        status=RolloutStatus() if status is None else status,
        target_ref=reference,
        target=target,
        sources=tuple(
            SourceWorkload(deployment("d1", 0).reference if each is None else each.reference, each) for each in sources
        ),
        batches=batches,
        **fields,
    )


def recorded(*sources: Workload) -> tuple[SourceSize, ...]:
    return tuple(SourceSize(each.reference, each.size) for each in sources)


def merged(tree: Any, patch: Any) -> Any:
    """What a merge patch makes of a tree (RFC 7386)."""
    if not isinstance(patch, dict):
        return patch
    found = dict(tree) if isinstance(tree, dict) else {}
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merged(found.get(key), value)
    return found


def applied(workload: Workload, change: WorkloadChange | Removal) -> Workload:
    """The workload after the change, a generation later where its spec changed."""
    assert isinstance(change, WorkloadChange)
    assert change.ref == workload.ref
    assert change.resource_version == workload.metadata["resourceVersion"]
    tree = merged(workload.tree, change.body)
    if tree["spec"] != workload.tree["spec"]:
        tree["metadata"] = {**tree["metadata"], "generation": tree["metadata"]["generation"] + 1}
    return replace(workload, tree=tree)


def with_kind(workload: Workload, resource: Resource, kind: WorkloadKind) -> Workload:
    return replace(workload, resource=resource, kind=kind)
