"""What is empty, null or of an odd form: whether it counts, whose it is, and when it is refused."""

from __future__ import annotations

import copy
from typing import Any

from tests.exchanges.case import (
    JSON_PATCH,
    MERGE,
    METADATA_LIST,
    STRATEGIC,
    Case,
    Step,
    applied,
    case,
    get,
    patch,
    post,
    put,
    quiet,
    unordered,
)
from tests.exchanges.cases.samples import APPS, CORE, MAPS, SAMPLES, a_deployment, a_map, a_set, an_object
from tests.exchanges.cases.widgets import (
    ONE,
    TEXT,
    WIDGETS,
    a_definition,
    a_version,
    a_widget,
    defined,
    on_widgets,
    with_spec,
)

ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles"
JOBS = "/apis/batch/v1/namespaces/{ns}/jobs"
POLICIES = "/apis/networking.k8s.io/v1/namespaces/{ns}/networkpolicies"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices"
FIRST = "<<1.metadata.resourceVersion>>"
_FORMATTED = {
    name: TEXT | {"format": format_}
    for name, format_ in (
        ("bytes", "byte"),
        ("host", "hostname"),
        ("mac", "mac"),
        ("card", "creditcard"),
        ("book", "isbn"),
    )
}
_OWNER = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "1"}
_POLICY = an_object("networking.k8s.io/v1", "NetworkPolicy", spec={"podSelector": {"matchLabels": {"app": "web"}}})
_RULE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}


def _role(rules: Any) -> dict[str, Any]:
    return an_object("rbac.authorization.k8s.io/v1", "Role", rules=rules)


def _job(**spec: Any) -> dict[str, Any]:
    made = copy.deepcopy(SAMPLES["jobs"].object)
    labels = {"metadata": {"labels": {"app": "web"}}}
    whole = made["spec"] | {"template": made["spec"]["template"] | labels} | spec
    return made | {"spec": whole}


def _unlabelled(tree: dict[str, Any]) -> dict[str, Any]:
    """A workload whose pods have no labels, and say so."""
    template = tree["spec"]["template"] | {"metadata": {"labels": {}}}
    return tree | {"spec": tree["spec"] | {"template": template}}


def _with_metadata(tree: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return tree | {"metadata": tree["metadata"] | metadata}


_LISTS = (
    case(
        "an empty list has an owner",
        post(ROLES, _role([]), fieldManager="a"),
        put(f"{ROLES}/one", _role([]), fieldManager="b"),
        put(f"{ROLES}/one", _role(None), fieldManager="c"),
        patch(f"{ROLES}/one", {"rules": []}, MERGE, fieldManager="d"),
        patch(f"{ROLES}/one", {"rules": []}, STRATEGIC, fieldManager="e"),
        put(f"{ROLES}/one", _role([_RULE]), fieldManager="f"),
        put(f"{ROLES}/one", _role([]), fieldManager="g"),
    ),
    case(
        "empty lists of other kinds",
        post(
            SLICES,
            an_object("discovery.k8s.io/v1", "EndpointSlice", addressType="IPv4", endpoints=[], ports=[]),
        ),
        post(f"{CORE}/limitranges", an_object("v1", "LimitRange", spec={"limits": []})),
    ),
    case(
        "empty lists that count as changes",
        quiet(post(POLICIES, _POLICY)),
        put(f"{POLICIES}/one", _POLICY | {"spec": _POLICY["spec"] | {"odd": []}}),
        put(f"{POLICIES}/one", _POLICY | {"spec": _POLICY["spec"] | {"ingress": []}}),
    ),
    case(
        "pods with empty labels",
        post(f"{APPS}/deployments", _unlabelled(a_deployment())),
        post(f"{APPS}/statefulsets", _unlabelled(a_set())),
    ),
)

_NAMED = (
    case(
        "a page of one object by name",
        quiet(post(MAPS, a_map("a"))),
        quiet(post(MAPS, a_map("b"))),
        get(MAPS, METADATA_LIST, fieldSelector="metadata.name=b", limit=1, resourceVersion=FIRST),
        get(MAPS, METADATA_LIST, fieldSelector="metadata.name!=a", limit=1, resourceVersion=FIRST),
        get(MAPS, METADATA_LIST, fieldSelector="metadata.name=b", resourceVersion=FIRST, resourceVersionMatch="Exact"),
        get(
            "/api/v1/configmaps",
            METADATA_LIST,
            fieldSelector="metadata.name=b,metadata.namespace={ns}",
            limit=1,
            resourceVersion=FIRST,
        ),
    ),
)


def _applied(manager: str, **metadata: Any) -> Step:
    return applied(ONE, _with_metadata(a_widget(), **metadata), manager, force="true")


_CUSTOM = (
    on_widgets(
        "empty metadata applied",
        _applied("a", labels={}, finalizers=[]),
        _applied("a", labels={}, finalizers=[]),
        patch(ONE, {"metadata": {"labels": {}}}, MERGE),
        patch(ONE, {}, MERGE),
        _applied("b", annotations=None),
        _applied("c"),
        _applied("c"),
    ),
    on_widgets(
        "empty metadata not applied",
        post(WIDGETS, _with_metadata(a_widget(), labels={}, finalizers=[])),
        patch(ONE, {"metadata": {"annotations": {}}}, MERGE),
    ),
    on_widgets(
        "odd metadata",
        quiet(post(WIDGETS, _with_metadata(a_widget(), finalizers=["e.x/1"]))),
        patch(ONE, [{"op": "add", "path": "/metadata/finalizers/0"}], JSON_PATCH),
        patch(ONE, {"metadata": {"labels": {"a": None}, "annotations": {"b": None}}}, MERGE),
        patch(ONE, {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "uid": "1"}]}}, MERGE),
        patch(ONE, {"metadata": {"ownerReferences": [_OWNER | {"odd": 1}]}}, MERGE),
        patch(ONE, {"metadata": {"name": 5, "finalizers": [5]}}, MERGE),
        patch(ONE, [{"op": "add", "path": "/metadata/odd", "value": None}], JSON_PATCH),
    ),
    on_widgets(
        "finalizers that others may use",
        post(WIDGETS, _with_metadata(a_widget(), finalizers=["b", "orphan", "a.b", "e.x/1"])),
        patch(ONE, {"metadata": {"finalizers": ["b", "c", "e.x/1"]}}, MERGE),
        patch(f"{ONE}/status", {"metadata": {"finalizers": ["d"]}}, MERGE),
        patch(ONE, {"metadata": {"finalizers": None}}, MERGE),
    ),
    on_widgets(
        "numbers of a scale that are null",
        unordered(applied(ONE, a_widget(replicas=None), "me")),
        post(WIDGETS, a_widget(replicas=None)),
    ),
    on_widgets(
        "a patch that leaves no type",
        quiet(post(WIDGETS, a_widget())),
        patch(ONE, {"apiVersion": None}, MERGE),
        patch(ONE, [{"op": "remove", "path": "/apiVersion"}], JSON_PATCH),
        patch(ONE, [{"op": "replace", "path": "", "value": {"metadata": {"name": "one"}}}], JSON_PATCH),
        patch(f"{ONE}/status", {"apiVersion": ""}, MERGE),
    ),
    case(
        "what a schema says twice",
        *defined(
            a_definition(
                a_version(
                    schema=with_spec(
                        either={
                            "type": "object",
                            "properties": {"a": TEXT, "b": TEXT},
                            "required": ["a"],
                            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
                        }
                    )
                )
            )
        ),
        unordered(post(WIDGETS, a_widget(size=None, either={}))),
    ),
    case(
        "texts with a format",
        *defined(a_definition(a_version(schema=with_spec(**_FORMATTED)))),
        post(WIDGETS, a_widget("a", size=None, bytes="")),
        post(WIDGETS, a_widget("b", size=None, bytes=[])),
        patch(f"{WIDGETS}/b", {"spec": {"bytes": "YQ=="}}, MERGE),
        post(WIDGETS, a_widget("c", size=None, bytes="YQ==")),
        patch(f"{WIDGETS}/c", {"spec": {"bytes": ["x"]}}, MERGE),
        post(WIDGETS, a_widget("d", size=None, host="a=b")),
        post(WIDGETS, a_widget("e", size=None, host="a.=b")),
        *(
            unordered(post(WIDGETS, a_widget(f"f{index}", size=None, mac=text, card=text, book=text)))
            for index, text in enumerate(
                ("0a1b2c3d4e5f", "0A:1b:2c:3d:4e:5f:60:71", "0a1b.2c3d.4e5f.6071", "0a-1b", "0a:1b-2c:3d:4e:5f")
            )
        ),
        *(
            unordered(post(WIDGETS, a_widget(f"g{index}", size=None, card=text, book=text)))
            for index, text in enumerate(("4111 1111-11111111", "4111111111111112", "0-306-40615-2", "9780306406157"))
        ),
    ),
    case(
        "whole numbers with a fraction",
        *defined(a_definition(a_version(schema=with_spec(size={"type": "number", "multipleOf": 0.5})))),
        post(WIDGETS, a_widget("a", size=1.0)),
        applied(f"{WIDGETS}/b", a_widget("b", size=1.0), "me"),
        applied(f"{WIDGETS}/c", a_widget("c", size=1.5), "me"),
        applied(f"{WIDGETS}/d", a_widget("d", size=12345678901234567890), "me"),
    ),
)

_WHOLE = {"data": {"a": "b"}, "metadata": {"name": "one"}}
_PATCHES = (
    case(
        "a patch that leaves no version",
        quiet(post(MAPS, a_map())),
        *(
            patch(f"{MAPS}/one", [{"op": "replace", "path": "", "value": _WHOLE}], JSON_PATCH, fieldValidation=wish)
            for wish in ("Strict", "Warn", "Ignore")
        ),
        patch(f"{MAPS}/one", [{"op": "replace", "path": "", "value": [1]}], JSON_PATCH),
        patch(f"{MAPS}/one", [{"op": "replace", "path": "", "value": 1}], JSON_PATCH),
        patch(f"{MAPS}/one", {"apiVersion": None, "kind": None}, MERGE),
        patch(f"{MAPS}/one", {"kind": None}, MERGE),
        patch(f"{MAPS}/one", {"apiVersion": None, "kind": None}, STRATEGIC),
    ),
    case(
        "data that are null",
        quiet(post(MAPS, a_map() | {"binaryData": {"a": "AAAA"}})),
        patch(f"{MAPS}/one", [{"op": "add", "path": "/binaryData/b", "value": None}], JSON_PATCH),
        patch(f"{MAPS}/one", {"binaryData": {"a": "AAAA"}}, STRATEGIC),
        patch(f"{MAPS}/one", {"binaryData": {"a": "AAAA"}}, STRATEGIC),
        patch(f"{MAPS}/one", [{"op": "add", "path": "/binaryData/b", "value": ""}], JSON_PATCH),
    ),
    case(
        "an empty order of elements",
        quiet(post(MAPS, a_map(finalizers=["e.x/1", "e.x/2"]))),
        patch(
            f"{MAPS}/one",
            {"metadata": {"finalizers": ["e.x/4", "e.x/3"], "$setElementOrder/finalizers": []}},
            STRATEGIC,
        ),
        patch(
            f"{MAPS}/one",
            {"metadata": {"finalizers": ["e.x/5"], "$setElementOrder/finalizers": ["e.x/5", "e.x/2"]}},
            STRATEGIC,
        ),
        patch(f"{MAPS}/one", {"metadata": {"finalizers": None}}, MERGE),
    ),
    case(
        "a selector that is not by hand",
        quiet(post(JOBS, _job(manualSelector=True, selector={"matchLabels": {"app": "web"}}))),
        unordered(patch(f"{JOBS}/one", {"spec": {"manualSelector": False}}, MERGE)),
    ),
)

CASES: tuple[Case, ...] = (*_LISTS, *_NAMED, *_CUSTOM, *_PATCHES)
