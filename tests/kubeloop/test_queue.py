"""The promises of the queue, one by one and against random use."""

from __future__ import annotations

import asyncio
import random

import pytest

from kubeloop import clock
from kubeloop.queue import LIVE_BEFORE_INITIAL, Closed, Queue
from tests.kubeloop.queues import drain, is_idle, play, times


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

    def dropped(self, key: object) -> None:
        self.seen.append(f"dropped {key}")


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


def test_a_key_that_is_dropped_is_not_given_out_and_may_be_asked_for_again() -> None:
    async def scenario() -> None:
        queue: Queue[str] = Queue()
        watcher = queue.watcher = Watching()
        queue.add("live")
        queue.add("first", initial=True)
        queue.add_after("later", 5)
        assert queue.waiting() == ("live", "first", "later")

        for key in queue.waiting():
            queue.drop(key)

        assert queue.waiting() == ()
        assert await is_idle(queue)
        assert watcher.seen[-3:] == ["dropped live", "dropped first", "dropped later"]
        queue.add("later")
        assert await drain(queue) == ["later"]

    play(scenario)


def test_a_key_that_is_dropped_in_work_is_not_given_out_again() -> None:
    async def scenario() -> None:
        queue: Queue[str] = Queue()
        queue.add("a")
        await queue.get()
        queue.add("a")

        queue.drop("a")
        queue.done("a")

        assert await is_idle(queue)

    play(scenario)
