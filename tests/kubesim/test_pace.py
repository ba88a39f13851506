"""Real time at another pace."""

from __future__ import annotations

import asyncio
import socket
import time
from datetime import UTC, datetime, timedelta

from kubeloop import clock
from kubesim.pace import PacedLoop

START = datetime(2031, 1, 1, tzinfo=UTC)


async def an_hour() -> tuple[float, timedelta]:
    began = clock.monotonic()
    await asyncio.sleep(3600)
    return clock.monotonic() - began, clock.now() - START


def test_an_hour_passes_for_whoever_waits_in_it() -> None:
    began = time.monotonic()
    with asyncio.Runner(loop_factory=lambda: PacedLoop(100_000, start=START)) as runner:
        passed, of_the_day = runner.run(an_hour())

    assert passed >= 3600
    assert of_the_day >= timedelta(hours=1)
    assert time.monotonic() - began < 3600 / 10


def test_the_speed_may_change_and_time_goes_on() -> None:
    async def changed() -> tuple[float, float]:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, PacedLoop)
        before = loop.time()
        loop.run_at(100_000)
        after = loop.time()
        await asyncio.sleep(1000)
        return after - before, loop.time() - after

    with asyncio.Runner(loop_factory=PacedLoop) as runner:
        jump, passed = runner.run(changed())
    assert 0 <= jump < 1000
    assert passed >= 1000


def test_sockets_work_as_ever() -> None:
    async def echoed() -> bytes:
        ours, theirs = socket.socketpair()
        reader, answering = await asyncio.open_connection(sock=ours)
        _, writer = await asyncio.open_connection(sock=theirs)
        writer.write(b"hello\n")
        line = await reader.readline()
        for each in (writer, answering):
            each.close()
            await each.wait_closed()
        return line

    with asyncio.Runner(loop_factory=lambda: PacedLoop(100)) as runner:
        assert runner.run(echoed()) == b"hello\n"
