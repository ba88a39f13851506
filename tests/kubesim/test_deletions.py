"""Requests to delete: their options in body and query, what is refused, what is answered."""

from __future__ import annotations

from typing import Any

import pytest

from kubeloop.request import JSON, Response
from kubesim.bodies.decoding import PROTOBUF, YAML
from tests.kubesim.desk import MAP, Desk, a_map, decoded, played
from tests.kubesim.test_wire import field, wrapped

Tree = dict[str, Any]
MAPS = MAP.rpartition("/")[0]
HELD = {"finalizers": ["example.com/held"]}
INVALID = 'DeleteOptions.meta.k8s.io "" is invalid:'
POLICIES = 'supported values: "Foreground", "Background", "Orphan", "nil"'
BOTH = "orphanDependents and deletionPropagation cannot be both set"
UNMARSHAL = "json: cannot unmarshal"


def deleted(
    body: object = b"", kind: str = JSON, *, held: bool = True, query: dict[str, str] | None = None
) -> Response:
    """The answer to one deletion of a ConfigMap that a finalizer holds, unless it is not held."""

    async def script(desk: Desk) -> Response:
        await desk.send("POST", MAPS, a_map({"a": "1"}, **(HELD if held else {})))
        return await desk.send("DELETE", MAP, body, kind, **(query or {}))

    answer: Response = played(script)
    return answer


def finalizers_after(body: object = b"", kind: str = JSON, **query: str) -> list[str]:
    found: list[str] = decoded(deleted(body, kind, query=query))["metadata"]["finalizers"]
    return found


@pytest.mark.parametrize(
    ("wish", "added"),
    [
        ({"propagationPolicy": "Foreground"}, ["foregroundDeletion"]),
        ({"propagationPolicy": "Orphan"}, ["orphan"]),
        ({"propagationPolicy": "Background"}, []),
        ({"orphanDependents": True}, ["orphan"]),
        ({"apiVersion": "policy/v1", "kind": "DeleteOptions", "orphanDependents": False}, []),
        ({"apiVersion": "none.example.com/v1", "propagationPolicy": "Orphan"}, ["orphan"]),
    ],
)
def test_a_body_says_what_becomes_of_dependents(wish: Tree, added: list[str]) -> None:
    assert finalizers_after(wish) == [*HELD["finalizers"], *added]


def test_options_come_in_every_form() -> None:
    orphans = [*HELD["finalizers"], "orphan"]
    protobuf = wrapped("v1", "DeleteOptions", field(4, "Orphan"))

    assert finalizers_after(b"propagationPolicy: Orphan\n", kind=YAML) == orphans
    assert finalizers_after(protobuf, kind=PROTOBUF) == orphans
    assert finalizers_after(propagationPolicy="Orphan") == orphans
    assert finalizers_after(orphanDependents="true") == orphans


def test_a_body_hides_the_query() -> None:
    assert finalizers_after({"kind": "DeleteOptions"}, propagationPolicy="Nonsense") == HELD["finalizers"]


def test_an_object_that_is_held_and_not_orphaned_is_accepted_to_go() -> None:
    assert deleted({"orphanDependents": False}).status == 202
    assert deleted({"propagationPolicy": "Background"}).status == 200
    assert deleted({"orphanDependents": False}, held=False).status == 200


@pytest.mark.parametrize(
    ("wish", "code", "message"),
    [
        (
            {"propagationPolicy": "Sometimes"},
            422,
            f'{INVALID} propagationPolicy: Unsupported value: "Sometimes": {POLICIES}',
        ),
        ({"propagationPolicy": ""}, 422, f'{INVALID} propagationPolicy: Unsupported value: "": {POLICIES}'),
        (
            {"propagationPolicy": "Orphan", "orphanDependents": True},
            422,
            f'{INVALID} propagationPolicy: Invalid value: "Orphan": {BOTH}',
        ),
        ({"dryRun": ["Some"]}, 422, f'{INVALID} dryRun: Unsupported value: ["Some"]: supported values: "All"'),
        (
            {"gracePeriodSeconds": "soon"},
            400,
            f"{UNMARSHAL} string into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
        ),
        (
            {"gracePeriodSeconds": 1.5},
            400,
            f"{UNMARSHAL} number 1.5 into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
        ),
        (
            {"preconditions": "x"},
            400,
            f"{UNMARSHAL} string into Go struct field DeleteOptions.preconditions of type v1.Preconditions",
        ),
        ({"kind": "Pod"}, 400, 'no kind "Pod" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"'),
        (b" ", 400, "couldn't get version/kind; json parse error: unexpected end of JSON input"),
    ],
)
def test_options_that_are_refused(wish: object, code: int, message: str) -> None:
    answer = deleted(wish)

    assert (answer.status, decoded(answer)["message"]) == (code, message)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"uid": "other"}, 409),
        ({"resourceVersion": "1"}, 409),
        ({"gracePeriodSeconds": "soon"}, 400),
        ({"dryRun": ""}, 422),
        ({"odd": "1"}, 200),
    ],
)
def test_a_query_may_carry_the_options(query: dict[str, str], code: int) -> None:
    assert deleted(query=query).status == code


@pytest.mark.parametrize("wish", [{"body": {"dryRun": ["All"]}}, {"dryRun": "All"}])
def test_a_dry_deletion_answers_and_leaves_the_object(wish: dict[str, Any]) -> None:
    async def script(desk: Desk) -> tuple[int, int]:
        await desk.send("POST", MAPS, a_map({"a": "1"}))
        query = {key: value for key, value in wish.items() if key != "body"}
        answer = await desk.send("DELETE", MAP, wish.get("body"), **query)
        return answer.status, (await desk.send("GET", MAP)).status

    assert played(script) == (200, 200)


def test_a_collection_is_answered_with_what_it_was() -> None:
    async def script(desk: Desk) -> tuple[Tree, int]:
        await desk.send("POST", MAPS, a_map({"a": "1"}, labels={"app": "x"}))
        await desk.send("POST", MAPS, a_map() | {"metadata": {"name": "other"}})
        answer = decoded(await desk.send("DELETE", MAPS, labelSelector="app=x"))
        left = decoded(await desk.send("GET", MAPS))["items"]
        return answer, len(left)

    answer, left = played(script)

    assert (answer["kind"], [each["metadata"]["name"] for each in answer["items"]]) == ("ConfigMapList", ["settings"])
    assert left == 1
