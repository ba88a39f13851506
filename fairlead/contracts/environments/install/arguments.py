"""The flags that the chart gives the program when nobody sets a value, and what replaces them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from fairlead import __version__
from fairlead.contracts.environments.install.values import CHART, NAME, Values, selector_labels
from fairlead.engine.charts import chart_values

BUILTIN = ("system", "probe", "support", "catalogServer", "analytics")


def arguments(values: Values) -> list[str]:
    """In the chart's order; flags of the same name as a given one are left out, given ones come last."""
    given = {_name(word) for word in values.arguments}
    return [word for word in usual(values) if _name(word) not in given] + list(values.arguments)


def _name(word: str) -> str:
    return word.partition("=")[0]


def usual(values: Values) -> Iterator[str]:
    chart = chart_values(CHART)
    operator = chart["operator"]
    yield f"--helm-chart-version={__version__}"
    yield f"--cloud-provider={operator['cloudProvider']['type']}"
    yield f"--region={operator['cloudProvider']['region']}"
    yield f"--webhook-service-name={NAME}"
    yield f"--webhook-service-namespace={values.namespace}"
    yield f"--secrets-controller={operator['secretsController']}"
    yield "--image-pull-policy=if-not-present"
    yield "--console-image-tag-default=latest"
    yield from ("--enable-security-context", "--disable-statement-logging")
    for key, value in sorted(selector_labels().items()):
        yield f"--orchestratord-pod-selector-labels={key}={value}"
    yield from _clusters(operator["clusters"], chart["clusterd"]["swapNodeSelector"])
    for program in ("environmentd", "balancerd", "console"):
        yield f"--{program}-default-resources={_json(chart[program]['defaultResources'])}"
    yield from ("--create-balancers", "--create-console", "--enable-internal-statement-logging")
    yield from ("--disable-license-key-checks", "--enable-prometheus-scrape-annotations")
    yield f"--webhook-cert-reload-interval={operator['args']['webhookCertReloadInterval']}"


def _clusters(clusters: dict[str, Any], nodes: dict[str, str]) -> Iterator[str]:
    added = {"swap_enabled": True, "disk_limit": "0", "selectors": nodes, "is_cc": True}
    sizes = {name: {**size, **added} for name, size in clusters["sizes"].items()}
    yield f"--environmentd-cluster-replica-sizes={_json(sizes)}"
    first = clusters["defaultSizes"]
    yield f"--bootstrap-default-cluster-replica-size={first['default']}"
    for name in BUILTIN:
        yield f"--bootstrap-builtin-{_kebab(name)}-cluster-replica-size={first[name]}"
    for name, factor in _in_order(clusters["defaultReplicationFactor"], BUILTIN):
        yield f"--bootstrap-builtin-{name}-cluster-replication-factor={factor}"


def _in_order(factors: dict[str, int], names: Sequence[str]) -> Iterator[tuple[str, int]]:
    return ((name, factors[name]) for name in names if name in factors)


def _kebab(name: str) -> str:
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name)


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)
