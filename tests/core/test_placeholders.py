"""Placeholders are found from the left, in one walk."""

from __future__ import annotations

import re
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.placeholders import placeholders_in

EXPRESSIONS = {("{{", "}}"): r"\{\{(.*?)\}\}", ("${", "}"): r"\$\{([^}]*)\}"}
each_kind = pytest.mark.parametrize("marks", EXPRESSIONS)


@each_kind
@given(text=st.text("a ${}\n", max_size=12))
def test_they_are_those_of_the_regular_expression(marks: tuple[str, str], text: str) -> None:
    wanted = [(*each.span(), each[1]) for each in re.finditer(EXPRESSIONS[marks], text, re.DOTALL)]

    assert [(each.start, each.end, each.name) for each in placeholders_in(text, *marks)] == wanted


@each_kind
def test_marks_that_nothing_closes_take_no_time(marks: tuple[str, str]) -> None:
    """Who writes a query must not hold up everybody: an expression takes minutes for this."""
    begun = process_time()

    assert list(placeholders_in(marks[0] * 500_000, *marks)) == []

    assert process_time() - begun < 1
