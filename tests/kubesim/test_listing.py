"""Pages of lists, the versions they are of, and options that do not go together."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from kubeloop.request import Request, Response
from kubesim.cluster import Cluster
from kubesim.kinds.registry import CONFIG_MAPS, NAMESPACES
from kubesim.reads.listing import Query, select
from kubesim.store.versions import Tree
from tests.kubesim.scripts import on_a_cluster, refused
from tests.kubesim.trees import a_map

MAPS = "/api/v1/namespaces/default/configmaps"
NOT_UNLESS = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"
NOT_WITH = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided"
NO_SUCH = 'resourceVersionMatch: Unsupported value: "Foo": supported values: "Exact", "NotOlderThan", ""'
NO_EVENTS = "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"


def filled(cluster: Cluster, names: str = "abcd", namespace: str = "default") -> Cluster:
    for name in names:
        cluster.verbs.create(CONFIG_MAPS, namespace, a_map(name), user="me")
    return cluster


async def read(cluster: Cluster, query: str, path: str = MAPS) -> Response:
    pairs = tuple((key, value) for key, _, value in (each.partition("=") for each in query.split("&")))
    return await cluster.transport().send(Request("GET", path, pairs))


def answered(query: str, path: str = MAPS) -> tuple[int, Any]:
    """Status and body of a list on a cluster with four maps."""

    async def script(cluster: Cluster) -> tuple[int, Any]:
        answer = await read(filled(cluster), query, path)
        return answer.status, json.loads(answer.body)

    found: tuple[int, Any] = on_a_cluster(script)
    return found


def names_of(tree: Tree) -> list[str]:
    return [each["metadata"]["name"] for each in tree["items"]]


def token(**fields: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(fields).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("limit=x", 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("limit=", 'strconv.ParseInt: parsing "": invalid syntax'),
        ("limit=99999999999999999999", 'strconv.ParseInt: parsing "99999999999999999999": value out of range'),
        ("timeoutSeconds=x", 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("continue=x", "invalid continue token: continue key is not valid: illegal base64 data at input byte 0"),
        (
            f"continue={token(v='foo')}",
            "invalid continue token: continue key is not valid: server does not recognize this encoded version foo",
        ),
        (
            f"continue={token(v='meta.k8s.io/v1', rv=1, start='')}",
            "invalid continue token: continue key is not valid: encoded start key empty (version meta.k8s.io/v1)",
        ),
        (
            f"continue={token(v='meta.k8s.io/v1', rv=0, start='a')}",
            (
                "invalid continue token: continue key is not valid: incorrect encoded start resourceVersion "
                "(version meta.k8s.io/v1)"
            ),
        ),
        (
            "resourceVersion=x",
            (
                'invalid resource version: resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": '
                "invalid syntax"
            ),
        ),
    ],
)
def test_options_that_cannot_be_read_are_refused(query: str, why: str) -> None:
    status, body = answered(query)

    assert (status, body["reason"], body["message"]) == (400, "BadRequest", why)


@pytest.mark.parametrize(
    ("query", "causes"),
    [
        ("resourceVersionMatch=Exact", [NOT_UNLESS]),
        ("resourceVersionMatch=Foo", [NOT_UNLESS, NO_SUCH]),
        ("resourceVersionMatch=Foo&resourceVersion=1", [NO_SUCH]),
        ("continue=x&resourceVersionMatch=Exact", [NOT_UNLESS, NOT_WITH]),
        (
            "resourceVersion=0&resourceVersionMatch=Exact",
            ['resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"'],
        ),
        ("sendInitialEvents=true", [NO_EVENTS]),
        ("sendInitialEvents=nonsense&resourceVersionMatch=NotOlderThan", [NOT_UNLESS, NO_EVENTS]),
    ],
)
def test_options_that_do_not_go_together_are_all_named(query: str, causes: list[str]) -> None:
    status, body = answered(query)

    text = causes[0] if len(causes) == 1 else f"[{', '.join(causes)}]"
    assert (status, body["message"]) == (422, f'ListOptions.meta.k8s.io "" is invalid: {text}')


def test_a_list_is_read_page_by_page_as_it_was_at_first() -> None:
    async def script(cluster: Cluster) -> list[tuple[list[str], int | None]]:
        filled(cluster)
        first = json.loads((await read(cluster, "limit=2")).body)
        filled(cluster, "bx"[1:])
        last = json.loads((await read(cluster, f"limit=2&continue={first['metadata']['continue']}")).body)
        assert last["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
        return [(names_of(each), each["metadata"].get("remainingItemCount")) for each in (first, last)]

    assert on_a_cluster(script) == [(["a", "b"], 2), (["c", "d"], None)]


def test_how_much_is_left_is_told_of_whole_lists_alone() -> None:
    assert "remainingItemCount" not in answered("limit=1&fieldSelector=metadata.name!=a")[1]["metadata"]
    assert answered("limit=1&labelSelector=")[1]["metadata"]["remainingItemCount"] == 3


@pytest.mark.parametrize("query", ["limit=-1", "limit=0", "limit=1&resourceVersion=0"])
def test_lists_that_are_not_cut(query: str) -> None:
    assert names_of(answered(query)[1]) == ["a", "b", "c", "d"]


def test_the_first_of_an_option_counts() -> None:
    assert names_of(answered("limit=1&limit=2")[1]) == ["a"]


def test_a_token_that_is_too_old_brings_one_to_go_on_with() -> None:
    async def script(cluster: Cluster) -> tuple[Any, Any]:
        filled(cluster)
        first = json.loads((await read(cluster, "limit=2")).body)
        cluster.verbs.delete(CONFIG_MAPS, "default", "c", user="me")
        cluster.compact()
        outdated = await read(cluster, f"limit=2&continue={first['metadata']['continue']}")
        refusal = json.loads(outdated.body)
        rest = json.loads((await read(cluster, f"limit=2&continue={refusal['metadata']['continue']}")).body)
        return refusal, rest

    refusal, rest = on_a_cluster(script)

    assert (refusal["code"], refusal["reason"]) == (410, "Expired")
    assert refusal["message"].startswith(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list "
        "without the continue parameter, or use the continue token in this response to retrieve the remainder of the "
        "results."
    )
    assert names_of(rest) == ["d"]


def test_an_exact_version_that_is_forgotten_is_told_so() -> None:
    async def script(cluster: Cluster) -> tuple[int, str]:
        filled(cluster).compact()
        answer = await read(cluster, "resourceVersion=1&resourceVersionMatch=Exact")
        return answer.status, json.loads(answer.body)["message"]

    assert on_a_cluster(script) == (410, "The resourceVersion for the provided list is too old.")


def test_objects_of_all_namespaces_come_in_the_order_of_their_paths() -> None:
    def script(cluster: Cluster) -> list[str]:
        for name in ("a", "a-b"):
            cluster.verbs.create(NAMESPACES, "", {"metadata": {"name": name}}, user="me")
            filled(cluster, "x", name)
        kind = cluster.verbs.registry.kind(CONFIG_MAPS)
        found: list[str] = []
        query = Query(limit=1)
        while True:
            page = select(cluster.store, kind, query)
            found += [version.key[0] for version in page.versions]
            if not page.continue_token:
                return found
            query = Query(limit=1, continue_token=page.continue_token)

    assert on_a_cluster(script) == ["a-b", "a"]


def test_a_version_that_has_not_come_yet_is_told_with_a_time_to_try_again() -> None:
    async def script(cluster: Cluster) -> list[tuple[int, str | None]]:
        filled(cluster)
        answers = [
            await read(cluster, "resourceVersion=99999999"),
            await read(cluster, "resourceVersion=99999999", f"{MAPS}/a"),
        ]
        return [(each.status, each.headers.get("retry-after")) for each in answers]

    assert on_a_cluster(script) == [(504, "1"), (504, "1")]


def test_a_query_of_the_verbs_is_checked_as_well() -> None:
    def script(cluster: Cluster) -> str:
        kind = cluster.verbs.registry.kind(CONFIG_MAPS)
        return refused(lambda: select(cluster.store, kind, Query(match="Foo", resource_version="1"))).reason

    assert on_a_cluster(script) == "Invalid"


def test_a_full_page_of_a_selection_says_that_there_may_be_more_until_the_last_object_was_looked_at() -> None:
    async def script(cluster: Cluster) -> list[tuple[list[str], bool]]:
        filled(cluster)
        found, query = [], "limit=1&fieldSelector=metadata.name!=d,metadata.name!=c"
        more = ""
        while True:
            page = json.loads((await read(cluster, f"{query}&continue={more}" if more else query)).body)
            more = page["metadata"].get("continue", "")
            found.append((names_of(page), bool(more)))
            if not more:
                return found

    assert on_a_cluster(script) == [(["a"], True), (["b"], True), ([], False)]


def test_a_page_with_one_object_by_name_is_the_last() -> None:
    assert "continue" not in answered("limit=1&fieldSelector=metadata.name=a")[1]["metadata"]


def test_a_page_is_of_the_version_of_its_token_alone() -> None:
    async def script(cluster: Cluster) -> tuple[int, str]:
        first = json.loads((await read(filled(cluster), "limit=1")).body)
        answer = await read(cluster, f"resourceVersion=1&continue={first['metadata']['continue']}")
        return answer.status, json.loads(answer.body)["message"]

    assert on_a_cluster(script) == (400, "specifying resource version is not allowed when using continue")
