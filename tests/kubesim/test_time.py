"""Virtual time: the clock jumps, the seed decides the order, the real world stays out."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest

from kubeloop import clock
from kubesim.time import Deadlock, Livelock, RealWorld, VirtualLoop, run

HOUR = 3600.0


async def a_busy_day(tasks: int = 12, extra: bool = False) -> list[str]:
    """Tasks that wait, race, spawn and are cancelled; the answer is the order in which things happened."""
    trace: list[str] = []

    async def leaf(name: str) -> None:
        try:
            for step in range(4):
                trace.append(f"{name} {step}")
                await asyncio.sleep(step % 2)
            await asyncio.sleep(HOUR * 12)
        finally:
            trace.append(f"{name} ends")

    async def branch(name: str) -> None:
        try:
            async with asyncio.timeout(5), asyncio.TaskGroup() as group:
                for number in range(3):
                    group.create_task(leaf(f"{name}.{number}"))
        except TimeoutError:
            trace.append(f"{name} timed out")

    async def idle() -> None:
        await asyncio.sleep(HOUR)

    async with asyncio.TaskGroup() as group:
        for number in range(tasks):
            group.create_task(branch(str(number)))
        if extra:
            group.create_task(idle())
    done, _ = await asyncio.wait({asyncio.create_task(leaf(f"w{number}")) for number in range(3)}, timeout=2)
    trace.append(f"{len(done)} done at {clock.monotonic()}")
    return trace


def digest(seed: int) -> str:
    return hashlib.sha256("\n".join(run(a_busy_day(), seed=seed)).encode()).hexdigest()


def test_the_clock_jumps_to_the_next_timer() -> None:
    async def wait() -> tuple[datetime, float]:
        await asyncio.sleep(36 * HOUR)
        return clock.now(), clock.monotonic()

    now, seconds = run(wait(), start=datetime(2031, 5, 1, tzinfo=UTC))

    assert now == datetime(2031, 5, 2, 12, tzinfo=UTC)
    assert seconds == 36 * HOUR


def test_the_clock_stands_still_while_something_is_ready() -> None:
    async def spin() -> float:
        asyncio.get_running_loop().call_later(0.001, lambda: None)
        for _ in range(1000):
            await asyncio.sleep(0)
        return clock.monotonic()

    assert run(spin()) == 0.0


def test_different_seeds_give_different_orders() -> None:
    traces = {digest(seed) for seed in range(20)}

    assert len(traces) == 20


@pytest.mark.parametrize("hash_seed", ["0", "1", "4711"])
def test_the_same_seed_gives_the_same_trace_in_every_process(hash_seed: str) -> None:
    program = "from tests.kubesim.test_time import digest; print(' '.join(digest(seed) for seed in range(4)))"

    answer = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert answer.stdout.split() == [digest(seed) for seed in range(4)]


def test_a_task_elsewhere_disturbs_nobody() -> None:
    without = run(a_busy_day(), seed=3)

    with_another = run(a_busy_day(extra=True), seed=3)

    assert [line for line in with_another if not line.startswith(("w", "0 done"))] == [
        line for line in without if not line.startswith(("w", "0 done"))
    ]


def test_without_a_seed_callbacks_run_in_order_of_arrival() -> None:
    order: list[int] = []

    async def note(number: int) -> None:
        order.append(number)

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(50):
                group.create_task(note(number))

    run(main(), seed=None)

    assert order == list(range(50))


def test_a_seed_shuffles_tasks_that_are_ready_together() -> None:
    order: list[int] = []

    async def note(number: int) -> None:
        order.append(number)

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(50):
                group.create_task(note(number))

    run(main(), seed=1)

    assert order != list(range(50))
    assert sorted(order) == list(range(50))


def test_waiting_for_nothing_is_a_deadlock_that_names_who_waits() -> None:
    async def forgotten() -> None:
        await asyncio.get_running_loop().create_future()

    async def main() -> None:
        await asyncio.create_task(forgotten(), name="the forgotten one")

    with pytest.raises(Deadlock, match=r"the forgotten one at .*test_time\.py"):
        run(main())


def test_a_deadlock_still_lets_tasks_clean_up() -> None:
    cleaned: list[str] = []

    async def main() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await asyncio.sleep(1)
            cleaned.append("yes")

    with pytest.raises(Deadlock):
        run(main())

    assert cleaned == ["yes"]


def test_running_for_ever_is_a_livelock() -> None:
    async def main() -> None:
        for _ in itertools.count():
            await asyncio.sleep(0)

    with pytest.raises(Livelock, match="1000 steps"):
        run(main(), steps=1000)


def test_work_for_a_thread_is_done_inline() -> None:
    async def main() -> tuple[int, float]:
        return await asyncio.to_thread(threading.get_ident), clock.monotonic()

    assert run(main()) == (threading.get_ident(), 0.0)


def test_an_error_of_work_for_a_thread_reaches_the_caller() -> None:
    async def main() -> None:
        await asyncio.to_thread(int, "x")

    with pytest.raises(ValueError, match="invalid literal"):
        run(main())


def test_sockets_are_refused() -> None:
    async def main() -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            asyncio.get_running_loop().add_reader(ours, lambda: None)

    with pytest.raises(RealWorld):
        run(main())


def test_connections_servers_and_programs_are_refused() -> None:
    async def refused() -> int:
        loop = asyncio.get_running_loop()
        count = 0
        for attempt in (
            asyncio.open_connection("127.0.0.1", 9),
            asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0),
            asyncio.create_subprocess_exec("true"),
            asyncio.create_subprocess_shell("true"),
            loop.getaddrinfo("localhost", 80),
            loop.create_datagram_endpoint(asyncio.DatagramProtocol, local_addr=("127.0.0.1", 0)),
        ):
            with pytest.raises(RealWorld):
                await attempt
            count += 1
        return count

    assert run(refused()) == 6


@pytest.mark.parametrize("others", [0, 1], ids=["nothing else goes on", "something else goes on for ever"])
def test_who_waits_for_a_thread_is_told_that_it_is_refused(others: int) -> None:
    """Instead of waiting until the limit of steps is reached, or for ever."""

    async def main() -> None:
        loop, done = asyncio.get_running_loop(), asyncio.Event()

        async def tick() -> None:
            for _ in itertools.count():
                await asyncio.sleep(1)

        def intrude() -> None:
            with suppress(RealWorld):
                loop.call_soon_threadsafe(done.set)

        tasks = [asyncio.create_task(tick()) for _ in range(others)]
        thread = threading.Thread(target=intrude, name="worker 7")
        thread.start()
        thread.join()
        await done.wait()
        await asyncio.gather(*tasks)

    with pytest.raises(RealWorld, match="worker 7 is a thread, and called into virtual time"):
        run(main(), steps=1_000_000)


def test_threads_are_refused() -> None:
    caught: list[BaseException] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()

        def intrude() -> None:
            try:
                loop.call_soon_threadsafe(lambda: None)
            except RealWorld as error:
                caught.append(error)

        thread = threading.Thread(target=intrude)
        thread.start()
        thread.join()

    run(main())

    assert len(caught) == 1


def test_cancelled_timers_do_not_pile_up() -> None:
    async def main() -> tuple[int, float]:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        for _ in range(10_000):
            async with asyncio.timeout(HOUR):
                await asyncio.sleep(0)
        return len(loop._timers), clock.monotonic()

    timers, now = run(main())

    assert timers < 500
    assert now == 0.0


def test_a_cancelled_timer_neither_fires_nor_moves_the_clock() -> None:
    fired: list[str] = []

    async def main() -> datetime:
        loop = asyncio.get_running_loop()
        loop.call_later(10, fired.append, "kept")
        loop.call_later(5, fired.append, "dropped").cancel()
        loop.call_later(50, fired.append, "late").cancel()
        await asyncio.sleep(20)
        return clock.now()

    now = run(main())

    assert fired == ["kept"]
    assert now == datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=20)
