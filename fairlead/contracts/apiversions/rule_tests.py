"""Rule sets tried and made ready, each once, without holding up anything else (section 2.6)."""

from __future__ import annotations

import asyncio

import msgspec
from msgspec import Struct
from structlog.types import FilteringBoundLogger

from fairlead.contracts.apiversions.rule_data import TESTER, problems_of, read
from fairlead.engine.conversion.review import ConversionRule
from fairlead.engine.conversion.worker import NoWorker, TooSlow, Worker, WorkerDied
from kubeloop import clock

TEST_SECONDS = 30.0
"""For the trial of one set: large schemas take a few."""


class RuleVerdict(Struct, frozen=True):
    problems: tuple[str, ...] = ()
    rule: ConversionRule | None = None
    """None: there are problems."""


class RuleTests:
    """Tries sets in a process of its own; in virtual time, where there are no processes, at once."""

    def __init__(self, log: FilteringBoundLogger) -> None:
        self._log = log
        self._worker = Worker(seconds=TEST_SECONDS)

    async def verdict(self, data: bytes) -> RuleVerdict:
        problems = await self._problems(data)
        if problems:
            return RuleVerdict(problems)
        if clock.is_virtual():
            return RuleVerdict(rule=read(data).rule())
        return RuleVerdict(rule=await asyncio.to_thread(lambda: read(data).rule()))

    async def close(self) -> None:
        await self._worker.close()

    async def _problems(self, data: bytes) -> tuple[str, ...]:
        if clock.is_virtual():
            return tuple(problems_of(read(data)))
        try:
            answer = await self._worker.call(TESTER, data)
        except TooSlow:
            return (f"it could not be tried within {TEST_SECONDS:g} seconds",)
        except WorkerDied:
            return ("the process that tried it ended: see that its code does not exit, and that there is memory",)
        except NoWorker as error:
            self._log.warning("rules tried in this process", error=str(error))
            return tuple(await asyncio.to_thread(lambda: problems_of(read(data))))
        return msgspec.json.decode(answer, type=tuple[str, ...])
