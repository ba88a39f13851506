"""Processes that are stopped and let go on."""

from __future__ import annotations

import asyncio

from tests.chaos.loop import run, running


def test_a_stopped_process_does_nothing_while_time_passes() -> None:
    times: list[float] = []

    async def ticking() -> None:
        while True:
            await asyncio.sleep(1)
            times.append(running().time())

    async def main() -> None:
        process = running().start("p", ticking())
        await asyncio.sleep(2.5)
        running().stop_process("p")
        await asyncio.sleep(10)
        assert times == [1, 2]

        running().go_on("p")
        await asyncio.sleep(1.1)
        process.cancel()

    run(main())

    assert times == [1, 2, 12.5, 13.5]


def test_what_a_process_started_is_stopped_with_it_and_nothing_else_is() -> None:
    told: list[str] = []

    async def say(word: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        told.append(word)

    async def parent() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(say("child", 2))
            asyncio.get_running_loop().call_later(2, told.append, "timer")

    async def main() -> None:
        process = running().start("p", parent())
        other = running().start("q", say("other", 2))
        await asyncio.sleep(1)
        running().stop_process("p")
        await asyncio.sleep(5)
        assert told == ["other"]
        await other

        running().go_on("p")
        await process

    run(main())

    assert sorted(told) == ["child", "other", "timer"]


def test_what_arrives_for_a_stopped_process_waits_for_it() -> None:
    async def main() -> None:
        letters: asyncio.Queue[str] = asyncio.Queue()
        process = running().start("p", letters.get())
        await asyncio.sleep(1)
        running().stop_process("p")
        letters.put_nowait("a letter")
        await asyncio.sleep(1)
        assert not process.done()

        running().go_on("p")

        assert await process == "a letter"

    run(main())
