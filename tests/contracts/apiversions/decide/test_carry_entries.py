"""Carried leaves as people may write them by hand: what is no leaf of a body counts for nothing (section 3.2)."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.contracts.apiversions.decide.carry_entries import MOST_UNPACKED, CarryEntry, Path, readable, written
from fairlead.contracts.apiversions.decide.convert import ConversionRefused
from fairlead.contracts.apiversions.kinds import MOST_ANNOTATIONS
from tests.contracts.apiversions.decide.widgets import TEXT, listed, made_of, to, two_versions, widget


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("metadata", "name"), "other"),
        (("metadata",), None),
        (("kind",), "Other"),
        (("apiVersion",), "example.org/v9"),
        (((("name", "web"),),), "web"),
    ],
)
def test_an_entry_outside_of_the_body_is_kept_and_changes_nothing(path: Path, value: Any) -> None:
    entry = CarryEntry("v1", path, value)
    annotations = {entry.name: written(entry)}

    converted = to("v1", widget("v2", annotations, spec={"replicas": 3}))

    assert converted == widget("v1", annotations, spec={"size": 3})


def packed(size: int, place: str) -> dict[str, str]:
    """A leaf that takes few bytes where it is carried, and many when it is unpacked."""
    entry = CarryEntry("v1", ("spec", place), "x" * size)
    return {entry.name: written(entry)}


def test_what_is_carried_is_unpacked_up_to_a_limit_for_the_whole_object() -> None:
    half = MOST_UNPACKED // 2 - 1000
    two, three = (dict(kv for place in "abc"[:count] for kv in packed(half, place).items()) for count in (2, 3))
    bomb = packed(MOST_UNPACKED * 8, "note")

    assert sum(map(len, three.values())) < MOST_ANNOTATIONS / 10
    assert to("v1", widget("v2", two, spec={"replicas": 3}))["spec"]["size"] == 3
    for held in (three, bomb):
        with pytest.raises(
            ConversionRefused, match=f"carry more than the {MOST_UNPACKED} bytes that an object may carry"
        ):
            to("v1", widget("v2", held, spec={"replicas": 3}))
        assert readable(held) == {}


def test_a_compressed_value_that_was_cut_short_is_kept_and_changes_nothing() -> None:
    annotations = {name: value[:90] for name, value in packed(100_000, "note").items()}

    assert to("v1", widget("v2", annotations, spec={"replicas": 3})) == widget("v1", annotations, spec={"size": 3})


def boxed(**fields: Any) -> dict[str, Any]:
    box = made_of(size=TEXT, **fields)
    items, entries = made_of(("name",), name=TEXT, box=box), {"type": "object", "additionalProperties": box}
    null = {**box, "nullable": True}
    return made_of(spec=made_of(box=box, nullable=null, items=listed(items, "name"), entries=entries))


BOXES = two_versions(boxed(), boxed(extra=TEXT))
BOX = {"size": "s", "extra": "x"}


@pytest.mark.parametrize(
    ("spec", "edited", "expected"),
    [
        ({"box": BOX}, {}, {"box": {"extra": "x"}}),
        ({"box": BOX}, {"box": None}, {"box": {"extra": "x"}}),
        ({"nullable": BOX}, {"nullable": None}, {"nullable": None}),
        (
            {"items": [{"name": "a", "box": BOX}]},
            {"items": [{"name": "a"}]},
            {"items": [{"name": "a", "box": {"extra": "x"}}]},
        ),
        ({"items": [{"name": "a", "box": BOX}]}, {"items": [{"name": "b"}]}, {"items": [{"name": "b"}]}),
        ({"entries": {"a": BOX}}, {"entries": {"b": {}}}, {"entries": {"b": {}}}),
    ],
    ids=["no object", "null for it", "a null that is a value", "no object of an item", "no item", "no entry of a map"],
)
def test_a_leaf_outlives_its_neighbours_and_no_item_or_entry_that_it_was_inside_of(
    spec: dict[str, Any], edited: dict[str, Any], expected: dict[str, Any]
) -> None:
    """Server-side apply has objects converted that lack what nobody owns."""
    old = to("v1", widget("v2", spec=spec), BOXES)

    assert to("v2", {**old, "spec": edited}, BOXES)["spec"] == expected
