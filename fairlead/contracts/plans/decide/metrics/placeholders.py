"""Queries with placeholders in double braces, as `{{ target }}` and `{{ variables.region }}` (section 2.5)."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.contracts.plans.decide.traffic.routing import component_revision
from fairlead.contracts.plans.decide.turns import Pass
from fairlead.contracts.plans.kinds import CanaryMetric
from fairlead.core.placeholders import placeholders_in
from kubeloop.durations import NANOSECONDS, go_nanoseconds, prometheus_nanoseconds

DEFAULT_INTERVAL = "1m"
_OPENING, _CLOSING = "{{", "}}"
MOST_SHOWN = 100
"""Characters of a name that a message holds: between two marks anything may stand."""
_VARIABLE = "variables."
_RAW = "`"
"""A backslash between these is one."""
_QUOTES = ("'", '"', _RAW)


class Unfillable(Exception):
    """A placeholder that nothing is known for; the text says which one, and what to do."""


def filled(query: str, values: Mapping[str, str]) -> str:
    """The query with its placeholders replaced, each once: what is put in is not looked at again. Raises Unfillable.

    A value stays inside of the quotes that it is put in: with `{{ variables.app }}` of `web"} or secret{app="web`, the
    query `errors{app="{{ variables.app }}"}` would be one that the author of the template never wrote.
    """
    parts: list[str] = []
    quote, end = "", 0
    for found in placeholders_in(query, _OPENING, _CLOSING):
        before, name = query[end : found.start], found.name.strip()
        value, quote = _value_of(name, values), _quotes_after(before, quote)[0]
        after, has_left = _quotes_after(value, quote)
        if quote and has_left:
            raise Unfillable(
                f"the value of {name} would end the text in quotes that it is put in: take {quote} and \\ out"
            )
        parts += [before, value]
        quote, end = after, found.end
    return "".join((*parts, query[end:]))


def _value_of(name: str, values: Mapping[str, str]) -> str:
    value, name = values.get(name), name[:MOST_SHOWN]
    if value is None and name.startswith(_VARIABLE):
        raise Unfillable(f"the placeholder {name} has no value: add it to templateVariables")
    if value is None:
        known = ", ".join(each for each in values if not each.startswith(_VARIABLE))
        raise Unfillable(f"the placeholder {name or 'without a name'} is unknown: use {known} or variables.NAME")
    if not value:
        raise Unfillable(f"the placeholder {name} is empty here")
    return value


def _quotes_after(text: str, quote: str) -> tuple[str, bool]:
    """In which quotes of Prometheus one is after a text that begins in these, and whether it has left them.

    A backslash at the end counts as leaving: what comes next would mean something else.
    """
    has_left, place = False, 0
    while place < len(text):
        each = text[place]
        if not quote:
            quote = each if each in _QUOTES else ""
        elif each == quote:
            quote, has_left = "", True
        elif each == "\\" and quote != _RAW:
            place += 1
            has_left = has_left or place == len(text)
        place += 1
    return quote, has_left


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
