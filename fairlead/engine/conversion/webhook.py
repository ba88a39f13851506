"""The conversion webhook: how a review comes in, who converts it, and what is told of it.

It answers on every replica, leader or not, from nothing but the review. Small reviews are converted where they come in,
which is over before anything else would notice; large ones by a process of their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from msgspec import Struct
from structlog.types import FilteringBoundLogger

from fairlead.engine.conversion.review import (
    OUR_MISTAKE,
    USUAL_MANNER,
    ConversionAnswer,
    Manner,
    Rules,
    answer,
    failure,
)
from fairlead.engine.conversion.worker import NoWorker, TooSlow, WorkerDied
from fairlead.engine.serving.routes import text
from kubeloop import clock
from kubeloop.calls import Call, Reply

LARGEST_REVIEW = 64 * 1024 * 1024
"""Bytes; a list of 10,000 objects of 2 kB is 20 MB."""
SMALL_REVIEW = 256 * 1024
"""Bytes that are converted in place: some hundred objects of 2 kB, less than five milliseconds."""
MOST_HELD = 96 * 1024 * 1024
"""Bytes of all reviews in work together: the largest one, and half as much for those that come meanwhile.

Five reviews of 60 MB at once take 410 MB, both processes together; the chart gives 512."""
LONGEST = 28.0
"""Seconds for a large review with its wait for those before it; the API server gives up after 30."""
JSON = "application/json"
PLAIN = "text/plain; charset=utf-8"


RETRY_SECONDS = 1
"""After which a review may come again that could not be taken; clients of Kubernetes do so by themselves."""
MOST_WAITING = 256
"""Reviews that wait for their turn."""


class Elsewhere(Protocol):
    """Converts large reviews without holding up this process."""

    async def convert(self, body: bytes) -> ConversionAnswer: ...


class InForce(Struct, frozen=True):
    """What a review is answered from, from its beginning to its end, whatever comes after."""

    rules: Rules
    elsewhere: Elsewhere | None = None
    """By the same rules."""
    small: int = SMALL_REVIEW
    """Bytes that are converted in place where there is somewhere else."""
    awaited: frozenset[str] = frozenset()
    """Groups whose rules are there in a moment: who asks for them is told to come again."""
    renewed: frozenset[str] = frozenset()
    """Groups of definitions that have changed, while their rules are tried anew: by those in force, objects with a new
    field would be converted as if no other version had it."""
    is_complete: bool = True
    """False while it is not known yet which rules there are: those of any group may be there in a moment."""

    def awaits(self, group: str) -> bool:
        return not self.is_complete or group in self.awaited


class ReviewTerms(Struct, frozen=True):
    """What reviews are held to."""

    largest: int = LARGEST_REVIEW
    longest: float = LONGEST
    at_once: int | None = None
    """Reviews that are converted at the same time, others wait; None: as many as come."""
    manner: Manner = USUAL_MANNER
    obstacle: Callable[[], str] = lambda: ""
    """Why none can be converted now; empty: they can."""
    learn: Callable[[str], Awaitable[None]] | None = None
    """Looks whether the versions of a group have changed; None: they do not."""


USUAL_TERMS = ReviewTerms()


class AnsweredReview(Struct, frozen=True):
    """One review that was answered, for metrics."""

    objects: int
    succeeded: bool
    mistakes: int
    seconds: float


class _Busy(Exception):
    """The review cannot be answered now; the text says why."""


class ConversionHandler:
    """The handler; without `elsewhere` everything is converted in place.

    `rules` are the same always, or those in force. `counted` hears of each answer with all that there is to count.
    """

    def __init__(
        self,
        rules: Rules | Callable[[], InForce],
        log: FilteringBoundLogger,
        elsewhere: Elsewhere | None = None,
        heard: Callable[[AnsweredReview], None] = lambda _: None,
        terms: ReviewTerms = USUAL_TERMS,
        counted: Callable[[ConversionAnswer], None] = lambda _: None,
    ) -> None:
        self._in_force = rules if callable(rules) else _always(InForce(rules, elsewhere))
        self._log = log
        self._heard = heard
        self._terms = terms
        self._counted = counted
        self._turns = None if terms.at_once is None else asyncio.Semaphore(terms.at_once)
        self._waiting = 0
        self._said = ""
        """The last refusal: the API server asks again and again, and one record of it is enough."""

    async def __call__(self, call: Call) -> Reply:
        if (refusal := _refusal(call, self._terms.largest)) is not None:
            return refusal
        begun = clock.monotonic()
        try:
            converted = await self._taken(call.body)
        except _Busy as error:
            return self._later(str(error))
        if converted.unknown and self._in_force().awaits(converted.unknown):
            return self._later("the rules for these objects are being loaded")
        self._tell(converted)
        self._counted(converted)
        seconds = clock.monotonic() - begun
        self._heard(AnsweredReview(converted.objects, not converted.problem, len(converted.mistakes), seconds))
        kind = JSON if converted.is_review else PLAIN
        return Reply(converted.status, converted.body, (("Content-Type", kind),))

    def _later(self, why: str) -> Reply:
        self._counted(ConversionAnswer(503, problem=why, is_review=False))
        refused = text(503, f"{why}; try again in {RETRY_SECONDS} s")
        return Reply(refused.status, refused.body, (*refused.headers, ("Retry-After", str(RETRY_SECONDS))))

    def _tell(self, converted: ConversionAnswer) -> None:
        if converted.problem and converted.problem != self._said:
            self._said = converted.problem
            self._log.warning("conversion refused", objects=converted.objects, error=converted.problem)
            if converted.mistakes:
                self._log.error("conversion rule failed", mistakes=converted.mistakes)

    async def _taken(self, body: bytes) -> ConversionAnswer:
        """Raises _Busy where it cannot be."""
        if problem := self._terms.obstacle():
            raise _Busy(problem)
        until = clock.monotonic() + self._terms.longest
        if self._turns is None:
            return await self._learned(body, until)
        if self._waiting >= MOST_WAITING:
            raise _Busy(f"{MOST_WAITING} reviews wait already")
        self._waiting += 1
        try:
            async with asyncio.timeout_at(until):
                await self._turns.acquire()
        except TimeoutError:
            return self._too_late(body)
        finally:
            self._waiting -= 1
        try:
            return await self._learned(body, until)
        finally:
            self._turns.release()

    async def _learned(self, body: bytes, until: float) -> ConversionAnswer:
        """A version that nobody knows may be new, and so may a field: it is looked for once."""
        converted = await self._converted(body, self._in_force(), until)
        group = converted.unknown or converted.beyond
        if not group or self._terms.learn is None:
            return converted
        await self._terms.learn(group)
        by = self._in_force()
        converted = await self._converted(body, by, until)
        if converted.beyond in by.renewed:
            raise _Busy("the definition of these objects has changed, and their rules are being tried with it")
        return converted

    async def _converted(self, body: bytes, by: InForce, until: float) -> ConversionAnswer:
        manner = self._terms.manner
        if by.elsewhere is None or len(body) <= by.small:
            return answer(body, by.rules, manner)
        try:
            async with asyncio.timeout_at(until):
                return await by.elsewhere.convert(body)
        except NoWorker as error:
            self._log.warning("large review converted in place", error=str(error))
            return answer(body, by.rules, manner)
        except TooSlow as error:
            return failure(body, f"{error}; ask for fewer objects at once", manner)
        except TimeoutError:
            return self._too_late(body)
        except WorkerDied as error:
            self._log.error("large review not converted", error=str(error))
            return failure(body, OUR_MISTAKE, manner)

    def _too_late(self, body: bytes) -> ConversionAnswer:
        longest = self._terms.longest
        said = f"this conversion and those before it took {longest:g} seconds; ask again later"
        return failure(body, said, self._terms.manner)


def _always(found: InForce) -> Callable[[], InForce]:
    return lambda: found


def _refusal(call: Call, largest: int) -> Reply | None:
    if call.method != "POST":
        refused = text(405, "reviews are sent by POST")
        return Reply(refused.status, refused.body, (*refused.headers, ("Allow", "POST")))
    kinds = call.header("Content-Type")
    if kinds and any(each.partition(";")[0].strip().lower() != JSON for each in kinds):
        return text(415, f"Content-Type must be {JSON}")
    if len(call.body) > largest:
        return text(413, f"the body is larger than {largest} bytes")
    return None
