"""What is asked of Prometheus about some pods.

`${targetMatchers}` becomes `namespace="…",pod=~"…"`. The expression names every pod; a zone of which all pods are meant
is written as `<zone>-[0-9]+`, so that the query of a large zone stays short. Dots of names are escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

import msgspec

from fairlead.contracts.zones.decide.groups import Zone
from fairlead.contracts.zones.decide.healthchecks.healthcheck_spec import (
    BASELINE,
    CURRENT,
    RANGE,
    TARGETS,
    HealthCheck,
    QueryCheck,
    filled,
)
from fairlead.core.ask import Ask, Retry
from fairlead.core.ordinals import natural_key, ordinal_of
from fairlead.core.prometheus import Number, escaped, matching, query_call
from kubeloop.objects.core import Pod


def matchers(namespace: str, zones: Iterable[Zone], chosen: Callable[[Zone], Iterable[Pod]]) -> str:
    """For these pods of each zone; empty when there are none."""
    terms = [term for zone in zones for term in _terms(zone, tuple(chosen(zone)))]
    if not terms:
        return ""
    return f'namespace="{namespace}",{matching("pod", "|".join(terms))}'


def _terms(zone: Zone, pods: tuple[Pod, ...]) -> Iterable[str]:
    named = [pod.metadata.name for pod in pods]
    if pods and len(pods) == len(zone.pods) and all(ordinal_of(name, zone.name) is not None for name in named):
        return (f"{escaped(zone.name)}-[0-9]+",)
    return (escaped(name) for name in sorted(named, key=natural_key))


def measurement(check: QueryCheck, of: HealthCheck, targets: str, range_: str, at: datetime) -> Ask:
    """The query over these pods at this moment."""
    return _asked(filled(check.query, {TARGETS: targets, RANGE: range_}), check, of, at)


def judgement(check: QueryCheck, of: HealthCheck, current: Number, baseline: Number | None, at: datetime) -> Ask:
    """The query whether what was measured is good; numbers go in parentheses, lest a sign binds to what is before."""
    values = {CURRENT: f"({current.text})", BASELINE: "" if baseline is None else f"({baseline.text})"}
    return _asked(filled(check.success, values), check, of, at)


def _asked(query: str, check: QueryCheck, of: HealthCheck, at: datetime) -> Ask:
    call = query_call(of.url, query, subject=f"{of.uid}@{of.generation}", moment=at)
    return Ask(msgspec.structs.replace(call, retry=Retry(check.retries + 1)), timeout=check.timeout)
