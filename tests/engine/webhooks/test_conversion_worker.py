"""The process that converts large reviews: it answers, dies, is given up, rests, and never holds up this one."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from fairlead.contracts.environments.conversion_rules import RULES as ENVIRONMENTS
from fairlead.contracts.environments.conversion_rules import RULES_NAME as ENVIRONMENTS_NAME
from fairlead.engine.conversion import worker
from fairlead.engine.conversion.review import ConversionAnswer, answer
from fairlead.engine.conversion.worker import NoWorker, TooSlow, Worker, WorkerDied, rules_named
from kubesim.time import run
from tests.engine.webhooks.conversions import NAME, RULES, a_review, a_widget

BODY = a_review(*[a_widget(f"w{number}", note="x" * 2000) for number in range(500)])
DIFFERENT = a_review(a_widget("different"))
DEADLY = a_review(a_widget(do="die"))
LONG = 120.0


@asynccontextmanager
async def working(rules: str = NAME) -> AsyncIterator[Worker]:
    worker = Worker(rules)
    try:
        async with asyncio.timeout(LONG):
            yield worker
    finally:
        await worker.close()


def played(scenario: Callable[[Worker], Awaitable[None]], rules: str = NAME) -> None:
    async def play() -> None:
        async with working(rules) as worker:
            await scenario(worker)

    asyncio.run(play())


def process_of(worker: Worker) -> int:
    process = worker._process
    assert process is not None
    return process.pid


def test_its_answers_are_those_of_this_process() -> None:
    async def scenario(worker: Worker) -> None:
        for body in (BODY, a_review(), b"no review", a_review(a_widget(do="refuse")), a_review(a_widget(do="fail"))):
            assert await worker.convert(body) == answer(body, RULES)

    played(scenario)


def test_one_process_serves_all_reviews_also_those_that_come_at_once() -> None:
    async def scenario(worker: Worker) -> None:
        await worker.convert(BODY)
        first = process_of(worker)
        given = await asyncio.gather(*[worker.convert(BODY) for _ in range(4)])

        assert given == [answer(BODY, RULES)] * 4
        assert process_of(worker) == first

    played(scenario)


def test_one_that_was_killed_is_started_anew() -> None:
    async def scenario(worker: Worker) -> None:
        await worker.convert(BODY)
        first = process_of(worker)
        os.kill(first, signal.SIGKILL)

        assert await worker.convert(BODY) == answer(BODY, RULES)
        assert process_of(worker) != first

    played(scenario)


def test_a_review_that_kills_it_twice_is_given_up_and_the_next_one_is_answered() -> None:
    async def scenario(worker: Worker) -> None:
        with pytest.raises(WorkerDied):
            await worker.convert(DEADLY)

        assert await worker.convert(BODY) == answer(BODY, RULES)

    played(scenario)


def test_a_review_that_is_given_up_in_the_middle_does_not_spoil_the_next() -> None:
    async def scenario(worker: Worker) -> None:
        await worker.convert(a_review())
        task = asyncio.create_task(worker.convert(BODY))
        await asyncio.sleep(0)  # it has begun to write
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert await worker.convert(DIFFERENT) == answer(DIFFERENT, RULES)

    played(scenario)


class Slow(Worker):
    """Takes the seconds that a review says, in virtual time and without a process."""

    async def _exchange(self, body: bytes) -> ConversionAnswer:
        await asyncio.sleep(float(body))
        return ConversionAnswer(200, body)


def test_the_time_of_a_review_begins_when_the_process_is_free() -> None:
    async def scenario() -> None:
        worker = Slow(NAME)

        given = await asyncio.gather(*[worker.convert(b"19") for _ in range(3)])

        assert given == [ConversionAnswer(200, b"19")] * 3

    run(scenario(), seed=0)


def test_a_review_that_takes_too_long_is_given_up_and_the_next_one_is_answered() -> None:
    async def scenario() -> None:
        worker = Slow(NAME)

        slow, quick = await asyncio.gather(worker.convert(b"21"), worker.convert(b"1"), return_exceptions=True)

        assert isinstance(slow, TooSlow)
        assert str(slow) == "the conversion took longer than 20 seconds"
        assert quick == ConversionAnswer(200, b"1")

    run(scenario(), seed=0)


def test_one_that_has_nothing_to_do_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "IDLE_SECONDS", 0.0)
    reading, writing = os.pipe()

    with os.fdopen(reading, "rb") as source, os.fdopen(writing, "wb") as sink:
        worker.serve(RULES, source, sink)

        assert not sink.closed  # the other side is there and could still ask


def test_where_no_process_can_be_started_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")

    async def scenario(worker: Worker) -> None:
        with pytest.raises(NoWorker, match="no process can be started"):
            await worker.convert(BODY)

    played(scenario)


def test_rules_are_found_by_their_name() -> None:
    assert rules_named(ENVIRONMENTS_NAME) is ENVIRONMENTS
    assert rules_named(NAME) is RULES


def test_the_loop_is_free_while_ten_thousand_objects_are_converted() -> None:
    """Other tasks run all the time: between two of their turns lies a small part of what the conversion takes."""
    spec = {"environmentdImageRef": "i:v26.0.0", "backendSecretName": "b", "podAnnotations": {"a": "x" * 1700}}
    kind = {"apiVersion": "materialize.cloud/v1", "kind": "Materialize"}
    objects = [{**kind, "metadata": {"name": f"m{number}", "namespace": "e"}, "spec": spec} for number in range(10_000)]
    body = a_review(*objects, desired="materialize.cloud/v1alpha1")
    turns: list[float] = []

    async def ticking() -> None:
        while True:
            turns.append(asyncio.get_running_loop().time())
            await asyncio.sleep(0.001)

    async def scenario(worker: Worker) -> None:
        await worker.convert(a_review())
        ticker = asyncio.create_task(ticking())
        given: ConversionAnswer = await worker.convert(body)
        ticker.cancel()

        assert (given.objects, given.problem) == (10_000, "")

    played(scenario, ENVIRONMENTS_NAME)

    assert len(body) > 18_000_000
    longest = max(after - before for before, after in itertools.pairwise(turns))
    assert longest < (turns[-1] - turns[0]) / 2
    assert len(turns) > 10
