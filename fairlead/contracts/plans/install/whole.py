"""What every kind of this part has around its own fields."""

from __future__ import annotations

from fairlead.contracts.plans.kinds import Json
from fairlead.core.schema_parts import TEXT, described, object_of

AGE: Json = {"name": "AGE", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
OAM = ("oam",)
"""The category of the kinds of core.oam.dev."""
BOOLEAN: Json = {"type": "boolean"}
TEXTS: Json = {"type": "array", "items": TEXT}
FREE: Json = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
"""Whatever somebody writes there."""
EMBEDDED: Json = {**FREE, "x-kubernetes-embedded-resource": True}
"""A whole object of another kind."""


def whole(about: str, spec: Json, status: Json | None = None) -> Json:
    return {
        **object_of(
            about,
            apiVersion=described(TEXT, "The version of the API that this object is written in."),
            kind=described(TEXT, "The kind of this object."),
            metadata={"type": "object"},
            spec=described(spec, "What is wanted."),
            **({} if status is None else {"status": status}),
        ),
        "required": ["spec"],
    }


def list_of(about: str, items: Json) -> Json:
    return {"type": "array", "description": about, "items": items}
