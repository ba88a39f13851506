"""What is warned of in sound objects."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.rules import advice

Tree = dict[str, Any]


def a_service(annotations: Tree | None = None, **spec: Any) -> Tree:
    return {
        "kind": "Service",
        "metadata": {"annotations": annotations or {}},
        "spec": {"type": "ClusterIP", "sessionAffinity": "None"} | spec,
    }


def a_definition(schema: Tree) -> Tree:
    return {
        "kind": "CustomResourceDefinition",
        "metadata": {},
        "spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]},
    }


OLD_HINTS = (
    "annotation service.kubernetes.io/topology-aware-hints is deprecated, "
    "please use service.kubernetes.io/topology-mode instead"
)
OLD_IPS = "spec.externalIPs is deprecated and may no longer be implemented in some clusters"


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        (a_service(), []),
        (a_service(externalIPs=["1.2.3.4"]), [OLD_IPS]),
        (a_service(clusterIP="None", externalIPs=["1.2.3.4"]), ["spec.externalIPs is ignored for headless services"]),
        (a_service(externalName="x"), ['spec.externalName is ignored when spec.type is not "ExternalName"']),
        (
            a_service({"service.kubernetes.io/topology-aware-hints": "auto"}),
            [OLD_HINTS],
        ),
        (
            a_definition({"properties": {"a": {"type": "string", "format": "int32"}, "b": {"format": "date-time"}}}),
            ['unrecognized format "int32"'],
        ),
        (a_definition({"items": {"type": "integer", "format": "int32"}}), []),
        (
            {
                "kind": "PersistentVolumeClaim",
                "metadata": {},
                "spec": {"resources": {"requests": {"storage": "1500m"}}},
            },
            ['spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer'],
        ),
        ({"kind": "ConfigMap", "metadata": {}}, []),
    ],
)
def test_new_objects(tree: Tree, said: list[str]) -> None:
    assert advice.on_create(tree) == said


def test_a_definition_is_warned_of_formats_that_are_new() -> None:
    old, new = (
        a_definition({"properties": {name: {"type": "string", "format": name} for name in names}})
        for names in ("a", "ab")
    )

    assert advice.on_update(old, new) == ['unrecognized format "b"']
