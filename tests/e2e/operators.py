"""The operator as end-to-end tests run it: in this process, on the transport of a Site, with its metrics and log open.

A test that something does *not* happen waits for `at_rest`: the operator has seen everything that the cluster shows,
has looked at it since, and has nothing in hand. From then on nothing happens unless something else changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import structlog
from msgspec import Struct
from structlog.types import EventDict, FilteringBoundLogger, WrappedLogger

from fairlead.contracts.zones.settings import Settings
from fairlead.engine.assembly import assemble
from fairlead.engine.manager import RESYNC, Manager
from fairlead.engine.metrics import Metrics
from fairlead.engine.options import OperatorOptions
from kubeloop.calls import Call, Caller, Handler, NoReply, Reply
from kubeloop.http_caller import HttpCaller
from kubeloop.request import Transport
from tests.e2e.clusters import SimGround, Site
from tests.e2e.resting import Shown, is_idle, shown_alike
from tests.e2e.served import ServedGround
from tests.operator_parts import zones

INTERVAL = 0.2
"""Seconds; the setting of the acceptance scenarios."""
LOOK_EVERY = 0.02
"""Seconds between looks at what no event of the cluster announces."""
ABSENT = "carrying on without"
"""Said of an optional kind that is not served."""
POD_CALL_FAILED = "pod call failed"
"""The one record of level error that is about others (the contract wants that level)."""


class Record(Struct, frozen=True):
    """A line of the operator's log."""

    level: str
    message: str
    keys: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.level}: {self.message} {self.keys}"


class OperatorMistake(AssertionError):
    """The operator logged an error: one that it calls its own."""


class Operator:
    """Options, metrics and log of one operator; call it with a transport to run it, again after it was stopped.

    `through` wraps the transport, for faults. Pods are called where the cluster's network is: on the embedded one in
    process, else over real sockets. A record of level error fails the scenario, except that a pod call failed.
    """

    def __init__(
        self,
        site: Site,
        *,
        interval: float | None = INTERVAL,
        lease: str | None = None,
        identity: str = "operator",
        settings: Settings | None = None,
        qps: float = 0.0,
        burst: int = 0,
        through: Callable[[Transport], Transport] = lambda transport: transport,
    ) -> None:
        self.metrics = Metrics()
        self.log: list[Record] = []
        self.manager: Manager | None = None
        self._site = site
        self._through = through
        self._handler: Handler | None = None
        self._options = OperatorOptions(
            process="rollout-operator",
            namespaces=(site.namespace,),
            interval=interval,
            resync=RESYNC,
            lease=lease,
            identity=identity,
            qps=qps,
            burst=burst,
            parts=(zones(settings or Settings()),),
        )

    async def __call__(self, transport: Transport) -> None:
        """Runs until cancelled."""
        options, site = self._options, self._site
        caller = _caller(site)
        noted = site.notes.noting(transport, site.notes.begin(options.identity, options.interval or 0.0))
        try:
            self.manager = manager = await assemble(
                options, site.namespace, self._through(noted), self.metrics, self._logger(), caller
            )
            self._handler = manager.webhooks.handler
            try:
                await manager.run()
            finally:
                self._handler = None
                await manager.webhooks.afterwards.finished(0)
        finally:
            for each in (caller, transport):
                close = getattr(each, "close", None)
                if close is not None:
                    await close()

    async def webhooks(self, call: Call) -> Reply:
        """A Handler: answers what the API server asks; while the operator does not run, nobody does."""
        if self._handler is None:
            raise NoReply("the operator does not run")
        return await self._handler(call)

    @property
    def ready(self) -> bool:
        """What `/ready` answers with 200."""
        return self.manager is not None and self.manager.ready.is_set()

    def sample(self, name: str, **labels: str) -> float | None:
        """The value of a series by its name after `rollout_operator_`; None when there is no such series."""
        return self.metrics.registry.get_sample_value(f"rollout_operator_{name}", labels)

    def passes(self, group: str = "ingester") -> int:
        return int(self.sample("group_reconciles_total", rollout_group=group) or 0)

    def failures(self, group: str = "ingester") -> int:
        """How many passes failed; -1 before the first pass, when the series must not be taken for a 0."""
        value = self.sample("group_reconciles_failed_total", rollout_group=group)
        return -1 if value is None else int(value)

    def records(self, level: str, message: str = "") -> list[Record]:
        return [record for record in self.log if record.level == level and message in record.message]

    def warnings(self, message: str = "") -> list[Record]:
        """Except those about kinds that are not installed, which come with every start on a bare cluster."""
        return [record for record in self.records("warn", message) if record.message != ABSENT]

    async def at_rest(self, *, passes: int = 1, group: str = "ingester") -> None:
        """Returns when the operator has decided on what the cluster shows now and has nothing left to do.

        At least `passes` passes of the group have ended by then.
        """
        await self._site.until(lambda: self._rests(passes, group), every=LOOK_EVERY)
        await self._site.history.caught_up()

    async def keeps_failing(self, group: str = "ingester") -> None:
        """Returns after the failure of a pass that began when the operator had seen all that the cluster shows now."""
        await self._site.until(self._in_step, every=LOOK_EVERY)
        # The pass under way may have begun before that.
        goal = max(self.failures(group), 0) + 2
        await self._site.until(lambda: self.failures(group) >= goal, every=LOOK_EVERY)
        await self._site.history.caught_up()

    async def _rests(self, passes: int, group: str) -> bool:
        if (
            self.manager is None or not self._is_idle() or self.passes(group) < passes
        ):  # which costs the cluster nothing to see
            return False
        before = await self._in_step()
        if before is None or not self._is_idle():
            return False
        # Idle on this very state: a write of its own between the two looks would show.
        return await self._in_step() == before and self._is_idle()

    def _is_idle(self) -> bool:
        assert self.manager is not None
        return is_idle(self.manager._lanes[0])

    async def _in_step(self) -> Shown | None:
        return None if self.manager is None else await shown_alike(self._site, self.manager)

    def _logger(self) -> FilteringBoundLogger:
        logger = structlog.wrap_logger(
            None, processors=[self._take], wrapper_class=structlog.make_filtering_bound_logger(10)
        )
        return cast("FilteringBoundLogger", logger)

    def _take(self, _: WrappedLogger, method: str, event: EventDict) -> EventDict:
        keys = dict(event)
        record = Record("warn" if method == "warning" else method, str(keys.pop("event")), keys)
        self.log.append(record)
        self._site.history.wake()
        if record.level == "error" and record.message != POD_CALL_FAILED:
            raise OperatorMistake(str(record)) from keys.get("exc_info")
        raise structlog.DropEvent


def _caller(site: Site) -> Caller:
    ground = site.ground
    return ground.cluster.network.call if isinstance(ground, SimGround | ServedGround) else HttpCaller()
