"""Values of both charts: what is misspelt is refused, what is free stays free, and the README knows them all."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from fairlead.contracts import chart_of
from tests.contracts.zones.install.helm import complaint, render
from tools.chart_readme import PARTS, path_of, readme, values_of

PLACES = ("operator", "environmentd", "clusterd", "balancerd", "console")
FREE = {
    "zones": {
        "global",
        "crds.global",
        "podSecurityContext",
        "securityContext",
        "resources",
        "affinity",
        "serviceMonitor.namespaceSelector",
        "webhooks.objectSelector",
    },
    "environments": {
        "global",
        *(f"{place}.{key}" for place in PLACES for key in ("affinity", "tolerations")),
        *(f"{place}.defaultResources" for place in ("environmentd", "balancerd", "console")),
        "operator.additionalMaterializeCRDColumns",
        "operator.resources",
        "operator.podDisruptionBudget",
        "storage.storageClass.parameters",
        *(f"tls.defaultCertificateSpecs.{each}" for each in ("balancerdExternal", "consoleExternal", "internal")),
    },
    "leaderworker": {
        "global",
        "affinity",
        "crdUpgrade",
        "nodeSelector",
        "podAnnotations",
        "podSecurityContext",
        "resources",
        "securityContext",
        *(f"fairlead.{each}.labels" for each in ("alerts", "dashboard")),
    },
    "plans": {
        "global",
        "admissionWebhooks.patch.affinity",
        "admissionWebhooks.patch.image",
        "admissionWebhooks.patch.nodeSelector",
        "affinity",
        "apiServer",
        "controllerArgs",
        "ingress",
        "multicluster",
        "nodeSelector",
        "podSecurityContext",
        "resources",
        "securityContext",
        "service",
        "serviceAccount.annotations",
        "test",
        "workflow",
        *(f"fairlead.{each}.labels" for each in ("alerts", "dashboard", "monitoring")),
    },
    "apiversions": {
        "global",
        "affinity",
        "nodeSelector",
        "podSecurityContext",
        "resources",
        "securityContext",
        "serviceAccount.annotations",
        *(f"{each}.labels" for each in ("alerts", "dashboard", "monitoring")),
    },
}
"""Maps whose keys belong to Kubernetes, to its users, or to other charts and other releases of ours."""

FLOWING = {
    f"operator.clusters.sizes.{size}"
    for size in yaml.safe_load((chart_of("environments") / "values.yaml").read_text())["operator"]["clusters"]["sizes"]
}
"""Written on one line, and so told as one value."""


def schema(part: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((chart_of(part) / "values.schema.json").read_text())
    return read


def maps(node: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Everything in the schema that is a map, by its path."""
    kinds = node.get("type", ())
    if kinds == "object" or "object" in kinds:
        yield path, node
    for key, child in node.get("properties", {}).items():
        yield from maps(child, f"{path}.{key}".lstrip("."))


@pytest.mark.parametrize("part", PARTS)
def test_every_map_says_which_keys_it_takes_unless_they_are_free(part: str) -> None:
    unsaid = {path for path, node in maps(schema(part)) if "additionalProperties" not in node}

    assert unsaid == FREE[part]


@pytest.mark.parametrize("part", PARTS)
def test_a_misspelt_value_is_refused_wherever_it_is(part: str) -> None:
    closed = [path for path, node in maps(schema(part)) if node.get("additionalProperties") is False]
    values: dict[str, Any] = {}
    for path in closed:
        place = values
        for key in filter(None, path.split(".")):
            place = place.setdefault(key, {})
        place["misspelt"] = True

    said = complaint(values, chart_of(part))

    refused = re.findall(r"- at '([^']*)': additional properties 'misspelt' not allowed", said)
    assert len(closed) >= 10
    assert {place.strip("/").replace("/", ".") for place in refused} == set(closed)


@pytest.mark.parametrize("part", PARTS)
def test_globals_of_a_chart_around_it_are_taken(part: str) -> None:
    assert render({"global": {"somebody": {"else": 1}}}, chart=chart_of(part))


@pytest.mark.parametrize("part", PARTS)
def test_the_readme_is_that_of_the_values(part: str) -> None:
    """`python -m tools.chart_readme` writes it."""
    assert path_of(part).read_text() == readme(part)


@pytest.mark.parametrize("part", PARTS)
def test_the_readme_has_every_value_once(part: str) -> None:
    text = (chart_of(part) / "values.yaml").read_text()
    listed = [value for value in values_of(text) if not value.path.endswith(".*")]

    def leaves(tree: dict[str, Any], path: str = "") -> Iterator[tuple[str, object]]:
        for key, value in tree.items():
            if isinstance(value, dict) and value and f"{path}{key}" not in FLOWING:
                yield from leaves(value, f"{path}{key}.")
            else:
                yield f"{path}{key}", value

    assert [(value.path, value.default) for value in listed] == list(leaves(yaml.safe_load(text)))
