"""OpenAPI documents, as clients read them."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from kubesim.cluster import Cluster
from kubesim.kinds.registry import DEFINITIONS, KINDS
from kubesim.store.versions import Tree
from tests.kubesim.test_discovery import Read, a_definition, document, reading

OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        found = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return found.union(*(references(each) for each in value.values()))
    return set().union(*(references(each) for each in value)) if isinstance(value, list) else set()


def test_every_version_of_every_group_is_in_the_index() -> None:
    names = set(document("/openapi/v3", a_definition())["paths"])

    expected = {
        f"apis/{each}" if "/" in each else f"api/{each}" for each in (kind.resource.api_version for kind in KINDS)
    }
    assert names == expected | {"apis/shop.example.com/v1", "apis/shop.example.com/v1beta1"}


def test_the_name_of_a_document_changes_with_the_definition() -> None:
    async def script(read: Read, cluster: Cluster) -> tuple[list[str], list[str]]:
        async def names() -> list[str]:
            paths = msgspec.json.decode((await read("/openapi/v3")).body)["paths"]
            return [paths[name]["serverRelativeURL"] for name in ("apis/shop.example.com/v1", "apis/apps/v1")]

        before = await names()
        changed: Tree = cluster.verbs.read(DEFINITIONS, "", "gadgets.shop.example.com")
        properties = changed["spec"]["versions"][1]["schema"]["openAPIV3Schema"]["properties"]
        properties["spec"]["properties"]["more"] = {"type": "string"}
        cluster.verbs.update(DEFINITIONS, "", "gadgets.shop.example.com", changed, user="me")
        await asyncio.sleep(1)
        return before, await names()

    before, after = reading(script, a_definition())

    assert before[0] != after[0]
    assert before[1] == after[1]


@pytest.mark.parametrize("group", sorted({kind.resource.api_version for kind in KINDS}))
def test_documents_refer_to_nothing_that_they_do_not_have(group: str) -> None:
    made = document(f"/openapi/v3/{'apis' if '/' in group else 'api'}/{group}")

    assert references(made) <= {f"#/components/schemas/{name}" for name in made["components"]["schemas"]}
    assert made["paths"]


def test_fields_of_built_in_kinds_can_be_followed() -> None:
    schemas = document("/openapi/v3/apis/apps/v1")["components"]["schemas"]
    deployment = schemas["io.k8s.api.apps.v1.Deployment"]
    spec = schemas["io.k8s.api.apps.v1.DeploymentSpec"]

    assert deployment["x-kubernetes-group-version-kind"] == [{"group": "apps", "kind": "Deployment", "version": "v1"}]
    assert deployment["properties"]["metadata"]["allOf"] == [{"$ref": f"#/components/schemas/{OBJECT_META}"}]
    assert spec["properties"]["strategy"] == {
        "default": {},
        "x-kubernetes-patch-strategy": "retainKeys",
        "allOf": [{"$ref": "#/components/schemas/io.k8s.api.apps.v1.DeploymentStrategy"}],
    }


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/openapi/v3/apis/apps/v1", "/apis/apps/v1/namespaces/{namespace}/deployments/{name}"),
        ("/openapi/v3/api/v1", "/api/v1/nodes/{name}"),
        ("/openapi/v3/apis/shop.example.com/v1", "/apis/shop.example.com/v1/namespaces/{namespace}/gadgets/{name}"),
    ],
)
def test_patches_say_which_parameters_they_take(path: str, place: str) -> None:
    patch = document(path, a_definition())["paths"][place]["patch"]

    assert [each["name"] for each in patch["parameters"]] == ["dryRun", "fieldManager", "fieldValidation", "force"]
    assert patch["x-kubernetes-action"] == "patch"
    assert sorted(patch["x-kubernetes-group-version-kind"]) == ["group", "kind", "version"]


def test_custom_resources_are_described_as_their_definition_does() -> None:
    schemas = document("/openapi/v3/apis/shop.example.com/v1", a_definition())["components"]["schemas"]
    gadget = schemas["com.example.shop.v1.Gadget"]

    assert gadget["description"] == "A gadget."
    assert gadget["properties"]["spec"]["properties"]["size"] == {"type": "integer", "description": "How big."}
    assert gadget["properties"]["spec"]["properties"]["any"]["anyOf"] == [{"type": "integer"}, {"type": "string"}]
    assert gadget["properties"]["metadata"] == {"allOf": [{"$ref": f"#/components/schemas/{OBJECT_META}"}]}
    assert gadget["x-kubernetes-selectable-fields"] == [{"fieldPath": "spec.size"}]
    assert schemas["com.example.shop.v1.GadgetList"]["properties"]["items"]["items"] == {
        "$ref": "#/components/schemas/com.example.shop.v1.Gadget"
    }


def test_who_has_a_document_already_is_told_so() -> None:
    async def script(read: Read, _: Cluster) -> tuple[str, int, bytes]:
        index = msgspec.json.decode((await read("/openapi/v3")).body)
        first = await read(index["paths"]["apis/apps/v1"]["serverRelativeURL"])
        again = await read("/openapi/v3/apis/apps/v1", If_None_Match=first.headers["etag"])
        return first.headers["cache-control"], again.status, again.body

    assert reading(script) == ("public, immutable", 304, b"")
