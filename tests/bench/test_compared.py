"""Budgets of LeaderWorkerSets as ratios of both managers, and the tables they are printed in."""

from __future__ import annotations

import pytest
from msgspec import structs

from bench.audit import Written
from bench.compared import Admitted, Case, Figures, Phase, Rest, Result, checks, report
from bench.leaderworker import CASES
from bench.managers import OURS, UPSTREAM
from bench.rollout import Load

A, _, B = CASES


def figures(subject: str, **changed: object) -> Figures:
    phase = Phase(13.0, True, Load(subject=1.0), Written({"patch statefulsets": 100}, 2, 50))
    return structs.replace(Figures(subject, phase, 75.0, 2), **changed)


def phase(seconds: float = 13.0, cpu: float = 1.0, writes: int = 35, events: int = 50, finished: bool = True) -> Phase:
    return Phase(seconds, finished, Load(subject=cpu), Written({"patch statefulsets": writes}, 0, events))


def over(ours: Figures, case: Case = A) -> list[str]:
    result = Result(case, [figures(UPSTREAM), ours])
    return [check.what for check in checks([result]) if not check.ok]


def test_within_all_budgets_nothing_is_over() -> None:
    rest, admitted = Rest(60, Written(), 0.5), Admitted(6000, 2.0, 5.0, 3.0, 0)

    assert over(figures(OURS, phase=phase(13.2), rest=rest, admitted=admitted)) == []


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"phase": phase(writes=36)}, "(A) writes against upstream"),
        ({"phase": phase(events=51)}, "(A) Events against upstream"),
        ({"phase": phase(seconds=13.3)}, "(A) time against upstream"),
        ({"phase": phase(cpu=1.1)}, "(A) CPU against upstream"),
        ({"phase": phase(finished=False)}, "(A) finished"),
        ({"down": 3}, "(A) groups down at once"),
        ({"megabytes": 80.1}, "(A) memory"),
        ({"rest": Rest(60, Written({"patch leaderworkersets": 1}), 0.5)}, "(C) writes of a start and 60 s of idling"),
        ({"rest": Rest(60, Written(events=1), 0.5)}, "(C) writes of a start and 60 s of idling"),
        ({"admitted": Admitted(6000, 2.0, 5.0, 3.0, 1)}, "(D) pods not admitted"),
    ],
)
def test_each_figure_has_its_budget(changed: dict[str, object], what: str) -> None:
    assert over(figures(OURS, **{"phase": phase(), **changed})) == [what]


def test_many_sets_have_budgets_of_their_own() -> None:
    assert over(figures(OURS, phase=phase(writes=86, cpu=3.0), down=1), B) == ["(B) writes against upstream"]


def test_medians_are_compared() -> None:
    mine = [figures(OURS, phase=phase(seconds=seconds)) for seconds in (13.0, 13.1, 40.0)]
    theirs = [figures(UPSTREAM)] * 3

    assert all(check.ok for check in checks([Result(A, [*mine, *theirs])]))


def test_what_was_not_measured_is_no_success() -> None:
    assert [check.ok for check in checks([Result(A, [figures(OURS)])])] == [False]


def test_report_has_everything() -> None:
    rest, admitted = Rest(60, Written({"update leaderworkersets/status": 100}), 0.5), Admitted(6000, 2.0, 5.0, 3.0, 0)
    text = report([Result(A, [figures(UPSTREAM, rest=rest, admitted=admitted), figures(OURS, phase=phase())])])

    assert "### (A) 20 groups of 4 pods, new image, 2 groups down at most" in text
    assert "| upstream | 13.0 s |" in text
    assert "- Writes of fairlead: 35 patch statefulsets." in text
    assert "### (C) start with these at rest" in text
    assert "### (D) pods admitted" in text
    assert "0.35 (35 against 100)" in text
