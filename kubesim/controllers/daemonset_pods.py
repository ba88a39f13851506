"""What a DaemonSet's controller reads of sets and pods, and the pods it makes."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from kubeloop.objects.apps import REVISION_LABEL
from kubeloop.objects.core import Pod as NarrowPod
from kubeloop.objects.meta import LabelSelector, Meta
from kubesim.controllers.pods import PodMeta
from kubesim.controllers.replicas import owner_reference
from kubesim.kinds.registry import DAEMON_SETS
from kubesim.pods.scheduling import NODE_NAME_FIELD, Wishes
from kubesim.store.versions import Tree

GENERATION_ANNOTATION = "deprecated.daemonset.template.generation"
GENERATION_LABEL = "pod-template-generation"

_STAY = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_COME = tuple(
    f"node.kubernetes.io/{word}" for word in ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")
)
_NETWORK = "node.kubernetes.io/network-unavailable"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


class Pod(NarrowPod, frozen=True):
    metadata: PodMeta
    spec: Wishes = Wishes()  # type: ignore[assignment]  # other fields of the same thing

    @property
    def is_terminal(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def is_deleted(self) -> bool:
        return self.metadata.deletion_timestamp is not None


class SetMeta(Meta, frozen=True, rename="camel"):
    generation: int = 0
    annotations: dict[str, str] = {}


class RollingUpdate(Struct, frozen=True, rename="camel", gc=False):
    max_surge: int | str = 0
    max_unavailable: int | str = 0


class Strategy(Struct, frozen=True, rename="camel"):
    type: str = ""
    rolling_update: RollingUpdate | None = None


class Spec(Struct, frozen=True, rename="camel"):
    selector: LabelSelector
    template: Tree
    update_strategy: Strategy = Strategy()
    min_ready_seconds: int = 0
    revision_history_limit: int = 10


class Status(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Written as the real one is: some counts even when they are zero, others not."""

    current_number_scheduled: int | None = None
    number_misscheduled: int | None = None
    desired_number_scheduled: int | None = None
    number_ready: int | None = None
    observed_generation: int = 0
    updated_number_scheduled: int = 0
    number_available: int = 0
    number_unavailable: int = 0
    collision_count: int | None = None
    conditions: tuple[Tree, ...] = ()

    def same_counts(self, other: Status) -> bool:
        return self._counts() == other._counts()

    def _counts(self) -> tuple[int, ...]:
        return (
            self.current_number_scheduled or 0,
            self.number_misscheduled or 0,
            self.desired_number_scheduled or 0,
            self.number_ready or 0,
            self.updated_number_scheduled,
            self.number_available,
            self.number_unavailable,
        )


class DaemonSet(Struct, frozen=True):
    metadata: SetMeta
    spec: Spec
    status: Status = Status()

    @property
    def template_generation(self) -> str:
        """How often the template has changed, as an annotation counts it; empty when it is no number."""
        said = self.metadata.annotations.get(GENERATION_ANNOTATION, "")
        return said if said.isascii() and said.isdecimal() else ""

    @property
    def collisions(self) -> int:
        return self.status.collision_count or 0


def daemon_spec(template: Tree) -> Tree:
    """The spec of the template's pods, which bear the troubles of their nodes."""
    spec: Tree = dict(template.get("spec") or {})
    tolerations = list(spec.get("tolerations") or [])
    keys = [(key, "NoExecute") for key in _STAY] + [(key, "NoSchedule") for key in _COME]
    if spec.get("hostNetwork"):
        keys.append((_NETWORK, "NoSchedule"))
    for key, effect in keys:
        wanted = {"key": key, "operator": "Exists", "effect": effect}
        alike = [each for each in tolerations if _matches(each, wanted)]
        tolerations = [wanted if each in alike else each for each in tolerations] if alike else [*tolerations, wanted]
    return spec | {"tolerations": tolerations}


def _matches(toleration: Tree, wanted: Tree) -> bool:
    """Whether it is about the same taint, for however long."""
    same = all(toleration.get(key) == wanted[key] for key in wanted)
    return same and not toleration.get("value")


def wishes_of(template: Tree) -> Wishes:
    """Where the template's pods may be."""
    return msgspec.convert(daemon_spec(template), Wishes)


def new_pod(set_: DaemonSet, revision: str, node: str) -> Tree:
    """The pod that the template makes for a node; its name is left to the server."""
    template = set_.spec.template
    given = template.get("metadata") or {}
    spec = daemon_spec(template)
    spec["affinity"] = _towards(spec.get("affinity") or {}, node)
    labels = {**(given.get("labels") or {}), REVISION_LABEL: revision}
    if set_.template_generation:
        labels[GENERATION_LABEL] = set_.template_generation
    metadata: Tree = {
        "generateName": f"{set_.metadata.name}-",
        "labels": labels,
        "ownerReferences": [owner_reference(DAEMON_SETS, set_.metadata)],
    }
    for key in ("annotations", "finalizers"):
        if given.get(key):
            metadata[key] = given[key]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _towards(affinity: Tree, node: str) -> Tree:
    """The affinity with one node in place of all that was required before."""
    term = {"matchFields": [{"key": NODE_NAME_FIELD, "operator": "In", "values": [node]}]}
    required = {"nodeSelectorTerms": [term]}
    return affinity | {"nodeAffinity": (affinity.get("nodeAffinity") or {}) | {_REQUIRED: required}}
