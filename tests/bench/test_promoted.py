"""Budgets of environments and the tables they are printed in."""

from __future__ import annotations

import pytest
from msgspec import structs

from bench.estate import QUICK, Estate, environment
from bench.ground import Requests
from bench.idle import Idle
from bench.promoted import Figures, Phase, Rest, checks, report
from bench.promotions import Verdict
from bench.rollout import Load
from bench.table import cores


def a_phase(what: str = "changed alone", environments: int = 1, seconds: float = 1.0, **changed: object) -> Phase:
    good = Phase(what, environments, seconds, True, Load(subject=0.1), Requests(reads=30, writes=17))
    return structs.replace(good, **changed)


def figures(**changed: object) -> Figures:
    """All within the budgets."""
    good = Figures(
        Estate(),
        a_phase("created", 200, 60.0),
        Rest(Idle(60, 5.0, {"materializes": 0, "leases": 30}, Requests(leases=30)), cpu=0.3, megabytes=90.0),
        [a_phase(seconds=seconds) for seconds in (0.9, 1.0, 5.0)],
        a_phase("at once", 50, 20.0),
        100.0,
        Verdict(promotions=253, removals=53),
    )
    return structs.replace(good, **changed)


def over(found: Figures) -> list[str]:
    return [check.what for check in checks(found) if not check.ok]


def test_within_all_budgets_nothing_is_over() -> None:
    assert over(figures()) == []


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"at_once": a_phase("at once", 50, 25.1)}, "at once / one after the other"),
        ({"at_once": a_phase("at once", 50, finished=False)}, "all promoted"),
        ({"created": a_phase("created", 200, finished=False)}, "all promoted"),
        ({"megabytes": 150.1}, "peak memory"),
        ({"verdict": Verdict(promotions=253, removals=53, early=1)}, "violations"),
        ({"verdict": Verdict()}, "violations"),
        ({"rest": Rest(Idle(60, 5.0, {}, Requests()), cpu=1.3, megabytes=90.0)}, "CPU while idle"),
        ({"rest": Rest(Idle(60, 5.0, {}, Requests(writes=1)), cpu=0.3, megabytes=90.0)}, "writes in 60 s of idling"),
        ({"rest": Rest(Idle(60, 5.0, {"pods": 1}, Requests()), cpu=0.3, megabytes=90.0)}, "writes in 60 s of idling"),
    ],
)
def test_each_figure_has_its_budget(changed: dict[str, object], what: str) -> None:
    assert over(figures(**changed)) == [what]


def test_many_are_held_against_as_many_one_after_the_other() -> None:
    found = figures(at_once=a_phase("at once", 50, 10.0))

    assert found.one == 1.0
    assert (found.times_one, found.share) == (10.0, 0.2)


def test_few_are_not_held_against_one_after_the_other() -> None:
    assert over(figures(at_once=a_phase("at once", 9, 9.0))) == []
    assert over(figures(at_once=a_phase("at once", 10, 9.0))) == ["at once / one after the other"]


def test_cpu_is_told_for_one_environment() -> None:
    assert a_phase(environments=50, load=Load(subject=5.0)).each == 0.1


def test_the_least_of_the_machine_leaves_others_out_and_shares_between_cores() -> None:
    load = Load(subject=1.0, plane=4.0, kubelet=0.5, bench=0.5, machine=20.0)

    assert a_phase(load=load).least == 6.0 / cores()


def test_every_row_of_the_report_is_as_wide_as_its_head() -> None:
    blocks = [block.splitlines() for block in report(figures()).split("\n\n") if block.startswith("|")]

    assert len(blocks) == 3
    assert all(len({line.count("|") for line in block}) == 1 for block in blocks)


def test_the_report_warns_of_others_at_work() -> None:
    busy = a_phase("at once", 50, 20.0, load=Load(subject=1.0, machine=1000.0))

    assert "Not a quiet machine" not in report(figures())
    assert "Not a quiet machine" in report(figures(at_once=busy))


@pytest.mark.parametrize("estate", [Estate(), QUICK])
def test_nobody_is_changed_twice_and_somebody_is_not_changed_at_all(estate: Estate) -> None:
    generations = estate.generations

    assert not set(estate.changed_alone) & set(estate.changed_at_once)
    assert len(estate.changed_at_once) == estate.at_once
    assert {name for name, generation in generations.items() if generation == 2} == {
        *estate.changed_alone,
        *estate.changed_at_once,
    }
    assert len(generations) == estate.environments > estate.alone + estate.at_once


def test_every_environment_has_an_identity_of_its_own() -> None:
    specs = [environment(name, index)["spec"] for index, name in enumerate(Estate().names)]

    assert len({spec["environmentId"] for spec in specs if isinstance(spec, dict)}) == Estate().environments
