"""Requests that are wrong in one way each: their bodies, their types, their patches.

`NS` in a path or a body stands for the namespace of the test.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from kubeloop.request import APPLY, JSON, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH

Tree = dict[str, Any]
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
MAPS = "/api/v1/namespaces/NS/configmaps"
THERE = f"{MAPS}/there"
PODS = "/api/v1/namespaces/NS/pods"
SERVICES = "/api/v1/namespaces/NS/services"
DEPLOYMENTS = "/apis/apps/v1/namespaces/NS/deployments"
WIDGETS = "/apis/shop.example.com/v1/namespaces/NS/widgets"
LARGE = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"large"},"data":{"a":"' + b"x" * (3 * 1024 * 1024)
LARGE += b'"}}'


class Case(Struct, frozen=True):
    """One request; a body that is a tree is sent as JSON."""

    name: str
    method: str
    path: str
    body: bytes = b""
    content_type: str = JSON
    query: tuple[tuple[str, str], ...] = ()


def a_map(name: str = "there", **fields: Any) -> Tree:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}} | fields


def a_widget(name: str = "there", **fields: Any) -> Tree:
    return {
        "apiVersion": "shop.example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name},
        "spec": {"size": 1},
    } | fields


def case(name: str, method: str, path: str, body: object = b"", content_type: str = JSON, **query: str) -> Case:
    text = body.encode() if isinstance(body, str) else body
    sent = text if isinstance(text, bytes) else json.dumps(body).encode()
    return Case(name, method, path, sent, content_type, tuple(query.items()))


OBJECTS = (
    ("POST", MAPS, a_map(data={"a": "1"}) | {"metadata": {"name": "there", "finalizers": ["a.b/c", "a.b/d"]}}),
    ("POST", WIDGETS, a_widget() | {"metadata": {"name": "there", "finalizers": ["a.b/c", "a.b/d"]}}),
    ("POST", SERVICES, {"metadata": {"name": "there"}, "spec": {"ports": [{"port": 80}]}}),
    (
        "POST",
        DEPLOYMENTS,
        {
            "metadata": {"name": "there"},
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": {"app": "x"}},
                "template": {
                    "metadata": {"labels": {"app": "x"}},
                    "spec": {"containers": [{"name": "one", "image": "one:1"}]},
                },
            },
        },
    ),
)

TEXTS: tuple[tuple[str, object], ...] = (
    ("nothing", b""),
    ("blanks", b"  \n"),
    ("null", b"null"),
    ("an array", b"[]"),
    ("a string", b'"x"'),
    ("a number", b"1"),
    ("an opening brace", b"{"),
    ("half a key", b'{"api'),
    ("half a string", b'{"apiVersion":"v1'),
    ("half a value", b'{"metadata":{"name":"a"},"data":tru'),
    ("a missing colon", b'{"a" 1}'),
    ("a trailing comma", b'{"metadata":{"name":"a"},}'),
    ("two commas", b'{"data":{"a":"b",,}}'),
    ("single quotes", b"{'a':1}"),
    ("a wrong word", b'{"a":nope}'),
    ("a number that is none", b'{"a":01}'),
    ("a wrong escape", b'{"a":"\\x"}'),
    ("a wrong code point", b'{"a":"\\u12g4"}'),
    ("a line break in a string", b'{"a":"b\nc"}'),
    ("text after it", b'{"metadata":{"name":"a"}} more'),
    ("two of it", b'{"metadata":{"name":"a"}}{"metadata":{"name":"a"}}'),
    ("a comma in an array", b'{"a":[1,]}'),
    ("an array that is not closed", b'{"a":[1 2]}'),
    ("plain text", b"hello"),
    ("long plain text", b"hello, this is a long text without any braces in it"),
    ("a zero byte", b"\x00"),
    ("a byte that is no text", b'\xff{"a":1}'),
    ("an opening bracket", b"["),
    ("the wrong brackets", b'{"a":[1}'),
)


def _bodies() -> Iterator[Case]:
    for kind, path in (("map", MAPS), ("widget", WIDGETS)):
        for name, body in TEXTS:
            yield case(f"{kind} that is {name}", "POST", path, body)
    for name, body in TEXTS[::4]:
        yield case(f"replacement that is {name}", "PUT", THERE, body)
        yield case(f"replaced widget that is {name}", "PUT", f"{WIDGETS}/there", body)
        yield case(f"scale that is {name}", "PUT", f"{DEPLOYMENTS}/there/scale", body)
        yield case(f"widget's scale that is {name}", "PUT", f"{WIDGETS}/there/scale", body)
        yield case(f"eviction that is {name}", "POST", f"{PODS}/there/eviction", body)
        yield case(f"review that is {name}", "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body)


_WRONG: tuple[tuple[str, Tree], ...] = (
    ("of another kind", {"kind": "Pod"}),
    ("of an unknown kind", {"kind": "Unknown"}),
    ("of the kind of a list", {"kind": "ConfigMapList"}),
    ("of an unknown version", {"apiVersion": "v7"}),
    ("of another group", {"apiVersion": "apps/v1"}),
    ("of an unknown group", {"apiVersion": "none.example.com/v1"}),
    ("of a version with two slashes", {"apiVersion": "a/b/c"}),
    ("of a version that is a number", {"apiVersion": 1}),
    ("of a kind that is a number", {"kind": 1}),
    ("of a kind in another case", {"kind": "configmap"}),
    ("without a version", {"apiVersion": ""}),
    ("without a kind", {"kind": ""}),
    ("of no version and another kind", {"apiVersion": None, "kind": "Pod"}),
    ("with text for metadata", {"metadata": "x"}),
    ("with an array for metadata", {"metadata": []}),
    ("with a number for metadata", {"metadata": 1}),
    ("with null for metadata", {"metadata": None}),
    ("with no name", {"metadata": {}}),
    ("with another namespace", {"metadata": {"name": "there", "namespace": "elsewhere"}}),
    ("with a number for a name", {"metadata": {"name": 1}}),
    ("with a name that is none", {"metadata": {"name": "Not_A_Name"}}),
    ("with an unknown uid", {"metadata": {"name": "there", "uid": "11111111-1111-1111-1111-111111111111"}}),
    ("with an old version", {"metadata": {"name": "there", "resourceVersion": "1"}}),
    ("with a version that is no number", {"metadata": {"name": "there", "resourceVersion": "x"}}),
    ("with another name", {"metadata": {"name": "other"}}),
)


def _wrong() -> Iterator[Case]:
    for name, wrong in _WRONG:
        if "version that" not in name and "old" not in name:  # which a dry run passes over
            yield case(f"map {name}", "POST", MAPS, a_map() | wrong, dryRun="All")
            yield case(f"widget {name}", "POST", WIDGETS, a_widget() | wrong, dryRun="All")
        yield case(f"replacement {name}", "PUT", THERE, a_map() | wrong, dryRun="All")
        if not name.startswith("of"):  # whose version is asked for first
            yield case(f"replaced widget {name}", "PUT", f"{WIDGETS}/there", a_widget() | wrong, dryRun="All")
    for name in (
        "of another kind",
        "of an unknown version",
        "of an unknown group",
        "with no name",
        "with another name",
    ):
        wrong = dict(_WRONG)[name]
        yield case(f"service {name}", "PUT", f"{SERVICES}/there", {"metadata": {"name": "there"}} | wrong, dryRun="All")
        yield case(f"replacement of nothing {name}", "PUT", f"{MAPS}/none", a_map("none") | wrong)
        yield case(f"eviction {name}", "POST", f"{PODS}/there/eviction", {"metadata": {"name": "there"}} | wrong)
        yield case(f"binding {name}", "POST", f"{PODS}/there/binding", {"metadata": {"name": "there"}} | wrong)
    yield case("replacement of nothing", "PUT", f"{MAPS}/none", a_map("none"))
    yield case("replacement of no widget", "PUT", f"{WIDGETS}/none", a_widget("none"))


_TYPES = (
    "text/plain",
    "application/xml",
    "application/x-yaml",
    "application/cbor",
    "application/JSON",
    "application/json; charset=utf-8",
    "application/json;odd",
    "application",
    "application/json, text/plain",
    "multipart/form-data",
    MERGE_PATCH,
    PROTOBUF,
)


def _types() -> Iterator[Case]:
    for kind in _TYPES:
        yield case(f"map as {kind}", "POST", MAPS, a_map("new"), kind, dryRun="All")
        if kind != PROTOBUF:  # at which the real server cuts the connection
            yield case(f"widget as {kind}", "POST", WIDGETS, a_widget("new"), kind, dryRun="All")
        yield case(f"deletion as {kind}", "DELETE", f"{MAPS}/none", {}, kind)
        yield case(f"deletion of a widget as {kind}", "DELETE", f"{WIDGETS}/none", {}, kind)
        if kind != MERGE_PATCH:
            yield case(f"patch as {kind}", "PATCH", THERE, {}, kind)
            yield case(f"patch of a widget as {kind}", "PATCH", f"{WIDGETS}/there", {}, kind)
    yield case("patch of a widget, strategic", "PATCH", f"{WIDGETS}/there", {}, STRATEGIC_MERGE_PATCH)
    yield case("patch of a status as json", "PATCH", f"{DEPLOYMENTS}/there/status", {}, JSON)
    yield case("patch of a scale, strategic", "PATCH", f"{DEPLOYMENTS}/there/scale", {}, STRATEGIC_MERGE_PATCH)
    yield case("patch of a widget's scale, strategic", "PATCH", f"{WIDGETS}/there/scale", {}, STRATEGIC_MERGE_PATCH)
    yield case(
        "patch of a definition, strategic", "PATCH", f"{CRDS}/widgets.shop.example.com", {}, STRATEGIC_MERGE_PATCH
    )
    yield case("yaml", "POST", MAPS, "metadata:\n  name: new\ndata: {a: b}\n", YAML, dryRun="All")
    yield case("yaml of a widget", "POST", WIDGETS, json.dumps(a_widget("new")), YAML, dryRun="All")
    yield case("yaml that is none", "POST", MAPS, "a: [1", YAML)
    yield case("yaml that is text", "POST", MAPS, "hello", YAML)
    yield case("yaml that is an array", "POST", MAPS, "- a\n- b\n", YAML)
    yield case("yaml of another kind", "POST", MAPS, "kind: Pod\napiVersion: v1\n", YAML)
    yield case("yaml that is empty", "POST", MAPS, "", YAML)
    yield case("protobuf without its mark", "POST", MAPS, b"\x0a\x02v1", PROTOBUF)
    yield case("protobuf that is its mark alone", "POST", MAPS, b"k8s\x00", PROTOBUF)
    yield case("protobuf that is cut", "POST", MAPS, b"k8s\x00\x0a\x20\x0a\x02v1", PROTOBUF)
    yield case("protobuf that is empty", "POST", MAPS, b"", PROTOBUF)
    yield case("protobuf that is of no kind", "POST", MAPS, b"k8s\x00\x0a\x04\x0a\x02v1\x12\x00", PROTOBUF)
    unknown = b"k8s\x00\x0a\x0d\x0a\x02v1\x12\x07Unknown\x12\x00"
    yield case("protobuf of an unknown kind", "POST", MAPS, unknown, PROTOBUF)
    yield case("protobuf of another kind", "POST", MAPS, b"k8s\x00\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x00", PROTOBUF)
    bad = b"k8s\x00\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x02\x0a\x09"
    yield case("protobuf with half a message", "POST", MAPS, bad, PROTOBUF)
    yield case("large map", "POST", MAPS, LARGE)
    yield case("large widget", "POST", WIDGETS, LARGE)
    yield case("large replacement", "PUT", THERE, LARGE)
    yield case("large patch", "PATCH", THERE, LARGE, MERGE_PATCH)
    yield case("large deletion", "DELETE", THERE, LARGE, dryRun="All")


CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def _patches() -> Iterator[Case]:
    for name, body in TEXTS:
        for kind in (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH):
            yield case(f"{kind} that is {name}", "PATCH", THERE, body, kind)
    for name, body in TEXTS[::3]:
        yield case(f"widget's {JSON_PATCH} that is {name}", "PATCH", f"{WIDGETS}/there", body, JSON_PATCH)
        yield case(f"widget's {MERGE_PATCH} that is {name}", "PATCH", f"{WIDGETS}/there", body, MERGE_PATCH)
    for kind in (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH):
        yield case(f"{kind} of nothing", "PATCH", f"{MAPS}/none", b"x", kind)
    yield case("merge of no widget", "PATCH", f"{WIDGETS}/none", b"x", MERGE_PATCH)
    yield case("merge of no status", "PATCH", f"{DEPLOYMENTS}/none/status", b"{}", MERGE_PATCH)
    yield case("merge of no scale", "PATCH", f"{DEPLOYMENTS}/none/scale", b"{}", MERGE_PATCH)


def _steps() -> Iterator[Case]:
    steps: dict[str, object] = {
        "a path without a slash": {"op": "add", "path": "data/b", "value": "x"},
        "an empty path": {"op": "add", "path": "", "value": {}},
        "a missing parent": {"op": "add", "path": "/none/b", "value": "x"},
        "a path to remove that is missing": {"op": "remove", "path": "/data/none"},
        "a parent to remove from that is missing": {"op": "remove", "path": "/none/b"},
        "a path to replace that is missing": {"op": "replace", "path": "/data/none", "value": "x"},
        "a test that fails": {"op": "test", "path": "/data/a", "value": "2"},
        "a test of what is missing": {"op": "test", "path": "/data/none", "value": "2"},
        "a test without a value": {"op": "test", "path": "/data/a"},
        "an unknown operation": {"op": "fly", "path": "/data/a"},
        "no operation": {"path": "/data/a"},
        "no path": {"op": "add", "value": "x"},
        "no value to add": {"op": "add", "path": "/data/b"},
        "a source that is missing": {"op": "copy", "from": "/data/none", "path": "/data/b"},
        "a move from nothing": {"op": "move", "from": "/data/none", "path": "/data/b"},
        "a move without a source": {"op": "move", "path": "/data/b"},
        "a copy without a source": {"op": "copy", "path": "/data/b"},
        "a number for a path": {"op": "add", "path": 1, "value": "x"},
        "a number for an operation": {"op": 1, "path": "/data/b", "value": "x"},
        "an unknown key": {"op": "add", "path": "/data/b", "value": "x", "odd": 1},
        "a value of the wrong type": {"op": "add", "path": "/data/b", "value": 1},
        "another name": {"op": "replace", "path": "/metadata/name", "value": "other"},
        "no name": {"op": "remove", "path": "/metadata/name"},
        "another namespace": {"op": "replace", "path": "/metadata/namespace", "value": "other"},
        "another uid": {"op": "replace", "path": "/metadata/uid", "value": "11111111-1111-1111-1111-111111111111"},
        "another version": {"op": "replace", "path": "/metadata/resourceVersion", "value": "1"},
        "another kind": {"op": "replace", "path": "/kind", "value": "Pod"},
        "another API version": {"op": "replace", "path": "/apiVersion", "value": "v7"},
        "text for metadata": {"op": "replace", "path": "/metadata", "value": "x"},
        "an index past the end": {"op": "add", "path": "/metadata/finalizers/9", "value": "a.b/e"},
        "an index that is none": {"op": "add", "path": "/metadata/finalizers/x", "value": "a.b/e"},
        "an index below zero": {"op": "remove", "path": "/metadata/finalizers/-1"},
        "a leading zero": {"op": "remove", "path": "/metadata/finalizers/00"},
        "the end to remove": {"op": "remove", "path": "/metadata/finalizers/-"},
        "a step that is text": "x",
        "a step that is null": None,
    }
    for name, step in steps.items():
        yield case(f"step with {name}", "PATCH", THERE, [step], JSON_PATCH, dryRun="All")
        yield case(f"step of a widget with {name}", "PATCH", f"{WIDGETS}/there", [step], JSON_PATCH, dryRun="All")
    many = [{"op": "test", "path": "/data/a", "value": "1"}] * 10001
    yield case("too many steps", "PATCH", THERE, many, JSON_PATCH)


def _merges() -> Iterator[Case]:
    merges: dict[str, Tree] = {
        "another name": {"metadata": {"name": "other"}},
        "no name": {"metadata": {"name": None}},
        "another namespace": {"metadata": {"namespace": "other"}},
        "no namespace": {"metadata": {"namespace": None}},
        "another uid": {"metadata": {"uid": "11111111-1111-1111-1111-111111111111"}},
        "no uid": {"metadata": {"uid": None}},
        "another version": {"metadata": {"resourceVersion": "1"}},
        "a version that is no number": {"metadata": {"resourceVersion": "x"}},
        "no version": {"metadata": {"resourceVersion": None}},
        "another kind": {"kind": "Pod"},
        "an unknown kind": {"kind": "Unknown"},
        "another API version": {"apiVersion": "v7"},
        "text for metadata": {"metadata": "x"},
        "null for metadata": {"metadata": None},
        "an array for metadata": {"metadata": []},
        "a number for a label": {"metadata": {"labels": {"a": 1}}},
        "text for labels": {"metadata": {"labels": "x"}},
        "an unknown directive": {"$patch": "fly"},
        "a deletion of all": {"$patch": "delete"},
        "a directive that is a number": {"$patch": 1},
        "a directive inside": {"data": {"$patch": "fly"}},
        "a list to keep that is none": {"data": {"$retainKeys": "a"}},
        "kept keys that leave one out": {"data": {"$retainKeys": ["a"], "b": "x"}},
        "an order that is none": {"metadata": {"$setElementOrder/finalizers": "x"}},
        "an order that leaves one out": {"metadata": {"$setElementOrder/finalizers": ["a/b"], "finalizers": ["c/d"]}},
        "a deletion from a list that is none": {"metadata": {"$deleteFromPrimitiveList/finalizers": "x"}},
        "owners without a key": {"metadata": {"ownerReferences": [{"name": "x"}]}},
        "owners that are text": {"metadata": {"ownerReferences": ["x"]}},
        "owners that are an object": {"metadata": {"ownerReferences": {"name": "x"}}},
    }
    for kind in (MERGE_PATCH, STRATEGIC_MERGE_PATCH):
        for name, merge in merges.items():
            yield case(f"{kind} with {name}", "PATCH", THERE, merge, kind, dryRun="All")
    for name, merge in list(merges.items())[:17]:
        yield case(f"merged widget with {name}", "PATCH", f"{WIDGETS}/there", merge, MERGE_PATCH, dryRun="All")
    inside: dict[str, object] = {
        "containers without a key": [{"image": "x"}],
        "containers that are text": ["x"],
        "containers that are an object": {"name": "x"},
        "containers with an unknown directive": [{"$patch": "fly", "name": "one"}],
        "a container to delete without a key": [{"$patch": "delete"}],
        "a null among containers": [None],
    }
    for name, containers in inside.items():
        body = {"spec": {"template": {"spec": {"containers": containers}}}}
        yield case(f"strategic with {name}", "PATCH", f"{DEPLOYMENTS}/there", body, STRATEGIC_MERGE_PATCH, dryRun="All")


def _scales() -> Iterator[Case]:
    scales: dict[str, Tree] = {
        "text for replicas": {"spec": {"replicas": "x"}},
        "replicas below zero": {"spec": {"replicas": -1}},
        "another name": {"metadata": {"name": "other"}},
        "another version": {"metadata": {"resourceVersion": "1"}},
        "another uid": {"metadata": {"uid": "11111111-1111-1111-1111-111111111111"}},
        "another kind": {"kind": "Pod"},
        "another namespace": {"metadata": {"namespace": "other"}},
        "text for spec": {"spec": "x"},
    }
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "there"}, "spec": {"replicas": 0}}
    for name, wrong in scales.items():
        named = {"metadata": {"name": "there"} | wrong["metadata"]} if "metadata" in wrong else wrong
        yield case(f"scale with {name}", "PUT", f"{DEPLOYMENTS}/there/scale", scale | named, dryRun="All")
        yield case(f"merged scale with {name}", "PATCH", f"{DEPLOYMENTS}/there/scale", wrong, MERGE_PATCH, dryRun="All")
        yield case(f"widget's scale with {name}", "PUT", f"{WIDGETS}/there/scale", scale | named, dryRun="All")
        if "uid" not in name:
            yield case(
                f"widget's merged scale with {name}",
                "PATCH",
                f"{WIDGETS}/there/scale",
                wrong,
                MERGE_PATCH,
                dryRun="All",
            )
    yield case("scale of nothing", "PUT", f"{DEPLOYMENTS}/none/scale", scale | {"metadata": {"name": "none"}})
    yield case("scale of a map", "GET", f"{THERE}/scale", content_type="")


def _applied() -> Iterator[Case]:
    applied: dict[str, object] = {
        "nothing": "",
        "text": "hello",
        "an array": "[]",
        "no kind": {"apiVersion": "v1"},
        "another kind": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "there"}},
        "another version": {"apiVersion": "v7", "kind": "ConfigMap", "metadata": {"name": "there"}},
        "another name": a_map("other"),
        "another namespace": a_map() | {"metadata": {"name": "there", "namespace": "other"}},
        "managed fields": a_map() | {"metadata": {"name": "there", "managedFields": [{"manager": "x"}]}},
        "an old version": a_map() | {"metadata": {"name": "there", "resourceVersion": "1"}},
        "text for metadata": a_map() | {"metadata": "x"},
        "bad yaml": "a: [1",
        "a tab": "a:\n\tb: 1",
    }
    for name, body in applied.items():
        yield case(f"apply with {name}", "PATCH", THERE, body, APPLY, fieldManager="me", dryRun="All")
    yield case("apply by nobody", "PATCH", THERE, a_map(), APPLY)


CASES = (*_bodies(), *_wrong(), *_types(), *_patches(), *_steps(), *_merges(), *_scales(), *_applied())
