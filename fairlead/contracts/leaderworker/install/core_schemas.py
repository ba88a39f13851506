"""Schemas of pod templates and claims, put together from the types that `tools.template_schemas` keeps."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import msgspec

from fairlead.contracts.leaderworker.kinds import Json


def core_schema(name: str) -> Json:
    """Of a type of the Kubernetes API, by the name that OpenAPI has for it: `core.v1.PodTemplateSpec`."""
    return _whole({"$ref": name})


def _whole(schema: Json) -> Json:
    """With every reference replaced by what it refers to, since a definition can have none."""
    made = {key: value for key, value in schema.items() if key != "$ref"}
    if "$ref" in schema:
        made = {**_whole(_types()[schema["$ref"]]), **made}
    if "properties" in schema:
        made["properties"] = {name: _whole(each) for name, each in schema["properties"].items()}
    for inner in ("items", "additionalProperties"):
        if inner in schema:
            made[inner] = _whole(schema[inner])
    return made


@cache
def _types() -> dict[str, Json]:
    kept = files(__package__).joinpath("core_schemas.json").read_bytes()
    return msgspec.json.decode(kept, type=dict[str, Json])
