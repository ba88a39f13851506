"""Values in sentences are written as the server writes them."""

from __future__ import annotations

import pytest

from kubesim.errors import quoted, shown


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("a<b>&c", '"a<b>&c"'),
        ({"a<": ["&", ">"]}, r'{"a\u003c":["\u0026","\u003e"]}'),
        (["\u2028é"], r'["\u2028é"]'),
        ([], "[]"),
        (None, "null"),
        (True, "true"),
        (3.0, "3"),
        (2.5, "2.5"),
    ],
)
def test_only_what_is_more_than_text_is_written_as_json_for_pages(value: object, written: str) -> None:
    assert shown(value) == written


def test_quoted_text_shows_what_cannot_be_seen() -> None:
    assert quoted('a"\\\n\x01\x7f\xa0é\U000e0001') == r'"a\"\\\n\x01\x7f\u00a0é\U000e0001"'
