"""One operator process: servers, client, part, signals; from its options to its exit.

Raises KubeError or PortBusy when it cannot start, LostLease when another took over; the caller words them.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from asyncio import sslproto
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
    nullcontext,
    suppress,
)
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from structlog.types import FilteringBoundLogger

from fairlead import __version__
from fairlead.core.explain import OperatorReport
from fairlead.engine.assembly import START_TIMEOUT, assemble, put_together
from fairlead.engine.explain_endpoint import PATH as EXPLAIN
from fairlead.engine.explain_endpoint import handling, silent
from fairlead.engine.logs import configure
from fairlead.engine.manager import Manager
from fairlead.engine.metrics import Metrics
from fairlead.engine.options import OperatorOptions
from fairlead.engine.process_context import ProcessContext
from fairlead.engine.serving.https_server import (
    STOP_TIMEOUT,
    HttpsServer,
    ServingContext,
    Shutdown,
    serving_https,
    unless,
)
from fairlead.engine.serving.plain_paths import PlainPaths
from fairlead.engine.serving.probes import answering, probes, readiness
from fairlead.engine.traces import Trace, TracedTransport, traced_caller, tracing, untraced
from kubeloop import kubeconfig
from kubeloop.calls import Caller, Handler
from kubeloop.errors import ServerError, Throttled, TransportError
from kubeloop.http_caller import HttpCaller
from kubeloop.http_transport import HttpTransport
from kubeloop.kubeconfig import ClusterConfig
from kubeloop.request import Transport

__all__ = ["START_TIMEOUT", "assemble", "run"]

T = TypeVar("T")
Preflight: TypeAlias = Callable[[], Coroutine[Any, Any, None]]

USUAL_GRACE = 30.0
"""Seconds that a pod is given to end where nobody says otherwise."""
TLS_BUFFER_BYTES = 64 * 1024
"""For what comes over a TLS connection. asyncio would hold 256 KiB for each that is open, and the API server keeps
dozens of them to webhooks; no record of TLS has more than 16."""
METRICS_ALONE = PlainPaths(ready=(), alive=())
DRAIN_SECONDS = 5.0
"""For which a replica among several answers webhooks after a signal: the API server and the proxies of the nodes learn
a little later than the pod itself that it goes."""


def run(options: OperatorOptions) -> None:
    """Returns when a signal asked for it, after the rounds under way have ended."""
    log = configure(options.log_level, options.log_format)
    _run_loop(_process(options, log))


def _run_loop(main: Coroutine[Any, Any, None]) -> None:
    try:
        import uvloop  # noqa: PLC0415  (a tenth less CPU where it is installed)
    except ImportError:
        sslproto.SSLProtocol.max_size = TLS_BUFFER_BYTES
        asyncio.run(main)
    else:
        uvloop.run(main)


async def _process(options: OperatorOptions, log: FilteringBoundLogger) -> None:
    pace = min(options.grace_seconds / USUAL_GRACE, 1.0)
    ending = Shutdown(DRAIN_SECONDS if options.lease is not None else 0.0, pace)
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(partial(_unheard, log))
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ending.asked)
    metrics = Metrics()
    manager: Manager | None = None
    served = asyncio.Event()

    def obstacle() -> str | None:
        if options.ready_when_served:
            return None if served.is_set() else ""
        return "" if manager is None or not manager.ready.is_set() else manager.problem or None

    def serving_obstacle() -> str | None:
        if ending.stop.is_set():
            return "this replica ends, and answers only who has not heard of that yet"
        if manager is None or not served.is_set():
            return "webhooks are not served yet"
        return manager.obstacle or None

    def remarks() -> Iterable[str]:
        return () if manager is None else manager.remarks()

    async def report(namespaces: Sequence[str]) -> OperatorReport:
        known = manager
        return silent(options.process) if known is None else await known.report(options.process, namespaces)

    told = {EXPLAIN: handling(report)}
    async with (
        _plain(options, metrics, (obstacle, serving_obstacle), log, told, remarks) as port,
        _plain_metrics(options, metrics, log) as apart,
    ):
        ports = {"port": port} | ({} if apart is None else {"metrics_port": apart})
        log.info("starting", process=options.process, version=__version__, **ports)
        config = config_of(options)
        with _tracing(options, log) as trace:
            async with _connected(config, trace) as transport, _calling(trace) as caller:
                manager, preflight = put_together(options, config.namespace, transport, metrics, log, caller)
                manager.trace = trace
                context = ProcessContext(options, config.namespace, transport, metrics, log)
                await _work(manager, preflight, context, ending, served)
    log.info("stopped")


def _unheard(log: FilteringBoundLogger, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What nobody else hears of, as a record like any other; asyncio would write lines of its own, and wait for their
    reader."""
    error = context.get("exception")
    if isinstance(error, OSError):  # such as too many open files, once a second
        log.warning("the event loop meets the system's limits", during=context["message"], error=str(error))
    else:
        log.error("an error that nobody waited for", during=context["message"], exc_info=error)


def _plain(
    options: OperatorOptions,
    metrics: Metrics,
    obstacles: tuple[Callable[[], str | None], Callable[[], str | None]],
    log: FilteringBoundLogger,
    told: Mapping[str, Handler],
    remarks: Callable[[], Iterable[str]],
) -> AbstractAsyncContextManager[int | None]:
    """The plain server, if there is to be one."""
    obstacle, serving_obstacle = obstacles
    told = {
        **told,
        **dict.fromkeys(options.plain_paths.serving, answering(serving_obstacle)),
        **dict.fromkeys(options.plain_paths.ready, readiness(obstacle, remarks)),
    }
    port, host = options.server_port, options.server_host
    if port is None:
        return nullcontext(None)
    return probes(port, metrics, obstacle, log, options.cluster, host, told, options.plain_paths)


def _plain_metrics(
    options: OperatorOptions, metrics: Metrics, log: FilteringBoundLogger
) -> AbstractAsyncContextManager[int | None]:
    """The server of metrics alone, if there is to be one."""
    if options.metrics_address is None:
        return nullcontext(None)
    host, port = options.metrics_address
    return probes(port, metrics, lambda: None, log, options.cluster, host, paths=METRICS_ALONE)


async def _work(
    manager: Manager, preflight: Preflight, context: ProcessContext, ending: Shutdown, served: asyncio.Event
) -> None:
    """`served` is set when the API server meets everything here that it may ask."""
    async with AsyncExitStack() as stack:
        servers = _servers(manager, context)
        shared = ServingContext(context.metrics, context.log, ending, context.options.cluster)
        for server in servers:
            await stack.enter_async_context(serving_https(server, shared))
        served.set()
        for server in _metrics_servers(context):
            await stack.enter_async_context(serving_https(server, shared))
        if servers:
            # A cluster that is slow or out of order must not end a process whose webhooks answer.
            await _rounds(manager, lambda: _forbearing(preflight, context.log), ending)
        else:
            await _rounds(manager, preflight, ending)


def _servers(manager: Manager, context: ProcessContext) -> tuple[HttpsServer, ...]:
    """What the API server meets here: admission, and what parts serve beside it."""
    if context.options.webhooks is None:
        return manager.servers
    from fairlead.engine.admission_server import admission_server  # noqa: PLC0415  (certificates take 8 MB)

    return (admission_server(context.options.webhooks, manager, context), *manager.servers)


def _metrics_servers(context: ProcessContext) -> tuple[HttpsServer, ...]:
    given = context.options.secure_metrics
    if given is None:
        return ()
    from fairlead.engine.metrics_server import metrics_server  # noqa: PLC0415  (likewise)

    return (metrics_server(given, context),)


async def _rounds(manager: Manager, preflight: Preflight, ending: Shutdown) -> None:
    await unless(ending.stop, preflight())
    if not ending.stop.is_set():
        await _until(ending, manager)


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


async def _until(ending: Shutdown, manager: Manager) -> None:
    """Runs the manager; on the stop signal its rounds under way get a moment to end."""
    running = asyncio.create_task(manager.run())
    freezing = asyncio.create_task(_freeze(manager))
    stopping = asyncio.create_task(ending.stop.wait())
    try:
        await asyncio.wait((running, stopping), return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            manager.stop()
            if not manager.leading.is_set():  # no round is under way, and the wait for a lease may never end
                running.cancel()
            await asyncio.wait((running,), timeout=STOP_TIMEOUT * ending.pace)
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
