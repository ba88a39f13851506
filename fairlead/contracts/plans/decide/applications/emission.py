"""Objects that an ApplicationConfiguration emits: what each should be, and the patch that makes a live one so.

What was applied last stands in an annotation. Only what differs from it is written, so that fields of others stay, and
what a rollout set meanwhile stays too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from fairlead.contracts.plans.applications.kinds import APPLIED
from fairlead.contracts.plans.decide.applications.trees import Tree, at, decoded, mapping, texts, with_value
from fairlead.contracts.plans.decide.workloads.live import Style, WorkloadKind
from fairlead.contracts.plans.kinds import (
    APPLICATION,
    COMPONENT,
    COMPONENT_REVISION,
    CONFIGURATION_GENERATION,
    RESOURCE_TYPE,
    Json,
)
from fairlead.core.merge_patch import merge_patch

_SELECTOR = ("spec", "selector", "matchLabels")
_POD_LABELS = ("spec", "template", "metadata", "labels")
_ON_DELETE = "OnDelete"


class Emitter(Struct, frozen=True):
    """The ApplicationConfiguration that emits, as its objects name it."""

    application: str
    generation: int
    owner: Json
    """The ownerReference to it, which does not say yet whether it controls."""

    @property
    def uid(self) -> str:
        return str(self.owner["uid"])

    def reference(self, *, controls: bool) -> Json:
        return {**self.owner, "controller": controls, "blockOwnerDeletion": controls}


def labelled(tree: Json, emitter: Emitter, name: str, namespace: str, labels: Mapping[str, str]) -> Json:
    """Section 2.11: with the name, and with labels by which people and controllers find it."""
    metadata = mapping(tree.get("metadata"))
    return {
        **tree,
        "metadata": {
            **metadata,
            "name": name,
            "namespace": namespace,
            "labels": {**texts(metadata.get("labels")), APPLICATION: emitter.application, **labels},
            "annotations": {
                **texts(metadata.get("annotations")),
                CONFIGURATION_GENERATION: str(emitter.generation),
            },
        },
    }


def workload_labels(component: str, revision: str, role: str) -> dict[str, str]:
    return {COMPONENT: component, COMPONENT_REVISION: revision, RESOURCE_TYPE: role}


def with_pod_labels(tree: Json, component: str, revision: str) -> Json:
    """The revision in the pods tells old from new; what has no pod template stays as it is."""
    if not isinstance(at(tree, "spec.template.spec"), dict):
        return tree
    labels = {**texts(at(tree, "spec.template.metadata.labels")), COMPONENT: component, COMPONENT_REVISION: revision}
    return with_value(tree, _POD_LABELS, labels)


def with_revision_selected(tree: Json, revision: str) -> Json:
    """Of a new paired workload: it selects its own pods alone."""
    if not isinstance(at(tree, "spec.selector"), dict):
        return tree
    return with_value(tree, _SELECTOR, {**texts(at(tree, "spec.selector.matchLabels")), COMPONENT_REVISION: revision})


def fitting(tree: Json, live: Json) -> Json:
    """With the selector of the live one, which cannot change, and pods that it selects."""
    selector = at(live, "spec.selector")
    if not isinstance(selector, dict) or not isinstance(at(tree, "spec.template"), dict):
        return tree
    chosen = with_value(tree, ("spec", "selector"), selector)
    labels = {**texts(at(tree, "spec.template.metadata.labels")), **texts(selector.get("matchLabels"))}
    return with_value(chosen, _POD_LABELS, labels)


def managed_paths(kind: WorkloadKind | None) -> tuple[str, ...]:
    """What a rollout sets: size, pause and partition, and how a DaemonSet updates its pods."""
    if kind is None:
        return ("spec.replicas", "spec.paused")
    paths = kind.paths
    found = [paths.replicas, paths.paused, paths.partition]
    if kind.style is Style.NODES:
        found.append(paths.update_type)
    return tuple(filter(None, found))


def starting_values(kind: WorkloadKind | None) -> dict[str, Any]:
    """T-2: a workload that is new has no pods until its rollout gives it some."""
    if kind is None:
        return {}
    paths = kind.paths
    values: dict[str, Any] = {paths.replicas: 0} if paths.replicas else {}
    if paths.paused:
        values[paths.paused] = True
    if kind.style is Style.NODES:
        values[paths.update_type] = _ON_DELETE
    return values


def frozen_values(kind: WorkloadKind | None, size: int) -> dict[str, Any]:
    """T-2: written together with another pod template, so that no pod becomes new before its rollout says so."""
    if kind is None:
        return {}
    paths = kind.paths
    match kind.style:
        case Style.PARTITION:
            return {paths.paused: True} if paths.paused else {paths.partition: size}
        case Style.ORDINALS:
            return {paths.partition: size}
        case Style.NODES:
            return {paths.update_type: _ON_DELETE}
        case Style.PAIR:
            return {}


def new_body(desired: Json, values: Mapping[str, Any], owners: Iterable[Json]) -> Json:
    """Of an object that is created."""
    body = desired
    for path, value in values.items():
        body = with_value(body, tuple(path.split(".")), value)
    metadata = {
        **mapping(body.get("metadata")),
        "ownerReferences": [*owners],
    }
    metadata["annotations"] = {**texts(metadata.get("annotations")), APPLIED: _record(desired)}
    return {**body, "metadata": metadata}


def change_of(
    live: Tree, desired: Json, owners: Iterable[Json], *, untouched: Iterable[str] = (), frozen: Mapping[str, Any] = {}
) -> Json:
    """The merge patch; empty where nothing is to be written.

    Nothing is written at `untouched` paths. `frozen` is written where the pod template changes. A size that the
    description no longer names stays what it is.
    """
    last = mapping(decoded(live.annotations.get(APPLIED, "null")))
    known = last
    if at(desired, "spec.replicas") is None:
        known = with_value(known, ("spec", "replicas"), None) if "spec" in known else known
    body = mapping(merge_patch(_described(known), _described(desired)))
    changes_pods = isinstance(at(body, "spec.template"), dict)
    for path in untouched:
        body = _without(body, tuple(path.split(".")))
    if changes_pods:
        for path, value in frozen.items():
            body = with_value(body, tuple(path.split(".")), value)
    wanted = [*owners]
    if wanted != [*live.owners]:
        body = with_value(body, ("metadata", "ownerReferences"), wanted)
    if _described(last) != _described(desired):
        body = with_value(body, ("metadata", "annotations", APPLIED), _record(desired))
    return body


def owners_with(live: Iterable[Json], emitter: Emitter, *, controls: bool, without: frozenset[str]) -> tuple[Json, ...]:
    """Ours where it was, else last; references to those in `without` go, and nobody's flag but ours is changed.

    While another controls it, ours does not.
    """
    kept = tuple(each for each in live if each.get("uid") not in without)
    is_taken = any(each.get("controller") is True and each.get("uid") != emitter.uid for each in kept)
    ours = emitter.reference(controls=controls and not is_taken)
    if any(each.get("uid") == emitter.uid for each in kept):
        return tuple(ours if each.get("uid") == emitter.uid else each for each in kept)
    return (*kept, ours)


def _described(tree: Json) -> Json:
    """What is compared: neither the kind nor the name can change."""
    metadata = mapping(tree.get("metadata"))
    kept = {key: value for key, value in tree.items() if key not in ("apiVersion", "kind", "metadata", "status")}
    return {**kept, "metadata": {key: metadata.get(key) or {} for key in ("labels", "annotations")}}


def _record(desired: Json) -> str:
    return msgspec.json.encode(_described(desired), order="sorted").decode()


def _without(tree: Json, names: tuple[str, ...]) -> Json:
    """Without what stands there, and without objects that are empty after that."""
    name, rest = names[0], names[1:]
    if name not in tree:
        return tree
    inner = tree[name]
    if rest and isinstance(inner, dict):
        left = _without(inner, rest)
        if left:
            return {**tree, name: left}
    elif rest:
        return tree
    return {key: value for key, value in tree.items() if key != name}
