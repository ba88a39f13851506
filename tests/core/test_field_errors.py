"""Refusals of fields, in the words of Kubernetes' API."""

from __future__ import annotations

import pytest

from fairlead.core.field_errors import Encoded, invalid, required, together


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (-1, "-1"),
        (None, "null"),
        (True, "true"),
        ("200%", '"200%"'),
        ('say "no"\n', r'"say \"no\"\n"'),
        ("a\x00\x7fb", r'"a\x00\x7fb"'),
        ("grün", '"grün"'),
        ("\u200b", r'"\u200b"'),
        ({"a": "<b>"}, r'{"a":"\u003cb\u003e"}'),
        ("<b>", '"<b>"'),
        (Encoded("<b>"), r'"\u003cb\u003e"'),
    ],
)
def test_the_value_is_shown_as_go_shows_it(value: object, shown: str) -> None:
    assert invalid("spec.size", value, "must be small") == f"spec.size: Invalid value: {shown}: must be small"


def test_what_lacks_is_told_with_a_reason_or_without() -> None:
    assert required("spec.size") == "spec.size: Required value"
    assert required("spec.size", "it is needed") == "spec.size: Required value: it is needed"


def test_several_are_one_text_and_each_is_told_once() -> None:
    assert together([]) == ""
    assert together(["a", "a"]) == "a"
    assert together(["b", "a", "b"]) == "[b, a]"
