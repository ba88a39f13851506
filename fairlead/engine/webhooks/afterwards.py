"""What goes on after an answer was sent: undoing, taking a mark away. The end of the process waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from structlog.types import FilteringBoundLogger


class Afterwards:
    """Work that outlives the request it came from."""

    def __init__(self, log: FilteringBoundLogger) -> None:
        self._log = log
        self._tasks: dict[asyncio.Task[None], None] = {}
        self.ending = asyncio.Event()
        """Set when the process ends: whatever can be done at once is then done at once."""

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks[task] = None
        task.add_done_callback(self._ended)

    async def finished(self, seconds: float) -> None:
        """Returns when all of it is over; what is not over in time is given up, with a word in the log."""
        self.ending.set()
        if not self._tasks:
            return
        _, late = await asyncio.wait(list(self._tasks), timeout=seconds)
        for task in self._tasks:
            task.cancel()
        if late:
            self._log.warning("work after admission answers was given up", requests=len(late), seconds=seconds)
            await asyncio.wait(late)

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._tasks[task]
        if not task.cancelled() and (error := task.exception()) is not None:
            self._log.error("work after an admission answer failed", exc_info=error)
