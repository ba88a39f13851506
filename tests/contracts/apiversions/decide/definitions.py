"""Definitions of kinds with versions: a widget whose versions differ, and whatever a test wants of them."""

from __future__ import annotations

from typing import Any

from tests.contracts.apiversions.decide.widgets import BOOLEAN, INTEGER, TEXT, listed, made_of

Tree = dict[str, Any]
GROUP = "example.test"
NAME = f"widgets.{GROUP}"
V1 = made_of(spec=made_of(size=INTEGER, colour=TEXT, legacyMode=BOOLEAN))
V2 = made_of(
    spec=made_of(
        size=INTEGER,
        paint=made_of(colour=TEXT, finish=TEXT),
        parts=listed(made_of(("name",), name=TEXT, weight=INTEGER), "name"),
    )
)


def a_version(name: str, schema: Tree, *, served: bool = True, storage: bool = False, **more: Any) -> Tree:
    return {"name": name, "served": served, "storage": storage, "schema": {"openAPIV3Schema": schema}, **more}


def a_definition(*versions: Tree, stored: tuple[str, ...] = ("v2",), **spec: Any) -> Tree:
    """Of widgets: v1 and v2, which is stored, where no version is named."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets", "singular": "widget", "listKind": "WidgetList"},
            "versions": [*versions] or [a_version("v1", V1), a_version("v2", V2, storage=True)],
            "conversion": {"strategy": "None"},
            **spec,
        },
        "status": {"storedVersions": [*stored]},
    }
