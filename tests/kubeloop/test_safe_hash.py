"""Contents and their short names, spelled as Go programs spell them."""

from __future__ import annotations

import pytest

from kubeloop.go_json import canonical, go_json
from kubeloop.safe_hash import fnv1, safe_hash


@pytest.mark.parametrize(("data", "expected"), [(b"", 0x811C9DC5), (b"a", 0x050C5D7E), (b"foobar", 0x31F0B262)])
def test_the_hash_is_fnv1_and_not_fnv1a(data: bytes, expected: int) -> None:
    assert fnv1(data) == expected


def test_digits_become_letters_that_make_no_words() -> None:
    assert safe_hash(b"{}") == "5894b84845"


def test_json_is_sorted_tight_and_safe_in_html() -> None:
    tree = {"b": "<&>", "a": ["\u2028\u2029", "\x7f", "é", "\n\t\b\f\x01"], "A": {}}

    assert go_json(tree) == (
        b'{"A":{},"a":["\\u2028\\u2029","\x7f","\xc3\xa9","\\n\\t\\b\\f\\u0001"],"b":"\\u003c\\u0026\\u003e"}'
    )


def test_any_spelling_of_the_same_json_becomes_one() -> None:
    assert canonical(b' {"b": 1, "a": "\\u003c"}') == canonical(b'{"a":"<","b":1}') == b'{"a":"\\u003c","b":1}'
