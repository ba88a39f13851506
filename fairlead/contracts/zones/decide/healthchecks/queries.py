"""What is asked of Prometheus about some pods, and what its answers come to.

`${targetMatchers}` becomes `namespace="…",pod=~"…"`. The expression names every pod; a zone of which all pods are meant
is written as `<zone>-[0-9]+`, so that the query of a large zone stays short. Dots of names are escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from math import isnan
from typing import TypeAlias
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from fairlead.contracts.zones.decide.groups import Zone
from fairlead.contracts.zones.decide.healthchecks.healthcheck_spec import (
    BASELINE,
    CURRENT,
    RANGE,
    TARGETS,
    Check,
    HealthCheck,
    filled,
)
from fairlead.core.ask import Answer, Ask, Bad, Http, Retry
from fairlead.core.ordinals import natural_key, ordinal_of
from fairlead.core.times import format_rfc3339
from kubeloop.objects.core import Pod
from kubeloop.unreadable import UNREADABLE

QUERY_PATH = "/api/v1/query"
MOST_SAID = 200
"""Characters of what Prometheus says about a query."""


class Number(Struct, frozen=True):
    """As Prometheus wrote it, so that it goes into the next query unchanged."""

    text: str


class NoData(Struct, frozen=True):
    """There was nothing to measure."""


class Failed(Struct, frozen=True):
    """No number came of the query."""

    why: str


Measured: TypeAlias = Number | NoData | Failed


def matchers(namespace: str, zones: Iterable[Zone], chosen: Callable[[Zone], Iterable[Pod]]) -> str:
    """For these pods of each zone; empty when there are none."""
    terms = [term for zone in zones for term in _terms(zone, tuple(chosen(zone)))]
    if not terms:
        return ""
    # Inside of a PromQL string a backslash is written twice.
    expression = "|".join(terms).replace("\\", "\\\\")
    return f'namespace="{namespace}",pod=~"{expression}"'


def _terms(zone: Zone, pods: tuple[Pod, ...]) -> Iterable[str]:
    named = [pod.metadata.name for pod in pods]
    if pods and len(pods) == len(zone.pods) and all(ordinal_of(name, zone.name) is not None for name in named):
        return (f"{_escaped(zone.name)}-[0-9]+",)
    return (_escaped(name) for name in sorted(named, key=natural_key))


def _escaped(name: str) -> str:
    """Names have letters, digits, dashes and dots."""
    return name.replace(".", "\\.")


def measurement(check: Check, of: HealthCheck, targets: str, range_: str, at: datetime) -> Ask:
    """The query over these pods at this moment."""
    return _asked(filled(check.query, {TARGETS: targets, RANGE: range_}), check, of, at)


def judgement(check: Check, of: HealthCheck, current: Number, baseline: Number | None, at: datetime) -> Ask:
    """The query whether what was measured is good; numbers go in parentheses, lest a sign binds to what is before."""
    values = {CURRENT: f"({current.text})", BASELINE: "" if baseline is None else f"({baseline.text})"}
    return _asked(filled(check.success, values), check, of, at)


def _asked(query: str, check: Check, of: HealthCheck, at: datetime) -> Ask:
    parameters = urlencode({"query": query, "time": format_rfc3339(at)})
    call = Http("GET", f"{of.url}{QUERY_PATH}?{parameters}", subject=f"{of.uid}@{of.generation}", follows=True)
    return Ask(msgspec.structs.replace(call, retry=Retry(check.retries + 1)), timeout=check.timeout)


class _Sample(Struct, frozen=True):
    value: tuple[float, str]


class _Vector(Struct, frozen=True, tag_field="resultType", tag="vector"):
    result: tuple[_Sample, ...]


class _Scalar(Struct, frozen=True, tag_field="resultType", tag="scalar"):
    result: tuple[float, str]


class _Reply(Struct, frozen=True):
    data: _Vector | _Scalar


def measured(answer: Answer) -> Measured:
    """A scalar, or the only element of a vector; NaN is what a ratio of nothing to nothing gives."""
    if isinstance(answer, Bad):
        return Failed(answer.text or answer.kind)
    try:
        data = msgspec.json.decode(answer.value, type=_Reply).data
    except UNREADABLE:
        return Failed("the answer is not a number: the query must give a scalar or an instant vector")
    match data:
        case _Scalar(result=(_, text)):
            return _number(text)
        case _Vector(result=()):
            return NoData()
        case _Vector(result=(sample,)):
            return _number(sample.value[1])
    return Failed(f"the query gives {len(data.result)} series and must give one: sum them up")


def _number(text: str) -> Number | NoData | Failed:
    try:
        return NoData() if isnan(float(text)) else Number(text)
    except ValueError:
        return Failed(f"{text[:MOST_SAID]!r} is not a number")


def is_one(number: Measured) -> bool:
    return isinstance(number, Number) and float(number.text) == 1
