"""JSON patches: they say what changes and nothing else, and whoever applies them has the other tree."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as some

from fairlead.core.json_patch import json_patch
from kubesim.patches.patch import JSON_PATCH, reader

keys = some.sampled_from(("a", "b", "a/b", "~1", "m~n", ""))
leaves = some.none() | some.booleans() | some.integers(-2, 2) | some.text(max_size=2) | some.sampled_from((1.0, 0.5))
trees = some.recursive(
    leaves, lambda inner: some.lists(inner, max_size=3) | some.dictionaries(keys, inner, max_size=3), max_leaves=12
)
objects = some.dictionaries(keys, trees, max_size=4)


@given(objects, objects)
def test_applied_to_one_tree_it_makes_the_other(before: dict[str, Any], after: dict[str, Any]) -> None:
    untouched = deepcopy((before, after))

    made = reader(JSON_PATCH, msgspec.json.encode(json_patch(before, after)))(deepcopy(before))

    assert repr_of(made) == repr_of(after)
    assert (before, after) == untouched


@given(objects)
def test_equal_trees_need_none(tree: dict[str, Any]) -> None:
    assert json_patch(tree, deepcopy(tree)) == []


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1}, {"a": 1, "b/c": 2}, [{"op": "add", "path": "/b~1c", "value": 2}]),
        ({"a": 1, "b": 2}, {"a": 1}, [{"op": "remove", "path": "/b"}]),
        ({"l": [{"x": 1}, {"y": 2}]}, {"l": [{"x": 1}, {"y": 3}]}, [{"op": "replace", "path": "/l/1/y", "value": 3}]),
        ({"l": [1]}, {"l": [1, 2]}, [{"op": "replace", "path": "/l", "value": [1, 2]}]),
        ({"a": {}}, {"a": []}, [{"op": "replace", "path": "/a", "value": []}]),
        ({"a": 1}, {"a": True}, [{"op": "replace", "path": "/a", "value": True}]),
        ({"a": 1}, {"a": 1.0}, [{"op": "replace", "path": "/a", "value": 1.0}]),
    ],
)
def test_it_says_what_changes_and_nothing_else(before: object, after: object, expected: object) -> None:
    found = json_patch(before, after)

    assert repr_of(found) == repr_of(expected)


def repr_of(tree: object) -> str:
    """Tells 1, 1.0 and True apart, and no order of fields."""
    match tree:
        case dict():
            return f"{{{', '.join(f'{key!r}: {repr_of(tree[key])}' for key in sorted(tree))}}}"
        case list():
            return f"[{', '.join(map(repr_of, tree))}]"
    return repr(tree)
