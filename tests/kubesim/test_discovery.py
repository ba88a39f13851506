"""What the server says about itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from kubeloop.request import JSON, Request, Response, path_of
from kubesim.cluster import Cluster
from kubesim.kinds.registry import DEFINITIONS
from kubesim.store.versions import Tree
from kubesim.time import run

GROUPED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
Read = Callable[..., Awaitable[Response]]


def a_definition(name: str = "gadgets", group: str = "shop.example.com", **names: Any) -> Tree:
    schema = {
        "type": "object",
        "description": "A gadget.",
        "properties": {
            "spec": {
                "type": "object",
                "description": "What is wanted.",
                "properties": {
                    "size": {"type": "integer", "description": "How big."},
                    "any": {"x-kubernetes-int-or-string": True},
                },
            },
            "status": {"type": "object", "properties": {"size": {"type": "integer"}}},
        },
    }
    paths = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}, "scale": paths},
        "selectableFields": [{"jsonPath": ".spec.size"}],
    }
    older = {"name": "v1beta1", "served": True, "storage": False, "schema": {"openAPIV3Schema": schema}}
    return {
        "metadata": {"name": f"{name}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": name, "kind": name[:-1].title(), "shortNames": ["gd"], **names},
            "versions": [older, version],
        },
    }


def reading(script: Callable[[Read, Cluster], Awaitable[Any]], *definitions: Tree) -> Any:
    """The answer of a script that reads from a cluster with these definitions."""

    async def main() -> Any:
        cluster = Cluster()
        transport = cluster.transport()

        async def read(path: str, method: str = "GET", **headers: str) -> Response:
            place, _, query = path.partition("?")
            pairs = tuple(
                (key, value) for key, _, value in (each.partition("=") for each in filter(None, query.split("&")))
            )
            named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
            return await transport.send(Request(method, place, pairs, headers=named))

        for definition in definitions:
            sent = Request("POST", path_of(DEFINITIONS), (), msgspec.json.encode(definition), JSON)
            assert (await transport.send(sent)).status == 201
        await asyncio.sleep(1)
        return await script(read, cluster)

    return run(main())


def document(path: str, *definitions: Tree, **headers: str) -> Any:
    async def script(read: Read, _: Cluster) -> Any:
        return msgspec.json.decode((await read(path, **headers)).body)

    return reading(script, *definitions)


def test_groups_come_in_the_order_of_the_server_and_those_of_definitions_after_them() -> None:
    found = [
        each["name"]
        for each in document("/apis", a_definition(group="z.example.com"), a_definition(group="a.example.com"))[
            "groups"
        ]
    ]

    assert found[:5] == ["apps", "events.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "autoscaling"]
    assert found[-3:] == ["discovery.k8s.io", "a.example.com", "z.example.com"]


def test_the_best_version_of_a_group_is_preferred() -> None:
    group = document("/apis/autoscaling")

    assert [each["version"] for each in group["versions"]] == ["v2", "v1"]
    assert group["preferredVersion"] == {"groupVersion": "autoscaling/v2", "version": "v2"}


def test_resources_come_by_name_with_their_parts() -> None:
    resources = document("/apis/apps/v1")["resources"]

    assert [each["name"] for each in resources][:4] == [
        "controllerrevisions",
        "daemonsets",
        "daemonsets/status",
        "deployments",
    ]
    scale = next(each for each in resources if each["name"] == "deployments/scale")
    assert scale == {
        "name": "deployments/scale",
        "singularName": "",
        "namespaced": True,
        "group": "autoscaling",
        "version": "v1",
        "kind": "Scale",
        "verbs": ["get", "patch", "update"],
    }


@pytest.mark.parametrize(
    ("path", "name", "expected"),
    [
        ("/api/v1", "configmaps", "qFsyl6wFWjQ="),
        ("/apis/autoscaling/v1", "horizontalpodautoscalers", "qwQve8ut294="),
        ("/apis/events.k8s.io/v1", "events", "r2yiGXH7wu8="),
        ("/apis/apiextensions.k8s.io/v1", "customresourcedefinitions", "jfWCUB31mvA="),
    ],
)
def test_resources_tell_in_which_version_they_are_stored(path: str, name: str, expected: str) -> None:
    """The hashes are those of a real server of the release."""
    found = {each["name"]: each.get("storageVersionHash") for each in document(path)["resources"]}

    assert found[name] == expected


def test_all_versions_of_a_custom_resource_are_stored_in_one() -> None:
    paths = [f"/apis/shop.example.com/{version}" for version in ("v1", "v1beta1")]
    hashes = [document(path, a_definition())["resources"][0]["storageVersionHash"] for path in paths]

    assert hashes[0] == hashes[1]


def test_namespaces_are_deleted_one_by_one() -> None:
    resources = document("/api/v1")["resources"]
    namespaces = next(each for each in resources if each["name"] == "namespaces")

    assert namespaces["verbs"] == ["create", "delete", "get", "list", "patch", "update", "watch"]


def test_custom_resources_appear_and_disappear() -> None:
    async def script(read: Read, cluster: Cluster) -> Any:
        there = msgspec.json.decode((await read("/apis/shop.example.com/v1")).body)["resources"]
        cluster.verbs.delete(DEFINITIONS, "", "gadgets.shop.example.com", user="me")
        await asyncio.sleep(1)
        return there, (await read("/apis/shop.example.com/v1")).status, (await read("/apis")).body

    there, status, groups = reading(script, a_definition())

    assert [each["name"] for each in there] == ["gadgets", "gadgets/status", "gadgets/scale"]
    assert there[0]["verbs"] == ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
    assert status == 404
    assert b"shop.example.com" not in groups


def test_all_groups_are_told_at_once_to_who_accepts_that() -> None:
    groups = document("/apis", a_definition(), Accept=f"{GROUPED},{JSON}")
    entry = groups["items"][-1]

    assert (groups["kind"], groups["apiVersion"]) == ("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2")
    assert entry["metadata"] == {"name": "shop.example.com"}
    assert [each["version"] for each in entry["versions"]] == ["v1", "v1beta1"]
    assert entry["versions"][0]["resources"] == [
        {
            "resource": "gadgets",
            "responseKind": {"group": "shop.example.com", "version": "v1", "kind": "Gadget"},
            "scope": "Namespaced",
            "singularResource": "gadget",
            "verbs": ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"],
            "shortNames": ["gd"],
            "subresources": [
                {
                    "subresource": "status",
                    "responseKind": {"group": "shop.example.com", "version": "v1", "kind": "Gadget"},
                    "verbs": ["get", "patch", "update"],
                },
                {
                    "subresource": "scale",
                    "responseKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
                    "verbs": ["get", "patch", "update"],
                },
            ],
        }
    ]


def test_who_has_all_groups_already_is_told_so() -> None:
    async def script(read: Read, _: Cluster) -> tuple[int, str, int, bytes]:
        first = await read("/apis", Accept=GROUPED)
        again = await read("/apis", Accept=GROUPED, If_None_Match=first.headers["etag"])
        return first.status, first.headers["vary"], again.status, again.body

    assert reading(script) == (200, "Accept", 304, b"")


@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        ("/healthz", 200, b"ok"),
        ("/livez/ping", 200, b"ok"),
        ("/readyz/etcd", 200, b"ok"),
        ("/livez/nonsense", 404, b"404 page not found\n"),
        ("/healthz/", 404, b"404 page not found\n"),
        ("/nonsense", 404, b"404 page not found\n"),
        ("/apis/nonsense", 404, b"404 page not found\n"),
        ("/openapi/v3/apis/nonsense/v1", 404, b""),
    ],
)
def test_health_and_paths_that_are_none(path: str, status: int, body: bytes) -> None:
    async def script(read: Read, _: Cluster) -> tuple[int, bytes]:
        answer = await read(path)
        return answer.status, answer.body

    assert reading(script) == (status, body)


def test_health_is_told_check_by_check() -> None:
    async def script(read: Read, _: Cluster) -> list[str]:
        return (await read("/readyz?verbose=&exclude=etcd")).body.decode().splitlines()

    lines = reading(script)

    assert lines[:3] == ["[+]ping ok", "[+]log ok", "[+]etcd excluded: ok"]
    assert lines[-2:] == ["[+]shutdown ok", "readyz check passed"]


@pytest.mark.parametrize("path", ["/api/v2", "/apis/apps/v2"])
def test_a_version_that_a_group_has_not_got_is_a_resource_that_there_is_not(path: str) -> None:
    answer = document(path)

    assert (answer["code"], answer["message"]) == (404, "the server could not find the requested resource")


def test_the_root_names_every_path() -> None:
    paths = document("/", a_definition())["paths"]

    assert {"/api/v1", "/apis/apps/v1", "/apis/shop.example.com/v1", "/openapi/v3", "/readyz/etcd"} <= set(paths)
    assert paths == sorted(paths)


def test_documents_are_read_and_nothing_else() -> None:
    async def script(read: Read, _: Cluster) -> list[int]:
        return [(await read(path, "POST")).status for path in ("/api/v1", "/version", "/apis")]

    assert reading(script) == [405, 405, 200]
