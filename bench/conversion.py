"""Conversion by the operator's own process over TLS: one large review, and many small ones.

    python -m bench.conversion [--quick] [--rounds N]

A pulse from a process of its own asks `/healthz` all the while: it shows when the operator has no time for others.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import ssl
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from http.client import HTTPSConnection
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.admitted import latencies_of
from bench.converted import Figures, Memory, Round, Small, Stretch, checks, report, small_of, within
from bench.ground import Ground
from bench.lists import COUNT, NEW, OLD, converted, environment, newer_faults, older_faults, review
from bench.orchestrator import HOST, USER, Operator, load_of, operating
from bench.processes import Process, children, cpu_seconds, peak_megabytes, running
from bench.pulse import Order, Result
from fairlead.plane.build import Unavailable
from fairlead.plane.launch import Plane

CONVERT, HEALTH, LIFE = "/convert", "/healthz", "/livez"
NAMESPACE = "default"
ROUNDS = 5
PAUSE = 0.005
"""Seconds from one beat to the next."""
REST = 2.0
"""Seconds of pulse while nothing is asked."""
AT_ONCE = 100
SMALL_SECONDS = 5.0
QUICK_COUNT = 500
QUICK_SECONDS = 1.0
LIMIT = 60.0
"""Seconds that anything asked may take."""


class Task(Struct, frozen=True):
    """What is measured."""

    count: int = COUNT
    rounds: int = ROUNDS
    small_seconds: float = SMALL_SECONDS


class Lists(Struct, frozen=True):
    """The objects in both versions and what is asked of them."""

    old: list[bytes]
    new: list[bytes]
    to_new: bytes
    to_old: bytes
    one: bytes


class Client:
    """One connection to the webhook, used from a thread, so that nothing but bytes is waited for."""

    def __init__(self, operator: Operator) -> None:
        context = ssl.create_default_context(cadata=operator.authority)
        self._connection = HTTPSConnection(HOST, operator.https, timeout=LIMIT, context=context)

    def close(self) -> None:
        self._connection.close()

    async def ask(self, body: bytes) -> tuple[Stretch, bytes]:
        return await asyncio.to_thread(self._ask, body)

    def _ask(self, body: bytes) -> tuple[Stretch, bytes]:
        if self._connection.sock is None:  # the handshake is no part of a review
            self._connection.connect()
        began = time.monotonic()
        self._connection.request("POST", CONVERT, body, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        answer = response.read()
        ended = time.monotonic()
        if response.status != 200:
            raise RuntimeError(f"a review was answered with {response.status}: {answer[:300].decode(errors='replace')}")
        return Stretch(began, ended), answer


async def measure(ground: Ground, task: Task, folder: Path) -> Figures:
    """Everything with one process of the operator."""
    async with operating(ground, NAMESPACE, folder, ("--startup-log-filter=warn",)) as operator:
        before = peak_megabytes(operator.process.pid)
        client = Client(operator)
        try:
            lists, first, wrong = await _first(client, task.count)
            async with pulsing(
                operator, folder, Order(operator.https, operator.authority, HEALTH, pause=PAUSE)
            ) as beating:
                rest = Stretch(time.monotonic(), time.monotonic() + REST)
                await asyncio.sleep(REST)
                worker = cpu_seconds(children(operator.process.pid))
                load, began = load_of(ground, operator.process, beating.process), time.monotonic()
                rounds = [await _round(client, lists) for _ in range(task.rounds)]
                load = load_of(ground, operator.process, beating.process).since(load)
                worker = cpu_seconds(children(operator.process.pid)) - worker
                seconds = time.monotonic() - began
                pulse = await beating.ended()
            memory = _memory(operator, before)
        finally:
            client.close()
        small = await _all_small(operator, folder, lists, task.small_seconds)
        operator.process.check()
    felt = within(pulse.beats, [each for one in rounds for each in (one.newer, one.older)])
    resting = latencies_of(within(pulse.beats, [rest]))
    return Figures(
        task.count,
        first,
        rounds,
        resting,
        latencies_of(felt),
        len(felt),
        wrong + pulse.wrong,
        small,
        memory,
        load,
        worker,
        seconds,
    )


async def _first(client: Client, count: int) -> tuple[Lists, float, int]:
    """The objects in both versions, how long the first review took, and how many objects came back wrong."""
    old = [environment(index) for index in range(count)]
    to_new = review(old, NEW)
    stretch, answer = await client.ask(to_new)
    new = converted(answer)
    to_old = review(new, OLD)
    _, answer = await client.ask(to_old)
    back = converted(answer)
    again = converted((await client.ask(review(back, NEW)))[1])
    changed = sum(one != other for one, other in zip(new, again, strict=True))
    wrong = newer_faults(old, new) + older_faults(new, back) + changed
    return Lists(old, new, to_new, to_old, review(old[:1], NEW)), stretch.seconds, wrong


async def _round(client: Client, lists: Lists) -> Round:
    newer, _ = await client.ask(lists.to_new)
    older, _ = await client.ask(lists.to_old)
    one, _ = await client.ask(lists.one)
    body = lists.to_new
    return Round(
        newer,
        older,
        one.seconds,
        _seconds(lambda: msgspec.json.encode(msgspec.json.decode(body))),
        _seconds(lambda: json.dumps(json.loads(body)).encode()),
    )


def _seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


async def _all_small(operator: Operator, folder: Path, lists: Lists, seconds: float) -> list[Small]:
    """Reviews of one object, and requests to which there is nothing to do: what the server itself takes."""
    asked = (("reviews of one object", CONVERT, lists.one.decode()), ("requests to `/livez`", LIFE, ""))
    found = []
    for what, path, body in asked:
        order = Order(operator.https, operator.authority, path, body=body, connections=AT_ONCE, seconds=seconds)
        before = cpu_seconds([operator.process.pid])
        async with pulsing(operator, folder, order) as beating:
            result = await beating.over()
        spent = cpu_seconds([operator.process.pid]) - before
        found.append(small_of(what, AT_ONCE, result, spent))
    return found


class Beating(Struct, frozen=True):
    """A running pulse."""

    process: Process
    target: Path

    async def ended(self) -> Result:
        """Ends it; what it felt."""
        self.process.handle.terminate()
        return await self.over()

    async def over(self) -> Result:
        """What it felt, once its time is over."""
        async with asyncio.timeout(LIMIT):
            await self.process.handle.wait()
        if self.process.handle.returncode:
            self.process.check()
        return msgspec.json.decode(self.target.read_bytes(), type=Result)


@asynccontextmanager
async def pulsing(operator: Operator, folder: Path, order: Order) -> AsyncIterator[Beating]:
    """While it beats, once its connections are open."""
    source, target = folder / "order.json", folder / "result.json"
    source.write_bytes(msgspec.json.encode(order))
    async with running("pulse", [sys.executable, "-m", "bench.pulse", str(source), str(target)], folder) as process:
        async with asyncio.timeout(LIMIT):
            while "ready" not in process.last_words().split():
                process.check()
                operator.process.check()
                await asyncio.sleep(PAUSE)
        yield Beating(process, target)


def _memory(operator: Operator, before: float) -> Memory:
    pid = operator.process.pid
    return Memory(before, peak_megabytes(pid), sum(map(peak_megabytes, children(pid))))


async def run(task: Task) -> Figures:
    async with Plane(controllers=False, build=True, say=say) as plane:
        ground = Ground(plane)
        try:
            await ground.prepare((USER,))
            with tempfile.TemporaryDirectory(prefix="fairlead-bench-") as folder:
                say(f"conversion of {task.count} objects, {task.rounds} rounds")
                return await measure(ground, task, Path(folder))
        finally:
            await ground.close()


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.conversion", description="Measures conversion.")
    parser.add_argument("--quick", action="store_true", help="a small review and a short load, to see that all runs")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often the large review is sent")
    given = parser.parse_args(arguments)
    task = Task(QUICK_COUNT, 2, QUICK_SECONDS) if given.quick else Task(rounds=given.rounds)
    try:
        figures = asyncio.run(run(task))
    except Unavailable as problem:
        say(f"there is no control plane to measure on: {problem}")
        return 1
    print(report(figures))
    return 0 if all(check.ok for check in checks(figures)) else 1


if __name__ == "__main__":
    sys.exit(main())
