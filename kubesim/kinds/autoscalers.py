"""Autoscalers in two versions: autoscaling/v2 has metrics of all kinds, autoscaling/v1 one number for the CPU.

They are kept in the form of v2. What v1 has no field for it carries in annotations, as JSON in the form that metrics
had before v2, so that clients of v1 give back what they do not know.
"""

from __future__ import annotations

import json
from typing import Any

from kubesim.store.versions import Tree

_PREFIX = "autoscaling.alpha.kubernetes.io"
_METRICS, _BEHAVIOR = f"{_PREFIX}/metrics", f"{_PREFIX}/behavior"
_FOUND, _CONDITIONS = f"{_PREFIX}/current-metrics", f"{_PREFIX}/conditions"
_CARRIERS = (_METRICS, _BEHAVIOR, _FOUND, _CONDITIONS)
_DEFAULT_UTILIZATION = 80
_SHARED = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")

# For each kind of metric: the name of a field in v1, and its path in v2; in the order in which v1 writes them.
_NAMED = (("metricName", ("metric", "name")),)
_WANTED: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "object": (
        ("target", ("describedObject",)),
        *_NAMED,
        ("targetValue", ("target", "value")),
        ("selector", ("metric", "selector")),
        ("averageValue", ("target", "averageValue")),
    ),
    "pods": (*_NAMED, ("targetAverageValue", ("target", "averageValue")), ("selector", ("metric", "selector"))),
    "resource": (
        ("name", ("name",)),
        ("targetAverageUtilization", ("target", "averageUtilization")),
        ("targetAverageValue", ("target", "averageValue")),
    ),
    "containerResource": (
        ("name", ("name",)),
        ("targetAverageUtilization", ("target", "averageUtilization")),
        ("targetAverageValue", ("target", "averageValue")),
        ("container", ("container",)),
    ),
    "external": (
        *_NAMED,
        ("metricSelector", ("metric", "selector")),
        ("targetValue", ("target", "value")),
        ("targetAverageValue", ("target", "averageValue")),
    ),
}
_CURRENT: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "object": (
        ("target", ("describedObject",)),
        *_NAMED,
        ("currentValue", ("current", "value")),
        ("selector", ("metric", "selector")),
        ("averageValue", ("current", "averageValue")),
    ),
    "pods": (*_NAMED, ("currentAverageValue", ("current", "averageValue")), ("selector", ("metric", "selector"))),
    "resource": (
        ("name", ("name",)),
        ("currentAverageUtilization", ("current", "averageUtilization")),
        ("currentAverageValue", ("current", "averageValue")),
    ),
    "containerResource": (
        ("name", ("name",)),
        ("currentAverageUtilization", ("current", "averageUtilization")),
        ("currentAverageValue", ("current", "averageValue")),
        ("container", ("container",)),
    ),
    "external": (
        *_NAMED,
        ("metricSelector", ("metric", "selector")),
        ("currentValue", ("current", "value")),
        ("currentAverageValue", ("current", "averageValue")),
    ),
}
_NEVER_LEFT_OUT = {
    "object": ("targetValue", "currentValue"),
    "pods": ("targetAverageValue", "currentAverageValue"),
    "resource": ("currentAverageValue",),
    "containerResource": ("currentAverageValue",),
    "external": ("currentValue",),
}
"""Quantities that v1 writes even when there is none."""


def outward(tree: Tree) -> Tree:
    """The form of v1."""
    spec, status = tree.get("spec") or {}, tree.get("status") or {}
    carried = _carried(spec, status)
    metadata = dict(tree.get("metadata") or {})
    before = metadata.pop("annotations", None) or {}
    annotations = {key: value for key, value in before.items() if key not in _CARRIERS} | carried
    if annotations:
        metadata["annotations"] = annotations
    made = {key: spec[key] for key in ("scaleTargetRef", "minReplicas", "maxReplicas") if key in spec}
    wanted = next((each for each in spec.get("metrics") or () if _is_cpu(each)), None)
    if wanted is not None:
        made["targetCPUUtilizationPercentage"] = wanted["resource"]["target"]["averageUtilization"]
    shown = {"currentReplicas": 0, "desiredReplicas": 0} | {key: status[key] for key in _SHARED if key in status}
    for each in status.get("currentMetrics") or ():
        if each.get("type") == "Resource" and _at(each, "resource", "name") == "cpu":
            used = _at(each, "resource", "current", "averageUtilization")
            shown |= {} if used is None else {"currentCPUUtilizationPercentage": used}
    rest = {key: value for key, value in tree.items() if key not in ("metadata", "spec", "status")}
    return rest | {"apiVersion": "autoscaling/v1", "metadata": metadata, "spec": made, "status": shown}


def _carried(spec: Tree, status: Tree) -> Tree:
    carried: Tree = {}
    others = [_older(each, _WANTED) for each in spec.get("metrics") or () if not _is_cpu(each)]
    if others:
        carried[_METRICS] = _json(others)
    if status.get("currentMetrics"):
        carried[_FOUND] = _json([_older(each, _CURRENT) for each in status["currentMetrics"]])
    if spec.get("behavior") is not None:
        carried[_BEHAVIOR] = _json(_internal(spec["behavior"]))
    if status.get("conditions"):
        carried[_CONDITIONS] = _json([_condition(each) for each in status["conditions"]])
    return carried


def inward(tree: Tree) -> Tree:
    """The form of v2."""
    metadata = dict(tree.get("metadata") or {})
    annotations = metadata.pop("annotations", None) or {}
    kept = {key: value for key, value in annotations.items() if key not in _CARRIERS}
    if kept:
        metadata["annotations"] = kept
    spec = dict(tree.get("spec") or {})
    metrics = [_newer(each, _WANTED) for each in _read(annotations, _METRICS) or ()]
    wanted = spec.pop("targetCPUUtilizationPercentage", None)
    if wanted is not None or not metrics:
        metrics.append(_cpu("target", {"type": "Utilization", "averageUtilization": wanted or _DEFAULT_UTILIZATION}))
    spec["metrics"] = metrics
    behavior = _read(annotations, _BEHAVIOR)
    if isinstance(behavior, dict) and behavior:
        spec["behavior"] = _external(behavior)
    rest = {key: value for key, value in tree.items() if key not in ("metadata", "spec", "status")}
    made = rest | {"apiVersion": "autoscaling/v2", "metadata": metadata, "spec": spec}
    return made | {"status": _status(tree["status"], annotations)} if isinstance(tree.get("status"), dict) else made


def _status(status: Tree, annotations: Tree) -> Tree:
    made = {key: status[key] for key in _SHARED if key in status}
    used = status.get("currentCPUUtilizationPercentage")
    if used is not None:
        made["currentMetrics"] = [_cpu("current", {"averageUtilization": used})]
    found = _read(annotations, _FOUND)
    if isinstance(found, list):
        made["currentMetrics"] = [_newer(each, _CURRENT) for each in found]
    conditions = _read(annotations, _CONDITIONS)
    if isinstance(conditions, list):
        made["conditions"] = [{key: each[key] for key in each if each[key] is not None} for each in conditions]
    return made


def _is_cpu(metric: Tree) -> bool:
    """Whether v1 has a field for it."""
    is_named = metric.get("type") == "Resource" and _at(metric, "resource", "name") == "cpu"
    return is_named and _at(metric, "resource", "target", "averageUtilization") is not None


def _cpu(field: str, value: Tree) -> Tree:
    return {"type": "Resource", "resource": {"name": "cpu", field: value}}


def _older(metric: Tree, table: dict[str, tuple[tuple[str, tuple[str, ...]], ...]]) -> Tree:
    made: Tree = {"type": metric.get("type", "")}
    for kind, fields in table.items():
        if isinstance(metric.get(kind), dict):
            made[kind] = {}
            for name, path in fields:
                value = _at(metric[kind], *path)
                if value is None and name in _NEVER_LEFT_OUT.get(kind, ()):
                    value = "0"
                if value is not None:
                    made[kind][name] = value
    return made


def _newer(metric: Tree, table: dict[str, tuple[tuple[str, tuple[str, ...]], ...]]) -> Tree:
    made: Tree = {"type": metric.get("type", "")}
    for kind, fields in table.items():
        source = metric.get(kind)
        if not isinstance(source, dict):
            continue
        made[kind] = {}
        for name, path in fields:
            if name in source:
                place = made[kind]
                for part in path[:-1]:
                    place = place.setdefault(part, {})
                place[path[-1]] = source[name]
        target = made[kind].get("target")
        if target is not None:
            made[kind]["target"] = {"type": _target_type(target)} | target
            if target.get("averageValue") is not None and target.get("value") == "0":
                del made[kind]["target"]["value"]
    return made


def _target_type(target: Tree) -> str:
    if target.get("averageUtilization") is not None:
        return "Utilization"
    return "AverageValue" if target.get("averageValue") is not None else "Value"


def _internal(behavior: Tree) -> Tree:
    """Rules of scaling as the server writes them for itself, where every field has a capital and none is left out."""
    return {name: _internal_rules(behavior.get(_lower(name))) for name in ("ScaleUp", "ScaleDown")}


def _internal_rules(rules: Tree | None) -> Tree | None:
    if rules is None:
        return None
    policies = [
        {name: each.get(_lower(name)) for name in ("Type", "Value", "PeriodSeconds")} for each in _policies(rules)
    ]
    return {
        "StabilizationWindowSeconds": rules.get("stabilizationWindowSeconds"),
        "SelectPolicy": rules.get("selectPolicy"),
        "Policies": policies or None,
        "Tolerance": rules.get("tolerance"),
    }


def _policies(rules: Tree) -> list[Tree]:
    return rules.get("policies") or []


def _external(value: Any) -> Any:
    """The same rules as clients write them."""
    if isinstance(value, dict):
        return {_lower(key): _external(each) for key, each in value.items() if each is not None}
    return [_external(each) for each in value] if isinstance(value, list) else value


def _lower(name: str) -> str:
    return name[:1].lower() + name[1:]


def _condition(condition: Tree) -> Tree:
    named = {key: condition.get(key) for key in ("type", "status", "lastTransitionTime", "reason", "message")}
    return {key: value for key, value in named.items() if value is not None or key == "lastTransitionTime"}


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _read(annotations: Tree, key: str) -> Any:
    """What an annotation carries; None where that is nothing that can be read."""
    try:
        return json.loads(annotations[key])
    except (KeyError, TypeError, ValueError):
        return None


def _at(tree: Any, *path: str) -> Any:
    for part in path:
        tree = tree.get(part) if isinstance(tree, dict) else None
    return tree
