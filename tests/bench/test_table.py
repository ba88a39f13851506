"""Budgets and the table they are printed in."""

from __future__ import annotations

from msgspec import structs

from bench.cases import ONE_GROUP, THIRTY_GROUPS, Case
from bench.ground import Requests
from bench.idle import Idle
from bench.replay import Verdict
from bench.rollout import Figures, Load
from bench.startup import Startup
from bench.subjects import BY_CONTRACT, FAIRLEAD, IDEAL, UPSTREAM
from bench.table import Result, checks, machine, markdown, report

QUICK_START = Startup(help=80, python=20)


def figures(**changed: object) -> Figures:
    """Those of fairlead, all within the budgets."""
    good = Figures(FAIRLEAD, True, 19.0, Load(subject=1.0), 60.0, Requests(writes=40), Verdict(deletions=30))
    return structs.replace(good, **changed)


def a_result(case: Case = ONE_GROUP, **changed: object) -> Result:
    return Result(case, [figures(subject=IDEAL, seconds=18.5), figures(**changed), figures(subject=BY_CONTRACT)])


def over(result: Result, startup: Startup = QUICK_START) -> list[str]:
    return [check.what for check in checks([result], startup) if not check.ok]


def test_within_all_budgets_nothing_is_over() -> None:
    assert over(a_result()) == []
    assert over(a_result(THIRTY_GROUPS)) == []


def test_one_group_is_held_against_the_bound() -> None:
    assert over(a_result(seconds=19.7)) == []
    assert over(a_result(seconds=19.9)) == ["(a) time of fairlead against the bound"]


def test_many_groups_are_held_against_the_ideal() -> None:
    assert over(a_result(THIRTY_GROUPS, seconds=22.1)) == []
    assert over(a_result(THIRTY_GROUPS, seconds=22.3)) == ["(b) time of fairlead against the ideal"]


def test_both_names_are_held_against_the_same_budgets() -> None:
    slow = Result(ONE_GROUP, [figures(subject=IDEAL), figures(), figures(subject=BY_CONTRACT, seconds=20.5)])
    missing = Result(ONE_GROUP, [figures(subject=IDEAL), figures()])

    assert over(slow) == ["(a) time of fairlead as rollout-operator against the bound"]
    assert over(missing) == ["(a) measured"]


def test_events_have_a_budget_by_zone_where_there_are_many_groups() -> None:
    """900 deletions, 90 zones recorded, the rest are Events."""
    few, many = Requests(writes=900 + 90 + 360), Requests(writes=900 + 90 + 801)
    verdict = Verdict(deletions=900)

    assert over(a_result(THIRTY_GROUPS, requests=few, verdict=verdict)) == []
    assert over(a_result(THIRTY_GROUPS, requests=many, verdict=verdict)) == ["(b) Events of fairlead"]


def test_cpu_has_a_budget_where_there_are_many_groups() -> None:
    assert over(a_result(load=Load(subject=6.1))) == []
    assert over(a_result(THIRTY_GROUPS, load=Load(subject=6.1))) == ["(b) CPU of fairlead"]


def test_a_single_violation_is_over() -> None:
    assert over(a_result(verdict=Verdict(deletions=30, two_zones=1))) == ["(a) violations by fairlead"]


def test_an_ideal_that_is_not_safe_is_no_measure() -> None:
    unsafe = figures(subject=IDEAL, verdict=Verdict(deletions=30, over_budget=1))

    assert over(Result(ONE_GROUP, [unsafe, figures(), figures(subject=BY_CONTRACT)])) == [
        "(a) violations by ideal deleter"
    ]


def test_memory_and_start_have_budgets() -> None:
    assert over(a_result(megabytes=80.1)) == ["(a) memory of fairlead"]
    assert over(a_result(), Startup(help=151, python=20)) == ["`fairlead --help`"]


def test_a_rollout_that_did_not_end_is_over() -> None:
    assert "(a) fairlead finished" in over(a_result(finished=False))


def test_an_idle_operator_may_renew_its_lease_and_write_nothing_else() -> None:
    renewing = Idle(60, 3.0, {"pods": 0, "leases": 30}, Requests(leases=30))
    repeating = Idle(60, 3.0, {"pods": 0, "leases": 30}, Requests(leases=30, writes=1))
    changing = Idle(60, 3.0, {"pods": 1}, Requests())

    assert over(a_result(idle=renewing)) == []
    assert over(a_result(idle=repeating)) == ["(a) writes in 60 s of idling"]
    assert over(a_result(idle=changing)) == ["(a) writes in 60 s of idling"]


def test_a_case_without_its_measure_is_not_passed() -> None:
    assert over(Result(ONE_GROUP, [figures()])) == ["(a) measured"]


def test_a_table_has_a_line_per_row() -> None:
    assert markdown(("", "time"), [("ideal", "1 s"), ("ours", "2 s")]).splitlines() == [
        "|  | time |",
        "| --- | ---: |",
        "| ideal | 1 s |",
        "| ours | 2 s |",
    ]


def test_every_row_of_the_report_is_as_wide_as_its_head() -> None:
    text = report([a_result(), a_result(THIRTY_GROUPS)], QUICK_START, peer=False)

    blocks = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    assert len(blocks) == 3
    assert all(len({line.count("|") for line in block}) == 1 for block in blocks)


def test_the_report_says_when_the_upstream_operator_was_not_measured() -> None:
    failed, missing = (report([a_result()], QUICK_START, peer=peer) for peer in (True, False))
    measured = report([Result(ONE_GROUP, [figures(subject=UPSTREAM)])], QUICK_START, peer=True)

    assert "not given" in missing
    assert "did not run" in failed
    assert not any(words in measured for words in ("not given", "did not run"))


def test_the_report_warns_of_others_at_work() -> None:
    quiet = report([a_result(load=Load(subject=1.0, plane=2.0, machine=3.5))], QUICK_START, peer=False)
    busy = report([a_result(load=Load(subject=1.0, plane=2.0, machine=1000.0))], QUICK_START, peer=False)

    assert "Not a quiet machine" not in quiet
    assert "Not a quiet machine" in busy


def test_the_machine_is_described_without_its_name() -> None:
    assert machine().startswith("Machine: ")
    assert "cores" in machine()
