"""Which authorities a bundle holds while they are exchanged."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from fairlead.engine.decide.trust import MOST, Known, bundle, next_change

NOW = datetime(2030, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def known(name: str, left: timedelta | None = None, ends: timedelta = timedelta(days=365)) -> Known:
    """An authority that was left so long ago, or is in use."""
    return Known(name.encode(), NOW + ends, None if left is None else NOW - left)


def names(*authorities: Known) -> list[str]:
    return [each.pem.decode() for each in bundle(authorities, NOW, HOUR)]


@pytest.mark.parametrize(
    ("authorities", "held"),
    [
        ((known("a"),), ["a"]),
        ((known("a"), known("b")), ["a", "b"]),
        ((known("new"), known("old", 0 * HOUR)), ["new", "old"]),
        ((known("new"), known("old", 1.99 * HOUR)), ["new", "old"]),
        ((known("new"), known("old", 2 * HOUR)), ["new"]),
        ((known("new"), known("older", 1.5 * HOUR), known("old", HOUR)), ["new", "old", "older"]),
        ((known("new"), known("old", HOUR, ends=-HOUR)), ["new"]),
        ((known("used though expired", ends=-HOUR),), ["used though expired"]),
    ],
)
def test_an_authority_stays_for_two_intervals_after_it_was_left(
    authorities: tuple[Known, ...], held: list[str]
) -> None:
    assert names(*authorities) == held


def test_of_too_many_those_left_first_go() -> None:
    left = [known(f"left {minutes}", timedelta(minutes=minutes)) for minutes in range(20)]

    held = names(known("used"), *left)

    assert held == ["used", *[f"left {minutes}" for minutes in range(MOST - 1)]]


def test_what_is_in_use_stays_however_many_it_is() -> None:
    used = [known(f"used {number}") for number in range(MOST + 3)]

    assert len(names(*used, known("left", HOUR))) == MOST + 3


def test_the_next_change_is_when_the_first_of_them_will_be_dropped() -> None:
    authorities = (known("new"), known("old", 0.5 * HOUR), known("older", 1.5 * HOUR), known("gone", 3 * HOUR))

    assert next_change(authorities, NOW, HOUR) == NOW + 0.5 * HOUR
    assert next_change((known("new"),), NOW, HOUR) is None
