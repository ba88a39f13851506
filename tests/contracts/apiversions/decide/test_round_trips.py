"""Nothing is lost on the way, whatever the other version can hold (section 3.2)."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from fairlead.contracts.apiversions.decide.convert import convert
from fairlead.contracts.apiversions.decide.trees import copied
from tests.contracts.apiversions.decide.widgets import KIND, V1, V2, V3, to, widget

SCHEMAS = {"v1": V1, "v2": V2, "v3": V3}
WORDS = ["", "a", "b", "fast", "slow", "Speedy", "true", "90s", "1h", "60s", "1Gi", "512Mi", "a,b", "r/x:1", "1", "001"]
_TEXTS = st.sampled_from(WORDS) | st.text(max_size=3)
_NUMBERS = st.integers(-3, 2000)


def values(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    match schema["type"]:
        case "string":
            return _TEXTS
        case "integer":
            return _NUMBERS
        case "boolean":
            return st.booleans()
        case "array":
            keys = schema.get("x-kubernetes-list-map-keys")
            return st.lists(values(schema["items"]), max_size=3, unique_by=_keys(keys) if keys else None)
    if "additionalProperties" in schema:
        return st.dictionaries(st.sampled_from(["owner", "team", "squad", "z"]), values(schema["additionalProperties"]))
    required = schema.get("required", [])
    properties = {name: values(each) for name, each in schema["properties"].items()}
    return st.fixed_dictionaries(
        {name: each for name, each in properties.items() if name in required},
        optional={name: each for name, each in properties.items() if name not in required},
    )


def _keys(names: list[str]) -> Any:
    return lambda item: tuple(item.get(name) for name in names)


def widgets(version: str) -> st.SearchStrategy[dict[str, Any]]:
    return values(SCHEMAS[version]).map(lambda body: widget(version, **body))


VERSIONS = st.sampled_from([*SCHEMAS])
ANY = VERSIONS.flatmap(widgets)


@given(ANY, st.lists(VERSIONS, min_size=1, max_size=4))
def test_a_way_through_versions_ends_with_the_object_it_began_with(tree: dict[str, Any], way: list[str]) -> None:
    first = tree["apiVersion"].partition("/")[2]
    seen = copied(tree)
    for version in (*way, first):
        seen = to(version, seen)
    assert seen == {**tree, "metadata": {**tree["metadata"], **_annotations(seen)}}
    assert not seen["metadata"].get("annotations"), "nothing is carried where everything is at home"


def _annotations(tree: dict[str, Any]) -> dict[str, Any]:
    found = tree["metadata"].get("annotations")
    return {} if found is None else {"annotations": found}


@given(ANY, VERSIONS)
def test_what_is_given_stays_as_it_is_and_answers_are_equal(tree: dict[str, Any], version: str) -> None:
    before = msgspec.json.encode(tree)
    one, other = convert(tree, version, KIND), convert(tree, version, KIND)
    assert msgspec.json.encode(tree) == before
    assert msgspec.json.encode(one.tree) == msgspec.json.encode(other.tree)


@given(ANY, VERSIONS, st.randoms(use_true_random=False))
def test_parts_of_objects_are_converted_as_well(tree: dict[str, Any], version: str, chance: Any) -> None:
    """Server-side apply compares parts: whatever is missing, what is there is converted, and comes back."""
    part = _pruned(tree, chance)
    part["apiVersion"], part["kind"] = tree["apiVersion"], tree["kind"]
    part.setdefault("metadata", {})
    first = tree["apiVersion"].partition("/")[2]
    back = to(first, to(version, copied(part)))
    back["metadata"].pop("annotations", None)
    part["metadata"].pop("annotations", None)
    assert back == part


def _pruned(value: Any, chance: Any) -> Any:
    if isinstance(value, dict):
        return {key: _pruned(each, chance) for key, each in value.items() if chance.random() < 0.7 or key == "name"}
    return value


@given(widgets("v1"), widgets("v2"))
def test_what_a_user_of_the_other_version_writes_is_not_undone(tree: dict[str, Any], other: dict[str, Any]) -> None:
    """A whole body of the other version, with the annotations of this one, comes back as it was written."""
    there = to("v2", tree)
    written = {**other, "metadata": there["metadata"]}
    again = to("v2", to("v1", written))
    again["metadata"].pop("annotations", None)
    assert again == {**other, "metadata": {**tree["metadata"]}}
