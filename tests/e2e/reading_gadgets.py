"""A custom resource with columns, selectable fields and two versions, and objects of it."""

from __future__ import annotations

from typing import Any

Tree = dict[str, Any]

COLUMNS: list[Tree] = [
    {"name": "Size", "type": "integer", "jsonPath": ".spec.n", "description": "how many"},
    {"name": "Num", "type": "number", "jsonPath": ".spec.f", "priority": 1},
    {"name": "On", "type": "boolean", "jsonPath": ".spec.on"},
    {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
    {"name": "Tags", "type": "string", "jsonPath": ".spec.tags"},
    {"name": "First", "type": "string", "jsonPath": ".spec.tags[0]"},
    {"name": "All", "type": "string", "jsonPath": ".spec.tags[*]"},
    {"name": "Map", "type": "string", "jsonPath": ".spec.map"},
    {"name": "Dash", "type": "string", "jsonPath": ".spec.map.a\\.b"},
    {"name": "Brack", "type": "string", "jsonPath": ".spec.map['a.b']"},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    {"name": "When", "type": "date", "jsonPath": ".spec.when"},
    {"name": "NStr", "type": "string", "jsonPath": ".spec.n"},
    {"name": "SInt", "type": "integer", "jsonPath": ".spec.s"},
    {"name": "FStr", "type": "string", "jsonPath": ".spec.f"},
    {"name": "BStr", "type": "string", "jsonPath": ".spec.on"},
    {"name": "Last", "type": "string", "jsonPath": ".spec.tags[-1:]"},
    {"name": "Rec", "type": "string", "jsonPath": "..type"},
    {"name": "FInt", "type": "integer", "jsonPath": ".spec.f"},
    {"name": "Pass", "type": "string", "jsonPath": ".spec.s", "format": "password"},
]
_SPEC: Tree = {
    "n": {"type": "integer", "description": "How many.", "default": 1},
    "f": {"type": "number"},
    "on": {"type": "boolean"},
    "s": {"type": "string", "enum": ["x", "y"]},
    "when": {"type": "string", "format": "date-time"},
    "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
    "map": {"type": "object", "additionalProperties": {"type": "string"}},
    "any": {"x-kubernetes-preserve-unknown-fields": True},
    "ios": {"x-kubernetes-int-or-string": True},
}
_CONDITION: Tree = {"type": "object", "properties": {"type": {"type": "string"}, "status": {"type": "string"}}}
_STATUS: Tree = {"n": {"type": "integer"}, "conditions": {"type": "array", "items": _CONDITION}}
GADGETS = "/apis/reading.example.com/v1/namespaces/{ns}/gadgets"
OLDER_GADGETS = "/apis/reading.example.com/v1beta1/namespaces/{ns}/gadgets"
DEFINITION: Tree = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgets.reading.example.com"},
    "spec": {
        "group": "reading.example.com",
        "names": {"plural": "gadgets", "kind": "Gadget", "listKind": "Gadgetry", "shortNames": ["gd"]},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"},
                },
                "additionalPrinterColumns": COLUMNS,
                "selectableFields": [{"jsonPath": f".spec.{name}"} for name in ("s", "n", "on")],
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "description": "A gadget.",
                        "required": ["spec"],
                        "properties": {
                            "spec": {"type": "object", "description": "What is wanted.", "properties": _SPEC},
                            "status": {"type": "object", "properties": _STATUS},
                        },
                    }
                },
            },
            {
                "name": "v1beta1",
                "served": True,
                "storage": False,
                "deprecated": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            },
        ],
    },
}
GADGET_SPECS: dict[str, Tree] = {
    "one": {
        "n": 3,
        "f": 1.5,
        "on": True,
        "s": "x",
        "when": "2026-01-01T00:00:00Z",
        "tags": ["p", "q"],
        "map": {"a.b": "dot", "c": "d"},
    },
    "two": {"f": 2},
    "three": {
        "n": 0,
        "on": False,
        "tags": [],
        "map": {},
        "f": 100000000.0,
        "when": "2050-01-01T00:00:00Z",
        "s": "y",
    },
}
GADGET_STATUS: Tree = {
    "n": 1,
    "conditions": [{"type": "Foo", "status": "False"}, {"type": "Ready", "status": "True"}],
}
GADGET_FIELDS = (
    *("spec.s=x", "spec.n=3", "spec.n=0", "spec.n=", "spec.on=true", "spec.on=false", "spec.on=", "spec.f=1"),
    *("metadata.name=one", "metadata.namespace={ns}", "spec.s!=x", "status.n=1"),
)
