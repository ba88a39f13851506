"""Autoscalers in two versions: autoscaling/v2 has metrics of all kinds, autoscaling/v1 one number for the CPU.

They are kept in the form of v2. What v1 has no field for it carries in an annotation, in the words of v2, so that
clients of v1 give back what they do not know.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kubesim.store.versions import Tree

CARRIER = "kubesim/autoscaling-v2"
_DEFAULT_UTILIZATION = 80
_SPEC = ("scaleTargetRef", "minReplicas", "maxReplicas")
_STATUS = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")


class _Carried(msgspec.Struct, omit_defaults=True, rename="camel"):
    """What v1 has no field for."""

    metrics: list[Tree] = []
    """Without the one about the CPU."""
    behavior: Tree = {}
    current_metrics: list[Tree] = []
    conditions: list[Tree] = []


def outward(tree: Tree) -> Tree:
    """The form of v1."""
    spec, status = tree.get("spec") or {}, tree.get("status") or {}
    metrics, current = spec.get("metrics") or [], status.get("currentMetrics") or []
    shown = {key: spec[key] for key in _SPEC if key in spec}
    seen = {"currentReplicas": 0, "desiredReplicas": 0} | {key: status[key] for key in _STATUS if key in status}
    for field, place, values in (("target", shown, metrics), ("current", seen, current)):
        used = [found for each in values if (found := _cpu(each, field)) is not None]
        if used:
            place[f"{field}CPUUtilizationPercentage"] = used[0]
    others = [each for each in metrics if _cpu(each, "target") is None]
    carried = _Carried(others, spec.get("behavior") or {}, current, status.get("conditions") or [])
    extra = {} if carried == _Carried() else {CARRIER: msgspec.json.encode(carried).decode()}
    return _annotated(tree, extra) | {"apiVersion": "autoscaling/v1", "spec": shown, "status": seen}


def inward(tree: Tree) -> Tree:
    """The form of v2."""
    carried = _carried(tree)
    spec = dict(tree.get("spec") or {})
    wanted = spec.pop("targetCPUUtilizationPercentage", None)
    spec["metrics"] = list(carried.metrics)
    if wanted is not None or not carried.metrics:
        target = {"type": "Utilization", "averageUtilization": wanted or _DEFAULT_UTILIZATION}
        spec["metrics"].append({"type": "Resource", "resource": {"name": "cpu", "target": target}})
    if carried.behavior:
        spec["behavior"] = carried.behavior
    made = _annotated(tree, {}) | {"apiVersion": "autoscaling/v2", "spec": spec}
    if isinstance(tree.get("status"), dict):
        made["status"] = _status(tree["status"], carried)
    return made


def _status(status: Tree, carried: _Carried) -> Tree:
    made = {key: status[key] for key in _STATUS if key in status}
    made["currentMetrics"] = carried.current_metrics or None
    used = status.get("currentCPUUtilizationPercentage")
    if used is not None and not carried.current_metrics:
        current = {"averageUtilization": used}
        made["currentMetrics"] = [{"type": "Resource", "resource": {"name": "cpu", "current": current}}]
    return made | {"conditions": carried.conditions} if carried.conditions else made


def _cpu(metric: Any, field: str) -> int | None:
    """The number that v1 has a field for; None of a metric about anything else."""
    resource = metric.get("resource") if metric.get("type") == "Resource" else None
    if not resource or resource.get("name") != "cpu":
        return None
    found: int | None = (resource.get(field) or {}).get("averageUtilization")
    return found


def _annotated(tree: Tree, extra: Tree) -> Tree:
    """Without spec and status, and with what is carried or without."""
    metadata = dict(tree.get("metadata") or {})
    before = metadata.pop("annotations", None) or {}
    annotations = {key: value for key, value in before.items() if key != CARRIER} | extra
    if annotations:
        metadata["annotations"] = annotations
    rest = {key: value for key, value in tree.items() if key not in ("metadata", "spec", "status")}
    return rest | {"metadata": metadata}


def _carried(tree: Tree) -> _Carried:
    """What the annotation has; nothing where it cannot be read."""
    annotations = (tree.get("metadata") or {}).get("annotations") or {}
    try:
        return msgspec.json.decode(annotations.get(CARRIER, "{}"), type=_Carried)
    except (msgspec.MsgspecError, TypeError):
        return _Carried()
