"""U-5: a RolloutHealthCheck, read with its defaults and checked: what it asks of Prometheus, and what follows."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TypeVar

import msgspec
from msgspec import Struct

from fairlead.contracts.zones.configuration_kinds import ConfigurationMeta
from fairlead.contracts.zones.decide.configurations import InvalidConfiguration
from fairlead.core.placeholders import placeholders_in
from fairlead.core.prometheus import address
from kubeloop.durations import parse_prometheus

T = TypeVar("T")

TARGETS, RANGE, CURRENT, BASELINE = "targetMatchers", "range", "current", "baseline"
MOST_CHECKS = 50
"""Each is up to three queries, asked before a zone starts."""
MOST_RETRIES = 10
LONGEST_TIMEOUT = 300.0
"""Seconds."""

_OPENING, _CLOSING = "${", "}"


class Then(Enum):
    """What follows from an answer that is not good."""

    PAUSE = "Pause"
    WARN = "Warn"
    DISABLED = "Disabled"


class QueryCheck(Struct, frozen=True):
    """One question to Prometheus about pods, and one about what it answered."""

    name: str
    query: str
    success: str
    current_range: str
    baseline_range: str
    timeout: float
    """Seconds for each try."""
    retries: int
    on_failure: Then
    on_no_data: Then

    @property
    def compares(self) -> bool:
        """Whether what was measured at the start of the rollout is needed at all."""
        return f"${{{BASELINE}}}" in self.success


class HealthCheck(Struct, frozen=True):
    """A valid object."""

    namespace: str
    name: str
    uid: str
    generation: int
    labels: Mapping[str, str]
    """What a StatefulSet must have to refer to it."""
    url: str
    """Of Prometheus, without a slash at its end."""
    checks: tuple[QueryCheck, ...]
    """Those that are not disabled."""

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(labels.get(key) == value for key, value in self.labels.items())


class _Selector(Struct, frozen=True, rename="camel"):
    match_labels: dict[str, str] | None = None
    match_expressions: list[object] = []


class _Check(Struct, frozen=True, rename="camel"):
    name: str = ""
    query: str = ""
    success_query: str = ""
    current_range: str = "5m"
    baseline_range: str = "10m"
    query_timeout: str = "10s"
    query_retries: int = 3
    on_failure: str = Then.PAUSE.value
    on_no_data: str = Then.PAUSE.value
    disabled: bool = False


class _Spec(Struct, frozen=True, rename="camel"):
    selector: _Selector | None = None
    prometheus_url: str = msgspec.field(name="prometheusURL", default="")
    checks: list[_Check] = []


def read(metadata: ConfigurationMeta, spec: object) -> HealthCheck:
    """The object in force; raises InvalidConfiguration with the first rule that is broken."""
    try:
        given = msgspec.convert(spec, _Spec)
    except msgspec.ValidationError as error:
        raise InvalidConfiguration(f"spec: {error}") from None
    if given.selector is None or given.selector.match_labels is None:
        raise InvalidConfiguration("spec.selector.matchLabels: is required")
    if given.selector.match_expressions:
        raise InvalidConfiguration("spec.selector.matchExpressions: is not supported, use matchLabels")
    if not 1 <= len(given.checks) <= MOST_CHECKS:
        raise InvalidConfiguration(f"spec.checks: must have 1 to {MOST_CHECKS} entries, not {len(given.checks)}")
    names = [check.name for check in given.checks]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise InvalidConfiguration(f"spec.checks[{place}].name: {name!r} is the name of another check as well")
    checks = [_check(check, f"spec.checks[{place}]") for place, check in enumerate(given.checks)]
    return HealthCheck(
        metadata.namespace,
        metadata.name,
        metadata.uid,
        metadata.generation,
        given.selector.match_labels,
        _url(given.prometheus_url),
        tuple(check for check, each in zip(checks, given.checks, strict=True) if not each.disabled),
    )


def _url(text: str) -> str:
    try:
        return address(text)
    except ValueError as error:
        raise InvalidConfiguration(f"spec.prometheusURL: {error}") from None


def _check(given: _Check, field: str) -> QueryCheck:
    if not given.name:
        raise InvalidConfiguration(f"{field}.name: is required")
    _template(given.query, f"{field}.query", needs=TARGETS, knows=(TARGETS, RANGE))
    _template(given.success_query, f"{field}.successQuery", needs=CURRENT, knows=(CURRENT, BASELINE))
    for name, text in (("currentRange", given.current_range), ("baselineRange", given.baseline_range)):
        _duration(text, f"{field}.{name}")
    timeout = _duration(given.query_timeout, f"{field}.queryTimeout")
    if timeout > LONGEST_TIMEOUT:
        raise InvalidConfiguration(f"{field}.queryTimeout: must be at most 5m, not {given.query_timeout}")
    if not 0 <= given.query_retries <= MOST_RETRIES:
        raise InvalidConfiguration(f"{field}.queryRetries: must be from 0 to {MOST_RETRIES}, not {given.query_retries}")
    return QueryCheck(
        given.name,
        given.query,
        given.success_query,
        given.current_range,
        given.baseline_range,
        timeout,
        given.query_retries,
        _then(given.on_failure, f"{field}.onFailure"),
        _then(given.on_no_data, f"{field}.onNoData"),
    )


def _template(text: str, field: str, *, needs: str, knows: tuple[str, ...]) -> None:
    if not text.strip():
        raise InvalidConfiguration(f"{field}: is required")
    found = [each.name for each in placeholders_in(text, _OPENING, _CLOSING)]
    for name in found:
        if name not in knows:
            known = " and ".join(f"${{{each}}}" for each in knows)
            raise InvalidConfiguration(f"{field}: ${{{name}}} is unknown here: use {known}")
    if needs not in found:
        raise InvalidConfiguration(f"{field}: must contain ${{{needs}}}")


def _duration(text: str, field: str) -> float:
    try:
        seconds = parse_prometheus(text)
    except ValueError as error:
        raise InvalidConfiguration(f"{field}: {error}") from None
    if seconds <= 0:
        raise InvalidConfiguration(f"{field}: must be more than 0")
    return seconds


def _then(text: str, field: str) -> Then:
    try:
        return Then(text)
    except ValueError:
        raise InvalidConfiguration(f"{field}: must be Pause, Warn or Disabled, not {text!r}") from None


def filled(template: str, values: Mapping[str, str]) -> str:
    """The template with its placeholders replaced, each once: what is put in is not looked at again."""
    parts: list[str] = []
    end = 0
    for found in placeholders_in(template, _OPENING, _CLOSING):
        parts += [template[end : found.start], values[found.name]]
        end = found.end
    return "".join((*parts, template[end:]))
