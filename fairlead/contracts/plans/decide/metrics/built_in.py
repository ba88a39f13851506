"""Queries of the built-in metrics (R-31): what a service mesh measures of the target, or what its pods tell themselves.

Requests that all fail leave no series of those that did not: their share is then 0 and not unknown. Without any request
there is no data, and infinitely slow ones are above every bound.
"""

from __future__ import annotations

from msgspec import Struct

from fairlead.contracts.plans.kinds import REQUEST_DURATION, SUCCESS_RATE
from fairlead.core.prometheus import escaped, matching

ISTIO, LINKERD = "istio", "linkerd"
QUANTILE = "0.99"


class Series(Struct, frozen=True):
    """Where the requests to a workload are counted."""

    total: str
    buckets: str
    matchers: str
    succeeded: str
    """The matcher of those that did not fail."""
    milliseconds: int = 1
    """In one unit of the buckets."""


def query_of(name: str, mesh: str, namespace: str, kind: str, target: str, window: str) -> str:
    series = _series(mesh, namespace, kind, target)
    match name:
        case name if name == SUCCESS_RATE:
            good = f"sum(rate({series.total}{{{series.matchers},{series.succeeded}}}[{window}]))"
            return f"100 * ({good} or vector(0)) / sum(rate({series.total}{{{series.matchers}}}[{window}]))"
        case name if name == REQUEST_DURATION:
            buckets = f"sum by (le) (rate({series.buckets}{{{series.matchers}}}[{window}]))"
            factor = f"{series.milliseconds} * " if series.milliseconds != 1 else ""
            return f"{factor}histogram_quantile({QUANTILE}, {buckets})"
    raise ValueError(f"there is no built-in metric {name}")


def _series(mesh: str, namespace: str, kind: str, target: str) -> Series:
    match mesh:
        case name if name == ISTIO:
            return Series(
                "istio_requests_total",
                "istio_request_duration_milliseconds_bucket",
                f'reporter="destination",destination_workload_namespace="{namespace}",destination_workload="{target}"',
                'response_code!~"5.*"',
            )
        case name if name == LINKERD:
            return Series(
                "response_total",
                "response_latency_ms_bucket",
                f'namespace="{namespace}",deployment="{target}",direction="inbound"',
                'classification!="failure"',
            )
    return Series(
        "http_request_duration_seconds_count",
        "http_request_duration_seconds_bucket",
        f'namespace="{namespace}",{matching("pod", _pods(kind, target))}',
        'status!~"5.*"',
        milliseconds=1000,
    )


def _pods(kind: str, target: str) -> str:
    """By the beginning of their names; those of a Deployment have two words after it, so that `web` is not `web-v2`."""
    word = "-[0-9a-z]+"
    return f"{escaped(target)}{word}{word}" if kind == "Deployment" else f"{escaped(target)}{word}"
