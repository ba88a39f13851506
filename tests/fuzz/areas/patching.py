"""Strategic merge, merge and JSON patches, sound and broken, one after the other on the same object."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.e2e.configurations import BOX
from tests.e2e.definitions import GROUP, a_definition, a_version
from tests.exchanges.case import JSON_PATCH, MERGE, STRATEGIC, Step, patch, post, unordered
from tests.fuzz.playing import Scenario, Tree

LENGTH = 14
CORE, APPS = "/api/v1/namespaces/{ns}", "/apis/apps/v1/namespaces/{ns}"
DEFINITIONS = (
    a_definition(
        a_version(schema={"openAPIV3Schema": {"type": "object", "properties": {"spec": BOX}}}, subresources={}),
        plural="chests",
        kind="Chest",
    ),
)
_ODD: list[Any] = [
    None,
    5,
    "x",
    True,
    [],
    {},
    ["a"],
    [None],
    [{}],
    {"a": None},
    [{"name": "a", "b": None}],
    {"$patch": "odd"},
]


def _container(name: str) -> Tree:
    return {
        "name": name,
        "image": f"{name}:1",
        "args": ["1", "2"],
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}, {"name": "C", "value": "3"}],
        "ports": [{"containerPort": 80 + 10 * ord(name)}, {"containerPort": 81 + 10 * ord(name), "name": f"x{name}"}],
        "volumeMounts": [{"name": "v", "mountPath": "/v"}, {"name": "w", "mountPath": "/w"}],
        "resources": {"limits": {"cpu": "1", "memory": "1Mi"}},
    }


_POD: Tree = {
    "containers": [_container(name) for name in "abc"],
    "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "m"}}],
    "nodeSelector": {"x": "1", "y": "2"},
    "tolerations": [{"key": "k", "operator": "Exists"}],
    "imagePullSecrets": [{"name": "p"}, {"name": "q"}],
    "hostAliases": [{"ip": "1.2.3.4", "hostnames": ["h"]}],
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}},
        {"maxSkew": 1, "topologyKey": "host", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}},
    ],
}
_METADATA: Tree = {
    "name": "it",
    "labels": {"app": "x", "l": "1"},
    "annotations": {"n": "1"},
    "finalizers": ["e.x/1", "e.x/2"],
    "ownerReferences": [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "1"},
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "p", "uid": "2"},
    ],
}
_TEMPLATE: Tree = {"metadata": {"labels": {"app": "x", "t": "1"}}, "spec": _POD}


def _deployment() -> tuple[str, Tree]:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "x"}}, "template": _TEMPLATE, "strategy": strategy}
    return f"{APPS}/deployments", {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": _METADATA, "spec": spec}


def _pod() -> tuple[str, Tree]:
    return f"{CORE}/pods", {"apiVersion": "v1", "kind": "Pod", "metadata": _METADATA, "spec": _POD}


def _service() -> tuple[str, Tree]:
    ports = [{"name": "a", "port": 80}, {"name": "b", "port": 81, "targetPort": "x"}, {"name": "u", "port": 82}]
    spec = {"ports": ports, "selector": {"app": "x", "l": "1"}}
    return f"{CORE}/services", {"apiVersion": "v1", "kind": "Service", "metadata": _METADATA, "spec": spec}


def _config_map() -> tuple[str, Tree]:
    content = {"data": {"a": "1", "b": "2"}, "binaryData": {"c": "AAAA"}}
    return f"{CORE}/configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": _METADATA, **content}


def _budget() -> tuple[str, Tree]:
    selector = {"matchLabels": {"app": "x"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]}
    path = "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets"
    spec = {"minAvailable": 1, "selector": selector}
    return path, {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": _METADATA, "spec": spec}


def _chest() -> tuple[str, Tree]:
    spec = {
        "replicas": 1,
        "plain": {"x": 1, "y": 2},
        "named": [{"name": "a", "value": 1}, {"name": "b", "inner": {"q": 1}}],
        "set": ["s1", "s2"],
        "free": {"f": 1, "l": [{"a": 1}]},
    }
    tree = {"apiVersion": f"{GROUP}/v1", "kind": "Chest", "metadata": _METADATA, "spec": spec}
    return f"/apis/{GROUP}/v1/namespaces/{{ns}}/chests", tree


_OBJECTS: tuple[Callable[[], tuple[str, Tree]], ...] = (
    _deployment,
    _deployment,
    _pod,
    _service,
    _config_map,
    _budget,
    _chest,
)


def a_scenario(draw: random.Random) -> Scenario:
    path, tree = draw.choice(_OBJECTS)()
    steps = [post(path, tree), *(_change(draw, f"{path}/it", tree) for _ in range(LENGTH))]
    return Scenario(tuple(map(unordered, steps)))


def _change(draw: random.Random, path: str, whole: Tree) -> Step:
    tree = {key: value for key, value in whole.items() if key not in ("apiVersion", "kind")}
    query = {"fieldValidation": draw.choice(("Strict", "Ignore"))} if draw.random() < 0.1 else {}
    match draw.randrange(6):
        case 0:
            return patch(path, [_operation(draw, tree) for _ in range(draw.randrange(1, 4))], JSON_PATCH, **query)
        case 1:
            return patch(path, _merge(draw, tree), MERGE, **query)
        case _:
            return patch(path, _strategic(draw, tree), STRATEGIC, **query)


# Merge patches: like the object, with other values, nulls and strangers


def _merge(draw: random.Random, value: Any, depth: int = 0) -> Any:
    if draw.random() < 0.06 and depth:
        return draw.choice(_ODD)
    if isinstance(value, dict):
        kept = [key for key in value if draw.random() < (0.5 if depth < 3 else 0.3)]
        made = {key: None if draw.random() < 0.1 else _merge(draw, value[key], depth + 1) for key in kept}
        return made | ({draw.choice(("odd", "z")): draw.choice(_ODD)} if draw.random() < 0.03 else {})
    if isinstance(value, list):
        items = draw.sample(value, draw.randrange(len(value) + 1))
        return [_merge_item(draw, each) for each in items]
    return _scalar(draw, value)


def _merge_item(draw: random.Random, item: Any) -> Any:
    if not isinstance(item, dict):
        return _scalar(draw, item)
    return {key: None if draw.random() < 0.05 else value for key, value in item.items()}


def _scalar(draw: random.Random, value: Any) -> Any:
    if draw.random() < 0.05:
        return draw.choice(_ODD)
    if isinstance(value, str) and value.isdecimal():
        return str(draw.randrange(3))
    return value if isinstance(value, str) else draw.randrange(3)


# Strategic ones: the same, with directives


def _strategic(draw: random.Random, tree: Tree, depth: int = 0) -> Tree:
    kept = [key for key in tree if draw.random() < (0.6 if depth < 4 else 0.35)]
    made: Tree = {}
    for key in kept:
        value = tree[key]
        if draw.random() < 0.08:
            made[key] = draw.choice(_ODD) if draw.random() < 0.3 else None
        elif isinstance(value, dict):
            made[key] = _strategic(draw, value, depth + 1)
        elif isinstance(value, list):
            made |= _strategic_list(draw, key, value, depth)
        else:
            made[key] = value if key in ("name", "uid", "kind", "apiVersion") else _scalar(draw, value)
    return _directed(draw, made, tree, depth)


def _directed(draw: random.Random, made: Tree, tree: Tree, depth: int) -> Tree:
    if depth < 2 or draw.random() > 0.08:
        return made
    keys = list(tree)
    match draw.randrange(5):
        case 0:
            return made | {"$patch": draw.choice(("replace", "delete", "merge", "odd"))}
        case 1:
            return made | {"$retainKeys": list(made) if draw.random() < 0.8 else keys[:1]}
        case 2:
            return made | {"$retainKeys": draw.choice((["odd"], "x", 5, []))}
        case 3:
            return tree | {"$patch": "replace"}
        case _:
            return made


def _key_of(items: list[Any]) -> str:
    """By what the items of a list may be told apart, rightly or not."""
    first = items[0] if items and isinstance(items[0], dict) else {}
    return next(
        (key for key in ("mountPath", "name", "containerPort", "port", "ip", "uid", "topologyKey") if key in first), ""
    )


def _strategic_list(draw: random.Random, field: str, items: list[Any], depth: int) -> Tree:
    key, made = _key_of(items), dict[str, Any]()
    chosen = draw.sample(items, draw.randrange(len(items) + 1))
    if items and not isinstance(items[0], dict):
        made[field] = [*chosen, *(["e.x/3"] if field == "finalizers" and draw.random() < 0.3 else [])]
        if draw.random() < 0.2:  # beside a list, whichever of the two comes first is chance
            return {f"$deleteFromPrimitiveList/{field}": draw.sample(items, draw.randrange(len(items) + 1))}
    else:
        made[field] = [_item(draw, each, key, depth) for each in chosen]
        if draw.random() < 0.05:
            made[field].append({"$patch": "replace"})
        if draw.random() < 0.02:
            made[field].append(draw.choice(_ODD))
    if draw.random() < 0.4:
        order = [*items] if draw.random() < 0.5 else draw.sample(items, len(items))
        if draw.random() < 0.6:  # in which what is set comes in the order in which it is set
            rest = [each for each in items if each not in chosen]
            order = [*chosen, *draw.sample(rest, draw.randrange(len(rest) + 1))]
        words = [{key: each[key]} if key and key in each else each for each in order]
        made[f"$setElementOrder/{field}"] = draw.choice(_ODD) if draw.random() < 0.03 else words
        if draw.random() < 0.2:
            made.pop(field)
    return made


def _item(draw: random.Random, item: Tree, key: str, depth: int) -> Tree:
    if draw.random() < 0.15:
        return {key: item.get(key), "$patch": "delete"}
    if draw.random() < 0.03:
        return {"$patch": draw.choice(("merge", "odd", 5)), key: item.get(key)}
    made = _strategic(draw, item, depth + 1)
    if draw.random() < 0.97:
        made = {key: item.get(key)} | made | {key: item.get(key)}
    if draw.random() < 0.1:
        made[key] = f"{item.get(key)}2" if isinstance(item.get(key), str) else 99
    return made


# JSON patches


def _operation(draw: random.Random, tree: Tree) -> Tree:
    op = draw.choice(("add", "add", "replace", "replace", "remove", "test", "move", "copy"))
    made: Tree = {"op": op if draw.random() < 0.97 else draw.choice(("odd", "", "Add")), "path": _path(draw, tree)}
    if op in ("add", "replace", "test") and draw.random() < 0.97:
        made["value"] = _at(tree, made["path"]) if draw.random() < 0.6 else draw.choice((*_ODD, "1", "1", 1))
    if op in ("move", "copy") and draw.random() < 0.97:
        made["from"] = _path(draw, tree)
    return made


def _path(draw: random.Random, tree: Tree) -> str:
    words: list[str] = []
    value: Any = tree
    while isinstance(value, dict | list) and value and (not words or draw.random() < 0.85):
        key = draw.choice(list(value) if isinstance(value, dict) else list(range(len(value))))
        words.append(str(key).replace("~", "~0").replace("/", "~1"))
        value = value[key]
    if draw.random() < 0.15:
        words[-1] = draw.choice(("-", "0", "9", "-1", "odd", "", "01", "~2"))
    if draw.random() < 0.05:
        words.append(draw.choice(("odd", "0")))
    return "/" + "/".join(words) if draw.random() < 0.98 else draw.choice(("", "/", "odd", "//"))


def _at(tree: Any, path: str) -> Any:
    for word in path.split("/")[1:]:
        key = word.replace("~1", "/").replace("~0", "~")
        if isinstance(tree, dict):
            tree = tree.get(key)
        elif isinstance(tree, list) and key.isdecimal() and int(key) < len(tree):
            tree = tree[int(key)]
        else:
            return "1"
    return tree
