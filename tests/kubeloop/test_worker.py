"""The four outcomes of a reconciliation, and how workers end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar

import pytest

from kubeloop import clock
from kubeloop.queue import Queue
from kubeloop.worker import MOST_ASIDE, stepping_aside, work
from kubesim.time import run


class Scene:
    """Workers on a queue of names; `outcomes` says what happens to a key, once per look."""

    def __init__(self) -> None:
        self.queue: Queue[str] = Queue()
        self.outcomes: dict[str, list[float | Exception | None]] = {}
        self.looks: list[tuple[str, float]] = []
        self.failures: list[tuple[str, str]] = []

    async def reconcile(self, key: str) -> float | None:
        self.looks.append((key, clock.monotonic()))
        outcome = self.outcomes[key].pop(0) if self.outcomes.get(key) else None
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def failed(self, key: str, error: Exception) -> None:
        self.failures.append((key, str(error)))

    def when(self, key: str) -> list[float]:
        return [moment for looked, moment in self.looks if looked == key]


@asynccontextmanager
async def working(scene: Scene, workers: int = 1) -> AsyncIterator[None]:
    task = asyncio.create_task(work(scene.queue, scene.reconcile, workers=workers, failed=scene.failed))
    try:
        yield
    finally:
        scene.queue.close()
        await task


def play(scenario: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        await scenario()

    run(whole(), steps=100_000)


def test_a_key_that_is_done_is_left_alone() -> None:
    async def scenario() -> None:
        scene = Scene()
        async with working(scene):
            scene.queue.add("a")
            await asyncio.sleep(3600)

        assert scene.when("a") == [0]

    play(scenario)


def test_a_key_that_wants_to_look_again_does_so_at_its_time() -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.outcomes["a"] = [30, 0, None]
        async with working(scene):
            scene.queue.add("a")
            await asyncio.sleep(3600)

        assert scene.when("a") == [0, 30, 30]

    play(scenario)


def test_a_key_that_fails_is_retried_with_back_off_which_success_resets() -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.outcomes["a"] = [ValueError("one"), ValueError("two"), 10, ValueError("three"), None]
        async with working(scene):
            scene.queue.add("a")
            await asyncio.sleep(3600)

        assert scene.when("a") == pytest.approx([0, 0.1, 0.3, 10.3, 10.4])
        assert scene.failures == [("a", "one"), ("a", "two"), ("a", "three")]

    play(scenario)


def test_a_key_that_always_fails_does_not_hold_up_others() -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.outcomes["bad"] = [ValueError("bad")] * 1000
        async with working(scene):
            scene.queue.add("bad")
            scene.queue.add("good")
            await asyncio.sleep(1)
            scene.queue.add("better")
            await asyncio.sleep(60)

        assert scene.when("good") == [0]
        assert scene.when("better") == [1]
        assert len(scene.when("bad")) > 10

    play(scenario)


def test_keys_that_are_always_ready_and_never_wait_leave_the_loop_to_others() -> None:
    async def scenario() -> None:
        queue: Queue[str] = Queue()
        looks = 0

        async def at_once_again(_: str) -> float:
            nonlocal looks
            looks += 1
            if looks == 1000:
                queue.close()
            return 0.0

        async def other() -> int:
            for _ in range(5):
                await asyncio.sleep(0)
            return looks

        queue.add("a")
        queue.add("b")
        beside = asyncio.create_task(other())
        await work(queue, at_once_again, workers=2, failed=lambda key, error: None)

        assert await beside < 100

    play(scenario)


@pytest.mark.parametrize(("in_a_row", "turns"), [(1, 5), (3, 1), (10, 0)])
def test_others_have_a_turn_after_so_many_keys_in_a_row(in_a_row: int, turns: int) -> None:
    """Six keys are ready; on a plain loop everybody who is ready has one turn, then everybody the next."""

    async def scenario() -> int:
        queue: Queue[int] = Queue()
        seen: list[int] = []
        turn = 0

        async def look(_key: int) -> None:
            seen.append(turn)
            if len(seen) == 6:
                queue.close()

        async def others() -> None:
            nonlocal turn
            while True:
                turn += 1
                await asyncio.sleep(0)

        for key in range(6):
            queue.add(key)
        beside = asyncio.create_task(others())
        await work(queue, look, workers=1, failed=lambda *_: None, in_a_row=in_a_row)
        beside.cancel()
        return seen[-1] - seen[0]

    assert asyncio.run(scenario()) == turns


def test_as_many_keys_are_in_work_at_once_as_there_are_workers() -> None:
    async def scenario() -> None:
        scene = Scene()
        at_once = most = 0

        async def slow(_: str) -> None:
            nonlocal at_once, most
            at_once += 1
            most = max(most, at_once)
            await asyncio.sleep(1)
            at_once -= 1

        task = asyncio.create_task(work(scene.queue, slow, workers=3, failed=scene.failed))
        for number in range(9):
            scene.queue.add(str(number))
        await asyncio.sleep(3.5)

        assert most == 3
        assert at_once == 0
        scene.queue.close()
        await task

    play(scenario)


def test_cancelling_stops_the_work_and_leaves_no_task_and_no_key_behind() -> None:
    async def scenario() -> None:
        scene = Scene()
        stopped: list[str] = []

        async def forever(key: str) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                stopped.append(key)

        task = asyncio.create_task(work(scene.queue, forever, workers=2, failed=scene.failed))
        scene.queue.add("a")
        await asyncio.sleep(1)
        task.cancel()

        with pytest.raises(asyncio.CancelledError):
            await task

        assert stopped == ["a"]
        assert scene.failures == []
        assert asyncio.all_tasks() == {asyncio.current_task()}
        scene.queue.add("a")
        assert await scene.queue.get() == "a"

    play(scenario)


def test_a_mistake_in_telling_failures_ends_the_work_loudly() -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.outcomes["a"] = [ValueError("one")]

        def failed(key: str, error: Exception) -> None:
            raise RuntimeError("cannot tell")

        scene.queue.add("a")
        with pytest.raises(ExceptionGroup) as caught:
            await work(scene.queue, scene.reconcile, workers=2, failed=failed)

        assert caught.group_contains(RuntimeError, match="cannot tell")

    play(scenario)


class Asides:
    """Work that waits aside for `waits` seconds where a key has one, and then works for a second in its place."""

    def __init__(self, waits: dict[str, float]) -> None:
        self.waits = waits
        self.at_work: list[str] = []
        self.most = 0
        self.ended: list[tuple[str, float]] = []

    async def reconcile(self, key: str) -> None:
        if key in self.waits:
            async with stepping_aside():
                await asyncio.sleep(self.waits[key])
                if key == "broken":
                    raise ValueError("broken")
        self.at_work.append(key)
        self.most = max(self.most, len(self.at_work))
        await asyncio.sleep(1)
        self.at_work.remove(key)
        self.ended.append((key, clock.monotonic()))


def test_work_that_steps_aside_holds_up_nobody_and_comes_back_to_a_place() -> None:
    async def scenario() -> None:
        scene, asides = Scene(), Asides({f"dead-{number}": 60 for number in range(100)})
        task = asyncio.create_task(work(scene.queue, asides.reconcile, workers=2, failed=scene.failed))
        for key in (*asides.waits, "a", "b", "c", "d"):
            scene.queue.add(key)
        await asyncio.sleep(200)
        scene.queue.close()
        await task

        assert {key for key, when in asides.ended if when <= 2} == {"a", "b", "c", "d"}
        assert len(asides.ended) == 104
        assert asides.most == 2
        assert asides.ended[-1][1] == 60 + 50

    play(scenario)


def test_a_key_that_is_aside_is_not_given_out_a_second_time() -> None:
    async def scenario() -> None:
        scene, asides = Scene(), Asides({"dead": 10})
        task = asyncio.create_task(work(scene.queue, asides.reconcile, workers=4, failed=scene.failed))
        scene.queue.add("dead")
        await asyncio.sleep(5)
        scene.queue.add("dead")
        await asyncio.sleep(4)
        assert asides.ended == []
        await asyncio.sleep(30)
        scene.queue.close()
        await task

        assert asides.ended == [("dead", 11), ("dead", 22)]

    play(scenario)


@pytest.mark.parametrize("others", [0, 1, 5])
def test_work_that_is_aside_when_the_queue_closes_is_finished(others: int) -> None:
    async def scenario() -> None:
        scene, asides = Scene(), Asides({"dead": 10, "deader": 10.5})
        task = asyncio.create_task(work(scene.queue, asides.reconcile, workers=1, failed=scene.failed))
        for key in (*asides.waits, *(f"{number}" for number in range(others))):
            scene.queue.add(key)
        await asyncio.sleep(9.5)
        scene.queue.close()
        async with asyncio.timeout(10):
            await task

        assert {key for key, _ in asides.ended} >= {"dead", "deader"}
        assert asides.most == 1

    play(scenario)


def test_work_that_fails_aside_is_told_and_its_place_goes_on() -> None:
    async def scenario() -> None:
        scene, asides = Scene(), Asides({"broken": 1})
        task = asyncio.create_task(work(scene.queue, asides.reconcile, workers=1, failed=scene.failed))
        scene.queue.add("broken")
        await asyncio.sleep(1.05)
        asides.waits.clear()
        scene.queue.add("a")
        await asyncio.sleep(30)
        scene.queue.close()
        await task

        assert scene.failures == [("broken", "broken")]
        assert {key for key, _ in asides.ended} == {"a", "broken"}
        assert asides.most == 1

    play(scenario)


def test_cancelling_ends_what_is_aside_and_leaves_no_task() -> None:
    async def scenario() -> None:
        scene, asides = Scene(), Asides({f"dead-{number}": 60 for number in range(5)})
        task = asyncio.create_task(work(scene.queue, asides.reconcile, workers=2, failed=scene.failed))
        for key in asides.waits:
            scene.queue.add(key)
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert asyncio.all_tasks() == {asyncio.current_task()}

    play(scenario)


def test_only_so_many_are_aside_at_once() -> None:
    async def scenario() -> None:
        scene, asides = Scene(), Asides({f"dead-{number}": 60 for number in range(MOST_ASIDE + 5)})
        task = asyncio.create_task(work(scene.queue, asides.reconcile, workers=2, failed=scene.failed))
        for key in asides.waits:
            scene.queue.add(key)
        await asyncio.sleep(30)
        assert len([each for each in asyncio.all_tasks() if "aside" in each.get_name()]) <= MOST_ASIDE
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    play(scenario)


def test_who_works_in_the_place_of_another_inherits_nothing_of_its_work() -> None:
    """Such as the span of a trace, of which all that follows would be a part."""
    span = ContextVar("span", default="")

    async def scenario() -> None:
        async def reconcile(key: str) -> None:
            found[key] = span.get()
            token = span.set(key)
            if key == "dead":
                async with stepping_aside():
                    await asyncio.sleep(10)
            span.reset(token)

        scene, found = Scene(), dict[str, str]()
        task = asyncio.create_task(work(scene.queue, reconcile, workers=1, failed=scene.failed))
        for key in ("dead", "a", "b"):
            scene.queue.add(key)
        await asyncio.sleep(5)
        scene.queue.close()
        await task

        assert found == {"dead": "", "a": "", "b": ""}
        assert scene.failures == []

    play(scenario)


def test_outside_of_a_worker_nobody_steps_aside() -> None:
    async def scenario() -> None:
        async with stepping_aside():
            await asyncio.sleep(1)

    play(scenario)
