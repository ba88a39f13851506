"""The conversion webhook: how a review comes in, who converts it, and what is told of it.

It answers on every replica, leader or not, from nothing but the review. Small reviews are converted where they come in,
which is over before anything else would notice; large ones by a process of their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from msgspec import Struct
from structlog.types import FilteringBoundLogger

from fairlead.engine.conversion.review import OUR_MISTAKE, Converted, Rules, answer, failure
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


class Elsewhere(Protocol):
    """Converts large reviews without holding up this process."""

    async def convert(self, body: bytes) -> Converted: ...


class Reviewed(Struct, frozen=True):
    """One review that was answered, for metrics."""

    objects: int
    succeeded: bool
    mistakes: int
    seconds: float


class Conversion:
    """The handler; without `elsewhere` everything is converted in place."""

    def __init__(
        self,
        rules: Rules,
        log: FilteringBoundLogger,
        elsewhere: Elsewhere | None = None,
        heard: Callable[[Reviewed], None] = lambda _: None,
    ) -> None:
        self._rules = rules
        self._log = log
        self._elsewhere = elsewhere
        self._heard = heard
        self._said = ""
        """The last refusal: the API server asks again and again, and one record of it is enough."""

    async def __call__(self, call: Call) -> Reply:
        if (refusal := _refusal(call)) is not None:
            return refusal
        begun = clock.monotonic()
        converted = await self._converted(call.body)
        self._tell(converted)
        seconds = clock.monotonic() - begun
        self._heard(Reviewed(converted.objects, not converted.problem, len(converted.mistakes), seconds))
        return Reply(converted.status, converted.body, (("Content-Type", JSON),))

    def _tell(self, converted: Converted) -> None:
        if converted.problem and converted.problem != self._said:
            self._said = converted.problem
            self._log.warning("conversion refused", objects=converted.objects, error=converted.problem)
            if converted.mistakes:
                self._log.error("conversion rule failed", mistakes=converted.mistakes)

    async def _converted(self, body: bytes) -> Converted:
        if self._elsewhere is None or len(body) <= SMALL_REVIEW:
            return answer(body, self._rules)
        try:
            async with asyncio.timeout(LONGEST):
                return await self._elsewhere.convert(body)
        except NoWorker as error:
            self._log.warning("large review converted in place", error=str(error))
            return answer(body, self._rules)
        except TooSlow as error:
            return failure(body, f"{error}; ask for fewer objects at once")
        except TimeoutError:
            return failure(body, f"this conversion and those before it took {LONGEST:g} seconds; ask again later")
        except WorkerDied as error:
            self._log.error("large review not converted", error=str(error))
            return failure(body, OUR_MISTAKE)


def _refusal(call: Call) -> Reply | None:
    if call.method != "POST":
        refused = text(405, "reviews are sent by POST")
        return Reply(refused.status, refused.body, (*refused.headers, ("Allow", "POST")))
    kinds = call.header("Content-Type")
    if kinds and any(each.partition(";")[0].strip().lower() != JSON for each in kinds):
        return text(415, f"Content-Type must be {JSON}")
    if len(call.body) > LARGEST_REVIEW:
        return text(413, f"the body is larger than {LARGEST_REVIEW} bytes")
    return None
