"""Words for cases about custom resources: definitions in the case's own group, and objects of them."""

from __future__ import annotations

from typing import Any

from tests.e2e.definitions import a_schema
from tests.exchanges.case import (
    Case,
    Step,
    case,
    get,
    post,
    quiet,
    ready,
    unordered,
)
from tests.exchanges.cases.samples import DEFINITIONS, an_object

GROUP = "{ns}.example.com"
WIDGETS = f"/apis/{GROUP}/v1/namespaces/{{ns}}/widgets"
ONE = f"{WIDGETS}/one"
NAME = f"widgets.{GROUP}"
_SCALE = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
_SUBRESOURCES = {"status": {}, "scale": _SCALE | {"labelSelectorPath": ".status.selector"}}
TEXT = {"type": "string"}
NUMBER = {"type": "integer"}


def a_version(name: str = "v1", schema: Any = None, *, storage: bool = True, **fields: Any) -> dict[str, Any]:
    whole = schema if schema is not None else a_schema()
    return {"name": name, "served": True, "storage": storage, "schema": whole} | fields


def with_spec(**properties: Any) -> dict[str, Any]:
    """A schema in which the spec has these properties."""
    return {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}}


def with_rules(*rules: Any, **properties: Any) -> dict[str, Any]:
    """A schema whose spec has these properties and rules."""
    made = with_spec(**properties)
    told = [{"rule": each} if isinstance(each, str) else each for each in rules]
    made["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-validations"] = told
    return made


def a_definition(*versions: Any, plural: str = "widgets", kind: str = "Widget", **spec: Any) -> dict[str, Any]:
    whole = {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": plural, "kind": kind},
        "versions": list(versions) or [a_version()],
    }
    return an_object("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{plural}.{GROUP}") | {
        "spec": whole | spec
    }


def defined(definition: dict[str, Any], version: str = "v1") -> list[Step]:
    """Creates it and waits until it is served."""
    plural = definition["spec"]["names"]["plural"]
    space = "/namespaces/{ns}" if definition["spec"]["scope"] == "Namespaced" else ""
    return [
        quiet(post(DEFINITIONS, definition)),
        ready(get(f"{DEFINITIONS}/{plural}.{GROUP}"), containing='"Established","status":"True"'),
        ready(get(f"/apis/{GROUP}/{version}{space}/{plural}")),
    ]


def a_widget(name: str = "one", version: str = "v1", *, size: Any = 1, **spec: Any) -> dict[str, Any]:
    whole = spec if size is None else {"size": size} | spec
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Widget", "metadata": {"name": name}, "spec": whole}


def on_widgets(name: str, *steps: Step, **fields: Any) -> Case:
    return case(name, *defined(a_definition(a_version(subresources=_SUBRESOURCES, **fields))), *steps)


def refused(name: str, *definitions: Any) -> Case:
    return case(name, *[unordered(post(DEFINITIONS, each)) for each in definitions])
