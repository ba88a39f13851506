"""The file of published schemas: what is kept of a document, and that it is what the real server says."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.plane.build import Unavailable
from tests.planes import Planes
from tools import schemas

Tree = dict[str, Any]
PORT = "io.k8s.api.core.v1.ServicePort"


def test_what_merging_needs_of_a_schema_is_kept() -> None:
    schema = {
        "type": "array",
        "description": "Ports that are exposed.",
        "items": {"allOf": [{"$ref": f"#/components/schemas/{PORT}"}], "default": {}, "description": "A port."},
        "x-kubernetes-list-map-keys": ["port", "protocol"],
        "x-kubernetes-list-type": "map",
        "x-kubernetes-patch-merge-key": "port",
        "x-kubernetes-patch-strategy": "merge",
    }

    assert schemas.reduced(schema) == {
        "type": "array",
        "items": {"default": {}, "$ref": "core.v1.ServicePort"},
        "x-kubernetes-list-map-keys": ["port", "protocol"],
        "x-kubernetes-list-type": "map",
        "x-kubernetes-patch-merge-key": "port",
        "x-kubernetes-patch-strategy": "merge",
    }


def test_a_property_may_be_named_like_a_reference() -> None:
    schema = {"type": "object", "properties": {"$ref": {"type": "string", "format": "uri"}}}

    assert schemas.reduced(schema) == {"type": "object", "properties": {"$ref": {"type": "string"}}}


def test_kinds_that_a_server_does_not_serve_are_told() -> None:
    def read(_path: str) -> Tree:
        return {"components": {"schemas": {}}}

    with pytest.raises(Unavailable, match="does not serve v1 Binding, v1 ConfigMap, "):
        schemas.collected(read)


@pytest.mark.real
def test_the_file_is_what_the_real_server_says(planes: Planes) -> None:
    document = schemas.collected(schemas.reader(planes.get(controllers=False)))

    assert schemas.printed(document) == schemas.TARGET.read_text(encoding="utf-8")
