"""A lane: the rounds of one controller, the queue that asks for them, and the workers that carry them out.

The manager has one for every controller, for as long as it leads. What every replica does runs a lane by itself.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from structlog.types import FilteringBoundLogger

from fairlead.engine.controller import Controller, RolloutKey
from fairlead.engine.rounds import PassFailed, Rounds
from fairlead.engine.traces import Trace, untraced
from kubeloop.errors import KubeError
from kubeloop.queue import Queue
from kubeloop.worker import work


class ControllerLane:
    def __init__(
        self,
        controller: Controller[Any],
        rounds: Rounds[Any],
        queue: Queue[RolloutKey],
        log: FilteringBoundLogger,
        *,
        workers: int = 1,
        background: bool = True,
    ) -> None:
        """`background`: no rollout waits for its rounds."""
        self.controller = controller
        self.rounds = rounds
        self.queue = queue
        self._log = log
        self._workers = workers
        self._background = background

    def wake(self, key: RolloutKey, initial: bool, *, gently: bool = False) -> None:
        self.rounds.woken(key)
        if gently:
            self.queue.nudge(key)
        else:
            self.queue.add(key, initial=initial)

    def wake_all(self) -> None:
        for key in self.controller.rollouts():
            self.wake(key, True)

    async def tidy(self) -> None:
        """While others lead: keys of what is gone are not kept for the day on which rounds begin here."""
        known = frozenset(self.controller.rollouts())
        for key in self.queue.waiting():
            if key not in known and self.rounds.forgets(key):
                self.queue.drop(key)
            await asyncio.sleep(0)  # there may be many, and webhooks are answered meanwhile

    async def run(self) -> None:
        """Of a controller that no manager runs: until cancelled."""
        self.controller.subscribe(self.wake)
        self.wake_all()
        await self.work()

    async def work(self, trace: Trace = untraced) -> None:
        """Until the queue is closed or the caller is cancelled; `trace` opens a span for every round."""
        await work(self.queue, partial(self._traced, trace), workers=self._workers, failed=self._failed)

    async def _traced(self, trace: Trace, key: RolloutKey) -> float | None:
        with trace("round") as span:
            span.set(part=self.controller.name, rollout=str(key))
            return await self.rounds.run(key)

    def _failed(self, key: RolloutKey, error: Exception) -> None:
        said, title = self.controller.failure or "reconcile failed", self.controller.title(key)
        if self._background and isinstance(error, KubeError) and not self.controller.failure:
            return  # the write that failed has its record
        if isinstance(error, PassFailed | KubeError):
            self._log.warning(said, rollout=title, error=str(error))
        else:  # a mistake of ours: say all there is to say, and go on with the others
            self._log.error(said, rollout=title, exc_info=error)
