"""Random objects are judged alike by the embedded cluster and by a real one: what is refused, why, what is kept."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from kubeloop.request import Request, Response, path_of
from kubesim.cluster import Cluster
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.e2e.definitions import SPEC, WIDGETS, Tree, a_definition, a_shop, a_widget, refusal, tree_of

pytestmark = pytest.mark.fidelity

OBJECTS = 300
VALUES: list[Any] = [
    None,
    True,
    0,
    1,
    -1,
    1.0,
    0.5,
    1.75,
    11,
    2**40,
    "",
    "a",
    "ab",
    "AB",
    "abcde",
    "red",
    "noon",
    "2030-01-01T00:00:00Z",
    [],
    ["a"],
    ["a", "b", "a"],
    ["a", 2],
    [None],
    ["a", "b", "c", "d"],
    {},
    {"a": "1"},
    {"a": 1, "b": "22", "c": None},
    {"left": 1},
    {"left": 1, "right": 2},
    {"n": "x", "other": {"deep": None}},
    [{"name": "a", "odd": 1}, {"name": "a"}],
    [{"count": 1}, {"name": 5}],
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": "b"}, "odd": 1}, "data": {"x": "y"}},
]


def random_spec(draw: random.Random) -> Tree:
    names = draw.sample(sorted(SPEC["properties"]), draw.randint(1, 4))
    return {name: draw.choice(VALUES) for name in names}


def verdict(response: Response) -> Any:
    return tree_of(response)["spec"] if response.status == 201 else refusal(response)


@everywhere(controllers=False, on=("real",))
async def test_random_objects_get_the_same_verdict(site: Site) -> None:
    draw = random.Random(20300101)  # the same objects each time
    embedded = Cluster(namespaces=[site.namespace]).transport()
    definition = msgspec.json.encode(a_definition())
    await embedded.send(Request("POST", path_of(CUSTOM_RESOURCES), body=definition, content_type="application/json"))

    async def tried(spec: Tree) -> tuple[Response, Response]:
        """The answers of both; nothing is stored."""
        tree = a_widget(**spec)
        body, dry = msgspec.json.encode(tree), (("dryRun", "All"),)
        request = Request("POST", path_of(WIDGETS, site.namespace), dry, body, "application/json")
        return await embedded.send(request), await shop.send("POST", shop.at(), tree, dryRun="All")

    different: list[Any] = []
    async with a_shop(site) as shop:
        for _ in range(OBJECTS):
            spec = random_spec(draw)
            ours, theirs = map(verdict, await tried(spec))
            if ours != theirs:
                different.append((spec, ours, theirs))

    assert different == []
