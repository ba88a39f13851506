"""How many groups evictions may take at once, and what that comes to in pods (section 6.8)."""

from __future__ import annotations

import pytest

from fairlead.contracts.leaderworker.decide.disruption_budget import allowance_of, least_pods
from fairlead.contracts.leaderworker.decide.opt_ins import problems_of
from fairlead.contracts.leaderworker.kinds import DISRUPTION_BUDGET
from fairlead.contracts.leaderworker.settings import Settings
from tests.contracts.leaderworker.decide.some import a_set


@pytest.mark.parametrize(
    ("asked", "replicas", "groups"),
    [
        ("1", 3, 1),
        ("2", 3, 2),
        ("40%", 4, 1),
        ("50%", 4, 2),
        ("1%", 4, 1),
        ("0%", 4, 1),
        ("100%", 4, 4),
        ("25%", 0, 1),
    ],
)
def test_a_number_of_groups_or_a_share_of_them(asked: str, replicas: int, groups: int) -> None:
    found = allowance_of(a_set(replicas=replicas, annotations={DISRUPTION_BUDGET: asked}))

    assert (found.groups, found.problem) == (groups, "")


@pytest.mark.parametrize("asked", ["", "0", "-1", "one", "101%", "1.5", "%", " 1", "99999999999", "1%%", "²"])
def test_what_is_neither_counts_as_absent_and_is_told(asked: str) -> None:
    given = a_set(annotations={DISRUPTION_BUDGET: asked})

    assert allowance_of(given).groups is None
    (problem,) = problems_of(given, Settings())
    assert problem == allowance_of(given).problem
    assert problem.startswith(f"{DISRUPTION_BUDGET} is {asked!r}, which is neither")


@pytest.mark.parametrize(
    ("asked", "replicas", "bounds", "is_idle"),
    [
        (None, 3, False, False),
        ("1", 3, True, False),
        ("3", 3, False, True),
        ("1", 1, False, True),
        ("1", 0, False, False),
    ],
)
def test_a_budget_that_all_groups_fit_into_bounds_nothing(
    asked: str | None, replicas: int, bounds: bool, is_idle: bool
) -> None:
    found = allowance_of(a_set(replicas=replicas, annotations={} if asked is None else {DISRUPTION_BUDGET: asked}))

    assert (found.bounds(replicas), found.is_idle(replicas)) == (bounds, is_idle)


@pytest.mark.parametrize(
    ("groups", "sizes", "least"), [(1, (3, 3, 3), 6), (1, (2, 4, 3), 5), (2, (2, 4, 3), 2), (1, (1, 1), 1)]
)
def test_the_largest_groups_may_be_away(groups: int, sizes: tuple[int, ...], least: int) -> None:
    assert least_pods(groups, sizes) == least
