"""Label and field selectors, sound and broken, on objects with few labels and fields."""

from __future__ import annotations

import random
from typing import Any

from tests.e2e.definitions import GROUP, a_definition, a_version
from tests.exchanges.case import delete, get, post, quiet
from tests.fuzz.playing import Scenario, Tree

LENGTH = 25
MAPS, PODS = "/api/v1/namespaces/{ns}/configmaps", "/api/v1/namespaces/{ns}/pods"
THINGS = f"/apis/{GROUP}/v1/namespaces/{{ns}}/things"
_SPEC: Tree = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "n": {"type": "integer"}, "b": {"type": "boolean"}},
}
DEFINITIONS = (
    a_definition(
        a_version(
            schema={"openAPIV3Schema": {"type": "object", "properties": {"spec": _SPEC}}},
            subresources={},
            selectableFields=[{"jsonPath": f".spec.{name}"} for name in "anb"],
        ),
        plural="things",
        kind="Thing",
    ),
)
_KEYS = (
    "a",
    "b",
    "app",
    "example.com/x",
    "x" * 64,
    "-a",
    "a b",
    "A_1",
    "",
    "a/b/c",
    "exämple",
    "notin",
    "in",
    "exists",
)
_VALUES = ("1", "2", "x", "", "1.5", "-", "a b", "y" * 64, "x=y", "in", "ö", "10")
_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "spec.nodeName",
    "status.phase",
    "spec.restartPolicy",
    "spec.a",
    "spec.n",
    "spec.b",
    "spec.none",
    "",
    "a",
)
_FIELD_VALUES = ("o1", "{ns}", "", "Pending", "Always", "1", "true", "a\\,b", "a\\=b", "a\\b", "x\\", "a=b")


def a_scenario(draw: random.Random) -> Scenario:
    path, tree = draw.choice(((MAPS, _a_map), (PODS, _a_pod), (THINGS, _a_thing)))
    steps = [quiet(post(path, tree(draw, f"o{number}"))) for number in range(draw.randrange(2, 6))]
    while len(steps) < LENGTH:
        query = _some(draw)
        if draw.random() < 0.05:
            steps.append(delete(path, dryRun="All", **query))
        else:
            steps.append(get(path, **query))
    return Scenario(tuple(steps))


def _some(draw: random.Random) -> Tree:
    query: Tree = {}
    if draw.random() < 0.7:
        query["labelSelector"] = _spoilt(draw, _labels(draw))
    if not query or draw.random() < 0.3:
        query["fieldSelector"] = _spoilt(draw, _fields(draw))
    return query


def _spoilt(draw: random.Random, text: str) -> str:
    """Now and then with a letter too many, too few, or another."""
    if draw.random() < 0.75:
        return text
    at = draw.randrange(len(text) + 1)
    return (
        text[:at]
        + draw.choice((" ", ",", "=", "!", "(", ")", "", "\t", "==", "<", ">", "a", "-"))
        + text[at + draw.randrange(2) :]
    )


def _likely(draw: random.Random, pool: tuple[str, ...]) -> str:
    return draw.choice(pool[:3] if draw.random() < 0.85 else pool)


def _labels(draw: random.Random) -> str:
    return draw.choice((",", ", ", " ,", ",")).join(_requirement(draw) for _ in range(draw.randrange(1, 4)))


def _requirement(draw: random.Random) -> str:
    key, value = _likely(draw, _KEYS), _likely(draw, _VALUES)
    values = draw.choice((",", ", ")).join(_likely(draw, _VALUES) for _ in range(draw.randrange(4)))
    space = draw.choice(("", "", "", " "))
    match draw.randrange(8):
        case 0:
            return key
        case 1:
            return f"!{space}{key}"
        case 2 | 3:
            return f"{key}{space}{draw.choice(('=', '==', '!='))}{space}{value}"
        case 4:
            return f"{key} {draw.choice(('in', 'notin'))} {space}({space}{values}{space})"
        case 5:
            return f"{key}{space}{draw.choice('<>')}{space}{draw.choice(('1', '5', 'x', '-1', '1.5', ''))}"
        case _:
            return f"{key}={value}"


def _fields(draw: random.Random) -> str:
    return ",".join(
        f"{draw.choice(_FIELDS)}{draw.choice(('=', '==', '!=', '=', ''))}{draw.choice(_FIELD_VALUES)}"
        for _ in range(draw.randrange(1, 3))
    )


def _metadata(draw: random.Random, name: str) -> Tree:
    labels = {
        key: draw.choice(("1", "2", "x", "", "10")) for key in ("a", "b", "app", "example.com/x") if draw.random() < 0.6
    }
    return {"name": name, **({"labels": labels} if labels else {})}


def _a_map(draw: random.Random, name: str) -> Tree:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": _metadata(draw, name)}


def _a_pod(draw: random.Random, name: str) -> Tree:
    spec: Tree = {"containers": [{"name": "c", "image": "i:1"}], "restartPolicy": draw.choice(("Always", "Never"))}
    if draw.random() < 0.4:
        spec["nodeName"] = draw.choice(("n1", "o1"))
    return {"apiVersion": "v1", "kind": "Pod", "metadata": _metadata(draw, name), "spec": spec}


def _a_thing(draw: random.Random, name: str) -> Tree:
    every: dict[str, Any] = {
        "a": draw.choice(("1", "a,b", "a=b", "", "a\\b")),
        "n": draw.choice((0, 1)),
        "b": draw.choice((True, False)),
    }
    spec = {key: value for key, value in every.items() if draw.random() < 0.7}
    return {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": _metadata(draw, name), "spec": spec}
