"""Budgets of conversion and the tables they are printed in."""

from __future__ import annotations

import pytest
from msgspec import structs

from bench.admitted import Latencies, latencies_of
from bench.converted import Figures, Memory, Round, Small, Stretch, checks, report, small_of, within
from bench.pulse import Beat, Result
from bench.rollout import Load


def a_round(newer: float = 0.5, older: float = 0.6) -> Round:
    return Round(Stretch(10.0, 10.0 + newer), Stretch(20.0, 20.0 + older), one=0.002, msgspec=0.25, json=0.5)


def figures(**changed: object) -> Figures:
    """All within the budgets."""
    small = Small("reviews", 100, 5000, 5.0, Latencies(20, 30, 40, 50), 0, subject=1.0, generator=1.5)
    good = Figures(
        count=10_000,
        first=0.8,
        rounds=[a_round()],
        at_rest=Latencies(1, 1, 2, 3),
        meanwhile=Latencies(1, 5, 20, 30),
        beats=100,
        wrong=0,
        small=[small],
        memory=Memory(70, 150, 120),
        load=Load(subject=3.0, machine=3.5),
        worker=1.0,
        seconds=10.0,
    )
    return structs.replace(good, **changed)


def over(found: Figures) -> list[str]:
    return [check.what for check in checks(found) if not check.ok]


def test_within_all_budgets_nothing_is_over() -> None:
    assert over(figures()) == []


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"rounds": [a_round(newer=1.01)]}, "review to v1alpha2"),
        ({"rounds": [a_round(older=1.01)]}, "review to v1alpha1"),
        ({"meanwhile": Latencies(1, 1, 1, 101)}, "longest pulse meanwhile"),
        ({"beats": 0}, "longest pulse meanwhile"),
        ({"memory": Memory(70, 400, 137)}, "memory of operator and worker"),
        ({"wrong": 1}, "wrong or lost"),
    ],
)
def test_each_figure_has_its_budget(changed: dict[str, object], what: str) -> None:
    assert over(figures(**changed)) == [what]


def test_small_reviews_that_were_answered_wrongly_count() -> None:
    bad = structs.replace(figures().small[0], wrong=1)

    assert over(figures(small=[bad])) == ["wrong or lost"]


def test_the_median_of_the_rounds_counts() -> None:
    found = figures(rounds=[a_round(0.4), a_round(3.0), a_round(0.5)])

    assert found.newer == pytest.approx(0.5)


def test_the_cpu_of_a_review_is_told_apart_by_process() -> None:
    found = figures(rounds=[a_round(), a_round()])

    assert found.cpu_of_review == (0.5, 0.25)


def test_a_beat_belongs_to_a_stretch_when_it_was_under_way_then() -> None:
    before, into, inside, out_of, after = (
        Beat(*each) for each in ((0.0, 0.9), (0.9, 1.1), (1.2, 1.3), (1.9, 2.1), (2.1, 2.2))
    )
    around = Beat(0.5, 2.5)

    found = within([before, into, inside, out_of, after, around], [Stretch(1.0, 2.0)])

    assert found == [into, inside, out_of, around]


def test_answers_per_second_count_from_the_first_request_to_the_last_answer() -> None:
    beats = [Beat(1.0, 2.0), Beat(1.5, 2.5), Beat(2.0, 5.0)]

    found = small_of("reviews", 2, Result(beats, wrong=1, cpu=0.5), subject=0.25)

    assert (found.rate, found.wrong, found.generator) == (0.75, 1, 0.5)
    assert found.latencies == latencies_of(beats) == Latencies(1000, 3000, 3000, 3000)


def test_nothing_answered_is_no_rate() -> None:
    assert small_of("reviews", 2, Result([], wrong=3, cpu=0.0), subject=0.0).rate == 0.0


def test_every_row_of_the_report_is_as_wide_as_its_head() -> None:
    blocks = [block.splitlines() for block in report(figures()).split("\n\n") if block.startswith("|")]

    assert len(blocks) == 4
    assert all(len({line.count("|") for line in block}) == 1 for block in blocks)


def test_the_report_warns_of_others_at_work() -> None:
    assert "Not a quiet machine" not in report(figures())
    assert "Not a quiet machine" in report(figures(load=Load(subject=3.0, machine=1000.0)))
