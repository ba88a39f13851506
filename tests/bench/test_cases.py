"""The bound that measurements are held against."""

from __future__ import annotations

import pytest

from bench.cases import ONE_GROUP, POD_TIME, THIRTY_GROUPS, Case, statefulset


@pytest.mark.parametrize(
    ("pods", "budget", "waves"),
    [
        pytest.param(10, 1, 10, id="one at a time is a wave for each pod"),
        pytest.param(10, 2, 5, id="two at a time is half as many"),
        pytest.param(10, 3, 4, id="a rest is a wave of its own"),
        pytest.param(3, 5, 1, id="a budget above the size is one wave"),
    ],
)
def test_a_zone_is_rolled_in_waves_of_its_budget(pods: int, budget: int, waves: int) -> None:
    case = Case("test", groups=1, zones=3, pods=pods, budget=budget)

    assert case.waves == waves


def test_the_bound_is_zones_times_waves_times_the_time_of_a_pod() -> None:
    assert pytest.approx(0.6) == POD_TIME
    assert pytest.approx(18.0) == ONE_GROUP.bound


def test_groups_do_not_wait_for_one_another() -> None:
    assert pytest.approx(9.0) == THIRTY_GROUPS.bound
    assert THIRTY_GROUPS.all_pods == 900


def test_every_zone_is_listed_with_the_pods_its_statefulset_makes() -> None:
    zones = list(THIRTY_GROUPS.all_zones())

    assert len({zone.name for zone in zones}) == 90
    assert len({zone.group for zone in zones}) == 30
    assert zones[0].pod_names[0] == f"{zones[0].name}-0"
    assert sum(len(zone.pod_names) for zone in zones) == THIRTY_GROUPS.all_pods


def test_only_a_budget_above_one_is_annotated() -> None:
    one, *_ = ONE_GROUP.all_zones()
    two, *_ = THIRTY_GROUPS.all_zones()

    made = [statefulset(zone)["metadata"] for zone in (one, two)]

    assert [each["annotations"] for each in made if isinstance(each, dict)] == [{}, {"rollout-max-unavailable": "2"}]
