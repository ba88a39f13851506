"""An HTTPS server of the operator, from its certificate to the last thing that is done after an answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from msgspec import Struct
from structlog.types import FilteringBoundLogger

from fairlead.engine.serving.cluster_label import ClusterLabel
from fairlead.engine.serving.routes import Routes
from fairlead.engine.serving.server import Measures, ServerTerms, serving
from fairlead.engine.serving.tls_limits import USUAL_TLS, TlsLimits
from fairlead.engine.webhooks.afterwards import Afterwards
from kubeloop.calls import Handler

if TYPE_CHECKING:
    from fairlead.engine.certificates.secured import Secured  # a process without servers need not load certificates
    from fairlead.engine.certificates.served import Credentials

T = TypeVar("T")

LONGEST_ENDING = 10.0
"""Seconds that requests under way get at the end."""
STOP_TIMEOUT = 10.0
"""Seconds that rounds under way get to end after a signal, and what is left to do after admission answers."""


class Limits(Struct, frozen=True):
    """What a server's requests are held to, besides their time."""

    ending: float = LONGEST_ENDING
    """Seconds for those under way at the end, if they may take so many at all."""
    largest: Mapping[str, int] = {}
    """Bytes of the largest body by path, where it is not the usual one."""
    most_held: int | None = None
    """Bytes of all bodies together."""
    unlabelled: frozenset[str] = frozenset()
    """Paths whose callers cannot say which cluster they mean: API servers that want objects converted."""


USUAL_LIMITS = Limits()


def joined(limits: Sequence[Limits]) -> Limits:
    """Of a server that answers for all of them."""
    if not limits:
        return USUAL_LIMITS
    bounds = [each.most_held for each in limits if each.most_held is not None]
    largest = {path: size for each in limits for path, size in each.largest.items()}
    unlabelled = (path for each in limits for path in each.unlabelled)
    return Limits(max(each.ending for each in limits), largest, max(bounds, default=None), frozenset(unlabelled))


class HttpsServer(Struct, frozen=True):
    """One HTTPS server."""

    name: str
    """For logs, and for the metric of its certificate."""
    secured: Secured
    routes: Callable[[Credentials], AbstractAsyncContextManager[Routes]]
    """What it answers, for as long as it does."""
    timeout: float
    """Seconds that a request may take."""
    limits: Limits = USUAL_LIMITS
    checks_cluster: bool = False
    """Whether requests must say which cluster they are meant for, where the process checks that."""
    afterwards: Afterwards | None = None
    """What is left to do after its answers."""
    tls: TlsLimits = USUAL_TLS
    dns_name: str = ""
    """By which the API server calls it."""
    handler: Handler | None = None
    """Answers what the API server asks, for a cluster in the same process; None: such a cluster asks nothing."""


class HttpsMeasures(Measures, Protocol):
    def show_certificate(self, server: str, not_after: Callable[[], float]) -> None:
        """From now on the Unix time is shown at which the certificate of this server ends."""


class Shutdown:
    """From the first signal to the moment when no more webhooks are taken; a second signal spares the wait.

    With the default time-outs all is over in less than the thirty seconds that a pod is given: drain, requests under
    way, STOP_TIMEOUT for what they leave to do (5 + 10 + 10), rounds and lease beside that, and the last traces (3).
    Conversions leave nothing to do (5 + 5). Where a pod is given less, all of it takes so much less: `pace` is that
    part.
    """

    def __init__(self, drain: float, pace: float = 1.0) -> None:
        self.stop = asyncio.Event()
        self._at_once = asyncio.Event()
        self._drain = drain * pace
        self.pace = pace

    def asked(self) -> None:
        if self.stop.is_set():
            self._at_once.set()
        self.stop.set()

    def at_once(self) -> None:
        self.stop.set()
        self._at_once.set()

    async def drained(self) -> None:
        await self.stop.wait()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._drain):
                await self._at_once.wait()


class ServingContext(Struct, frozen=True):
    """What the HTTPS servers of a process share."""

    measures: HttpsMeasures
    log: FilteringBoundLogger
    ending: Shutdown
    cluster: ClusterLabel | None = None


@asynccontextmanager
async def serving_https(server: HttpsServer, context: ServingContext) -> AsyncIterator[None]:
    """Serves while the context lasts, unless the process has been asked to end; so does the certificate's end.

    The API server calls webhooks as soon as they are registered, so nothing that rounds wait for holds them up, neither
    at the start nor at the end.
    """
    ending = context.ending
    served = await unless(ending.stop, server.secured.certificates.start())
    if served is None:
        yield
        return
    server.tls.apply(served.context)
    context.measures.show_certificate(server.name, lambda: served.ends_at)
    listening = asyncio.Event()
    task = asyncio.create_task(_served(server, served, context, listening))
    try:
        await _either(task, listening)
        yield
    except BaseException:
        ending.at_once()
        raise
    finally:
        ending.stop.set()
        await task


async def _served(
    server: HttpsServer, credentials: Credentials, context: ServingContext, listening: asyncio.Event
) -> None:
    """From the port to the last thing that is done after an answer."""
    secured, log, ending = server.secured, context.log, context.ending
    terms = ServerTerms(
        server.timeout,
        ending=min(server.timeout, server.limits.ending) * ending.pace,
        cluster=context.cluster if server.checks_cluster else None,
        tls=credentials.context,
        largest=server.limits.largest,
        most_held=server.limits.most_held,
        unlabelled=server.limits.unlabelled,
        is_leaving=ending.stop.is_set,
    )
    try:
        async with (
            server.routes(credentials) as routes,
            serving(secured.port, routes, context.measures, log, terms, host=secured.host) as port,
        ):
            log.info(f"{server.name} served", port=port)
            listening.set()
            keeping = asyncio.create_task(secured.run())
            keeping.add_done_callback(lambda _: ending.stop.set())
            try:
                await ending.drained()
            finally:
                keeping.cancel()
                with suppress(asyncio.CancelledError):
                    await keeping
    finally:
        if server.afterwards is not None:
            await server.afterwards.finished(STOP_TIMEOUT * ending.pace)


async def _either(task: asyncio.Task[None], event: asyncio.Event) -> None:
    """Returns when the event is set; raises what the task fails with before that."""
    waiting = asyncio.create_task(event.wait())
    await asyncio.wait((task, waiting), return_when=asyncio.FIRST_COMPLETED)
    if not waiting.done():
        waiting.cancel()
        await task


async def unless(stop: asyncio.Event, starting: Coroutine[Any, Any, T]) -> T | None:
    """What has started; None, with the start given up, when the stop signal comes first."""
    started = asyncio.create_task(starting)
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((started, stopping), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (started, stopping):
            task.cancel()
    with suppress(asyncio.CancelledError):
        return await started
    return None
