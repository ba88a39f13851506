"""Queries with placeholders in double braces, as `{{ target }}` and `{{ variables.region }}` (section 2.5)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from fairlead.contracts.plans.decide.traffic.routing import component_revision
from fairlead.contracts.plans.decide.turns import Pass
from fairlead.contracts.plans.kinds import CanaryMetric
from kubeloop.durations import NANOSECONDS, go_nanoseconds, prometheus_nanoseconds

DEFAULT_INTERVAL = "1m"
_PLACEHOLDER = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_VARIABLE = "variables."


class Unfillable(Exception):
    """A placeholder that nothing is known for; the text says which one, and what to do."""


def filled(query: str, values: Mapping[str, str]) -> str:
    """The query with its placeholders replaced, each once: what is put in is not looked at again. Raises Unfillable."""

    def value_of(found: re.Match[str]) -> str:
        name = found[1].strip()
        value = values.get(name)
        if value is None and name.startswith(_VARIABLE):
            raise Unfillable(f"the placeholder {name} has no value: add it to templateVariables")
        if value is None:
            known = ", ".join(each for each in values if not each.startswith(_VARIABLE))
            raise Unfillable(f"the placeholder {name or 'without a name'} is unknown: use {known} or variables.NAME")
        if not value:
            raise Unfillable(f"the placeholder {name} is empty here")
        return value

    return _PLACEHOLDER.sub(value_of, query)


def values_of(metric: CanaryMetric, given: Pass) -> dict[str, str]:
    """By placeholder; empty where this rollout has nothing of the kind."""
    attempt, routing = given.found.attempt, given.status.traffic_routing or given.spec.rollout_plan.traffic_routing
    metadata = given.seen.rollout.metadata
    ingress = "" if routing is None or routing.ingress_ref is None else routing.ingress_ref.name
    return {
        "name": metadata.name,
        "namespace": metadata.namespace,
        "target": attempt.target_ref.name,
        "source": attempt.sources[0].reference.name if attempt.sources else "",
        "interval": window(metric),
        "service": "" if routing is None else routing.target_service or component_revision(attempt.target),
        "ingress": ingress,
        "route": ingress,
        **{f"{_VARIABLE}{key}": value for key, value in metric.template_variables.items()},
    }


def window(metric: CanaryMetric) -> str:
    """The interval in the words of Prometheus, which knows no fractions: 1.5m is 90000ms."""
    text = metric.interval or DEFAULT_INTERVAL
    try:
        prometheus_nanoseconds(text)
    except ValueError:
        return f"{max(1, go_nanoseconds(text) * 1000 // NANOSECONDS)}ms"
    return text
