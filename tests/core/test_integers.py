"""Integers of the contracts."""

from __future__ import annotations

import pytest

from fairlead.core.integers import parse_integer


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0), ("7", 7), ("+7", 7), ("-3", -3), ("007", 7), ("0" * 5000 + "1", 1), (str(2**63 - 1), 2**63 - 1)],
)
def test_digits_with_an_optional_sign_are_an_integer(text: str, value: int) -> None:
    assert parse_integer(text) == value


@pytest.mark.parametrize(
    "text",
    ["", "+", "-", "+-1", " 1", "1 ", "1_000", "0x10", "1.0", "1e3", "\u0663", "abc", "1\n", str(2**63), "9" * 5000],
)
def test_anything_else_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match=r"is (not a whole number|too large)"):
        parse_integer(text)


def test_the_range_follows_the_bits() -> None:
    assert parse_integer("2147483647", bits=32) == 2147483647
    assert parse_integer("-2147483648", bits=32) == -2147483648
    with pytest.raises(ValueError, match="32 bits"):
        parse_integer("2147483648", bits=32)
