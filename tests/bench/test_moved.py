"""Budgets of plans, and the tables they are printed in."""

from __future__ import annotations

import pytest
from msgspec import structs

from bench.audit import Written
from bench.moved import Beside, Compared, Figures, Phase, Rest, Rolled, checks, report
from bench.pairs import Verdict
from bench.plan_stage import BARE, FAIRLEAD, IDEAL, UPSTREAM, Subject
from bench.plans import Sizes
from bench.rollout import Load
from bench.table import cores

SIZES = Sizes()


def phase(seconds: float = 6.0, writes: int = 80, events: int = 40, finished: bool = True) -> Phase:
    return Phase(seconds, finished, Load(subject=1.0, machine=1.0), Written({"patch deployments": writes}, 0, events))


def rolled(subject: Subject, found: Phase, verdict: Verdict | None = None) -> Rolled:
    return Rolled(subject.name, subject.title, found, 70.0, verdict or Verdict())


def compared(ours: Phase, verdict: Verdict | None = None, many: bool = False, bare: Phase | None = None) -> Compared:
    case = SIZES.many if many else SIZES.one
    return Compared(
        case, [rolled(BARE, bare or phase(6.0, 20, 0))], [rolled(IDEAL, phase(6.0))], [rolled(FAIRLEAD, ours, verdict)]
    )


REST = Rest(500, 50, 2.0, 0, 60, Written(), 0.1, 90.0)
BESIDE = Beside(SIZES.sound, 20, phase(10.0), phase(10.9), 0)


def over(figures: Figures) -> list[str]:
    return [check.what for check in checks(figures) if not check.ok]


def test_within_all_budgets_nothing_is_over() -> None:
    both = [compared(phase(6.8)), compared(phase(7.1, writes=2200), many=True)]

    assert over(Figures(both, [BESIDE], [REST])) == []


@pytest.mark.parametrize(
    ("found", "what"),
    [
        (compared(phase(7.0), bare=phase(6.5)), "(a) time against the ideal"),
        (compared(phase(6.1), bare=phase(5.0)), "(a) time against the bare scaler"),
        (compared(phase(7.3), many=True), "(b) time against the ideal"),
        (compared(phase(writes=81)), "(a) writes per batch"),
        (compared(phase(finished=False)), "(a) finished"),
        (compared(phase(), Verdict(sums=1)), "(a) violations by the bare one, the ideal and us"),
        (compared(phase(), Verdict(turns=1), many=True), "(b) violations by the bare one, the ideal and us"),
        (compared(phase(), Verdict(outages=1)), "(a) violations by the bare one, the ideal and us"),
        (Compared(SIZES.one, [], [rolled(IDEAL, phase())], [rolled(FAIRLEAD, phase())]), "(a) measured"),
        (Compared(SIZES.many, [rolled(BARE, phase())], [], [rolled(FAIRLEAD, phase())]), "(b) measured"),
    ],
)
def test_each_figure_of_pairs_has_its_budget(found: Compared, what: str) -> None:
    assert over(Figures([found])) == [what]


def test_many_pairs_are_told_beside_the_bare_scaler_and_held_against_the_ideal_alone() -> None:
    found = Figures([compared(phase(7.0), many=True, bare=phase(2.0))])

    assert over(found) == []
    assert "| 3.50 | 1.17 |" in report(found, peer=False)


@pytest.mark.parametrize(("again", "expected"), [(8.4, []), (8.6, ["(b) time against the ideal"])])
def test_a_subject_that_was_measured_twice_counts_with_its_mean(again: float, expected: list[str]) -> None:
    runs = [rolled(FAIRLEAD, phase(6.0)), rolled(FAIRLEAD, phase(again))]
    found = structs.replace(compared(phase(), many=True), ours=runs)

    assert over(Figures([found])) == expected
    assert report(Figures([found]), peer=False).count("| fairlead as vela-core |") == 2


def test_what_went_wrong_in_any_run_counts() -> None:
    broken = structs.replace(
        compared(phase(), many=True), ideal=[rolled(IDEAL, phase(), Verdict(sums=1)), *compared(phase()).ideal]
    )
    unfinished = structs.replace(broken, ideal=[*compared(phase()).ideal, rolled(IDEAL, phase(finished=False))])

    assert over(Figures([broken])) == ["(b) violations by the bare one, the ideal and us"]
    assert over(Figures([unfinished])) == ["(b) finished"]


@pytest.mark.parametrize(
    ("rest", "what"),
    [
        (structs.replace(REST, written=Written({"patch rollouttraits": 1})), "(c) writes in 60 s of idling"),
        (structs.replace(REST, written=Written(events=1)), "(c) writes in 60 s of idling"),
        (structs.replace(REST, disturbed=1), "(c) rollouts that the start changed"),
        (None, "(c) measured"),
    ],
)
def test_resting_writes_nothing(rest: Rest | None, what: str) -> None:
    assert over(Figures(rest=[rest])) == [what]


@pytest.mark.parametrize(
    ("beside", "what"),
    [
        (structs.replace(BESIDE, beside=phase(11.1)), "(d) time beside dead hooks against alone"),
        (structs.replace(BESIDE, beside=phase(10.0, finished=False)), "(d) finished"),
        (structs.replace(BESIDE, moved=1), "(d) rollouts that went on without their hook"),
        (None, "(d) measured"),
    ],
)
def test_dead_hooks_hold_up_nobody(beside: Beside | None, what: str) -> None:
    assert over(Figures(beside=[beside])) == [what]


def test_the_report_tells_of_all_cases_and_of_an_operator_that_is_not_given() -> None:
    text = report(Figures([compared(phase())], [BESIDE], [REST]), peer=False)

    assert "| upstream operator | not given |" in text
    assert f"| fairlead as vela-core | 6.0 s | 1.20 | 1.00 | 1.00 | {1 / cores():.1f} s | 80 | 8.0 |" in text
    assert "| 500 | 50 | 2.0 s | 0 | 0 | 0 | 0.10 s | 90 MB |" in text
    assert "| beside | 10.9 s |" in text


def test_the_report_tells_of_the_upstream_operator_that_ran() -> None:
    found = structs.replace(compared(phase()), upstream=[rolled(UPSTREAM, phase(60.0))])

    assert "| upstream operator | 60.0 s | 12.00 | 10.00 | 10.00 |" in report(Figures([found]), peer=True)


def test_a_busy_machine_is_told() -> None:
    busy = Phase(6.0, True, Load(machine=9.0), Written())

    assert "Not a quiet machine" in report(Figures([compared(busy)]), peer=False)
