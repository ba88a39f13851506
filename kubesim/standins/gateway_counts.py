"""What a stand-in gateway counts, under the names and labels of Istio; Prometheus may scrape it, or it answers itself.

`handler` serves `/metrics` as text, and `/api/v1/query` with the queries that `counted_queries` knows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from math import inf, isinf, isnan
from typing import TypeAlias
from urllib.parse import parse_qs, urlsplit

import msgspec

from kubeloop import clock
from kubeloop.calls import Call, Reply
from kubesim.standins.counted_queries import Labels, QueryError, Vector, evaluated

REQUESTS = "istio_requests_total"
DURATIONS = "istio_request_duration_milliseconds"
BUCKETS = (1, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000)
"""Milliseconds."""
KEPT_SECONDS = 3600.0
"""How long a value of before can be asked for."""
GRAIN_SECONDS = 0.1
"""What happens within this time is one sample."""
_TEXT = (("Content-Type", "text/plain; version=0.0.4; charset=utf-8"),)
_JSON = (("Content-Type", "application/json"),)

Key: TypeAlias = tuple[str, Labels]


class GatewayCounts:
    """Counters that only grow, each with its values of the last hour."""

    def __init__(self) -> None:
        self._samples: dict[Key, tuple[list[float], list[float]]] = {}

    def add(self, service: tuple[str, str], workload: str, code: int, seconds: float) -> None:
        """One request that a pod of the workload answered, behind this Service (namespace and name)."""
        labels = (
            ("destination_service_name", service[1]),
            ("destination_service_namespace", service[0]),
            ("destination_workload", workload),
            ("destination_workload_namespace", service[0]),
            ("reporter", "destination"),
            ("response_code", str(code)),
        )
        milliseconds = seconds * 1000
        self._grow(REQUESTS, labels, 1)
        self._grow(f"{DURATIONS}_sum", labels, milliseconds)
        self._grow(f"{DURATIONS}_count", labels, 1)
        for limit in (*BUCKETS, inf):
            bound = "+Inf" if isinf(limit) else f"{limit}"
            self._grow(f"{DURATIONS}_bucket", (*labels, ("le", bound)), int(milliseconds <= limit))

    def total(self, *, workload: str = "", code: int | None = None) -> int:
        """How many requests were answered, by this workload, and with this code, where they are given."""
        found = 0.0
        for (name, labels), (_, values) in self._samples.items():
            told = dict(labels)
            if name == REQUESTS and workload in ("", told["destination_workload"]):
                found += values[-1] if code is None or told["response_code"] == str(code) else 0
        return int(found)

    def _grow(self, name: str, labels: Labels, by: float) -> None:
        now = clock.monotonic()
        moments, values = self._samples.setdefault((name, tuple(sorted(labels))), ([], []))
        before = values[-1] if values else 0.0
        if moments and now - moments[-1] < GRAIN_SECONDS:
            values[-1] = before + by
            return
        moments.append(now)
        values.append(before + by)
        if (old := bisect_right(moments, now - KEPT_SECONDS) - 1) > 0:
            del moments[:old], values[:old]

    def increase(self, name: str, seconds: float) -> Vector:
        """By how much each series of this name grew in the last seconds; one that did not exist before begins at 0."""
        since = clock.monotonic() - seconds
        found = {}
        for (known, labels), (moments, values) in self._samples.items():
            if known == name:
                place = bisect_right(moments, since) - 1
                found[labels] = values[-1] - (values[place] if place >= 0 else 0.0)
        return found

    def exposition(self) -> str:
        """As Prometheus scrapes it."""
        lines: list[str] = []
        for name, kind in ((REQUESTS, "counter"), (DURATIONS, "histogram")):
            lines.append(f"# TYPE {name} {kind}")
            lines += sorted(self._lines(name))
        return "".join(f"{line}\n" for line in lines)

    def _lines(self, prefix: str) -> Iterator[str]:
        for (name, labels), (_, values) in self._samples.items():
            if name.startswith(prefix):
                said = ",".join(f"{key}={msgspec.json.encode(value).decode()}" for key, value in labels)
                yield f"{name}{{{said}}} {values[-1]:g}"

    async def handler(self, call: Call) -> Reply:
        parts = urlsplit(call.url)
        if parts.path == "/metrics":
            return Reply(200, self.exposition().encode(), _TEXT)
        if parts.path != "/api/v1/query":
            return Reply(404, b"404 page not found\n", _TEXT)
        asked = parse_qs(parts.query or call.body.decode(errors="replace"))
        try:
            found = evaluated(asked.get("query", [""])[0], self.increase)
        except QueryError as error:
            refusal = {"status": "error", "errorType": "bad_data", "error": str(error)}
            return Reply(400, msgspec.json.encode(refusal), _JSON)
        result = [{"metric": dict(labels), "value": [0, _number(value)]} for labels, value in found.items()]
        body = {"status": "success", "data": {"resultType": "vector", "result": result}}
        return Reply(200, msgspec.json.encode(body), _JSON)


def _number(value: float) -> str:
    if isnan(value):
        return "NaN"
    return ("+Inf" if value > 0 else "-Inf") if isinf(value) else f"{value!r}"
