"""Which of two resource versions is the later one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeloop.objects.resource_versions import is_later


@given(st.integers(0), st.integers(0))
def test_numbers_are_compared_as_numbers(one: int, other: int) -> None:
    assert is_later(str(one), str(other)) is (one > other)
    assert is_later(f"00{one}", str(other)) is (one > other)


@pytest.mark.parametrize("version", ["", "a", "-1", "1.5", "\u0661", "1 "])
def test_what_is_no_number_is_neither_later_nor_earlier(version: str) -> None:
    assert is_later(version, "5") is None
    assert is_later("5", version) is None


def test_no_number_is_too_long() -> None:
    assert is_later("9" * 10_000, "8" * 10_000) is True
