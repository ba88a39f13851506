"""How each kind of workload is rolled: the built-in ones, and custom ones by the paths of their WorkloadDefinition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from fairlead.contracts.plans.decide.workloads.live import Paths, Style, WorkloadKind, at
from fairlead.contracts.plans.kinds import WorkloadReference

_CLONE_SET = Paths(
    paused="spec.updateStrategy.paused",
    partition="spec.updateStrategy.partition",
    update_type="spec.updateStrategy.type",
    updated_ready="status.updatedReadyReplicas",
)
DEPLOYMENT = WorkloadKind(Style.PAIR, Paths(paused="spec.paused"))
CLONE_SET = WorkloadKind(Style.PARTITION, _CLONE_SET)
NEWER_CLONE_SET = WorkloadKind(
    Style.PARTITION,
    replace(
        _CLONE_SET,
        paused="spec.updateStrategy.rollingUpdate.paused",
        partition="spec.updateStrategy.rollingUpdate.partition",
    ),
)
STATEFUL_SET = WorkloadKind(
    Style.ORDINALS,
    Paths(partition="spec.updateStrategy.rollingUpdate.partition", update_type="spec.updateStrategy.type"),
)
DAEMON_SET = WorkloadKind(
    Style.NODES,
    Paths(
        replicas="",
        update_type="spec.updateStrategy.type",
        status_replicas="status.desiredNumberScheduled",
        ready="status.numberReady",
        updated="status.updatedNumberScheduled",
    ),
)
_BUILT_IN = {
    ("apps/v1", "Deployment"): DEPLOYMENT,
    ("apps/v1", "StatefulSet"): STATEFUL_SET,
    ("apps/v1", "DaemonSet"): DAEMON_SET,
    ("apps.kruise.io/v1alpha1", "CloneSet"): CLONE_SET,
    ("apps.kruise.io/v1beta1", "CloneSet"): NEWER_CLONE_SET,
}
_FIELDS = {
    "replicas": "replicasPath",
    "partition": "partitionPath",
    "paused": "pausedPath",
    "template": "podTemplatePath",
    "status_replicas": "status.replicasPath",
    "ready": "status.readyPath",
    "updated": "status.updatedPath",
    "updated_ready": "status.updatedReadyPath",
    "observed_generation": "status.observedGenerationPath",
}
_REQUIRED = {
    Style.PAIR: ("replicas", "template", "status_replicas", "ready"),
    Style.PARTITION: ("replicas", "partition", "template", "status_replicas", "updated", "updated_ready"),
}


def unsupported(reference: WorkloadReference) -> str:
    """R-5."""
    return f"the workload kind `{reference.kind}` is not supported"


def kind_of(reference: WorkloadReference, extensions: Mapping[tuple[str, str], Any]) -> WorkloadKind | str:
    """How the kind is rolled, or why it is not; `extensions` are those of WorkloadDefinitions, by group and kind."""
    built_in = _BUILT_IN.get((reference.api_version, reference.kind))
    if built_in is not None:
        return built_in
    extension = extensions.get((reference.group, reference.kind))
    return unsupported(reference) if extension is None else custom_kind(reference, extension)


def custom_kind(reference: WorkloadReference, extension: object) -> WorkloadKind | str:
    """`extension.rollout` of a WorkloadDefinition."""
    said = f"the WorkloadDefinition of {reference.kind}"
    try:
        style = Style(at(extension, "style"))
    except ValueError:
        style = Style.ORDINALS
    if style not in _REQUIRED:
        return f"{said} has no usable extension.rollout.style: write pair or partition"
    found = {field: at(extension, path) or "" for field, path in _FIELDS.items()}
    for field, value in found.items():
        if not isinstance(value, str) or not _is_path(value):
            return f"{said} has no usable extension.rollout.{_FIELDS[field]}: write a path such as spec.replicas"
        if not value and field in _REQUIRED[style]:
            return f"{said} lacks extension.rollout.{_FIELDS[field]}, which a plan needs"
    return WorkloadKind(style, Paths(**{field: str(value) for field, value in found.items()}))


def _is_path(text: str) -> bool:
    return not text or all(text.split("."))
