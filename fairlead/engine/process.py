"""One operator process: servers, client, part, signals; from its options to its exit.

Raises KubeError or PortBusy when it cannot start, LostLease when another took over; the caller words them.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct
from structlog.types import FilteringBoundLogger

from fairlead import __version__
from fairlead.contracts.environments.conversion import LARGEST
from fairlead.contracts.environments.conversion_rules import RULES_NAME
from fairlead.core.explain import OperatorReport
from fairlead.engine.assembly import START_TIMEOUT, assemble, put_together
from fairlead.engine.certificates.secured import ProcessContext, Secured, secured_of
from fairlead.engine.certificates.served import Credentials
from fairlead.engine.conversion.webhook import MOST_HELD
from fairlead.engine.conversion.worker import Worker
from fairlead.engine.explain_endpoint import PATH as EXPLAIN
from fairlead.engine.explain_endpoint import handling, silent
from fairlead.engine.logs import configure
from fairlead.engine.manager import Manager
from fairlead.engine.metrics import Metrics
from fairlead.engine.options import OperatorOptions
from fairlead.engine.serving.probes import probes
from fairlead.engine.serving.routes import Routes
from fairlead.engine.serving.server import Terms, serving
from fairlead.engine.traces import Trace, TracedTransport, traced_caller, traced_handler, tracing, untraced
from fairlead.engine.webhooks.afterwards import Afterwards
from kubeloop import kubeconfig
from kubeloop.calls import Caller
from kubeloop.errors import ServerError, Throttled, TransportError
from kubeloop.http_caller import HttpCaller
from kubeloop.http_transport import HttpTransport
from kubeloop.kubeconfig import ClusterConfig
from kubeloop.request import Transport

__all__ = ["START_TIMEOUT", "assemble", "run"]

T = TypeVar("T")
Preflight: TypeAlias = Callable[[], Coroutine[Any, Any, None]]

CONVERSION_TIMEOUT = 30.0
"""Seconds for a conversion: the API server gives up after so many."""
LONGEST_ENDING = 10.0
"""Seconds that requests under way get at the end."""
CONVERSION_ENDING = 5.0
"""Seconds that conversions under way get at the end, which their contract says."""
STOP_TIMEOUT = 10.0
"""Seconds that rounds under way get to end after a signal, and what is left to do after admission answers."""
DRAIN_SECONDS = 5.0
"""For which a replica among several answers webhooks after a signal: the API server and the proxies of the nodes learn
a little later than the pod itself that it goes."""


class Ending:
    """From the first signal to the moment when no more webhooks are taken; a second signal spares the wait.

    With the default time-outs all is over in less than the thirty seconds that a pod is given: drain, requests under
    way, STOP_TIMEOUT for what they leave to do (5 + 10 + 10), rounds and lease beside that, and the last traces (3).
    Conversions leave nothing to do (5 + 5).
    """

    def __init__(self, drain: float) -> None:
        self.stop = asyncio.Event()
        self._at_once = asyncio.Event()
        self._drain = drain

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


def run(options: OperatorOptions) -> None:
    """Returns when a signal asked for it, after the rounds under way have ended."""
    log = configure(options.log_level, options.log_format)
    _run_loop(_process(options, log))


def _run_loop(main: Coroutine[Any, Any, None]) -> None:
    try:
        import uvloop  # noqa: PLC0415  (a tenth less CPU where it is installed)
    except ImportError:
        asyncio.run(main)
    else:
        uvloop.run(main)


async def _process(options: OperatorOptions, log: FilteringBoundLogger) -> None:
    ending = Ending(DRAIN_SECONDS if options.lease is not None else 0.0)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ending.asked)
    metrics = Metrics()
    manager: Manager | None = None

    def obstacle() -> str | None:
        return "" if manager is None or not manager.ready.is_set() else manager.problem or None

    async def report(namespaces: Sequence[str]) -> OperatorReport:
        known = manager
        return silent(options.process) if known is None else await known.report(options.process, namespaces)

    told = {EXPLAIN: handling(report)}
    async with probes(options.server_port, metrics, obstacle, log, options.cluster, options.server_host, told) as port:
        log.info("starting", process=options.process, version=__version__, port=port)
        config = config_of(options)
        with _tracing(options, log) as trace:
            async with _connected(config, trace) as transport, _calling(trace) as caller:
                manager, preflight = put_together(options, config.namespace, transport, metrics, log, caller)
                manager.trace = trace
                await _work(
                    manager, preflight, ProcessContext(options, config.namespace, transport, metrics, log), ending
                )
    log.info("stopped")


async def _work(manager: Manager, preflight: Preflight, ground: ProcessContext, ending: Ending) -> None:
    async with AsyncExitStack() as stack:
        fronts = [front async for front in _fronts(manager, ground, stack)]
        for front in fronts:
            await stack.enter_async_context(_serving(front, ending))
        if fronts:
            # A cluster that is slow or out of order must not end a process whose webhooks answer.
            await _rounds(manager, lambda: _forbearing(preflight, ground.log), ending.stop)
        else:
            await _rounds(manager, preflight, ending.stop)


async def _fronts(manager: Manager, ground: ProcessContext, stack: AsyncExitStack) -> AsyncIterator[HttpsServer]:
    """What the API server meets here: admission, and the conversion of environments."""
    webhooks = manager.webhooks
    if ground.options.webhooks is not None:
        routes = {
            path: traced_handler(handler, f"webhook {path}", manager.trace) for path, handler in webhooks.routes.items()
        }
        secured = secured_of(ground.options.webhooks, ground)
        yield HttpsServer("webhooks", secured, lambda _: routes, webhooks.timeout, ground, webhooks.afterwards)
    if (converting := manager.converting) is not None:
        worker = Worker(RULES_NAME)
        stack.push_async_callback(worker.close)
        secured = Secured(converting.options.port, converting.certificates, host=converting.options.host)
        made = partial(converting.routes, elsewhere=worker)
        limits = Limits(CONVERSION_ENDING, LARGEST, MOST_HELD)
        yield HttpsServer("conversion", secured, made, CONVERSION_TIMEOUT, ground, limits=limits)


async def _rounds(manager: Manager, preflight: Preflight, stop: asyncio.Event) -> None:
    await _unless(stop, preflight())
    if not stop.is_set():
        await _until(stop, manager)


async def _forbearing(preflight: Preflight, log: FilteringBoundLogger) -> None:
    """A cluster that is slow or out of order must not end a process whose webhooks answer; rounds wait for it."""
    try:
        await preflight()
    except (TransportError, ServerError, Throttled) as error:
        log.warning("the cluster does not answer yet", error=str(error), help="webhooks are served meanwhile")


@contextmanager
def _tracing(options: OperatorOptions, log: FilteringBoundLogger) -> Iterator[Trace]:
    traces = tracing(os.environ, options.process, log)
    try:
        yield traces.trace
    finally:
        traces.close()


class Limits(Struct, frozen=True):
    """What a server's requests are held to, besides their time."""

    ending: float = LONGEST_ENDING
    """Seconds for those under way at the end, if they may take so many at all."""
    largest: Mapping[str, int] = {}
    """Bytes of the largest body by path, where it is not the usual one."""
    most_held: int | None = None
    """Bytes of all bodies together."""


USUAL_LIMITS = Limits()


class HttpsServer(Struct, frozen=True):
    """One HTTPS server."""

    name: str
    secured: Secured
    routes: Callable[[Credentials], Routes]
    timeout: float
    """Seconds that a request may take."""
    ground: ProcessContext
    afterwards: Afterwards | None = None
    """What is left to do after its answers."""
    limits: Limits = USUAL_LIMITS


@asynccontextmanager
async def _serving(front: HttpsServer, ending: Ending) -> AsyncIterator[None]:
    """Serves the webhooks while the context lasts, unless it has been asked to end; so does their certificate's end.

    The API server calls them as soon as they are registered, so nothing that rounds wait for holds them up, neither at
    the start nor at the end.
    """
    served = await _unless(ending.stop, front.secured.certificates.start())
    if served is None:
        yield
        return
    front.ground.metrics.show_certificate(front.name, lambda: served.ends_at)
    terms = Terms(
        front.timeout,
        ending=min(front.timeout, front.limits.ending),
        cluster=front.ground.options.cluster if front.afterwards is not None else None,
        tls=served.context,
        largest=front.limits.largest,
        most_held=front.limits.most_held,
    )
    listening = asyncio.Event()
    task = asyncio.create_task(_served(front, front.routes(served), terms, ending, listening))
    try:
        await _either(task, listening)
        yield
    except BaseException:
        ending.at_once()
        raise
    finally:
        ending.stop.set()
        await task


async def _served(front: HttpsServer, routes: Routes, terms: Terms, ending: Ending, listening: asyncio.Event) -> None:
    """From the port to the last thing that is done after an answer."""
    ground, secured = front.ground, front.secured
    try:
        async with serving(secured.port, routes, ground.metrics, ground.log, terms, host=secured.host) as port:
            ground.log.info(f"{front.name} served", port=port)
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
        if front.afterwards is not None:
            await front.afterwards.finished(STOP_TIMEOUT)


async def _either(task: asyncio.Task[None], event: asyncio.Event) -> None:
    """Returns when the event is set; raises what the task fails with before that."""
    waiting = asyncio.create_task(event.wait())
    await asyncio.wait((task, waiting), return_when=asyncio.FIRST_COMPLETED)
    if not waiting.done():
        waiting.cancel()
        await task


@asynccontextmanager
async def _calling(trace: Trace) -> AsyncIterator[Caller]:
    caller = HttpCaller()
    try:
        yield caller if trace is untraced else traced_caller(caller, trace)
    finally:
        await caller.close()


@asynccontextmanager
async def _connected(config: ClusterConfig, trace: Trace) -> AsyncIterator[Transport]:
    transport = HttpTransport(config)
    try:
        yield transport if trace is untraced else TracedTransport(transport, trace)
    finally:
        await transport.close()


async def _unless(stop: asyncio.Event, starting: Coroutine[Any, Any, T]) -> T | None:
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


async def _until(stop: asyncio.Event, manager: Manager) -> None:
    """Runs the manager; on the stop signal its rounds under way get a moment to end."""
    running = asyncio.create_task(manager.run())
    freezing = asyncio.create_task(_freeze(manager))
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((running, stopping), return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            manager.stop()
            if not manager.leading.is_set():  # no round is under way, and the wait for a lease may never end
                running.cancel()
            await asyncio.wait((running,), timeout=STOP_TIMEOUT)
    finally:
        for task in (freezing, stopping, running):
            task.cancel()
    with suppress(asyncio.CancelledError):
        await running


async def _freeze(manager: Manager) -> None:
    """What the first list brought stays for long, so the collector need not walk it again and again."""
    await manager.ready.wait()
    gc.collect()
    gc.freeze()


def config_of(options: OperatorOptions) -> ClusterConfig:
    """Where the options say that the cluster is."""
    if options.by_contract and not options.config_file:
        return kubeconfig.in_cluster()
    paths = [Path(options.config_file)] if options.config_file else None
    return kubeconfig.find(paths, options.context, impersonate=options.impersonate, server=options.api_url)
