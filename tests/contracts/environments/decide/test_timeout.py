"""How long a rollout may wait."""

from __future__ import annotations

import pytest

from fairlead.contracts.environments.decide.timeout import DEFAULT_SECONDS, timeout_seconds


@pytest.mark.parametrize(
    ("text", "seconds"), [("90m", 5400), ("1h 30m", 5400), ("1h30m", 5400), ("2 days", 172_800), ("0s", 0)]
)
def test_lengths_of_time(text: str, seconds: float) -> None:
    assert timeout_seconds(text) == seconds


@pytest.mark.parametrize("text", [None, "", "soon", "90", "-5m", "1h 30", "9" * 5000 + "h", 90, ["90m"]])
def test_what_is_none_means_a_day(text: object) -> None:
    assert timeout_seconds(text) == DEFAULT_SECONDS == 24 * 3600
