"""Quantities by what they stand for, and by how the server writes them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from kubeloop.quantities import canonical, number, quantity, total


@pytest.mark.parametrize(
    ("one", "other"),
    [("1000m", "1"), ("1024Mi", "1Gi"), ("0.5", "500m"), ("1e3", "1k"), ("1E3", "1000"), ("-0", "0"), ("1.0", "1")],
)
def test_two_spellings_of_one_amount_are_equal(one: str, other: str) -> None:
    assert number(one) == number(other)


@pytest.mark.parametrize(("one", "other"), [("1Gi", "1G"), ("1m", "1"), ("100m", "101m"), ("1e3", "1e4")])
def test_two_amounts_differ(one: str, other: str) -> None:
    assert number(one) != number(other)


def test_very_large_and_very_small_amounts_are_those_of_the_server() -> None:
    assert number("1e-12") == Decimal("1e-9")
    assert number("100Ei") == 2**63 - 1


@pytest.mark.parametrize("text", ["", "one", "1 ", "1KiB", "--1", "1e", "0x10"])
def test_what_is_no_quantity_is_told_and_counts_as_nothing(text: str) -> None:
    with pytest.raises(ValueError, match="quantit"):
        number(text)
    assert quantity(text) == 0


@pytest.mark.parametrize(("value", "expected"), [(2, "2"), (0.5, "500m"), ("1000m", "1"), ("1024Mi", "1Gi")])
def test_amounts_are_written_as_the_server_does(value: float | str, expected: str) -> None:
    assert canonical(str(value)) == expected
    assert quantity(value) == number(expected)


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ((), "0"),
        ((("0", 3), ("1Gi", 2)), "2Gi"),
        ((("500m", 3), ("1", 1)), "2500m"),
        ((("1Gi", 1), ("1G", 1)), "2073741824"),
        ((("1G", 1), ("1Gi", 1)), "2073741824"),
        ((("1024Mi", 1), ("1Gi", 1)), "2Gi"),
        ((("1", 0), ("2", 1)), "2"),
    ],
)
def test_amounts_add_up(terms: tuple[tuple[str, int], ...], expected: str) -> None:
    assert total(*terms) == expected
