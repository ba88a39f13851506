from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from fairlead.core.ordinals import natural_key, ordinal_of
from fairlead.core.rounding import Rounding, scaled


def test_runs_of_digits_sort_as_integers_and_the_rest_as_text() -> None:
    names = ["x-10", "x-2", "x-1", "w-11", "x-01", "x", "x-2-10", "x-2-9", "x-99999999999999999999", "x-3"]

    assert sorted(names, key=natural_key) == [
        "w-11", "x", "x-01", "x-1", "x-2", "x-2-9", "x-2-10", "x-3", "x-10", "x-99999999999999999999",
    ]  # fmt: skip


@given(some.integers(0, 10**30), some.integers(0, 10**30))
def test_ordinals_sort_like_the_numbers_they_are(one: int, other: int) -> None:
    assert (natural_key(f"zone-{one}") < natural_key(f"zone-{other}")) is (one < other)


@given(some.lists(some.text("ab-019\u0663", max_size=6), unique=True))
def test_the_order_is_total_whatever_the_names(names: list[str]) -> None:
    backwards = list(reversed(names))

    assert sorted(names, key=natural_key) == sorted(backwards, key=natural_key)


ORDINALS = {
    "zone-0": 0,
    "zone-12": 12,
    "zone-2147483647": 2147483647,
    "zone-": None,
    "zone": None,
    "zone-01": None,
    "zone-1a": None,
    "zone-\u0663": None,
    "zone--1": None,
    "zone-a-1": None,
    "other-1": None,
    "zone-" + "9" * 5000: None,
}


@pytest.mark.parametrize(("name", "ordinal"), ORDINALS.items(), ids=lambda value: str(value)[:20])
def test_an_ordinal_is_what_follows_the_name_of_the_owner(name: str, ordinal: int | None) -> None:
    assert ordinal_of(name, "zone") == ordinal


@pytest.mark.parametrize(
    ("percent", "of", "down", "up"), [(25, 10, 2, 3), (50, 4, 2, 2), (10, 3, 0, 1), (0, 5, 0, 0), (100, 7, 7, 7)]
)
def test_a_share_is_rounded_the_way_that_is_asked_for(percent: int, of: int, down: int, up: int) -> None:
    assert (scaled(percent, of, Rounding.DOWN), scaled(percent, of, Rounding.UP)) == (down, up)
