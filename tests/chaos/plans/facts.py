"""What stored rollouts and workloads say, worked out here and not asked of the operator."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from msgspec import Struct

from kubesim.store.versions import Tree

LOCATING = "locatingTargetApp"
VERIFYING, INITIALIZING, ROLLING, FINALISING = "verifyingSpec", "initializing", "rollingInBatches", "finalising"
FAILING, ABANDONED, DELETING = "rolloutFailing", "rolloutAbandoned", "RolloutDeletingState"
SUCCEEDED, FAILED = "rolloutSucceed", "rolloutFailed"
ENDED = (SUCCEEDED, FAILED)
GIVING_UP = (FAILING, ABANDONED, DELETING)
BATCH_INITIALIZING, BATCH_ROLLING, BATCH_READY = "batchInitializing", "batchInRolling", "batchReady"
FINALIZERS = {"finalizers.rollouttrait.standard.oam.dev", "finalizers.approllout.oam.dev"}
ACTION = "fairlead.dev/rollout-action"
PAIR, ORDINALS, PARTITION, ON_NODES = "deployments", "statefulsets", "clonesets", "daemonsets"
UNKNOWN = {"kind": "", "name": ""}
"""The target of an AppRollout that has not made it yet."""
KINDS = {"Deployment": PAIR, "StatefulSet": ORDINALS, "CloneSet": PARTITION, "DaemonSet": ON_NODES}


class RolloutFact(Struct, frozen=True):
    """One version of one RolloutTrait, or of one AppRollout."""

    uid: str
    name: str
    version: int
    state: str
    batch_state: str
    batch: int
    size: int
    """`rolloutTargetSize`."""
    upgraded: int
    sizes: tuple[int, ...]
    """Of the batches of the attempt."""
    start: int
    """`startTargetSize`."""
    original: int
    target: str
    """Name of the workload that the attempt works on."""
    plural: str
    sources: tuple[str, ...]
    is_scale: bool
    decreases: bool
    is_paused: bool
    is_exact: bool
    """Whether no batch lets pods be missing."""
    partition: int | None
    tolerance: int
    has_finalizer: bool
    is_leaving: bool
    is_seen: bool
    """Whether the status is about the newest spec."""
    reverts: bool
    """Whether a failure or the deletion takes everything back."""
    hooked: bool
    services: tuple[str, ...]
    """Those of source and target, where it shares traffic."""
    measured: bool
    """Whether its batch has a metric."""

    @property
    def last(self) -> int:
        return len(self.sizes) - 1

    def goal(self, batch: int) -> int:
        """R-18."""
        if batch >= self.last:
            return self.size
        done = [*accumulate(self.sizes)][batch] if batch >= 0 else 0
        if not self.is_scale:
            return done
        return self.original - done if self.size < self.original else self.original + done

    @property
    def is_rolling(self) -> bool:
        return self.state == ROLLING

    @property
    def workloads(self) -> tuple[str, ...]:
        return (self.target, *self.sources)


def rollout_fact(tree: Tree, version: int) -> RolloutFact:
    metadata, plan, status = tree["metadata"], tree["spec"]["rolloutPlan"], tree.get("status") or {}
    target = status.get("lastTargetRef") or tree["spec"].get("targetRef") or UNKNOWN
    sources = tuple(each["ref"]["name"] for each in status.get("sources") or ())
    batches = plan.get("rolloutBatches") or ()
    batch = status.get("currentBatch", 0)
    own = batches[batch] if batch < len(batches) else {}
    action = (metadata.get("annotations") or {}).get(ACTION, "")
    plural = KINDS.get(target["kind"], PAIR)
    size, original = status.get("rolloutTargetSize", -1), status.get("rolloutOriginalSize", 0)
    return RolloutFact(
        uid=metadata["uid"],
        name=metadata["name"],
        version=version,
        state=status.get("rollingState", ""),
        batch_state=status.get("batchRollingState", ""),
        batch=batch,
        size=size,
        upgraded=status.get("upgradedReplicas", 0),
        sizes=tuple(status.get("effectiveBatches") or ()),
        start=status.get("startTargetSize", 0),
        original=original,
        target=target["name"] if target["kind"] in KINDS else "",
        plural=plural,
        sources=sources,
        is_scale=not sources
        and plural != ON_NODES
        and (plural == PAIR or status.get("rolloutOriginalSize") != status.get("rolloutTargetSize")),
        decreases=plan.get("rolloutStrategy") == "DecreaseFirst",
        is_paused=plan.get("paused", False),
        is_exact=not any(each.get("maxUnavailable") for each in batches),
        partition=plan.get("lastBatchToRollout", plan.get("batchPartition")),
        tolerance=own.get("maxUnavailable", 0),
        has_finalizer=not FINALIZERS.isdisjoint(metadata.get("finalizers") or ()),
        is_leaving="deletionTimestamp" in metadata,
        is_seen=status.get("observedGeneration", 0) >= metadata["generation"],
        reverts=plan.get("onFailure") == "revert" or plan.get("revertOnDelete", False) or action.startswith("revert"),
        hooked=any(each.get("batchRolloutWebhooks") for each in batches),
        services=_services(status.get("trafficRouting") or {}),
        measured=bool(own.get("canaryMetric")),
    )


def _services(routing: Tree) -> tuple[str, ...]:
    return (routing["sourceService"], routing["targetService"]) if routing else ()


class WorkloadFact(Struct, frozen=True):
    uid: str
    name: str
    version: int
    size: int
    partition: int
    """How many pods stay old; 0 for a pair."""
    claimed_by: str
    """UID of its controller."""
    is_observed: bool
    ready: int
    """Pods that are ready; of a CloneSet, those of the newest template."""
    pods: int
    spec: Any


def workload_fact(plural: str, tree: Tree, version: int) -> WorkloadFact:
    metadata, spec, status = tree["metadata"], tree["spec"], tree.get("status") or {}
    strategy: Tree = spec.get("updateStrategy") or {}
    partition = (strategy.get("rollingUpdate") or {}).get("partition", 0) if plural == ORDINALS else 0
    if plural == PARTITION:
        partition = strategy.get("partition", 0)
    owners = metadata.get("ownerReferences") or ()
    return WorkloadFact(
        uid=metadata["uid"],
        name=metadata["name"],
        version=version,
        size=status.get("desiredNumberScheduled", 0) if plural == ON_NODES else spec.get("replicas", 1),
        partition=partition,
        claimed_by=next((each["uid"] for each in owners if each.get("controller")), ""),
        is_observed=status.get("observedGeneration", 0) >= metadata["generation"],
        ready=status.get("updatedReadyReplicas" if plural == PARTITION else "readyReplicas", 0),
        pods=status.get("currentNumberScheduled" if plural == ON_NODES else "replicas", 0),
        spec={key: value for key, value in spec.items() if key != "template"},
    )


def is_ready(pod: Tree) -> bool:
    found = {each["type"]: each["status"] for each in (pod.get("status") or {}).get("conditions") or ()}
    return found.get("Ready") == "True" and "deletionTimestamp" not in pod["metadata"]


def app_of(pod: Tree) -> str:
    """The workload that it is of; of a component revision, which labels its pods."""
    labels = pod["metadata"].get("labels") or {}
    app: str = labels.get("app.oam.dev/revision") or labels.get("app", "")
    return app
