"""Figures of admission, and what the budgets say of them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from bench.admitted import Admitted, Figures, Latencies, Rolled, checks, judged, latencies_of, report
from bench.cases import THIRTY_GROUPS
from bench.handled import Handled
from bench.load import Order, Result
from bench.replay import Verdict
from bench.reviews import Kind, Sample, World
from bench.rollout import Load
from bench.subjects import FAIRLEAD, UPSTREAM

ORDER = Order(World("ns", (), (), ()), 1, "name", "", "", rate=2, seconds=2)
GOOD = Sample(Kind.GROW, "a", due=100.0, received=100.001, status=200, allowed=True)
ROUTES = {"admission_no_downscale": Handled(100, 99, 0.2), "admission_pod_eviction": Handled(100, 100, 0.1)}
CALM = Admitted(
    30,
    500.0,
    500.0,
    Latencies(1.0, 2.0, 3.0, 4.0),
    {kind: (1, Latencies()) for kind in Kind},
    {"no-downscale": Handled(100, 99, 0.2), "pod-eviction": Handled(100, 100, 0.1)},
    0,
    0,
    (),
    1,
    Load(),
    0.5,
)
FIGURES = Figures(FAIRLEAD, CALM, CALM, Rolled(20.0, True), Rolled(30.0, True), 70.0, Verdict(900), Verdict(9))


def judge(*samples: Sample) -> Admitted:
    return judged(Result(list(samples), 0, 100.0, 102.0, 0.1), ORDER, ROUTES, Load(), [])


def test_latencies_are_taken_by_the_nearest_rank() -> None:
    samples = [structs.replace(GOOD, due=0.0, received=number / 1000) for number in range(100, 0, -1)]

    found = latencies_of(samples)

    assert [round(each) for each in structs.astuple(found)] == [50, 90, 99, 100]
    assert latencies_of([]) == Latencies()


def test_every_answer_is_right_or_wrong_and_what_has_none_is_lost() -> None:
    wrong, lost = structs.replace(GOOD, allowed=False), structs.replace(GOOD, received=0.0, status=0, text="broken")

    found = judge(GOOD, wrong, lost)

    assert (found.wrong, found.lost) == (1, 2), "one of four was never sent"
    assert found.achieved == 1.0
    assert any("broken" in each for each in found.faults)


def test_the_handlers_are_found_by_their_routes() -> None:
    assert judge(GOOD).handlers == {"no-downscale": Handled(100, 99, 0.2), "pod-eviction": Handled(100, 100, 0.1)}


def test_good_figures_keep_every_budget() -> None:
    assert all(check.ok for check in checks([FIGURES]))


@pytest.mark.parametrize(
    "worse",
    [
        {"busy": structs.replace(CALM, handlers={"no-downscale": Handled(100, 98, 1.0)})},
        {"calm": structs.replace(CALM, achieved=480.0)},
        {"busy": structs.replace(CALM, lost=1)},
        {"busy": structs.replace(CALM, wrong=1)},
        {"loaded": Rolled(100.0, False)},
        {"rollouts": Verdict(900, needless=1)},
        {"budgets": Verdict(9, two_zones=1)},
        {"budgets": Verdict(9, over_budget=1)},
    ],
    ids=["slow", "behind", "lost", "wrong", "not finished", "needless", "two zones", "over budget"],
)
def test_each_budget_can_be_broken(worse: dict[str, Any]) -> None:
    broken = [check for check in checks([structs.replace(FIGURES, **worse)]) if not check.ok]

    assert len(broken) == 1


def test_without_fairlead_nothing_was_measured() -> None:
    assert not all(check.ok for check in checks([structs.replace(FIGURES, subject=UPSTREAM)]))


def test_the_report_has_a_row_for_each_stretch_and_says_who_is_missing() -> None:
    text = report(THIRTY_GROUPS, [FIGURES], peer=False)

    assert "| fairlead, alone | 500 | 1.0 / 2.0 / 3.0 / 4 ms | 99.50% | 99.00% | 100.00% |" in text
    assert "| fairlead, during a rollout |" in text
    assert "| fairlead | 20.0 s | 30.0 s | 1.50 | 70 MB |" in text
    assert "| upstream operator | not given |" in text


def test_the_report_tells_what_was_wrong() -> None:
    bad = structs.replace(CALM, faults=("2 x grow: denied",))

    assert "Lost or wrong with fairlead: 2 x grow: denied." in report(
        THIRTY_GROUPS, [structs.replace(FIGURES, busy=bad)], False
    )


def test_the_report_says_when_others_were_at_work() -> None:
    noisy = structs.replace(CALM, load=Load(subject=1.0, plane=1.0, machine=4.5))

    loud, quiet = (report(THIRTY_GROUPS, [structs.replace(FIGURES, busy=each)], peer=False) for each in (noisy, CALM))

    assert "**Not a quiet machine**" in loud
    assert "44% with fairlead, during a rollout" in loud
    assert "Not a quiet machine" not in quiet
