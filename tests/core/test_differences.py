"""What differs between two trees, in words."""

from __future__ import annotations

import pytest

from fairlead.core.differences import LONGEST_VALUE, differences, shown


def said(before: object, after: object) -> list[str]:
    return [str(each) for each in differences(before, after)]


def test_equal_trees_differ_in_nothing() -> None:
    tree = {"a": [1, {"name": "x"}], "b": {}}

    assert differences(tree, tree) == ()


def test_a_field_that_is_null_is_one_that_is_not_there() -> None:
    assert said({"a": None, "b": 1}, {"b": 1}) == []


def test_entries_with_names_are_told_apart_by_them_and_their_order_is_one_difference() -> None:
    before = {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]}
    after = {"containers": [{"name": "b", "image": "2"}, {"name": "a", "image": "1"}]}

    assert said(before, after) == ["containers[b].image: 1 -> 2", "containers: a, b -> b, a"]


def test_entries_without_names_are_told_apart_by_their_place() -> None:
    assert said({"args": ["-a", "-b"]}, {"args": ["-a", "-c", "-d"]}) == ["args[1]: -b -> -c", "args[2]: -d added"]


def test_names_that_come_twice_tell_nothing_apart() -> None:
    before = {"ports": [{"name": "x", "port": 1}, {"name": "x", "port": 2}]}

    assert said(before, {"ports": []}) == [
        "ports: [] added",
        "ports[0].name: x removed",
        "ports[0].port: 1 removed",
        "ports[1].name: x removed",
        "ports[1].port: 2 removed",
    ]


def test_containers_come_first() -> None:
    before = {"affinity": 1, "containers": [{"name": "a", "image": "1"}]}
    after = {"affinity": 2, "containers": [{"name": "a", "image": "2"}]}

    assert said(before, after) == ["containers[a].image: 1 -> 2", "affinity: 1 -> 2"]


@pytest.mark.parametrize(
    ("value", "text"), [("", '""'), ("a\nb", "a b"), ("a\x1b[2Kb", "a?[2Kb"), (0, "0"), ({}, "{}")]
)
def test_values_are_shown_on_one_line(value: object, text: str) -> None:
    assert shown(value) == text


def test_long_values_are_cut() -> None:
    assert shown("x" * 100) == "x" * (LONGEST_VALUE - 1) + "…"
