from __future__ import annotations

import pytest

from fairlead.contracts.zones.decide.rollout.max_unavailable import max_unavailable
from tests.builders import a_zone

VALID = {
    "absent": (None, 10, 1),
    "a number": ("2", 10, 2),
    "a number with sign": ("+2", 10, 2),
    "leading zeros": ("0" * 5000 + "7", 10, 7),
    "spaces around": (" 3 ", 10, 3),
    "larger than the zone": ("20", 3, 20),
    "25% of 10": ("25%", 10, 2),
    "50% of 3": ("50%", 3, 1),
    "10% of 3 is never below one": ("10%", 3, 1),
    "100% of 4": ("100%", 4, 4),
    "spaces around a percentage": (" 50% ", 4, 2),
    "a percentage of nothing": ("50%", 0, 1),
}


@pytest.mark.parametrize(("text", "replicas", "limit"), VALID.values(), ids=VALID.keys())
def test_a_valid_budget_is_used(text: str | None, replicas: int, limit: int) -> None:
    budget = max_unavailable(a_zone(replicas=replicas, max_unavailable=text))

    assert (budget.limit, budget.problem) == (limit, "")


INVALID = ["abc", "", " ", "0", "-3", "-0", "1.5", "1_0", "1 0", "0x2", "\u0663", "1e3", "9" * 19, "9" * 5000]
INVALID += ["0%", "300%", "101%", "-5%", "2.5%", "%", "50 %", "50%%", "\u0665%", "%50"]


@pytest.mark.parametrize("text", INVALID)
def test_an_invalid_budget_counts_as_one_and_says_why(text: str) -> None:
    budget = max_unavailable(a_zone(replicas=10, max_unavailable=text))

    assert budget.limit == 1
    assert budget.problem.startswith('"')
    assert len(budget.problem) < 100


def test_the_largest_integer_of_64_bits_is_still_one() -> None:
    assert max_unavailable(a_zone(max_unavailable=str(2**63 - 1))).limit == 2**63 - 1
