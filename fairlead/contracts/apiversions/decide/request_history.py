"""Whether anybody asks for a version, from what an API server counts of itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta

from fairlead.contracts.apiversions.decide.crd_versions import version_of
from fairlead.contracts.apiversions.decide.lifecycle import Requests
from fairlead.contracts.apiversions.decide.trees import Tree

LONG_ENOUGH = timedelta(hours=24)
"""For which an API server must have been up, and the version deprecated: only then requests are counted."""
_GAUGE = "apiserver_requested_deprecated_apis{"
_OPEN = "apiserver_longrunning_requests{"
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_STARTED = re.compile(r"^process_start_time_seconds ([0-9.e+]+)$", re.MULTILINE)


def requests_of(definition: Tree, version: str, metrics: str | None, servers: int, now: datetime) -> Requests:
    """`metrics` are those of the one server that answers; None where they cannot be read."""
    if metrics is None:
        return Requests(doubt="the metrics of the API server cannot be read")
    if _has_sample(metrics, definition, version):
        return Requests(seen=True)
    if servers > 1:
        return Requests(doubt=f"there are {servers} API servers, and one of them answers")
    started = _STARTED.search(metrics)
    if started is None or now - datetime.fromtimestamp(float(started[1]), now.tzinfo) < LONG_ENOUGH:
        return Requests(doubt="the API server has not been up for 24 hours")
    if not version_of(definition, version).get("deprecated"):
        return Requests(doubt="the version is not deprecated, so requests to it are not counted")
    since = _changed_at(definition)
    if since is None or now - since < LONG_ENOUGH:
        return Requests(doubt="the versions of the CRD changed within 24 hours")
    return Requests()


def _has_sample(metrics: str, definition: Tree, version: str) -> bool:
    wanted = _labels(definition, version).items()
    return any(wanted <= labels.items() for labels, _ in _samples(metrics, _GAUGE))


def open_watches(definition: Tree, version: str, metrics: str | None) -> int:
    """How many requests that last are open in the version now, as far as the metrics tell."""
    found = _samples(metrics or "", _OPEN)
    wanted = _labels(definition, version).items()
    return sum(round(float(value)) for labels, value in found if wanted <= labels.items())


def _labels(definition: Tree, version: str) -> dict[str, str]:
    spec = definition["spec"]
    return {"group": spec["group"], "version": version, "resource": spec["names"]["plural"]}


def _samples(metrics: str, begin: str) -> Iterator[tuple[dict[str, str], str]]:
    """Labels and values of a family."""
    for line in metrics.splitlines():
        if line.startswith(begin):
            yield dict(_LABEL.findall(line)), line.rpartition(" ")[2]


def _changed_at(definition: Tree) -> datetime | None:
    """When somebody last wrote the list of versions."""
    times = [
        str(each.get("time") or "")
        for each in definition["metadata"].get("managedFields") or ()
        if "f:versions" in ((each.get("fieldsV1") or {}).get("f:spec") or {})
    ]
    return max((datetime.fromisoformat(each) for each in times if each), default=None)
