"""The one document of OpenAPI v2, in both of its forms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from kubesim.cluster import Cluster
from kubesim.discovery.openapi_v2 import PROTOBUF
from tests.kubesim.test_discovery import Read, a_definition, document, reading
from tests.kubesim.test_openapi import references

DEPLOYMENT = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}"


def fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a protobuf message, as far as documents have them: numbers and bytes."""
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    while at < len(message):
        key = number()
        if key & 7 == 0:
            yield key >> 3, number()
        elif key & 7 == 1:
            yield key >> 3, message[at : at + 8]
            at += 8
        else:
            length = number()
            yield key >> 3, message[at : at + length]
            at += length


def named(message: bytes, number: int) -> dict[str, bytes]:
    """The values of pairs of name and value."""
    pairs = [dict(fields(value)) for key, value in fields(message) if key == number]
    return {pair[1].decode(): pair[2] for pair in pairs}


def test_paths_and_types_of_all_groups_are_in_one_document() -> None:
    made = document("/openapi/v2", a_definition())

    assert (made["swagger"], made["info"]) == ("2.0", {"title": "Kubernetes", "version": "1.36"})
    assert references(made) <= {f"#/definitions/{name}" for name in made["definitions"]}
    patch = made["paths"][DEPLOYMENT]["patch"]
    assert [each["name"] for each in patch["parameters"]] == [
        "body",
        "dryRun",
        "fieldManager",
        "fieldValidation",
        "force",
    ]
    assert patch["parameters"][3] == {"name": "fieldValidation", "in": "query", "type": "string", "uniqueItems": True}
    gadget = made["definitions"]["com.example.shop.v1.Gadget"]
    assert gadget["properties"]["spec"]["properties"]["any"] == {"x-kubernetes-int-or-string": True}
    assert gadget["properties"]["metadata"] == {"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}


def test_what_may_hold_anything_lists_nothing() -> None:
    definition = a_definition()
    schema = definition["spec"]["versions"][1]["schema"]["openAPIV3Schema"]
    schema["x-kubernetes-preserve-unknown-fields"] = True

    made = document("/openapi/v2", definition)["definitions"]["com.example.shop.v1.Gadget"]

    assert not {"type", "properties"} & made.keys()
    assert made["x-kubernetes-preserve-unknown-fields"] is True


def test_protobuf_says_the_same_as_json() -> None:
    async def script(read: Read, _: Cluster) -> tuple[dict[str, str], bytes, bytes]:
        told = await read("/openapi/v2", Accept="application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
        return dict(told.headers), told.body, (await read("/openapi/v2")).body

    headers, body, plain = reading(script, a_definition())
    tree = msgspec.json.decode(plain)
    found = dict(fields(body))
    paths, definitions = named(found[8], 2), named(found[9], 1)

    assert headers["content-type"] == PROTOBUF
    assert found[1] == b"2.0"
    assert paths.keys() == tree["paths"].keys()
    assert definitions.keys() == tree["definitions"].keys()
    extensions = named(dict(fields(paths[DEPLOYMENT]))[8], 13)
    kind = dict(fields(extensions["x-kubernetes-group-version-kind"]))[2]
    assert msgspec.json.decode(kind) == {"group": "apps", "version": "v1", "kind": "Deployment"}
    properties = named(dict(fields(definitions["com.example.shop.v1.Gadget"]))[25], 1)
    assert properties.keys() == {"apiVersion", "kind", "metadata", "spec", "status"}


@pytest.mark.parametrize(("accept", "status"), [("text/html", 406), ("application/json", 200), ("*/*", 200)])
def test_other_forms_are_refused(accept: str, status: int) -> None:
    async def script(read: Read, _: Cluster) -> int:
        return (await read("/openapi/v2", Accept=accept)).status

    assert reading(script) == status


def test_who_has_the_document_is_told_so_until_a_definition_changes_it() -> None:
    async def script(read: Read, _: Cluster) -> list[Any]:
        first = await read("/openapi/v2")
        again = await read("/openapi/v2", If_None_Match=first.headers["etag"])
        return [again.status, again.body, first.headers["etag"]]

    status, body, tag = reading(script)

    assert (status, body) == (304, b"")
    assert reading(script, a_definition())[2] != tag
