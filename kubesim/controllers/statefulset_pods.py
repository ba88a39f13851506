"""What a StatefulSet's controller reads of sets and pods, and the pods it makes."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from msgspec import Struct

from kubeloop.objects.apps import REVISION_LABEL, STATEFULSETS, Ordinals, StatefulSetMeta
from kubeloop.objects.core import Pod
from kubeloop.objects.meta import Condition, LabelSelector

Tree = dict[str, object]

POD_NAME_LABEL = "statefulset.kubernetes.io/pod-name"
POD_INDEX_LABEL = "apps.kubernetes.io/pod-index"

LARGEST_ORDINAL = 2**31 - 1

RETAIN, DELETE = "Retain", "Delete"
"""What may become of claims."""


class RollingUpdate(Struct, frozen=True, rename="camel", gc=False):
    partition: int = 0
    max_unavailable: int | str | None = None
    """None where its feature gate is off."""


class Strategy(Struct, frozen=True, rename="camel"):
    type: str = "RollingUpdate"
    rolling_update: RollingUpdate | None = None


class Retention(Struct, frozen=True, rename="camel", gc=False):
    """What becomes of claims when the set is deleted, and when their place in it is gone."""

    when_deleted: str = RETAIN
    when_scaled: str = RETAIN


class Spec(Struct, frozen=True, rename="camel"):
    selector: LabelSelector
    template: Tree
    replicas: int = 1
    service_name: str = ""
    pod_management_policy: str = "OrderedReady"
    update_strategy: Strategy = Strategy()
    min_ready_seconds: int = 0
    revision_history_limit: int = 10
    ordinals: Ordinals = Ordinals()
    volume_claim_templates: tuple[dict[str, Any], ...] = ()
    persistent_volume_claim_retention_policy: Retention | None = None


class Status(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Written as the real one is: zero counts are left out, but for `replicas` and `availableReplicas`."""

    observed_generation: int = 0
    ready_replicas: int = 0
    current_replicas: int = 0
    updated_replicas: int = 0
    current_revision: str = ""
    update_revision: str = ""
    collision_count: int | None = None
    replicas: int | None = None
    available_replicas: int | None = None

    def tells_other_than(self, stored: Status) -> bool:
        """Whether it is worth writing; a generation observed later than this one is left alone."""
        return (self.observed_generation > stored.observed_generation) or self._counts() != stored._counts()

    def _counts(self) -> tuple[int | str, ...]:
        return (
            self.replicas or 0,
            self.available_replicas or 0,
            self.ready_replicas,
            self.current_replicas,
            self.updated_replicas,
            self.current_revision,
            self.update_revision,
        )


class Set(Struct, frozen=True):
    metadata: StatefulSetMeta
    spec: Spec
    status: Status = Status()

    @property
    def start(self) -> int:
        return self.spec.ordinals.start

    @property
    def ordered(self) -> bool:
        """Whether pods come and go one by one."""
        return self.spec.pod_management_policy != "Parallel"

    @property
    def retention(self) -> Retention:
        return self.spec.persistent_volume_claim_retention_policy or Retention()

    def has_place(self, ordinal: int) -> bool:
        return self.start <= ordinal < self.start + self.spec.replicas

    def owner_reference(self) -> Tree:
        """That makes this set the controller of what carries it."""
        return {
            "apiVersion": STATEFULSETS.api_version,
            "kind": STATEFULSETS.kind,
            "name": self.metadata.name,
            "uid": self.metadata.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }


@lru_cache(maxsize=20_000)
def parent_and_ordinal(name: str) -> tuple[str, int]:
    """Of a pod's name; the ordinal is -1 when there is none or it is no 32 bit number."""
    parent, dash, digits = name.rpartition("-")
    if not (dash and digits.isdecimal() and digits.isascii()):
        return "", -1
    ordinal = int(digits)
    return parent, ordinal if ordinal <= LARGEST_ORDINAL else -1


def ordinal_of_name(name: str) -> int:
    return parent_and_ordinal(name)[1]


def ordinal_of(pod: Pod) -> int:
    return parent_and_ordinal(pod.metadata.name)[1]


def revision_of(pod: Pod) -> str:
    return pod.metadata.labels.get(REVISION_LABEL, "")


def ready_condition(pod: Pod) -> Condition | None:
    for condition in pod.status.conditions:
        if condition.type == "Ready":
            return condition
    return None


def is_ready(pod: Pod) -> bool:
    condition = ready_condition(pod)
    return condition is not None and condition.status == "True"


def is_running_and_ready(pod: Pod) -> bool:
    return pod.status.phase == "Running" and is_ready(pod)


def available_at(pod: Pod, min_ready_seconds: int) -> datetime | None:
    """When a ready pod counts as available; None when it is not ready or does not say since when."""
    condition = ready_condition(pod)
    if condition is None or condition.status != "True" or condition.last_transition_time is None:
        return None
    return condition.last_transition_time + timedelta(seconds=min_ready_seconds)


def is_available(pod: Pod, min_ready_seconds: int, now: datetime) -> bool:
    if not min_ready_seconds:
        return is_ready(pod)
    moment = available_at(pod, min_ready_seconds)
    return moment is not None and moment <= now


def is_terminating(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is not None


def has_identity(set_: Set, pod: Pod, ordinal: int) -> bool:
    """Whether the pod is named and labelled as the set's member of this ordinal."""
    name = pod.metadata.name
    return pod.metadata.labels.get(POD_NAME_LABEL) == name and name == f"{set_.metadata.name}-{ordinal}"


def is_member(set_: Set, pod: Pod) -> bool:
    """Whether nothing but a number follows the name of the set in that of the pod."""
    return parent_and_ordinal(pod.metadata.name)[0] == set_.metadata.name


def identity_labels(name: str, ordinal: int) -> dict[str, str]:
    return {POD_NAME_LABEL: name, POD_INDEX_LABEL: str(ordinal)}


def new_pod(set_: Set, template: Tree, revision: str, ordinal: int) -> Tree:
    """The pod to create for an ordinal; `template` is taken over and must be the caller's own."""
    name = f"{set_.metadata.name}-{ordinal}"
    given = _tree(template.get("metadata"))
    labels = {**_tree(given.get("labels")), **identity_labels(name, ordinal), REVISION_LABEL: revision}
    metadata: Tree = {
        "name": name,
        "generateName": f"{set_.metadata.name}-",
        "namespace": set_.metadata.namespace,
        "labels": labels,
        "ownerReferences": [set_.owner_reference()],
    }
    for key in ("annotations", "finalizers"):
        if given.get(key):
            metadata[key] = given[key]
    spec = {**_tree(template.get("spec")), "hostname": name}
    if set_.spec.service_name:
        spec["subdomain"] = set_.spec.service_name
    if set_.spec.volume_claim_templates:
        spec["volumes"] = volumes(set_, spec.get("volumes"), ordinal)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def claim_name(set_: Set, template: dict[str, Any], ordinal: int) -> str:
    """Of the claim that the template makes for a place."""
    return f"{template['metadata']['name']}-{set_.metadata.name}-{ordinal}"


def volumes(set_: Set, given: object, ordinal: int) -> list[Tree]:
    """Of the pod in a place: its claims, then those given that no claim stands in for."""
    made: list[Tree] = [
        {"name": each["metadata"]["name"], "persistentVolumeClaim": {"claimName": claim_name(set_, each, ordinal)}}
        for each in set_.spec.volume_claim_templates
    ]
    claimed = {volume["name"] for volume in made}
    kept = given if isinstance(given, list) else []
    return made + [volume for volume in kept if volume.get("name") not in claimed]


def has_storage(set_: Set, given: object, ordinal: int) -> bool:
    """Whether a pod with these volumes uses the claims of its place."""
    used = {
        volume["name"]: (volume.get("persistentVolumeClaim") or {}).get("claimName")
        for volume in (given if isinstance(given, list) else [])
    }
    templates = set_.spec.volume_claim_templates
    return all(used.get(each["metadata"]["name"]) == claim_name(set_, each, ordinal) for each in templates)


def _tree(value: object) -> Tree:
    return value if isinstance(value, dict) else {}
