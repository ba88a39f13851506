"""Gauges: a kind of three versions, each of which holds something that the others cannot; and where they are."""

from __future__ import annotations

from typing import Any

from kubeloop.objects.meta import Resource
from kubesim.store.versions import Tree

GROUP = "example.test"
PLURAL, KIND = "gauges", "Gauge"
NAME = f"{PLURAL}.{GROUP}"
VERSIONS = ("v1", "v2", "v3")
HUB = "v2"
GAUGES = {each: Resource(GROUP, each, PLURAL, KIND) for each in VERSIONS}
DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)

_TEXT, _INTEGER, _BOOLEAN = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}


def _object(**properties: Any) -> Tree:
    return {"type": "object", "properties": properties}


_PARTS = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "items": {**_object(name=_TEXT, weight=_INTEGER), "required": ["name"]},
}
_SPECS = {
    "v1": _object(size=_INTEGER, colour=_TEXT, legacyMode=_BOOLEAN, wait=_TEXT),
    "v2": _object(size=_INTEGER, paint=_object(colour=_TEXT, finish=_TEXT), parts=_PARTS, waitSeconds=_INTEGER),
    "v3": _object(replicas=_INTEGER, colour=_TEXT, note=_TEXT),
}
RULES: Tree = {
    "kind": "ConversionRules",
    "crd": NAME,
    "hub": HUB,
    "spokes": [
        {
            "version": "v1",
            "toHub": [
                {"op": "move", "from": "/spec/colour", "to": "/spec/paint/colour"},
                {"op": "duration", "path": "/spec/wait", "unit": "s"},
                {"op": "move", "from": "/spec/wait", "to": "/spec/waitSeconds"},
            ],
        },
        {
            "version": "v3",
            "toHub": [
                {"op": "move", "from": "/spec/replicas", "to": "/spec/size"},
                {"op": "move", "from": "/spec/colour", "to": "/spec/paint/colour"},
            ],
        },
    ],
}
LOSSY_RULES: Tree = {
    **RULES,
    "spokes": [{**each, "carry": "off"} for each in RULES["spokes"]],
}
"""What one version cannot hold is gone."""


def rules(*versions: str, lossy: bool = False) -> Tree:
    """For these versions."""
    found = LOSSY_RULES if lossy else RULES
    return {**found, "spokes": [each for each in found["spokes"] if each["version"] in versions]}


def a_version(name: str, *, storage: bool, served: bool = True) -> Tree:
    schema = _object(spec=_SPECS[name], status=_object(phase=_TEXT))
    return {
        "name": name,
        "served": served,
        "storage": storage,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }


def a_definition(storage: str, versions: tuple[str, ...] = VERSIONS, **annotations: str) -> Tree:
    names = {"plural": PLURAL, "singular": "gauge", "kind": KIND, "listKind": "GaugeList"}
    return {
        "apiVersion": DEFINITIONS.api_version,
        "kind": DEFINITIONS.kind,
        "metadata": {
            "name": NAME,
            "labels": {"team": "somebody"},
            "annotations": {"example.test/kept": "yes", **annotations},
        },
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": names,
            "versions": [a_version(each, storage=each == storage) for each in versions],
        },
    }
