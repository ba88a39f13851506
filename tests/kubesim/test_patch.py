"""Patches: what each kind does to a tree, and how it is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubesim.errors import StatusError
from kubesim.patches.patch import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, reader

Tree = dict[str, Any]


def patched(content_type: str, tree: Tree, patch: object) -> Tree:
    return reader(content_type, json.dumps(patch).encode())(tree)


@pytest.mark.parametrize(
    ("operations", "result"),
    [
        ([{"op": "add", "path": "/b", "value": 2}], {"a": {"x": 1}, "l": [1, 2, 3], "b": 2}),
        ([{"op": "add", "path": "/l/1", "value": 9}], {"a": {"x": 1}, "l": [1, 9, 2, 3]}),
        ([{"op": "add", "path": "/l/-", "value": 9}], {"a": {"x": 1}, "l": [1, 2, 3, 9]}),
        ([{"op": "add", "path": "/a/x~1y~0z", "value": 9}], {"a": {"x": 1, "x/y~z": 9}, "l": [1, 2, 3]}),
        ([{"op": "remove", "path": "/a/x"}], {"a": {}, "l": [1, 2, 3]}),
        ([{"op": "remove", "path": "/l/0"}], {"a": {"x": 1}, "l": [2, 3]}),
        ([{"op": "replace", "path": "/l/2", "value": 9}], {"a": {"x": 1}, "l": [1, 2, 9]}),
        ([{"op": "move", "from": "/a/x", "path": "/b"}], {"a": {}, "l": [1, 2, 3], "b": 1}),
        ([{"op": "copy", "from": "/a", "path": "/b"}], {"a": {"x": 1}, "l": [1, 2, 3], "b": {"x": 1}}),
        ([{"op": "test", "path": "/a", "value": {"x": 1}}], {"a": {"x": 1}, "l": [1, 2, 3]}),
        ([{"op": "test", "path": "/none", "value": None}], {"a": {"x": 1}, "l": [1, 2, 3]}),
    ],
)
def test_json_patch(operations: list[Tree], result: Tree) -> None:
    assert patched(JSON_PATCH, {"a": {"x": 1}, "l": [1, 2, 3]}, operations) == result


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/a", "value": 2},
        {"op": "test", "path": "/flag", "value": 1},
        {"op": "remove", "path": "/none"},
        {"op": "add", "path": "/none/deeper", "value": 1},
        {"op": "add", "path": "/l/5", "value": 1},
        {"op": "add", "path": "/l/x", "value": 1},
        {"op": "add", "path": "", "value": {}},
        {"op": "remove", "path": "/l/-"},
        {"op": "test", "path": "/none/deeper"},
        {"op": "copy", "path": "/b"},
        {"op": "move", "from": "/none", "path": "/b"},
        {"op": "twist", "path": "/a"},
    ],
)
def test_a_json_patch_that_does_not_apply_is_unprocessable_as_a_whole(operation: Tree) -> None:
    tree = {"a": 1, "l": [1], "flag": True}
    patch = [{"op": "add", "path": "/first", "value": 1}, operation]

    with pytest.raises(StatusError) as caught:
        patched(JSON_PATCH, tree, patch)

    assert caught.value.code == 422
    assert caught.value.message == "the server rejected our request due to an error in our request"
    assert tree == {"a": 1, "l": [1], "flag": True}


def test_merge_patch_merges_objects_removes_nulls_and_replaces_lists() -> None:
    tree = {"a": {"x": 1, "y": 2}, "l": [1, 2], "s": "text"}

    result = patched(
        MERGE_PATCH, tree, {"a": {"y": None, "z": {"w": 1, "v": None}}, "l": [3], "s": {"t": 1}, "n": None}
    )

    assert result == {"a": {"x": 1, "z": {"w": 1}}, "l": [3], "s": {"t": 1}}


@pytest.mark.parametrize("content_type", [JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH])
def test_a_body_that_is_not_json_is_a_bad_request(content_type: str) -> None:
    with pytest.raises(StatusError, match="unexpected end of JSON input") as caught:
        reader(content_type, b"{")

    assert caught.value.code == 400


def test_a_type_may_carry_a_charset() -> None:
    assert patched(f"{MERGE_PATCH}; charset=utf-8", {}, {"a": 1}) == {"a": 1}


@pytest.mark.parametrize("content_type", [APPLY_PATCH, "text/plain"])
def test_what_is_no_patch_of_the_object_alone_is_refused(content_type: str) -> None:
    with pytest.raises(StatusError, match="415: Unsupported Media Type") as caught:
        reader(content_type, b"{}")

    assert caught.value.code == 415


def containers(*names: str, **env: str) -> list[Tree]:
    return [{"name": name, "image": "app:1", **({"env": _env(env)} if env else {})} for name in names]


def _env(values: dict[str, str]) -> list[Tree]:
    return [{"name": name, "value": value} for name, value in values.items()]


POD = {"apiVersion": "v1", "kind": "Pod"}


def strategic(tree: Tree, patch: Tree, of: Tree = POD) -> Tree:
    """A pod, or what else the tree is of, with the patch carried out."""
    made = patched(STRATEGIC_PATCH, of | tree, patch)
    return {key: value for key, value in made.items() if key not in of}


def in_pod(spec: Tree, patch: Tree) -> Tree:
    spec_made: Tree = strategic({"spec": spec}, {"spec": patch})["spec"]
    return spec_made


def test_strategic_merge_finds_list_items_by_their_key() -> None:
    tree = {"containers": containers("main", "side", LEVEL="info", PORT="80")}

    result = in_pod(tree, {"containers": [{"name": "side", "env": [{"name": "PORT", "value": "81"}]}]})

    assert result["containers"][0] == containers("main", LEVEL="info", PORT="80")[0]
    assert {item["name"]: item["value"] for item in result["containers"][1]["env"]} == {"LEVEL": "info", "PORT": "81"}
    assert result["containers"][1]["image"] == "app:1"


def test_strategic_merge_replaces_lists_without_a_key() -> None:
    assert in_pod({"tolerations": [{"key": "a"}]}, {"tolerations": [{"key": "b"}]}) == {"tolerations": [{"key": "b"}]}


def test_strategic_merge_tells_ports_of_containers_and_services_apart() -> None:
    service = {"spec": {"ports": [{"port": 80, "targetPort": 1}]}}
    pod = {"containers": [{"name": "main", "ports": [{"containerPort": 80, "name": "http"}]}]}

    assert strategic(service, {"spec": {"ports": [{"port": 80, "targetPort": 2}]}}, POD | {"kind": "Service"}) == {
        "spec": {"ports": [{"port": 80, "targetPort": 2}]}
    }
    assert in_pod(pod, {"containers": [{"name": "main", "ports": [{"containerPort": 80, "protocol": "TCP"}]}]}) == {
        "containers": [{"name": "main", "ports": [{"containerPort": 80, "name": "http", "protocol": "TCP"}]}]
    }


def test_strategic_merge_deletes_and_replaces_by_directive() -> None:
    tree = {
        "containers": containers("a", "b"),
        "securityContext": {"runAsUser": 1, "fsGroup": 2},
        "volumes": [{"name": "v"}],
    }

    result = in_pod(
        tree,
        {
            "containers": [{"name": "a", "$patch": "delete"}],
            "securityContext": {"$patch": "replace", "runAsUser": 5},
            "volumes": [{"$patch": "replace"}, {"name": "w"}],
        },
    )

    assert result == {"containers": containers("b"), "securityContext": {"runAsUser": 5}, "volumes": [{"name": "w"}]}


def test_strategic_merge_joins_lists_of_plain_values_and_can_delete_from_them() -> None:
    tree = {"metadata": {"finalizers": ["a", "b"]}}

    added = strategic(tree, {"metadata": {"finalizers": ["c"]}})
    removed = strategic(tree, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}})

    assert sorted(added["metadata"]["finalizers"]) == ["a", "b", "c"]
    assert removed["metadata"]["finalizers"] == ["b"]


def test_strategic_merge_retains_only_the_keys_it_is_told_to() -> None:
    tree = {"volumes": [{"name": "v", "emptyDir": {}}]}
    patch = {"volumes": [{"name": "v", "$retainKeys": ["name", "configMap"], "configMap": {"name": "c"}}]}

    assert in_pod(tree, patch) == {"volumes": [{"name": "v", "configMap": {"name": "c"}}]}


@pytest.mark.parametrize(
    ("live", "given", "order", "result"),
    [
        ("abcd", "", "dcba", "dcba"),
        ("abcd", "", "db", "acdb"),
        ("ab", "c", "cab", "cab"),
        ("ab", "c", "", "cab"),
        ("abc", "cb", "", "acb"),
        ("", "ab", "ab", "ab"),
        ("abx", "c", "acb", "acbx"),
    ],
)
def test_strategic_merge_orders_lists_as_the_server_does(live: str, given: str, order: str, result: str) -> None:
    patch: Tree = {"containers": [{"name": name} for name in given]} if given else {}
    if order:
        patch["$setElementOrder/containers"] = [{"name": name} for name in order]
    tree = {"containers": [{"name": name} for name in live]} if live else {}

    assert "".join(item["name"] for item in in_pod(tree, patch)["containers"]) == result


def test_strategic_merge_needs_the_key_of_every_item() -> None:
    with pytest.raises(StatusError, match="does not contain declared merge key: name") as caught:
        in_pod({"containers": containers("a")}, {"containers": [{"image": "x"}]})

    assert caught.value.code == 500


BUDGET = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}


def test_strategic_merge_replaces_what_its_type_says_is_replaced() -> None:
    selector = {"matchLabels": {"a": "1"}}
    tree = {"spec": {"selector": {"matchExpressions": [{"key": "b", "operator": "Exists"}]}}}

    assert strategic(tree, {"spec": {"selector": selector}}, BUDGET) == {"spec": {"selector": selector}}


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        (
            {"tolerations": [], "$setElementOrder/tolerations": []},
            "map: map[key:k operator:Exists] does not contain declared merge key: ",
        ),
        (
            {"containers": [{"name": "a", "$patch": "odd"}, {"image": "x"}], "$setElementOrder/containers": [{}]},
            "map: map[image:x] does not contain declared merge key: name",
        ),
        ({"$setElementOrder/odd": [1]}, 'unable to find api field in struct PodSpec for the json field "odd"'),
        ({"containers": 5, "$setElementOrder/containers": []}, "expected a []interface {}, but received a int64"),
        ({"$setElementOrder/containers": None}, "expected a []interface {}, but received a %!s(<nil>)"),
        ({"containers": ["a"]}, "list element types are not identical: [[map[image:app:1 name:a]] [a]]"),
    ],
)
def test_strategic_merge_refuses_in_the_words_of_the_server(patch: Tree, why: str) -> None:
    spec = {"containers": containers("a"), "tolerations": [{"key": "k", "operator": "Exists"}]}

    with pytest.raises(StatusError) as caught:
        in_pod(spec, patch)

    assert (caught.value.code, caught.value.message) == (500, why)


def test_plain_values_have_no_order_of_objects() -> None:
    """The server fails so badly that it breaks off; an answer there is at least none that says that all went well."""
    with pytest.raises(StatusError) as caught:
        strategic({"metadata": {"finalizers": ["a"]}}, {"metadata": {"$setElementOrder/finalizers": [{}]}}, BUDGET)

    assert caught.value.code == 500


def test_what_has_no_place_in_an_order_comes_after_what_it_is_compared_with() -> None:
    live = {"metadata": {"finalizers": ["1", "2"]}}
    patch = {"metadata": {"finalizers": ["3"], "$setElementOrder/finalizers": []}}

    assert strategic(live, patch, BUDGET) == {"metadata": {"finalizers": ["1", "2", "3"]}}


def test_a_merge_patch_sets_no_nulls() -> None:
    made = patched(MERGE_PATCH, {"was": 1}, {"was": {"a": None, "b": [{"c": None, "d": 1}, None]}, "new": {"e": None}})

    assert made == {"was": {"b": [{"d": 1}, None]}, "new": {}}


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        pytest.param({"op": "replace", "path": "/none", "value": 1}, {"none": 1}, id="replacing what is missing"),
        pytest.param({"op": "add", "path": "/a"}, {"a": None}, id="a value that is left out"),
        pytest.param({"op": "copy", "from": "/none", "path": "/a"}, {"a": None}, id="copying what is missing"),
        pytest.param({"op": "add", "path": "l/x", "value": 1}, {"x": 1}, id="what stands before the first slash"),
        pytest.param({"op": "remove", "path": "/l/-1"}, {"l": [1]}, id="an index from the end"),
        pytest.param({"op": "add", "path": "/l/+01", "value": 5}, {"l": [1, 5, 2]}, id="an index as text"),
        pytest.param({"op": "test", "path": "/none"}, {}, id="testing for nothing"),
        pytest.param({"op": "replace", "path": "", "value": {"a": 2, "l": []}}, {"a": 2, "l": []}, id="the whole"),
    ],
)
def test_json_patches_that_the_standard_has_no_word_for(operation: Tree, expected: Tree) -> None:
    tree = {"a": 1, "l": [1, 2]}

    assert reader(JSON_PATCH, json.dumps([operation]).encode())(tree) == tree | expected
