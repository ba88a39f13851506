"""Carried leaves as people may write them by hand: what is no leaf of a body counts for nothing (section 3.2)."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.contracts.apiversions.decide.carry_entries import Entry, Path, written
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
    entry = Entry("v1", path, value)
    annotations = {entry.name: written(entry)}

    converted = to("v1", widget("v2", annotations, spec={"replicas": 3}))

    assert converted == widget("v1", annotations, spec={"size": 3})


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
