"""Operators that are killed: each is one life, and the next begins with nothing but what the cluster shows."""

from __future__ import annotations

from collections.abc import Callable

from kubeloop.request import Request, Transport
from kubesim.faults import Fault, Faulty
from tests.e2e.clusters import Site
from tests.e2e.operators import LOOK_EVERY, Operator


class Life:
    """A process that is killed at its n-th call to the cluster; from then on nothing of it reaches the cluster."""

    def __init__(self, calls: int, *, after: bool) -> None:
        self.over = False
        self._calls = calls
        self._last = Fault("lost-answer") if after else Fault("timeout")

    async def live(self, site: Site, *, until: Callable[[], object], interval: float | None = None) -> bool:
        """Runs an operator; whether its life was ended early, and not by reaching what it works for."""
        task = site.start_operator(Operator(site, interval=interval, through=self.begin))
        await site.until(lambda: self.over or until(), every=LOOK_EVERY)
        await site.stop(task)
        return self.over

    def begin(self, transport: Transport) -> Transport:
        return Faulty(transport, self._fault)

    def _fault(self, _request: Request, number: int) -> Fault | None:
        if number < self._calls:
            return None
        self.over = True
        return self._last if number == self._calls else Fault("timeout")
