"""The seam of time and chance."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from kubeloop import clock
from kubesim.time import run


async def moments() -> tuple[datetime, float, list[float]]:
    begun = clock.monotonic()
    await asyncio.sleep(3600)
    return clock.now(), clock.monotonic() - begun, [clock.chance().random() for _ in range(3)]


def test_on_a_virtual_loop_time_is_the_loops() -> None:
    now, passed, _ = run(moments())

    assert now == datetime(2030, 1, 1, 1, tzinfo=UTC)
    assert passed == 3600


def test_chance_is_repeated_with_the_seed_of_the_loop_and_differs_between_sources() -> None:
    first, again, other = (run(moments(), seed=seed)[2] for seed in (1, 1, 2))

    assert first == again != other
    assert len(set(first)) == 3


def test_elsewhere_time_is_the_machines_and_chance_is_not_repeated() -> None:
    async def here() -> tuple[datetime, float]:
        return clock.now(), clock.chance().random()

    (now, one), (_, two) = asyncio.run(here()), asyncio.run(here())

    assert abs((datetime.now(UTC) - now).total_seconds()) < 60
    assert one != two
    assert clock.chance(7).random() == clock.chance(7).random()


@pytest.mark.parametrize("jump", [-86_400.0, 0.4, 0.0, 86_400.0])
def test_a_moment_is_as_long_ago_as_it_is_wherever_the_time_of_day_is_set(jump: float) -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        begun = clock.now()
        one, other = clock.Moment(), clock.Moment(begun - timedelta(seconds=5))
        await asyncio.sleep(60)

        loop.jump(jump)  # type: ignore[attr-defined]

        assert clock.now() - one.at == pytest.approx(timedelta(seconds=60), abs=timedelta(seconds=0.5))
        assert one.at - other.at == pytest.approx(timedelta(seconds=5), abs=timedelta(milliseconds=1))
        assert (one.at == begun) is (abs(jump) < 1)

    run(scenario())
