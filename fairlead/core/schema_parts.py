"""What the schemas of several kinds are made of, and the definition around a schema."""

from __future__ import annotations

from typing import Any, TypeAlias

from kubeloop.objects.meta import Resource

Json: TypeAlias = dict[str, Any]

INT32: Json = {"type": "integer", "format": "int32"}
INT64: Json = {"type": "integer", "format": "int64"}
TEXT: Json = {"type": "string"}
INT_OR_PERCENT: Json = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
_CONDITION_TYPE = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)


def definition(
    resource: Resource,
    schema: Json,
    subresources: Json,
    columns: tuple[Json, ...] = (),
    short: tuple[str, ...] = (),
    categories: tuple[str, ...] = (),
) -> Json:
    names = {
        **({"categories": list(categories)} if categories else {}),
        "kind": resource.kind,
        "listKind": f"{resource.kind}List",
        "plural": resource.plural,
        **({"shortNames": list(short)} if short else {}),
        "singular": resource.kind.lower(),
    }
    version = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": subresources,
        **({"additionalPrinterColumns": list(columns)} if columns else {}),
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.plural}.{resource.group}"},
        "spec": {"group": resource.group, "names": names, "scope": "Namespaced", "versions": [version]},
    }


def conditions() -> Json:
    return {
        "type": "array",
        "items": _condition(),
        "x-kubernetes-list-map-keys": ["type"],
        "x-kubernetes-list-type": "map",
    }


def _condition() -> Json:
    return object_of(
        "One aspect of the state.",
        ("lastTransitionTime", "message", "reason", "status", "type"),
        lastTransitionTime={"type": "string", "format": "date-time"},
        message={**TEXT, "maxLength": 32768},
        observedGeneration={**INT64, "minimum": 0},
        reason={**TEXT, "maxLength": 1024, "minLength": 1, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"},
        status=one_of("True", "False", "Unknown"),
        type={**TEXT, "maxLength": 316, "pattern": _CONDITION_TYPE},
    )


def object_of(about: str, required: tuple[str, ...] = (), /, **properties: Json) -> Json:
    needed = {"required": list(required)} if required else {}
    return {"type": "object", "description": about, **needed, "properties": properties}


def one_of(*words: str) -> Json:
    return {"type": "string", "enum": list(words)}


def described(schema: Json, about: str) -> Json:
    return {**schema, "description": about}
