"""One round: decide, ask what is missing, decide again, until there is a Decision.

The same loop serves controllers and look-only commands. `now` is fixed for the round, because a question or a write
that contains the time would otherwise never be answered; what the cluster looks like is gathered anew each time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TypeVar

from fairlead.decide.ask import Answer, Answers, Ask, Bad, Need
from fairlead.decide.decision import Decide, Decision

MOST_DECISIONS = 8
"""A round that asks more often than this does not end; that is our mistake, so it is raised."""

MOST_AT_ONCE = 32

S = TypeVar("S")
Asker = Callable[[Ask], Awaitable[Answer]]


class NeverSettles(RuntimeError):
    """A decision keeps asking: it does not read the answers it was given."""


async def settle(
    decide: Decide[S], gather: Callable[[Answers], S], now: datetime, ask: Asker, *, look: bool = False
) -> tuple[S, Decision | Need]:
    """What was seen last, and the Decision made of it.

    Only with `look` a Need is returned: it holds a question with an effect, which a preview shows instead of asking.
    """
    known: dict[Ask, Answer] = {}
    for _ in range(MOST_DECISIONS):
        seen = gather(Answers(dict(known)))
        outcome = decide(seen, now)
        if isinstance(outcome, Decision) or (look and outcome.has_effect):
            return seen, outcome
        known |= await _answer(outcome, ask)
    raise NeverSettles(f"{decide.__module__} asked {MOST_DECISIONS} times without deciding")


async def _answer(need: Need, ask: Asker) -> dict[Ask, Answer]:
    """An answer for every question of the need; those never asked are answered `not-sent`."""
    got: dict[Ask, Answer] = {}
    for stage in need.stages:
        for start in range(0, len(stage), MOST_AT_ONCE):
            some = stage[start : start + MOST_AT_ONCE]
            got |= zip(some, await asyncio.gather(*map(ask, some)), strict=True)
        if need.stop_at_failure and any(isinstance(got[question], Bad) for question in stage):
            break
    return {question: got.get(question, Bad("not-sent")) for stage in need.stages for question in stage}
