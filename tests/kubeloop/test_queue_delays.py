"""When the queue gives out keys that wait: delays, the space between two turns, retries."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from kubeloop import clock
from kubeloop.queue import Queue
from tests.kubeloop.queues import drain, is_idle, play, times


def test_a_delay_that_ends_while_its_key_is_in_work_waits_for_the_end_of_the_work() -> None:
    async def scenario() -> None:
        queue: Queue[str] = Queue()
        queue.add("a")
        await queue.get()
        queue.add_after("a", 1)
        await asyncio.sleep(5)
        assert len(queue) == 0

        queue.done("a")
        assert await drain(queue) == ["a"]

    play(scenario)


@pytest.mark.parametrize(("first", "second"), [(5, 2), (2, 5)])
def test_the_earliest_delay_wins(first: float, second: float) -> None:
    async def scenario() -> None:
        queue: Queue[str] = Queue()
        queue.add_after("a", first)
        queue.add_after("a", second)

        assert await times(queue, 1) == [2]
        assert await is_idle(queue)

    play(scenario)


def test_adding_a_key_that_waits_for_a_delay_runs_it_now_and_once() -> None:
    async def scenario() -> None:
        queue: Queue[str] = Queue()
        queue.add_after("a", 5)
        await asyncio.sleep(1)
        queue.add("a")

        assert await times(queue, 1) == [1]
        assert await is_idle(queue)

    play(scenario)


def test_spacing_holds_back_a_key_that_is_added_right_after_its_work() -> None:
    async def scenario() -> None:
        queue: Queue[str] = Queue(spacing=5)
        queue.add("a")
        assert await times(queue, 1) == [0]
        queue.add("a")
        queue.add("b")

        assert await times(queue, 2) == [0, 5]

    play(scenario)


@pytest.mark.parametrize("ask", ["add", "add_after", "retry", "again"])
def test_spacing_holds_whatever_is_asked_while_the_key_is_in_work(ask: str) -> None:
    async def scenario() -> None:
        queue: Queue[str] = Queue(spacing=5)
        queue.add("a")
        await queue.get()
        match ask:
            case "add":
                queue.add("a")
            case "add_after":
                queue.add_after("a", 1)
            case "retry":
                queue.retry("a")
            case _:
                queue.add("a", initial=True)
        queue.done("a")
        queue.add_after("a", 2)
        queue.add("a")

        assert await times(queue, 1) == [5]
        assert await is_idle(queue)

    play(scenario)


def test_spacing_is_measured_from_the_end_of_the_work_and_over_by_itself() -> None:
    async def scenario() -> None:
        queue: Queue[str] = Queue(spacing=5)
        queue.add("a")
        await queue.get()
        await asyncio.sleep(3)
        queue.done("a")
        await asyncio.sleep(6)

        queue.add("a")

        assert await times(queue, 1) == [9]

    play(scenario)


def test_spacing_of_keys_that_never_come_back_is_not_remembered() -> None:
    async def scenario() -> None:
        queue: Queue[str] = Queue(spacing=5)
        for number in range(100):
            queue.add(str(number))
            await drain(queue)
            await asyncio.sleep(1)

        assert len(queue._held) <= 6

    play(scenario)


def test_retries_back_off_from_a_tenth_of_a_second_to_five_seconds_until_forgotten() -> None:
    async def scenario() -> None:
        queue: Queue[str] = Queue()
        moments = [clock.monotonic()]
        for _ in range(9):
            queue.retry("a")
            moments += await times(queue, 1)
        gaps = [after - before for before, after in pairwise(moments)]
        assert gaps == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5, 5, 5])

        before = clock.monotonic()
        queue.retry("b")
        assert await times(queue, 1) == pytest.approx([before + 0.1])

        queue.forget("a")
        before = clock.monotonic()
        queue.retry("a")
        assert await times(queue, 1) == pytest.approx([before + 0.1])

    play(scenario)


def test_a_key_that_failed_ten_thousand_times_waits_as_long_as_one_that_failed_ten_times() -> None:
    async def scenario() -> None:
        queue: Queue[str] = Queue()
        for _ in range(10_000):
            queue.retry("b")
            before = await times(queue, 1)
        queue.retry("b")

        assert await times(queue, 1) == pytest.approx([before[0] + 5])

    play(scenario)


def test_failures_of_one_moment_count_as_one() -> None:
    """Seven changes at once run a key that fails seven times; it waits as after one failure, and was not delayed."""

    async def scenario() -> None:
        queue: Queue[str] = Queue(first_delay=2.0, longest_delay=256.0)
        began = clock.monotonic()
        for _ in range(7):
            queue.add("a")
            assert await times(queue, 1) == [clock.monotonic()]
            queue.retry("a")
            await asyncio.sleep(0.03)

        assert await times(queue, 1) == pytest.approx([began + 2])

        queue.retry("a")
        assert await times(queue, 1) == pytest.approx([began + 2 + 4])

    play(scenario)


def test_a_nudge_runs_a_key_unless_it_waits_after_a_failure() -> None:
    async def scenario() -> None:
        queue: Queue[str] = Queue(first_delay=2.0, longest_delay=8.0)
        queue.nudge("fine")
        assert await drain(queue) == ["fine"]
        queue.add("failing")
        await queue.get()
        queue.retry("failing")
        queue.done("failing")
        began = clock.monotonic()

        queue.nudge("failing")

        assert await times(queue, 1) == [pytest.approx(began + 2.0)]
        queue.forget("failing")
        queue.nudge("failing")
        assert await drain(queue) == ["failing"]

    play(scenario)


def test_the_part_of_a_back_off_that_is_left_to_chance_only_shortens_it() -> None:
    async def scenario() -> None:
        queue: Queue[str] = Queue(first_delay=2.0, longest_delay=256.0, jitter=0.5)
        queue.add("a")
        waits = []
        for _ in range(12):
            await queue.get()
            queue.retry("a")
            queue.done("a")
            began = clock.monotonic()
            waits.append(await times(queue, 1))
            queue.add("a")
            waits[-1] = [waits[-1][0] - began]

        longest = [min(2.0 * 2**n, 256.0) for n in range(12)]
        assert all(most / 2 <= wait <= most for (wait,), most in zip(waits, longest, strict=True))
        assert len({round(wait / most, 3) for (wait,), most in zip(waits, longest, strict=True)}) > 6

    play(scenario)


def test_when_a_key_is_due_is_known_while_somebody_has_asked_for_it() -> None:
    async def scenario() -> None:
        queue: Queue[str] = Queue(first_delay=2.0, longest_delay=4.0)
        assert queue.due("a") is None

        queue.add_after("a", 10.0)
        await asyncio.sleep(4)
        assert queue.due("a") == pytest.approx(6.0)

        queue.add("a")
        assert queue.due("a") == 0.0
        await queue.get()
        assert queue.due("a") == 0.0

        queue.retry("a")
        queue.done("a")
        assert queue.due("a") == pytest.approx(2.0)
        assert queue.due("b") is None

    play(scenario)


@pytest.mark.parametrize("pause", [0, 300])
def test_keys_that_run_again_and_again_long_before_they_are_due_leave_nothing_behind(pause: float) -> None:
    """As one that waits for the end of a certificate, and is looked at whenever everything is."""

    async def scenario() -> None:
        queue: Queue[str] = Queue()
        end = clock.monotonic() + 300 * 86400
        for number in range(2000):
            key = f"{number % 3}"
            queue.add(key)
            assert await queue.get() == key
            queue.done(key)
            queue.add_after(key, end - clock.monotonic())
            await asyncio.sleep(pause)

        assert len(queue._timeline) < 100
        assert len(await times(queue, 3)) == 3
        assert clock.monotonic() >= end - 1
        assert await is_idle(queue)

    play(scenario)
