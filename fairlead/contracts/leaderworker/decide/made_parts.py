"""What the objects made for a set have in common: owners, metadata, templates and claims (sections 2.6 and 2.8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlead.contracts.leaderworker.decide.set_view import SetView
from fairlead.contracts.leaderworker.decide.trees import part, text, texts
from fairlead.contracts.leaderworker.kinds import (
    EXCLUSIVE_SCOPE,
    EXCLUSIVE_TOPOLOGY,
    GROUP_RECREATIONS,
    LEADER_WORKER_SETS,
    SIZE,
    SUBGROUP_EXCLUSIVE_TOPOLOGY,
    SUBGROUP_POLICY_TYPE,
    SUBGROUP_SIZE,
    WITHIN_SET,
    Json,
    LeaderWorkerSet,
)
from fairlead.core.controller_version import STAMPS
from fairlead.core.field_managers import LAST_APPLIED
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Meta, Resource

FOLLOWING = frozenset({EXCLUSIVE_TOPOLOGY, SUBGROUP_EXCLUSIVE_TOPOLOGY, EXCLUSIVE_SCOPE})
"""Annotations of templates that follow the live set at once, and not its revision."""
_NOT_COPIED = frozenset({LAST_APPLIED, GROUP_RECREATIONS, *STAMPS})
_OF_CLAIMS = ("accessModes", "storageClassName", "volumeMode")


def owned_by_set(seen: LeaderWorkerSet) -> Json:
    return _controller(LEADER_WORKER_SETS, seen.metadata)


def owned_by_pod(leader: Meta) -> Json:
    return _controller(PODS, leader)


def _controller(resource: Resource, owner: Meta) -> Json:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def metadata(name: str, seen: LeaderWorkerSet, labels: Mapping[str, str], annotations: Mapping[str, str]) -> Json:
    """Of a StatefulSet: what the set itself carries is copied, and what is ours wins (section 2.8)."""
    copied = {key: value for key, value in seen.metadata.annotations.items() if key not in _NOT_COPIED}
    made = {
        "name": name,
        "namespace": seen.metadata.namespace,
        "labels": {**seen.metadata.labels, **labels},
        "annotations": {**copied, **annotations},
    }
    return {key: value for key, value in made.items() if value}


def template_annotations(seen: LeaderWorkerSet, view: SetView) -> dict[str, str]:
    """What leaders and workers are both told: the sizes of their revision, and where the live set places them."""
    found = {SIZE: str(view.size)}
    live = seen.metadata.annotations
    if live.get(EXCLUSIVE_TOPOLOGY):
        found[EXCLUSIVE_TOPOLOGY] = live[EXCLUSIVE_TOPOLOGY]
    if view.subgroup_size is not None:
        found[SUBGROUP_SIZE] = str(view.subgroup_size)
        found[SUBGROUP_POLICY_TYPE] = view.subgroup_policy_type
        if live.get(SUBGROUP_EXCLUSIVE_TOPOLOGY):
            found[SUBGROUP_EXCLUSIVE_TOPOLOGY] = live[SUBGROUP_EXCLUSIVE_TOPOLOGY]
    if live.get(EXCLUSIVE_SCOPE) == WITHIN_SET and found.keys() & {EXCLUSIVE_TOPOLOGY, SUBGROUP_EXCLUSIVE_TOPOLOGY}:
        found[EXCLUSIVE_SCOPE] = WITHIN_SET
    return found


def decorated(template: Json, labels: Mapping[str, str], annotations: Mapping[str, str]) -> Json:
    """A pod template with labels and annotations that win over its own, and without nulls."""
    made: Json = without_nulls(template)
    made["metadata"] = {
        **part(made, "metadata"),
        "labels": {**texts(made, "metadata", "labels"), **labels},
        "annotations": {**texts(made, "metadata", "annotations"), **annotations},
    }
    return made


def claim_parts(seen: LeaderWorkerSet, view: SetView) -> Json:
    """The fields of a StatefulSet's spec about claims; absent where there are none.

    Of each claim only these parts are taken, with the set's namespace: StatefulSets refuse any other claim afterwards.
    """
    parts: Json = {}
    if view.claims:
        parts["volumeClaimTemplates"] = [_claim(seen, each) for each in view.claims]
    if view.claim_retention:
        parts["persistentVolumeClaimRetentionPolicy"] = view.claim_retention
    return parts


def _claim(seen: LeaderWorkerSet, claim: Json) -> Json:
    spec = part(claim, "spec")
    kept = {key: spec[key] for key in _OF_CLAIMS if spec.get(key) not in (None, [])}
    amounts = {key: found for key in ("limits", "requests") if (found := part(spec, "resources", key))}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": text(part(claim, "metadata"), "name"), "namespace": seen.metadata.namespace},
        "spec": {**kept, **({"resources": amounts} if amounts else {})},
    }


def without_nulls(value: Any) -> Any:
    """A copy without fields that are null: they mean the same as none, and an apply would own them."""
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value
