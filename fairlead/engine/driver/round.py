"""One round: decide, ask what is missing, decide again, until there is an answer.

The same loop serves controllers, admission and look-only commands. `now` is fixed for the round, because a question or
a write that contains the time would otherwise never be answered; what the cluster looks like is gathered each time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from datetime import datetime
from itertools import count
from typing import TypeVar

from fairlead.core.ask import Answer, Answers, Bad, Need, Question, StartOver
from fairlead.core.decision import Admit, Decision
from kubeloop import clock

MOST_DECISIONS = 16
"""A round that asks more often than this does not end; that is our mistake, so it is raised."""

MOST_ATTEMPTS = 3
"""How often a round without a time limit begins anew because others were faster."""

PAUSE, LONGEST_PAUSE = 0.01, 0.5
"""Seconds between attempts of a round with a time limit: so much longer each time, up to the longest."""

MOST_AT_ONCE = 32
MOST_IN_A_HURRY = 512

S = TypeVar("S")
O = TypeVar("O", bound=Decision | Admit)  # noqa: E741  (the outcome)
Asker = Callable[[Question], Awaitable[Answer]]


class NeverSettles(RuntimeError):
    """A decision keeps asking: it does not read the answers it was given."""


class Outpaced(Exception):
    """Others were faster each time; nothing was done."""


async def settle(
    decide: Callable[[S, datetime], O | Need | StartOver],
    gather: Callable[[Answers], S],
    now: datetime,
    ask: Asker,
    *,
    given: Mapping[Question, Answer] | None = None,
    until: float | None = None,
    at_once: int = MOST_AT_ONCE,
    aside: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
) -> tuple[S, O]:
    """What was seen last, and the answer made of it; `given` is answered from the start.

    A decision that others outpace is made anew: until the loop's time `until`, or else MOST_ATTEMPTS times.
    `at_once` is how many questions of a stage are under way at a time; `aside` is entered while somebody outside of the
    cluster is asked, so that whoever runs this can go on with something else.
    """

    async def answered(need: Need) -> dict[Question, Answer]:
        async with aside() if need.goes_outside else nullcontext():
            return await answer(need, ask, at_once=at_once)

    for attempt in count(1):
        settled = await _attempt(decide, gather, now, answered, dict(given or {}))
        if settled is not None:
            return settled
        if attempt >= MOST_ATTEMPTS if until is None else clock.monotonic() >= until:
            raise Outpaced
        if until is not None:
            await asyncio.sleep(min(attempt * PAUSE, LONGEST_PAUSE))
    raise AssertionError("counting does not end")


async def _attempt(
    decide: Callable[[S, datetime], O | Need | StartOver],
    gather: Callable[[Answers], S],
    now: datetime,
    answered: Callable[[Need], Awaitable[dict[Question, Answer]]],
    known: dict[Question, Answer],
) -> tuple[S, O] | None:
    """None when the decision wants to begin anew."""
    for _ in range(MOST_DECISIONS):
        seen = gather(Answers(dict(known)))
        outcome = decide(seen, now)
        if isinstance(outcome, StartOver):
            return None
        if not isinstance(outcome, Need):
            return seen, outcome
        known |= await answered(outcome)
    raise NeverSettles(f"{decide.__module__} asked {MOST_DECISIONS} times without deciding")


async def answer(
    need: Need, ask: Asker, hurry: asyncio.Event | None = None, at_once: int = MOST_AT_ONCE
) -> dict[Question, Answer]:
    """An answer for every question of the need; those never asked are answered `not-sent`.

    Once `hurry` is set, questions wait for one another no longer, up to MOST_IN_A_HURRY at a time.
    """
    got: dict[Question, Answer] = {}
    for stage in need.stages:
        await _stage(stage, ask, need, got, hurry, at_once)
        if any(need.stops_at(got.get(question)) for question in stage):
            break
    return {question: got.get(question, Bad("not-sent")) for stage in need.stages for question in stage}


async def _stage(
    stage: tuple[Question, ...],
    ask: Asker,
    need: Need,
    got: dict[Question, Answer],
    hurry: asyncio.Event | None,
    at_once: int,
) -> None:
    """Asks all of a stage, `at_once` at a time; none is begun after a failure at which the need stops."""
    waiting = iter(stage)
    stopped = False

    async def work() -> None:
        nonlocal stopped
        for question in waiting:
            if stopped:
                return
            got[question] = await ask(question)
            stopped = stopped or need.stops_at(got[question])

    async def widen(hurry: asyncio.Event, tasks: asyncio.TaskGroup) -> None:
        await hurry.wait()
        for _ in range(min(len(stage), MOST_IN_A_HURRY) - at_once):
            tasks.create_task(work())

    async with asyncio.TaskGroup() as waits:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(min(len(stage), at_once)):
                tasks.create_task(work())
            widening = waits.create_task(widen(hurry, tasks)) if hurry is not None else None
        if widening is not None:
            widening.cancel()
