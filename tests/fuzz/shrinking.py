"""Makes a scenario smaller as long as it still shows a difference."""

from __future__ import annotations

from msgspec.structs import replace

from tests.fuzz.playing import Difference, Pair, Scenario

ATTEMPTS = 60
"""How many smaller scenarios are tried; each is played on both clusters."""


async def shrunk(pair: Pair, scenario: Scenario, found: Difference) -> tuple[Scenario, Difference]:
    """The smallest scenario that was found, by leaving out more and fewer steps at a time."""
    scenario = replace(scenario, steps=scenario.steps[: found.index + 1])
    left, size = ATTEMPTS, max(1, len(scenario.steps) // 2)
    while left > 0:
        at = 0
        while at < len(scenario.steps) - 1 and left > 0:
            fewer = replace(scenario, steps=scenario.steps[:at] + scenario.steps[at + size :])
            left -= 1
            still = await pair.different(fewer) if fewer.steps else None
            if still is None:
                at += size
            else:
                scenario, found = replace(fewer, steps=fewer.steps[: still.index + 1]), still
        if size == 1:
            break
        size //= 2
    return scenario, found
