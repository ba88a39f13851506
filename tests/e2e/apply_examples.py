"""Requests around server-side apply that are answered in words of their own; each example has an object to itself."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from kubeloop.request import APPLY, JSON, JSON_PATCH, MERGE_PATCH
from tests.e2e.definitions import a_definition, a_version

Tree = dict[str, Any]
CRATES = "/apis/shop.example.com/v1/namespaces/NAMESPACE/crates"
CRATES_BETA = "/apis/shop.example.com/v1beta1/namespaces/NAMESPACE/crates"
NAME = "NAME"
"""Stands for the name of the example's object."""
MAPS = "/api/v1/namespaces/NAMESPACE/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/NAMESPACE/deployments"
BOXES = "/apis/shop.example.com/v1/namespaces/NAMESPACE/boxes"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class Ask(Struct, frozen=True):
    """One request; a tree that is text is sent as it is."""

    method: str
    path: str
    tree: Any = None
    content_type: str = JSON
    query: dict[str, str] = {}


def a_map(data: Tree | None = None, **metadata: Any) -> Tree:
    tree: Tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME, **metadata}}
    return tree if data is None else tree | {"data": data}


def a_deployment(containers: list[Any], **spec: Any) -> Tree:
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": containers}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": NAME},
        "spec": {"selector": {"matchLabels": {"app": "x"}}, "template": template, **spec},
    }


def a_box(**spec: Any) -> Tree:
    return {"apiVersion": "shop.example.com/v1", "kind": "Box", "metadata": {"name": NAME}, "spec": spec}


def applied(tree: Any, manager: str = "one", base: str = MAPS, subresource: str = "", **query: str) -> Ask:
    path = f"{base}/{NAME}" + (f"/{subresource}" if subresource else "")
    return Ask("PATCH", path, tree, APPLY, {"fieldManager": manager, **query})


def created(tree: Tree, base: str = MAPS, **query: str) -> Ask:
    return Ask("POST", base, tree, query=query)


def merged(tree: Tree, base: str = MAPS, **query: str) -> Ask:
    return Ask("PATCH", f"{base}/{NAME}", tree, MERGE_PATCH, query)


def patched(*operations: Tree, base: str = MAPS, **query: str) -> Ask:
    return Ask("PATCH", f"{base}/{NAME}", list(operations), JSON_PATCH, query)


def read(base: str = MAPS) -> Ask:
    return Ask("GET", f"{base}/{NAME}")


def a_crate_definition() -> Tree:
    """Its versions know different fields, and nobody converts them."""
    number = {"type": "integer"}
    old, new = (
        {"spec": {"type": "object", "properties": fields}} for fields in ({"b": number}, {"a": number, "b": number})
    )
    schemas = [{"openAPIV3Schema": {"type": "object", "properties": each}} for each in (new, old)]
    versions = (
        a_version(schema=schemas[0], subresources={}),
        a_version("v1beta1", storage=False, schema=schemas[1], subresources={}),
    )
    return a_definition(*versions, plural="crates", kind="Crate")


def a_crate(version: str = "v1", **spec: Any) -> Tree:
    return a_box(**spec) | {"apiVersion": f"shop.example.com/{version}", "kind": "Crate"}


_CONTAINER = {"name": "c", "image": "i"}
_LAST = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"NAME"},"data":{"a":"1"}}'
_MIGRATED = {
    "manager": "kubectl",
    "operation": "Apply",
    "apiVersion": "v1",
    "time": "2030-01-01T00:00:00Z",
    "fieldsType": "FieldsV1",
    "fieldsV1": {"f:data": {"f:a": {}}},
}

EXAMPLES: dict[str, list[Ask]] = {
    "a manager is needed": [Ask("PATCH", f"{MAPS}/{NAME}", a_map(), APPLY)],
    "a manager has a limit": [applied(a_map(), "m" * 129), created(a_map(), fieldManager="m" * 129)],
    "a manager can be printed": [applied(a_map(), "a\nb")],
    "force is for applying": [created(a_map()), merged({}, force="true"), merged({}, force="false")],
    "force may be refused": [created(a_map({"a": "1"})), applied(a_map({"a": "2"}), force="false")],
    "a conflict": [created(a_map({"a": "1"}), fieldManager="other"), applied(a_map({"a": "2"}))],
    "conflicts with several": [
        applied(a_map({"a": "1"}), "first"),
        merged({"data": {"b": "1", "c": "1"}}, fieldManager="second"),
        applied(a_map({"a": "2", "b": "2", "c": "2"}), "third"),
        applied(a_map({"a": "2", "b": "2", "c": "2"}), "third", force="true"),
        read(),
    ],
    "conflicts within lists": [
        applied(a_deployment([_CONTAINER | {"ports": [{"containerPort": 80}]}]), "one", DEPLOYMENTS),
        applied(
            a_deployment([{"name": "c", "image": "j", "ports": [{"containerPort": 80, "name": "w"}]}], replicas=1),
            "two",
            DEPLOYMENTS,
        ),
    ],
    "a conflict in a set": [
        applied(a_box(whole={"k": 1}, set=["a"], numbers=[1]), "one", BOXES),
        applied(a_box(whole={"k": 2}, set=["a", "b"], numbers=[1, 2]), "two", BOXES),
    ],
    "a conflict with a status": [
        created(a_box(), BOXES),
        Ask("PATCH", f"{BOXES}/{NAME}/status", {"status": {"phase": "x"}}, MERGE_PATCH, {"fieldManager": "other"}),
        applied(a_box() | {"status": {"phase": "y"}}, "one", BOXES, "status"),
        applied(a_box(replicas=1) | {"status": {"phase": "y"}}, "one", BOXES, "status", force="true"),
        read(BOXES),
    ],
    "unknown fields of built-in kinds": [
        applied(a_deployment([_CONTAINER | {"odd": 1}]), "one", DEPLOYMENTS),
        applied(a_map() | {"odd": 1}, fieldValidation="Ignore"),
    ],
    "unknown fields of custom resources": [applied(a_box(odd=1), "one", BOXES)],
    "wrong types": [
        applied(a_deployment([_CONTAINER], replicas="x"), "one", DEPLOYMENTS),
        applied(a_deployment([_CONTAINER], paused="x"), "one", DEPLOYMENTS),
        applied(a_deployment([_CONTAINER | {"image": True}]), "one", DEPLOYMENTS),
        applied(a_deployment({"a": 1}), "one", DEPLOYMENTS),  # type: ignore[arg-type]
        applied(a_map() | {"data": [1, "a"]}),
        applied(a_box(plain={"x": "1"}), "one", BOXES),
        applied(a_box(plain={"x": {"y": None}}), "one", BOXES),
        applied(a_box(either=[1]), "one", BOXES),
        applied(a_box(either={"a": 1}), "one", BOXES),
    ],
    "items that cannot be told apart": [
        applied(a_deployment([_CONTAINER, _CONTAINER]), "one", DEPLOYMENTS),
        applied(a_deployment([{"image": "i"}]), "one", DEPLOYMENTS),
        applied(a_deployment(["c"]), "one", DEPLOYMENTS),
        applied(a_deployment([None]), "one", DEPLOYMENTS),
        applied(a_box(set=["a", "a"]), "one", BOXES),
        applied(a_box(set=[None]), "one", BOXES),
        applied(a_box(set=[["a"]]), "one", BOXES),
        applied(a_box(pairs=[{"protocol": "TCP"}]), "one", BOXES),
        applied(a_box(pairs=[{"port": 1}, {"port": 1, "protocol": "TCP"}]), "one", BOXES),
    ],
    "nulls": [
        applied(a_box(plain=None, set=None, nothing=None, replicas=1), "one", BOXES),
        applied(a_map() | {"data": None}),
        applied(a_map({"a": "1"})),
        applied(a_map() | {"data": None}),
    ],
    "entries cannot be applied": [applied(a_map(managedFields=[])), applied(a_map(managedFields=[{"manager": "x"}]))],
    "another kind": [
        applied(a_map() | {"kind": "Secret"}),
        applied(a_map() | {"apiVersion": "apps/v1"}),
        applied({"metadata": {"name": NAME}}),
        applied(a_box() | {"apiVersion": "shop.example.com/v1beta1"}, "one", BOXES),
    ],
    "another name": [
        applied(a_map(namespace="elsewhere")),
        applied(a_map() | {"metadata": {"name": "other"}}),
        applied(a_map() | {"metadata": {}}),
        applied({"apiVersion": "v1", "kind": "ConfigMap"}),
        created(a_map()),
        applied(a_map() | {"metadata": {"name": "other"}}),
        applied(a_map(namespace="elsewhere")),
        applied(a_map({"a": "1"}) | {"metadata": {}}),
    ],
    "what is not there has no uid": [applied(a_map(uid="f0000000-0000-0000-0000-000000000000"))],
    "another uid": [created(a_map()), applied(a_map(uid="f0000000-0000-0000-0000-000000000000"))],
    "a version of what is not there": [applied(a_map(resourceVersion="7"))],
    "an old version": [created(a_map()), applied(a_map({"a": "1"}, resourceVersion="1"))],
    "a status of nothing": [applied(a_box(), "one", BOXES, "status")],
    "no such namespace": [Ask("PATCH", "/api/v1/namespaces/none/configmaps/x", a_map(), APPLY, {"fieldManager": "a"})],
    "text that is YAML": [
        applied("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: NAME\ndata:\n  a: '1'\n  at: 2030-01-01\n"),
        read(),
    ],
    "text that is neither": [applied("[]"), applied('"x"'), applied("7"), applied("true"), applied("")],
    "keys that are said twice": [
        applied('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"NAME"},"data":{"a":"1","a":"2"}}'),
        applied(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: NAME\ndata:\n  a: '1'\n  a: '2'\n",
            fieldValidation="Strict",
        ),
        applied(a_map(), fieldValidation="Sometimes"),
    ],
    "nothing is stored in a dry run": [applied(a_map({"a": "1"}), dryRun="All"), read()],
    "what is no longer applied goes": [
        applied(a_map({"a": "1", "b": "1"}, labels={"x": "1"}), "one"),
        applied(a_map({"b": "1"}), "two"),
        applied(a_map({"c": "1"}), "one"),
        read(),
        applied(a_map(), "two"),
        applied(a_map(), "one"),
        read(),
    ],
    "nobody was tracked before": [
        created(a_map({"a": "1", "b": "1"})),
        merged({"metadata": {"managedFields": []}}),
        read(),
        merged({"data": {"c": "1"}}),
        read(),
        applied(a_map({"a": "2"}), "one"),
        applied(a_map({"d": "2"}), "one"),
        read(),
    ],
    "ownership is given up": [
        created(a_map({"a": "1"}), fieldManager="x"),
        Ask("PUT", f"{MAPS}/{NAME}", a_map({"a": "2"}, managedFields=[{}]), query={"fieldManager": "y"}),
        read(),
    ],
    "ownership is written": [
        created(a_map({"a": "1"}), fieldManager="kubectl-client-side-apply"),
        patched({"op": "replace", "path": "/metadata/managedFields", "value": [_MIGRATED]}, fieldManager="kubectl"),
        read(),
        applied(a_map({"a": "2"}), "kubectl"),
        patched({"op": "replace", "path": "/metadata/managedFields", "value": [{"manager": "x"}]}),
        read(),
    ],
    "ownership is created": [created(a_map({"a": "1", "b": "1"}, managedFields=[_MIGRATED]), fieldManager="new")],
    "kubectl takes over": [
        created(
            a_map({"a": "1", "b": "1"}, annotations={LAST_APPLIED: _LAST}), fieldManager="kubectl-client-side-apply"
        ),
        applied(a_map({"a": "2"}), "kubectl"),
        applied(a_map({"a": "3", "b": "3"}), "kubectl"),
        read(),
    ],
    "programs are known by their agent": [created(a_map({"a": "1"})), merged({"data": {"b": "1"}}), read()],
    "old updaters are taken together": [
        created(a_map({"k": "0"}), fieldManager="m00"),
        *(merged({"data": {f"k{number}": "1"}}, fieldManager=f"m{number:02}") for number in range(1, 13)),
        read(),
    ],
    "versions have owners of their own": [
        applied(a_box(replicas=1, set=["a"]), "one", BOXES),
        applied(
            a_box(set=["b"]) | {"apiVersion": "shop.example.com/v1beta1"}, "two", BOXES.replace("/v1/", "/v1beta1/")
        ),
        applied(
            a_box(replicas=2) | {"apiVersion": "shop.example.com/v1beta1"}, "one", BOXES.replace("/v1/", "/v1beta1/")
        ),
        read(BOXES),
    ],
    "versions that know less": [
        applied(a_crate(b=1), "one", CRATES),
        applied(a_crate("v1beta1", b=2), "two", CRATES_BETA),
        applied(a_crate("v1beta1", b=2), "two", CRATES_BETA, force="true"),
        merged({"spec": {"a": 1}}, CRATES, fieldManager="three"),
        read(CRATES),
        applied(a_crate(b=3), "one", CRATES),
        applied(a_crate("v1beta1", b=3), "two", CRATES_BETA),
        merged({"spec": {"b": 4}}, CRATES_BETA, fieldManager="four"),
        read(CRATES),
    ],
    "a scale is owned": [
        applied(a_deployment([_CONTAINER], replicas=2), "one", DEPLOYMENTS),
        Ask("PATCH", f"{DEPLOYMENTS}/{NAME}/scale", {"spec": {"replicas": 3}}, MERGE_PATCH, {"fieldManager": "hpa"}),
        read(DEPLOYMENTS),
        applied(a_deployment([_CONTAINER], replicas=2), "one", DEPLOYMENTS),
        applied({"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 4}}, "x", DEPLOYMENTS, "scale"),
    ],
}
