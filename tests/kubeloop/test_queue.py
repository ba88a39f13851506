"""The promises of the queue, one by one and against random use."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest

from kubeloop import clock
from kubeloop.queue import LIVE_BEFORE_INITIAL, Closed, Queue
from kubesim.time import run


def play(scenario: Callable[[], Awaitable[None]], seed: int = 0) -> None:
    async def whole() -> None:
        await scenario()

    run(whole(), seed=seed, steps=100_000)


async def drain(queue: Queue[str]) -> list[str]:
    """Everything that is ready now, worked off."""
    served = []
    while len(queue):
        served.append(await queue.get())
        queue.done(served[-1])
    return served


async def times(queue: Queue[str], count: int) -> list[float]:
    """When the next keys are given out."""
    given = []
    for _ in range(count):
        key = await queue.get()
        given.append(clock.monotonic())
        queue.done(key)
    return given


async def is_idle(queue: Queue[str]) -> bool:
    """Whether nothing at all comes out, however long one waits."""
    try:
        async with asyncio.timeout(3600):
            await queue.get()
    except TimeoutError:
        return True
    return False


def test_a_key_added_twice_is_given_out_once() -> None:
    async def scenario() -> None:
        queue: Queue[str] = Queue()
        for key in ("a", "b", "a"):
            queue.add(key)

        assert await drain(queue) == ["a", "b"]
        assert await is_idle(queue)

    play(scenario)


def test_a_key_in_work_is_not_given_out_and_runs_again_when_it_was_added_meanwhile() -> None:
    async def scenario() -> None:
        queue: Queue[str] = Queue()
        queue.add("a")
        assert await queue.get() == "a"

        queue.add("a")
        queue.add("a")
        assert len(queue) == 0

        queue.done("a")
        assert await drain(queue) == ["a"]
        assert await is_idle(queue)

    play(scenario)


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


def test_keys_come_in_the_order_they_became_ready() -> None:
    async def scenario() -> None:
        queue: Queue[str] = Queue()
        queue.add_after("late", 1)
        for key in ("c", "a", "b"):
            queue.add(key)
        await asyncio.sleep(1.5)
        queue.add("d")

        assert await drain(queue) == ["c", "a", "b", "late", "d"]

    play(scenario)


def test_a_waiting_worker_is_woken_by_a_key() -> None:
    async def scenario() -> None:
        queue: Queue[str] = Queue()
        getting = asyncio.create_task(queue.get())
        await asyncio.sleep(1)

        queue.add("a")

        assert await getting == "a"
        assert clock.monotonic() == 1

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


def test_live_changes_go_before_those_of_a_first_list() -> None:
    async def scenario() -> None:
        queue: Queue[str] = Queue()
        queue.add("old-1", initial=True)
        queue.add("old-2", initial=True)
        queue.add("new")

        assert await drain(queue) == ["new", "old-1", "old-2"]

    play(scenario)


def test_a_live_change_of_a_key_of_a_first_list_makes_it_live() -> None:
    async def scenario() -> None:
        queue: Queue[str] = Queue()
        for key in ("a", "b", "c"):
            queue.add(key, initial=True)
        queue.add("c")
        queue.add("c", initial=True)

        assert await drain(queue) == ["c", "a", "b"]

    play(scenario)


def test_a_stream_of_live_changes_does_not_starve_a_first_list() -> None:
    async def scenario() -> None:
        queue: Queue[str] = Queue()
        for number in range(3):
            queue.add(f"old-{number}", initial=True)
        served: list[str] = []
        for _ in range(3 * (LIVE_BEFORE_INITIAL + 1)):
            for number in range(20):
                queue.add(f"live-{number}")
            served.append(await queue.get())
            queue.done(served[-1])

        assert [served.index(f"old-{number}") for number in range(3)] == [8, 17, 26]

    play(scenario)


@pytest.mark.parametrize("cancelled", [0, 1])
def test_a_cancelled_wait_does_not_swallow_the_key_it_was_woken_for(cancelled: int) -> None:
    async def scenario() -> None:
        queue: Queue[str] = Queue()
        waiting = [asyncio.create_task(queue.get()) for _ in range(2)]
        await asyncio.sleep(1)

        queue.add("a")
        waiting[cancelled].cancel()

        async with asyncio.timeout(1):
            assert await waiting[1 - cancelled] == "a"

    play(scenario)


@pytest.mark.parametrize("seed", range(5))
def test_waits_that_are_cancelled_together_end_as_cancelled_and_leave_the_key(seed: int) -> None:
    async def scenario() -> None:
        queue: Queue[str] = Queue()
        waiting = [asyncio.create_task(queue.get()) for _ in range(3)]
        await asyncio.sleep(1)

        queue.add("a")
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

        assert all(task.cancelled() for task in waiting)
        assert await drain(queue) == ["a"]

    play(scenario, seed=seed)


def test_a_key_of_a_first_list_that_is_also_asked_for_later_runs_once() -> None:
    async def scenario() -> None:
        queue: Queue[str] = Queue()
        queue.add("a", initial=True)
        queue.add_after("a", 5)

        assert await times(queue, 1) == [0]
        assert await is_idle(queue)

    play(scenario)


def test_closing_ends_every_wait_and_takes_nothing_in() -> None:
    async def scenario() -> None:
        queue: Queue[str] = Queue()
        queue.add_after("late", 5)
        waiting = [asyncio.create_task(queue.get()) for _ in range(3)]
        await asyncio.sleep(1)

        queue.close()
        queue.add("a")

        for task in waiting:
            with pytest.raises(Closed):
                await task
        with pytest.raises(Closed):
            await queue.get()
        assert len(queue) == 0

    play(scenario)


@pytest.mark.parametrize("seed", range(30))
def test_under_random_use_every_wish_is_served_in_time_and_no_key_is_twice_in_work(seed: int) -> None:
    """A wish is served when its key is given out after it was made; nothing comes later than its due time allows."""

    async def scenario() -> None:
        rng = random.Random(seed)
        spacing = rng.choice([0.0, 0.5])
        queue: Queue[int] = Queue(spacing=spacing)
        wishes: dict[int, float] = {}
        finished: dict[int, float] = {}
        working: set[int] = set()

        async def worker() -> None:
            while True:
                key = await queue.get()
                assert key not in working
                assert clock.monotonic() >= finished.get(key, -1.0) + spacing - 1e-9
                working.add(key)
                wishes.pop(key, None)
                await asyncio.sleep(rng.choice([0, 0.05, 0.2]))
                working.discard(key)
                finished[key] = clock.monotonic()
                queue.done(key)

        async with asyncio.TaskGroup() as group:
            workers = [group.create_task(worker()) for _ in range(3)]
            for _ in range(200):
                key = rng.randrange(8)
                delay = rng.choice([0.0, 0.0, 0.3, 1.0])
                wishes[key] = min(wishes.get(key, float("inf")), clock.monotonic() + delay)
                if delay:
                    queue.add_after(key, delay)
                else:
                    queue.add(key, initial=rng.random() < 0.3)
                await asyncio.sleep(rng.choice([0, 0, 0.02, 0.1]))
                # 8 keys of at most 0.2 s each, 3 workers, and the spacing of the key itself.
                assert all(clock.monotonic() - due < 3 + spacing for due in wishes.values())
            await asyncio.sleep(5)
            assert wishes == {}
            assert not working
            for task in workers:
                task.cancel()

    play(scenario, seed=seed)


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


class Watching:
    """Keeps what happens to keys."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def added(self, key: object) -> None:
        self.seen.append(f"added {key}")

    def taken(self, key: object) -> None:
        self.seen.append(f"taken {key}")

    def done(self, key: object) -> None:
        self.seen.append(f"done {key}")

    def delayed(self, key: object) -> None:
        self.seen.append(f"delayed {key}")


def test_a_watcher_is_told_of_every_key_once() -> None:
    async def scenario() -> None:
        queue: Queue[str] = Queue(first_delay=1.0)
        watcher = queue.watcher = Watching()
        queue.add("a", initial=True)
        queue.add("a")
        queue.add("a")
        key = await queue.get()
        queue.add("a")
        queue.retry(key)  # it runs again at once as it is
        queue.done(key)
        assert await drain(queue) == ["a"]
        queue.add_after("b", 1.0)
        queue.add_after("b", 2.0)
        assert await queue.get() == "b"
        queue.done("b")

        assert watcher.seen == [
            *("added a", "taken a", "done a", "added a", "taken a", "done a"),
            *("delayed b", "added b", "taken b", "done b"),
        ]

    play(scenario)
