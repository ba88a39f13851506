"""Carried leaves as people may write them by hand: what is no leaf of a body counts for nothing (section 3.2)."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.contracts.apiversions.decide.carry_entries import Entry, Path, written
from tests.contracts.apiversions.decide.widgets import to, widget


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
