"""The four kinds of patches, server-side apply with its conflicts, and who owns which field."""

from __future__ import annotations

from typing import Any

from tests.exchanges.case import (
    APPLY,
    JSON_PATCH,
    STRATEGIC,
    Case,
    Step,
    applied,
    case,
    delete,
    get,
    patch,
    post,
    put,
    quiet,
)
from tests.exchanges.cases.samples import (
    DEPLOYMENTS,
    MAPS,
    PODS,
    SERVICES,
    a_deployment,
    a_map,
    a_pod,
    a_service,
    an_object,
)

ONE = f"{MAPS}/one"
WORK = f"{DEPLOYMENTS}/one"
_MAP = a_map(data={"a": "1", "b": "2"}, labels={"x": "y"})
_TWO_CONTAINERS = {
    "metadata": {"labels": {"app": "a"}},
    "spec": {
        "containers": [
            {"name": "main", "image": "main:1", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
            {"name": "side", "image": "side:1", "ports": [{"containerPort": 80}, {"containerPort": 81}]},
        ]
    },
}


def _on_a_map(name: str, body: Any, content_type: str, *more: Step, **query: Any) -> Case:
    return case(name, quiet(post(MAPS, _MAP)), patch(ONE, body, content_type, **query), *more)


def _json(name: str, *operations: dict[str, Any], **query: Any) -> Case:
    return _on_a_map(name, list(operations), JSON_PATCH, **query)


def _op(op: str, path: str, **more: Any) -> dict[str, Any]:
    return {"op": op, "path": path} | {key.rstrip("_"): value for key, value in more.items()}


_JSON = (
    _json(
        "a json patch", _op("add", "/data/c", value="3"), _op("remove", "/data/a"), _op("replace", "/data/b", value="x")
    ),
    _json(
        "a json patch that moves and copies",
        _op("move", "/data/c", from_="/data/a"),
        _op("copy", "/data/d", from_="/data/b"),
    ),
    _json("a json patch whose test fails", _op("test", "/data/a", value="2"), _op("remove", "/data/a")),
    _json("a json patch whose test holds", _op("test", "/data/a", value="1"), _op("remove", "/data/a")),
    _json("a json patch of what is missing", _op("remove", "/data/z")),
    _json("a json patch that replaces what is missing", _op("replace", "/data/z", value="1")),
    _json("a json patch below what is missing", _op("add", "/nothing/here", value=1)),
    _json("a json patch with an unknown operation", _op("twist", "/data/a")),
    _json("a json patch without a value", _op("add", "/data/z")),
    _json(
        "a json patch with slashes in a key",
        _op("add", "/metadata/annotations", value={}),
        _op("add", "/metadata/annotations/example.com~1key", value="v"),
    ),
    _json("a json patch of the name", _op("replace", "/metadata/name", value="two")),
    _json("a json patch of a wrong type", _op("add", "/data/a", value=5)),
    _json("a json patch of an unknown field", _op("add", "/bogus", value=5), fieldValidation="Strict"),
    _json("a json patch that changes nothing", _op("replace", "/data/a", value="1")),
    _json("a json patch with an old version", _op("replace", "/metadata/resourceVersion", value="1")),
    _on_a_map("a json patch that is no list", {"data": {}}, JSON_PATCH),
    _on_a_map("a json patch that is not json", "[{", JSON_PATCH),
    case(
        "a json patch of a list",
        quiet(post(DEPLOYMENTS, a_deployment(template=_TWO_CONTAINERS))),
        patch(
            WORK,
            [
                _op("add", "/spec/template/spec/containers/-", value={"name": "third", "image": "i"}),
                _op("remove", "/spec/template/spec/containers/0"),
            ],
            JSON_PATCH,
        ),
        patch(WORK, [_op("remove", "/spec/template/spec/containers/7")], JSON_PATCH),
    ),
    case(
        "a json patch with too many operations",
        quiet(post(MAPS, _MAP)),
        patch(ONE, [_op("add", "/data/a", value="1")] * 10001, JSON_PATCH),
    ),
)

_MERGE = (
    _on_a_map("a merge patch", {"data": {"a": None, "c": "3"}}, "application/merge-patch+json"),
    _on_a_map("a merge patch of an unknown field", {"bogus": 1}, "application/merge-patch+json"),
    _on_a_map("a merge patch of a wrong type", {"data": "all"}, "application/merge-patch+json"),
    _on_a_map("a merge patch of the name", {"metadata": {"name": "two"}}, "application/merge-patch+json"),
    _on_a_map("a merge patch of the namespace", {"metadata": {"namespace": "two"}}, "application/merge-patch+json"),
    _on_a_map("a merge patch of the kind", {"kind": "Secret"}, "application/merge-patch+json"),
    _on_a_map(
        "a merge patch of another version", {"metadata": {"resourceVersion": "1"}}, "application/merge-patch+json"
    ),
    _on_a_map("a merge patch of the uid", {"metadata": {"uid": "x"}}, "application/merge-patch+json"),
    _on_a_map("a merge patch that is a list", [], "application/merge-patch+json"),
    _on_a_map("a merge patch that is not json", "{", "application/merge-patch+json"),
    _on_a_map("a patch without a type", {"data": {}}, ""),
    _on_a_map("a patch of an unknown type", {"data": {}}, "application/json"),
    _on_a_map("a dry patch", {"data": {"a": "9"}}, "application/merge-patch+json", get(ONE), dryRun="All"),
    _on_a_map("a patch by force that is none", {"data": {}}, "application/merge-patch+json", force="true"),
    _on_a_map("an empty patch", {}, "application/merge-patch+json"),
    case(
        "a patch of what is not there",
        patch(ONE, {"data": {}}),
        patch(ONE, [], JSON_PATCH),
        patch(ONE, {"data": {}}, STRATEGIC),
    ),
)


def _strategic(name: str, *bodies: Any) -> Case:
    return case(
        name,
        quiet(post(DEPLOYMENTS, a_deployment(template=_TWO_CONTAINERS))),
        *[patch(WORK, {"spec": {"template": {"spec": body}}}, STRATEGIC) for body in bodies],
    )


_STRATEGIC = (
    _strategic("a strategic patch of one container", {"containers": [{"name": "side", "image": "side:2"}]}),
    _strategic("a strategic patch that adds a container", {"containers": [{"name": "new", "image": "new:1"}]}),
    _strategic("a strategic patch that deletes a container", {"containers": [{"name": "side", "$patch": "delete"}]}),
    _strategic(
        "a strategic patch that replaces all", {"containers": [{"name": "new", "image": "n"}, {"$patch": "replace"}]}
    ),
    _strategic(
        "a strategic patch of environment",
        {"containers": [{"name": "main", "env": [{"name": "B", "value": None}, {"name": "C", "value": "3"}]}]},
    ),
    _strategic(
        "a strategic patch in order",
        {
            "$setElementOrder/containers": [{"name": "side"}, {"name": "main"}],
            "containers": [{"name": "main", "image": "main:2"}],
        },
    ),
    _strategic(
        "a strategic patch with a wrong order",
        {"$setElementOrder/containers": [{"name": "side"}], "containers": [{"name": "main", "image": "main:2"}]},
    ),
    _strategic(
        "a strategic patch with unknown words",
        {"$patch": "twist"},
        {"containers": [{"name": "main", "$patch": "twist"}]},
    ),
    _strategic("a strategic patch without a key", {"containers": [{"image": "x"}]}),
    _strategic(
        "a strategic patch that retains keys",
        {"$retainKeys": ["containers"], "containers": [{"name": "main", "image": "m"}]},
    ),
    case(
        "a strategic patch of finalizers",
        quiet(post(MAPS, a_map(finalizers=["a.io/a", "b.io/b"]))),
        patch(ONE, {"metadata": {"finalizers": ["c.io/c"]}}, STRATEGIC),
        patch(ONE, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a.io/a", "b.io/b", "c.io/c"]}}, STRATEGIC),
    ),
    case(
        "a strategic patch of ports",
        quiet(post(SERVICES, a_service(ports=[{"port": 80, "name": "a"}, {"port": 81, "name": "b"}]))),
        patch(f"{SERVICES}/one", {"spec": {"ports": [{"port": 80, "targetPort": 8080}]}}, STRATEGIC),
    ),
    case(
        "a strategic patch of a pod's status",
        quiet(post(PODS, a_pod())),
        patch(f"{PODS}/one/status", {"status": {"conditions": [{"type": "A", "status": "True"}]}}, STRATEGIC),
        patch(f"{PODS}/one/status", {"status": {"conditions": [{"type": "B", "status": "True"}]}}, STRATEGIC),
    ),
)


def _data(**data: Any) -> dict[str, Any]:
    return a_map(data=data)


_APPLY = (
    case("applying creates", applied(ONE, _data(a="1"))),
    case("applying again changes nothing", applied(ONE, _data(a="1")), applied(ONE, _data(a="1")), get(ONE)),
    case("applying less removes", applied(ONE, _data(a="1", b="2")), applied(ONE, _data(a="1"))),
    case(
        "applying shares fields",
        applied(ONE, _data(a="1", b="2")),
        applied(ONE, _data(a="1"), "second"),
        applied(ONE, _data(b="2")),
    ),
    case("applying conflicts with who applied", applied(ONE, _data(a="1")), applied(ONE, _data(a="2"), "second")),
    case("applying conflicts with who updated", post(MAPS, _data(a="1", b="1")), applied(ONE, _data(a="2", b="2"))),
    case("applying by force", applied(ONE, _data(a="1")), applied(ONE, _data(a="2"), "second", force="true")),
    case("an update takes fields over", applied(ONE, _data(a="1")), put(ONE, _data(a="2")), applied(ONE, _data(a="3"))),
    case("applying without a manager", patch(ONE, _data(), APPLY)),
    case("applying another name", applied(ONE, a_map("two"))),
    case("applying without kind", applied(ONE, {"metadata": {"name": "one"}})),
    case("applying without a name", applied(ONE, {"apiVersion": "v1", "kind": "ConfigMap"})),
    case("applying another kind", applied(ONE, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one"}})),
    case("applying managed fields", applied(ONE, a_map(managedFields=[{"manager": "x", "operation": "Apply"}]))),
    case("applying an unknown field", applied(ONE, _data() | {"bogus": 1})),
    case("applying a wrong type", applied(ONE, a_map() | {"data": "all"})),
    case(
        "applying a field twice",
        applied(ONE, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {a: '1', a: '2'}\n"),
    ),
    case(
        "applying yaml",
        applied(ONE, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\ndata:\n  a: |\n    text\n"),
    ),
    case("applying what is not yaml", applied(ONE, "a: [")),
    case("applying dry", applied(ONE, _data(a="1"), dryRun="All"), get(ONE)),
    case(
        "applying with a version", applied(ONE, _data(a="1")), applied(ONE, a_map(resourceVersion="1", data={"a": "2"}))
    ),
    case("applying with a version to nothing", applied(ONE, a_map(resourceVersion="1"))),
    case("applying with a uid to nothing", applied(ONE, a_map(uid="0b4d1b5a-0000-4000-8000-000000000000"))),
    case(
        "applying a workload",
        applied(WORK, a_deployment(replicas=2)),
        applied(WORK, a_deployment(), "second"),
        applied(WORK, a_deployment()),
    ),
    case(
        "applying and scaling",
        applied(WORK, a_deployment(replicas=2)),
        patch(f"{WORK}/scale", {"spec": {"replicas": 5}}),
        applied(WORK, a_deployment(replicas=3)),
    ),
    case(
        "applying a status",
        applied(WORK, a_deployment()),
        applied(f"{WORK}/status", an_object("apps/v1", "Deployment", status={"replicas": 1}), "second"),
    ),
    case(
        "applying to lists with keys",
        applied(f"{SERVICES}/one", a_service(ports=[{"port": 80, "name": "a"}])),
        applied(f"{SERVICES}/one", a_service(ports=[{"port": 81, "name": "b"}]), "second"),
    ),
    case(
        "applying twice the same key",
        applied(f"{SERVICES}/one", a_service(ports=[{"port": 80, "name": "a"}, {"port": 80, "name": "b"}])),
    ),
    case(
        "applying to finalizers",
        applied(ONE, a_map(finalizers=["a.io/a"])),
        applied(ONE, a_map(finalizers=["b.io/b"]), "second"),
        applied(ONE, a_map()),
    ),
    case(
        "applying owners",
        applied(ONE, a_map(ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}])),
    ),
    case(
        "forgetting who owns",
        applied(ONE, _data(a="1")),
        patch(ONE, {"metadata": {"managedFields": [{}]}}),
        applied(ONE, _data(a="2"), "second"),
    ),
    case(
        "applying to what is going",
        quiet(post(MAPS, a_map(finalizers=["a.io/a"]))),
        quiet(delete(ONE)),
        applied(ONE, _data(a="1")),
    ),
)

_JOBS = "/apis/batch/v1/namespaces/{ns}/jobs"
_BUDGETS = "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets"
_PLAIN_POD = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "main:1"}]}
_AFFINITY: dict[str, Any] = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}}

_FOUND = (
    case(
        "a selector is replaced as a whole",
        quiet(
            post(
                _BUDGETS,
                an_object(
                    "policy/v1",
                    "PodDisruptionBudget",
                    spec={"minAvailable": 1, "selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}},
                ),
            )
        ),
        patch(f"{_BUDGETS}/one", {"spec": {"selector": {"matchLabels": {"b": "1"}}}}, STRATEGIC),
    ),
    case(
        "nulls within a list that a merge patch sets",
        quiet(post(DEPLOYMENTS, a_deployment())),
        patch(WORK, {"spec": {"template": {"spec": {"containers": [{"name": "a", "image": "a", "args": None}]}}}}),
    ),
    case(
        "an order for a list that is not merged",
        quiet(post(PODS, a_pod(spec=_PLAIN_POD | {"tolerations": [{"key": "k", "operator": "Exists"}]}))),
        patch(f"{PODS}/one", {"spec": {"tolerations": [], "$setElementOrder/tolerations": []}}, STRATEGIC),
    ),
    _on_a_map("a directive that nobody knows", {"data": {"$patch": 5, "a": "1"}}, STRATEGIC),
    case("applying a list where a text belongs", applied(ONE, a_map(labels={"a": [1, None, {"b": "c"}]}))),
    case("applying a number for a name", applied(ONE, a_map() | {"metadata": {"name": 5}})),
    case(
        "forgetting who owns by an empty list",
        applied(ONE, _data(a="1")),
        patch(ONE, {"metadata": {"managedFields": []}}),
    ),
    case(
        "another template for a job that is held back",
        quiet(
            post(_JOBS, an_object("batch/v1", "Job", spec={"suspend": True, "template": {"spec": _PLAIN_POD}})),
        ),
        patch(f"{_JOBS}/one", {"spec": {"template": {"spec": {"affinity": _AFFINITY}}}}, dryRun="All"),
        patch(f"{_JOBS}/one", {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}}),
        patch(f"{_JOBS}/one", {"spec": {"template": {"spec": {"containers": None}}}}),
    ),
    case(
        "a strategy that nobody knows",
        quiet(post(DEPLOYMENTS, a_deployment())),
        patch(WORK, {"spec": {"strategy": {"type": "odd"}}}),
    ),
)

CASES: tuple[Case, ...] = (*_JSON, *_MERGE, *_STRATEGIC, *_APPLY, *_FOUND)
