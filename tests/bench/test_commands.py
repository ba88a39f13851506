"""The budgets of what a person waits for."""

from __future__ import annotations

import pytest

from bench.commands import Asked, checks
from bench.opened import Opening

GET, RATIO, UP = "CPU of `fairlead get`", "the same against `import aiohttp, msgspec`", "`fairlead up` answers kubectl"


@pytest.mark.parametrize(
    ("get", "client", "ready", "over"),
    [
        (0.3, 0.2, (0.8, 0.9, 5.0), []),
        (0.36, 0.25, (0.8,), [GET]),
        (0.3, 0.1, (0.8,), [RATIO]),
        (0.3, 0.2, (0.9, 1.1, 1.2), [UP]),
    ],
    ids=["one start was disturbed", "too much CPU", "too much beside the libraries", "too late"],
)
def test_a_figure_over_its_budget_is_told(get: float, client: float, ready: tuple[float, ...], over: list[str]) -> None:
    found = checks(Asked(get, client, 0.01, 484), [Opening(each, 0.02) for each in ready])

    assert [check.what.removesuffix(" after") for check in found if not check.ok] == over
