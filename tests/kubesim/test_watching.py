"""Watches: how they begin, what they refuse, when they are marked, and how they end."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from kubeloop.request import Request
from kubesim.cluster import Cluster
from kubesim.kinds.registry import CONFIG_MAPS
from tests.kubesim.scripts import on_a_cluster
from tests.kubesim.trees import a_map

MAPS = "/api/v1/namespaces/default/configmaps"
NOT_FOR = (
    "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
)
NOT_WITH = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided"
NEEDS = "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
NO_EXACT = 'resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"'


async def watched(cluster: Cluster, query: str, path: str = MAPS) -> tuple[int, list[Any]]:
    """Status and lines of a watch, to its end."""
    pairs = tuple((key, value) for key, _, value in (each.partition("=") for each in query.split("&")))
    async with cluster.transport().stream(Request("GET", path, pairs)) as stream:
        return stream.status, [json.loads(line) async for line in stream]


def opened(query: str) -> tuple[int, list[Any]]:
    """The same on a cluster with two maps."""

    async def script(cluster: Cluster) -> tuple[int, list[Any]]:
        for name in ("a", "b"):
            cluster.verbs.create(CONFIG_MAPS, "default", a_map(name), user="me")
        return await watched(cluster, query)

    found: tuple[int, list[Any]] = on_a_cluster(script)
    return found


@pytest.mark.parametrize("value", ["1", "true", "", "x", "2", "True"])
def test_whatever_does_not_say_no_asks_for_a_watch(value: str) -> None:
    status, lines = opened(f"watch={value}&timeoutSeconds=1")

    assert (status, [line["type"] for line in lines]) == (200, ["ADDED", "ADDED"])


@pytest.mark.parametrize("value", ["0", "false", "FALSE"])
def test_what_says_no_asks_for_a_list(value: str) -> None:
    assert opened(f"watch={value}&timeoutSeconds=1")[1][0]["kind"] == "ConfigMapList"


@pytest.mark.parametrize(
    ("query", "causes"),
    [
        ("resourceVersionMatch=NotOlderThan", [NOT_FOR]),
        ("resourceVersionMatch=Exact", [NOT_FOR, NO_EXACT]),
        ("sendInitialEvents=false", [NEEDS]),
        ("sendInitialEvents=true&resourceVersionMatch=Exact", [NEEDS, NO_EXACT]),
        ("continue=x", [NOT_WITH]),
    ],
)
def test_options_that_do_not_go_together_are_all_named(query: str, causes: list[str]) -> None:
    status, [body] = opened(f"watch=1&{query}")

    text = causes[0] if len(causes) == 1 else f"[{', '.join(causes)}]"
    assert (status, body["message"]) == (422, f'ListOptions.meta.k8s.io "" is invalid: {text}')


def test_a_version_that_is_none_fails_without_a_reason() -> None:
    status, [body] = opened("watch=1&resourceVersion=x")

    assert (status, body.get("reason")) == (500, None)
    assert body["message"] == 'resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax'


def test_a_watch_from_a_version_to_come_is_silent() -> None:
    assert opened("watch=1&resourceVersion=99999999&timeoutSeconds=1") == (200, [])


def test_first_events_of_a_version_to_come_are_refused_on_the_watch() -> None:
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=99999999"
    status, [line] = opened(query)

    assert (status, line["type"], line["object"]["reason"]) == (200, "ERROR", "Timeout")


@pytest.mark.parametrize(
    ("seconds", "marks"), [(1, []), (3, [1.0]), (90, [60.0, 88.0]), (150, [60.0, 120.0, 148.0]), (61, [59.0])]
)
def test_bookmarks_come_every_minute_and_shortly_before_the_end(seconds: int, marks: list[float]) -> None:
    async def script(cluster: Cluster) -> list[float]:
        begin = ("resourceVersion", str(cluster.store.revision))
        query = (("watch", "1"), ("allowWatchBookmarks", "true"), ("timeoutSeconds", str(seconds)), begin)
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with cluster.transport().stream(Request("GET", MAPS, query)) as stream:
            return [round(loop.time() - began, 3) async for _ in stream]

    assert on_a_cluster(script) == marks


@pytest.mark.parametrize("begin", ["", "&resourceVersion=0"])
def test_a_watch_of_what_is_there_marks_the_end_of_it(begin: str) -> None:
    _, [*_, mark] = opened(f"watch=1&allowWatchBookmarks=true&timeoutSeconds=1{begin}")

    assert mark["type"] == "BOOKMARK"
    assert mark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_what_is_old_warns() -> None:
    async def script(cluster: Cluster) -> str:
        path = "/api/v1/namespaces/default/endpoints"
        query = (("watch", "1"), ("timeoutSeconds", "1"))
        async with cluster.transport().stream(Request("GET", path, query)) as stream:
            return stream.headers["warning"]

    text = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
    assert on_a_cluster(script) == f'299 - "{text}"'
