"""Whether a metric may be as it is (section 2.5), for admission and for verification."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import isfinite

from fairlead.contracts.plans.decide.field_rules import at_least, duration, named
from fairlead.contracts.plans.kinds import (
    BUILT_IN_METRICS,
    METRIC_TEMPLATE,
    TEMPLATE_GROUPS,
    CanaryMetric,
    IntOrText,
    WorkloadReference,
)
from fairlead.core.field_errors import invalid, required

_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?%?")


def metric_refusals(path: str, metrics: Sequence[CanaryMetric]) -> Iterator[str]:
    for place, metric in enumerate(metrics):
        inside = f"{path}[{place}]"
        if not metric.name:
            yield required(f"{inside}.name")
        elif metric.name not in BUILT_IN_METRICS and metric.template_ref is None:
            yield required(f"{inside}.templateRef", f"only {' and '.join(BUILT_IN_METRICS)} need none")
        yield from duration(f"{inside}.interval", metric.interval)
        yield from _template(f"{inside}.templateRef", metric.template_ref)
        yield from _range(f"{inside}.metricsRange", metric)
        yield from at_least(f"{inside}.failureLimit", metric.failure_limit, 0)
        yield from at_least(f"{inside}.successCount", metric.success_count, 1)


def _template(path: str, reference: WorkloadReference | None) -> Iterator[str]:
    if reference is None:
        return
    if reference.kind not in ("", METRIC_TEMPLATE):
        yield invalid(f"{path}.kind", reference.kind, f"must be {METRIC_TEMPLATE}")
    if reference.api_version and reference.group not in TEMPLATE_GROUPS:
        yield invalid(f"{path}.apiVersion", reference.api_version, f"must be of {' or '.join(TEMPLATE_GROUPS)}")
    if not reference.name:
        yield required(f"{path}.name")
    yield from named(f"{path}.name", reference.name)
    yield from named(f"{path}.namespace", reference.namespace)


def _range(path: str, metric: CanaryMetric) -> Iterator[str]:
    bounds = metric.metrics_range
    if bounds is None or (bounds.min is None and bounds.max is None):
        yield required(path, "give min, max or both")
        return
    for name, value in (("min", bounds.min), ("max", bounds.max)):
        if isinstance(value, str) and (_NUMBER.fullmatch(value) is None or not isfinite(bound(value) or 0)):
            yield invalid(f"{path}.{name}", value, "must be a number, with or without a percent sign")
    low, high = bound(bounds.min), bound(bounds.max)
    if low is not None and high is not None and low > high:
        yield invalid(f"{path}.min", bounds.min, "must not be greater than max")


def bound(value: IntOrText | None) -> float | None:
    """The number that a bound is; None for none, and for what is no number."""
    if isinstance(value, str):
        return float(value.removesuffix("%")) if _NUMBER.fullmatch(value) else None
    return None if value is None else float(value)


def outside(value: float, metric: CanaryMetric) -> str:
    """Which bound a number breaks, both of which are still inside; empty where it is in the range."""
    bounds = metric.metrics_range
    if bounds is None:
        return ""
    low, high = bound(bounds.min), bound(bounds.max)
    if low is not None and value < low:
        return f"below its min {bounds.min}"
    if high is not None and value > high:
        return f"above its max {bounds.max}"
    return ""
