"""How fast a job asks: a bucket of tokens whose rate is halved where the server is busy, and patience with failures.

A success raises a halved rate by a tenth, up to the configured one. Whatever a job asks does no harm when it is done
twice, so a question that nobody answered, or at which the server failed, is put again: after 1, 2, 4, 8 and 16 seconds.
A server that says when to come back is asked again then, for as long as MOST_BUSY_SECONDS.
"""

from __future__ import annotations

import asyncio

from fairlead.core.ask import Answer, Ask, Bad, Good, Question, ReadRecord, SwapRecord
from fairlead.engine.driver.questions import is_passing
from fairlead.engine.driver.round import Asker
from kubeloop import clock
from kubeloop.rate_limit import Bucket

BUSY = (429, 503)
BETWEEN_TRIES = (1.0, 2.0, 4.0, 8.0, 16.0)
MOST_BUSY_SECONDS = 600.0
LEAST_RATE = 0.1
HOPELESS = 3
"""Questions in a row that used up all their tries, after which others are put once: the failure is not passing, and a
thousand objects would each wait for half a minute."""


class RequestPace:
    """Of one run; a `qps` of 0 is no limit."""

    def __init__(self, qps: float, burst: int) -> None:
        self._most = qps
        self._bucket = Bucket(qps, burst) if qps > 0 else None
        self._exhausted = 0

    @property
    def rate(self) -> float:
        """Requests a second at most; 0: as many as there are."""
        return self._bucket.qps if self._bucket is not None else 0.0

    @property
    def is_hopeless(self) -> bool:
        return self._exhausted >= HOPELESS

    async def take(self) -> None:
        """Returns when the next request may be sent."""
        if self._bucket is None:
            return
        wait = self._bucket.reserve(float("inf"))
        if wait:
            await asyncio.sleep(wait)

    def answered(self, answer: Answer) -> None:
        """Hears what became of a request."""
        if isinstance(answer, Good):
            self._exhausted = 0
            if self._bucket is not None and self._bucket.qps < self._most:
                self._bucket.qps = min(self._most, self._bucket.qps * 1.1)
        elif answer.code in BUSY and self._bucket is not None:
            self._bucket.qps = max(LEAST_RATE, self._bucket.qps / 2)

    def exhausted(self) -> None:
        """Hears that a question used up all its tries."""
        self._exhausted += 1


def patient(ask: Asker, pace: RequestPace) -> Asker:
    """The same at that pace, put again where that may help."""

    async def asked(question: Question) -> Answer:
        tries, busy_until = 0, clock.monotonic() + MOST_BUSY_SECONDS
        while True:
            if _is_counted(question):
                await pace.take()
            answer = await ask(question)
            if _is_counted(question):
                pace.answered(answer)
            if isinstance(answer, Good):
                return answer
            if _asks_to_wait(answer):
                pause = max(answer.retry_after, BETWEEN_TRIES[0])
                if clock.monotonic() + pause > busy_until:
                    return answer
            elif not _may_pass(answer):
                return answer
            elif tries == len(BETWEEN_TRIES) or pace.is_hopeless:
                pace.exhausted()
                return answer
            else:
                pause = BETWEEN_TRIES[tries]
                tries += 1
            await asyncio.sleep(pause)

    return asked


def _is_counted(question: Question) -> bool:
    """Whether it is one of the many: the journal is written once a page."""
    return not (isinstance(question, Ask) and isinstance(question.to, ReadRecord | SwapRecord))


def _asks_to_wait(answer: Bad) -> bool:
    return answer.code == 429 or (answer.code == 503 and answer.retry_after > 0)


def _may_pass(answer: Bad) -> bool:
    return is_passing(answer) or answer.kind == "timeout"
