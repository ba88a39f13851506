"""Rules for HorizontalPodAutoscalers, in the form in which they are kept."""

from __future__ import annotations

from collections.abc import Iterator

from kubeloop.quantities import quantity
from kubesim.errors import Cause, not_allowed, required, unsupported, wrong
from kubesim.rules import roles
from kubesim.schema.values import needed, not_negative
from kubesim.store.versions import Tree

_METRICS = ("ContainerResource", "External", "Object", "Pods", "Resource")
# In the order in which the server looks at them.
_SOURCES = {
    "object": "Object",
    "external": "External",
    "pods": "Pods",
    "resource": "Resource",
    "containerResource": "ContainerResource",
}
_TARGETS = ("Utilization", "Value", "AverageValue")
_LONGEST_WINDOW = 3600
_LONGEST_PERIOD = 1800


def autoscaler(tree: Tree) -> Iterator[Cause]:
    spec = tree.get("spec") or {}
    least, most = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    if least is not None and least < 1:
        yield wrong("spec.minReplicas", least, "must be greater than or equal to 1")
    if not most:
        yield required("spec.maxReplicas", "must be set and greater than 0")
    elif most < 0:
        yield wrong("spec.maxReplicas", most, "must be greater than or equal to 1")
    if least is not None and most < least:
        yield wrong("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    target = spec.get("scaleTargetRef") or {}
    for key in ("kind", "name"):
        yield from needed(roles.segment_troubles, target.get(key), f"spec.scaleTargetRef.{key}")
    if target.get("kind") != "ReplicationController" and "/" not in (target.get("apiVersion") or ""):
        at = "spec.scaleTargetRef.apiVersion"
        yield wrong(at, target.get("apiVersion") or "", "apiVersion must specify API group")
    for index, metric in enumerate(spec.get("metrics") or []):
        yield from _metric(metric, f"spec.metrics[{index}]")
    if least == 0 and not any(metric.get("type") in ("Object", "External") for metric in spec.get("metrics") or []):
        text = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield not_allowed("spec.metrics", text)
    for direction in ("scaleUp", "scaleDown"):
        rules = (spec.get("behavior") or {}).get(direction)
        if rules is not None:
            yield from _behaviour(rules, f"spec.behavior.{direction}")


def _metric(metric: Tree, at: str) -> Iterator[Cause]:
    kind = metric.get("type") or ""
    if not kind:
        yield required(f"{at}.type", "must specify a metric source type")
    if kind not in _METRICS:
        yield unsupported(f"{at}.type", kind, _METRICS)
    present = [key for key in _SOURCES if metric.get(key) is not None]
    if present:
        yield from _source(present[0], metric[present[0]], f"{at}.{present[0]}")
    expected = next((key for key, name in _SOURCES.items() if name == kind), "")
    if not expected:
        yield unsupported(f"{at}.type", kind, _METRICS)
    elif expected not in present:
        yield required(f"{at}.{expected}", "must populate information for the given metric source")
    if len(present) != 1:
        for key in sorted(set(present) - {expected}):
            yield not_allowed(f"{at}.{key}", "must populate the given metric source only")


def _source(kind: str, source: Tree, at: str) -> Iterator[Cause]:
    target = source.get("target") or {}
    if kind in ("resource", "containerResource"):
        if not source.get("name"):
            yield required(f"{at}.name", "must specify a resource name")
        if kind == "containerResource" and not source.get("container"):
            yield required(f"{at}.container", "must specify a container")
        yield from _target(target, f"{at}.target")
        yield from _either(target, at)
        return
    name = (source.get("metric") or {}).get("name") or ""
    if not name:
        yield required(f"{at}.metric.name", "must specify a metric name")
    yield from _target(target, f"{at}.target")
    value, average = target.get("value"), target.get("averageValue")
    place = f"{at}.target.averageValue"
    if kind == "pods" and average is None:
        yield required(place, "must specify a positive target averageValue")
    elif kind == "object" and value is None and average is None:
        yield required(place, "must set either a target value or averageValue")
    elif kind == "external" and value is None and average is None:
        yield required(place, "must set either a target value for metric or a per-pod target")
    elif kind == "external" and value is not None and average is not None:
        text = "may not set both a target value for metric and a per-pod target"
        yield not_allowed(f"{at}.target.value", text)


def _either(target: Tree, at: str) -> Iterator[Cause]:
    share, average = target.get("averageUtilization"), target.get("averageValue")
    if share is None and average is None:
        text = "must set either a target raw value or a target utilization"
        yield required(f"{at}.target.averageUtilization", text)
    if share is not None and average is not None:
        text = "may not set both a target raw value and a target utilization"
        yield not_allowed(f"{at}.target.averageValue", text)


def _target(target: Tree, at: str) -> Iterator[Cause]:
    kind = target.get("type") or ""
    if not kind:
        yield required(f"{at}.type", "must specify a metric target type")
    if kind not in _TARGETS:
        yield wrong(f"{at}.type", kind, "must be either Utilization, Value, or AverageValue")
    for key in ("value", "averageValue"):
        if target.get(key) is not None and quantity(target[key]) <= 0:
            yield wrong(f"{at}.{key}", target[key], "must be positive")
    share = target.get("averageUtilization")
    if share is not None and share < 1:
        yield wrong(f"{at}.averageUtilization", share, "must be greater than 0")


def _behaviour(rules: Tree, at: str) -> Iterator[Cause]:
    window = rules.get("stabilizationWindowSeconds")
    if window is not None and window < 0:
        yield wrong(f"{at}.stabilizationWindowSeconds", window, "must be greater than or equal to zero")
    if window is not None and window > _LONGEST_WINDOW:
        yield wrong(f"{at}.stabilizationWindowSeconds", window, f"must be less than or equal to {_LONGEST_WINDOW}")
    choice, choices = rules.get("selectPolicy"), ("Disabled", "Max", "Min")
    if choice is not None and choice not in choices:
        yield unsupported(f"{at}.selectPolicy", choice, choices)
    if not rules.get("policies"):
        yield required(f"{at}.policies", "must specify at least one Policy")
    for index, policy in enumerate(rules.get("policies") or []):
        path, kind = f"{at}.policies[{index}]", policy.get("type") or ""
        if kind not in ("Percent", "Pods"):
            yield unsupported(f"{path}.type", kind, ("Percent", "Pods"))
        for key in ("value", "periodSeconds"):
            if (policy.get(key) or 0) <= 0:
                yield wrong(f"{path}.{key}", policy.get(key) or 0, "must be greater than zero")
        if (policy.get("periodSeconds") or 0) > _LONGEST_PERIOD:
            text = f"must be less than or equal to {_LONGEST_PERIOD}"
            yield wrong(f"{path}.periodSeconds", policy["periodSeconds"], text)


def status(_old: Tree, new: Tree) -> Iterator[Cause]:
    for key in ("currentReplicas", "desiredReplicas"):
        yield from not_negative(new.get("status") or {}, key, "status")
