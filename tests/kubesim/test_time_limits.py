"""Runs that go round in circles end, and the time of day can be set while the loop's own time goes on."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from kubeloop import clock
from kubesim.time import STANDSTILL_STEPS, START, WATCHED_STEPS, Livelock, VirtualLoop, run


async def ping_pong() -> None:
    """Two that wake each other for ever, and others that only wait."""
    ping, pong = asyncio.Event(), asyncio.Event()

    async def wake(mine: asyncio.Event, other: asyncio.Event) -> None:
        while True:
            await mine.wait()
            mine.clear()
            other.set()

    async with asyncio.TaskGroup() as group:
        group.create_task(wake(ping, pong), name="the pinger")
        group.create_task(wake(pong, ping), name="the ponger")
        group.create_task(asyncio.sleep(60), name="the sleeper")
        await asyncio.sleep(5)
        ping.set()


def test_steps_without_end_at_one_instant_are_a_livelock_that_names_who_takes_them() -> None:
    with pytest.raises(Livelock) as caught:
        run(ping_pong(), standstill=5000)

    said = str(caught.value)
    assert said.startswith(f"5000 steps were taken and the clock stands at 5.0 seconds; of the next {WATCHED_STEPS}")
    assert "the pinger (500)" in said
    assert "the ponger (500)" in said
    assert "the sleeper" not in said


def test_a_livelock_still_lets_tasks_clean_up() -> None:
    cleaned: list[str] = []

    async def main() -> None:
        try:
            await ping_pong()
        finally:
            await asyncio.sleep(1)
            cleaned.append("yes")

    with pytest.raises(Livelock):
        run(main(), standstill=5000)

    assert cleaned == ["yes"]


def test_steps_that_move_the_clock_are_none() -> None:
    async def main() -> float:
        for _ in range(100):
            for _ in range(900):
                await asyncio.sleep(0)
            await asyncio.sleep(0.001)
        return clock.monotonic()

    assert run(main(), standstill=1000) == pytest.approx(0.1)


def test_a_livelock_is_found_without_being_asked_for() -> None:
    loop = VirtualLoop()

    assert loop._most_here == STANDSTILL_STEPS
    loop.close()


@pytest.mark.parametrize("by", [7200.0, -7200.0])
def test_the_time_of_day_jumps_and_waits_do_not(by: float) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        waiting = asyncio.create_task(asyncio.sleep(10))
        await asyncio.sleep(4)

        loop.jump(by)

        assert clock.now() == START + timedelta(seconds=4 + by)
        await waiting
        assert clock.monotonic() == 10
        assert clock.now() == START + timedelta(seconds=10 + by)

    run(main())
