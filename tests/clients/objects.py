"""What the tests of all clients put into their cluster."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

Tree = dict[str, Any]
PATIENCE = 300
"""Seconds of the cluster that a watch of a test lasts at most; what it waits for takes one or two."""
IMAGE = "example.test/web:1.0"
NEW_IMAGE = "example.test/web:2.0"


def a_pod(name: str, *, labels: dict[str, str] | None = None) -> Tree:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": labels or {}},
        "spec": {"containers": [{"name": "web", "image": IMAGE}]},
    }


def a_deployment(name: str, *, replicas: int = 2) -> Tree:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "web", "image": IMAGE}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template},
    }


GROUP, VERSION, PLURAL = "example.test", "v1", "widgets"
DEFINITION: Tree = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"{PLURAL}.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": PLURAL, "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
        "versions": [
            {
                "name": VERSION,
                "served": True,
                "storage": True,
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"},
                },
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["size"],
                                "properties": {
                                    "size": {"type": "integer", "minimum": 1},
                                    "colour": {"type": "string", "default": "red"},
                                },
                            },
                            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                        },
                    }
                },
            }
        ],
    },
}


def a_definition() -> Tree:
    return deepcopy(DEFINITION)


def a_widget(name: str, *, size: int = 1) -> Tree:
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "Widget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"size": size},
    }
