"""Schemas of the parts of core/v1 that an environment's spec holds, with the fields of Kubernetes 1.36."""

from __future__ import annotations

from fairlead.contracts.environments.kinds import Json

_STRING: Json = {"type": "string"}
_BOOLEAN: Json = {"type": "boolean"}
_NUMBER = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
QUANTITY: Json = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "pattern": rf"^(\+|-)?{_NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_NUMBER}))?$",
    "x-kubernetes-int-or-string": True,
}


def _object(required: tuple[str, ...] = (), /, **properties: Json) -> Json:
    return {"type": "object", **({"required": list(required)} if required else {}), "properties": properties}


def _selector(required: tuple[str, ...], /, **properties: Json) -> Json:
    """One value, which one manager sets as a whole."""
    return {**_object(required, **properties), "x-kubernetes-map-type": "atomic"}


_KEY = _selector(("key",), name=_STRING, key=_STRING, optional=_BOOLEAN)
_AMOUNTS: Json = {"type": "object", "additionalProperties": QUANTITY}

RESOURCE_REQUIREMENTS: Json = _object(
    limits={**_AMOUNTS, "description": "The most of each resource, such as cpu and memory."},
    requests={**_AMOUNTS, "description": "What is set aside of each resource; the limits where there is none."},
    claims={
        "type": "array",
        "description": "Dynamically allocated resources.",
        "items": _object(("name",), name=_STRING, request=_STRING),
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    },
)

ENV_VAR: Json = _object(
    ("name",),
    name=_STRING,
    value=_STRING,
    valueFrom=_object(
        configMapKeyRef=_KEY,
        secretKeyRef=_KEY,
        fieldRef=_selector(("fieldPath",), apiVersion=_STRING, fieldPath=_STRING),
        fileKeyRef=_selector(
            ("volumeName", "path", "key"), volumeName=_STRING, path=_STRING, key=_STRING, optional=_BOOLEAN
        ),
        resourceFieldRef=_selector(("resource",), containerName=_STRING, divisor=QUANTITY, resource=_STRING),
    ),
)
