"""The widgets that conversion by rules is measured with: of their size, converted rightly, and mistakes are seen."""

from __future__ import annotations

import pytest

from bench.apiversions import Figures, Way, checks, report, rules
from bench.real_lists import Lists, Loaded
from bench.widget_lists import BYTES, LARGE_BYTES, NEW, OLD, converted, faults, review, widget
from fairlead.contracts.apiversions.conversion_service import MANNER
from fairlead.engine.conversion.review import answer


@pytest.mark.parametrize("size", [BYTES, LARGE_BYTES])
def test_widgets_are_of_the_size_that_was_asked_for(size: int) -> None:
    assert all(abs(len(widget(index, carries=carries, size=size)) - size) < 20 for index in (0, 9_999)
               for carries in (False, True))  # fmt: skip


@pytest.mark.parametrize("carries", [False, True])
def test_they_come_back_as_they_were_and_what_does_not_is_counted(carries: bool) -> None:
    before = [widget(index, carries=carries) for index in range(20)]

    made = answer(review(before, NEW), rules(), MANNER)
    there = converted(made.body)
    back = converted(answer(review(there, OLD), rules(), MANNER).body)

    assert faults(before, there, back) == 0
    assert faults(before, before, back) == 20
    assert faults(before, there, [*back[1:], back[0]]) == 20
    (tally,) = made.tallies
    assert (tally.carried.total > 0) is carries


def test_what_is_over_a_budget_is_shown() -> None:
    ways = [Way("to v2, nothing carried", 0.9, 0.3, 0.1), Way("to v2, five carried leaves", 1.2, 0.8, 0.1, True)]
    lists = Lists(10, first={"v2": 1.0, "v1": 2.0}, later={"v2": 1.0, "v1": 1.1})
    figures = Figures(10, ways, 20.0, 5, 3.0, 1, 100.0, lists, 0, Loaded(60, 28, 1.0, 1000, 100.0))

    over = [check.what for check in checks(figures) if not check.ok]

    assert over == ["to v2, five carried leaves, times msgspec", "wrong or lost"]
    assert "8.0" in report(figures)
