"""Widgets: two versions, the rules between them, and what decisions read."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from fairlead.contracts.apiversions.decide.convert import KindConversion
from fairlead.contracts.apiversions.decide.rule_sets import kind_of, read_rules
from fairlead.contracts.apiversions.decide.union import with_unions
from kubeloop.objects.meta import Meta, Resource
from kubeloop.schemas.structural import compile_schema

GROUP = "example.test"
WIDGETS = Resource(GROUP, "v2", "widgets", "Widget")
OLD_WIDGETS = Resource(GROUP, "v1", "widgets", "Widget")
NAME = f"{WIDGETS.plural}.{GROUP}"
FINALIZER = f"{GROUP}/widget"
OWN_LABELS = {"app.kubernetes.io/name": "widget-operator"}
OF_WIDGET = f"{GROUP}/widget"
"""Label of what is made for a Widget: its name."""

TEXT, INTEGER, BOOLEAN = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
STATUS = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def _schema(**spec: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}, "status": STATUS}}


PARTS = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "items": {"type": "object", "required": ["name"], "properties": {"name": TEXT, "weight": INTEGER}},
}
SCHEMAS = {
    "v1": _schema(size=INTEGER, colour=TEXT, legacyMode=BOOLEAN),
    "v2": _schema(size=INTEGER, paint={"type": "object", "properties": {"colour": TEXT, "finish": TEXT}}, parts=PARTS),
}
RULES = {
    "kind": "ConversionRules",
    "crd": NAME,
    "hub": "v2",
    "spokes": [{"version": "v1", "toHub": [{"op": "move", "from": "/spec/colour", "to": "/spec/paint/colour"}]}],
}


def definition() -> dict[str, Any]:
    """With the schemas of the versions as they are meant."""
    versions = [
        {
            "name": name,
            "served": True,
            "storage": name == WIDGETS.version,
            "schema": {"openAPIV3Schema": schema},
            "subresources": {"status": {}},
        }
        for name, schema in SCHEMAS.items()
    ]
    names = {"plural": WIDGETS.plural, "singular": "widget", "kind": WIDGETS.kind, "listKind": "WidgetList"}
    spec = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": versions}
    made = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}
    return made | {"metadata": {"name": NAME}}


def definitions() -> tuple[dict[str, Any], ...]:
    """As they are registered without a webhook."""
    return (with_unions(definition()).definition,)


KIND: KindConversion = kind_of(read_rules(RULES), definition())
REGISTERED = compile_schema(definitions()[0]["spec"]["versions"][1]["schema"]["openAPIV3Schema"])
"""That of the hub, as the API server has it."""


class WidgetMeta(Meta, frozen=True, rename="camel"):
    generation: int = 0
    annotations: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()
    managed_fields: tuple[Any, ...] = ()


class Widget(Struct, frozen=True):
    metadata: WidgetMeta
    spec: Any = None
    status: Any = None

    @property
    def tree(self) -> dict[str, Any]:
        """As it was read, as far as its payload is told by it."""
        meta = self.metadata
        metadata = {
            "name": meta.name,
            "namespace": meta.namespace,
            "uid": meta.uid,
            "resourceVersion": meta.resource_version,
            "annotations": dict(meta.annotations),
            "managedFields": [*meta.managed_fields],
        }
        tree = {"apiVersion": WIDGETS.api_version, "kind": WIDGETS.kind, "metadata": metadata, "spec": self.spec or {}}
        return tree if self.status is None else {**tree, "status": self.status}


class WorkloadMeta(Meta, frozen=True, rename="camel"):
    annotations: dict[str, str] = {}


class Workload(Struct, frozen=True):
    metadata: WorkloadMeta
    spec: dict[str, Any] = {}
