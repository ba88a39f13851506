"""One operator process: servers, client, part, signals; from its options to its exit.

Raises KubeError or PortBusy when it cannot start, LostLease when another took over; the caller words them.
"""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from msgspec import structs
from structlog.types import FilteringBoundLogger

from fairlead import __version__
from fairlead.api.core import LEASES, NAMESPACES
from fairlead.api.meta import Ref
from fairlead.api.zones import Settings
from fairlead.control.logs import configure
from fairlead.control.manager import Manager, Pace
from fairlead.control.metrics import GroupSeries, Metrics
from fairlead.control.options import OperatorOptions
from fairlead.control.part import Part
from fairlead.control.serving import probes
from fairlead.control.zones import zones
from fairlead.kube import kubeconfig, request
from fairlead.kube.client import Client
from fairlead.kube.election import Election
from fairlead.kube.errors import Forbidden, KubeError, NotFound
from fairlead.kube.events import Recorder
from fairlead.kube.http import HttpTransport
from fairlead.kube.kubeconfig import ClusterConfig
from fairlead.kube.limit import Limiter
from fairlead.kube.request import Transport

START_TIMEOUT = 10.0
"""Seconds that the API server may take to answer the first question."""
STOP_TIMEOUT = 10.0
"""Seconds that rounds under way get to end after a signal."""


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
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    metrics = Metrics()
    manager: Manager | None = None
    async with probes(options.server_port, metrics, lambda: manager is not None and manager.ready.is_set()) as port:
        log.info("starting", process=options.process, version=__version__, port=port)
        config = config_of(options)
        async with _connected(config) as transport:
            manager = await _unless(stop, assemble(options, config.namespace, transport, metrics, log))
            if manager is not None:
                await _until(stop, manager)
    log.info("stopped")


@asynccontextmanager
async def _connected(config: ClusterConfig) -> AsyncIterator[HttpTransport]:
    transport = HttpTransport(config)
    try:
        yield transport
    finally:
        await transport.close()


async def _unless(stop: asyncio.Event, starting: Coroutine[Any, Any, Manager]) -> Manager | None:
    """The manager once it has started; None, with the start given up, when the stop signal comes first."""
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


async def assemble(
    options: OperatorOptions, home: str, transport: Transport, metrics: Metrics, log: FilteringBoundLogger
) -> Manager:
    """The manager for these options on this transport, once the cluster has shown that it answers.

    `home` is the namespace for the lease when all namespaces are served.
    """
    agent = f"{options.process}/{__version__}"
    election = None
    if options.lease is not None:
        # The smallest name, so that the same namespaces in another order are the same operator.
        lease = Ref(LEASES, min(options.namespaces, default=home), options.lease)
        election = Election(Client(transport, user_agent=agent), lease, options.identity, waits=_waiting(lease, log))
    client = Client(
        transport,
        user_agent=agent,
        limiter=Limiter(options.qps, options.burst, metrics.count_limited),
        gate=election.gate if election is not None else None,
        timeout=options.client_timeout,
        observe=metrics.observe_call,
    )
    part = zones(client, options.namespaces, Settings(options.interval), log)
    await _preflight(client, part, options, log)
    return Manager(
        part,
        client,
        log=log,
        watcher=GroupSeries(metrics),
        recorder=Recorder(client, options.process, options.identity),
        pace=Pace(options.interval),
        election=election,
    )


def _waiting(lease: Ref, log: FilteringBoundLogger) -> Callable[[str, KubeError | None], None]:
    """Says who is waited for, or what is in the way: an operator that does not act must not be silent about it."""

    def waits(holder: str, error: KubeError | None) -> None:
        if error is None:
            log.info("waiting for the lease", lease=str(lease), holder=holder)
        else:
            log.warning("the lease cannot be had", lease=str(lease), error=str(error))

    return waits


async def _preflight(client: Client, part: Part[Any], options: OperatorOptions, log: FilteringBoundLogger) -> None:
    """Asks once for what the informers will ask for ever, so that a wrong address or a missing right ends the start.

    A namespace that does not exist answers with empty lists; that it may be misspelt is worth a warning.
    """
    for namespace in options.namespaces or ("",):
        for resource in dict.fromkeys(informer.resource for informer in part.informers):
            page = request.list_page(resource, namespace, limit=1)
            await client.call(structs.replace(page, timeout=START_TIMEOUT))
    for namespace in options.namespaces:
        with suppress(Forbidden):  # the contract's role has no right to read namespaces
            try:
                await client.call(structs.replace(request.get(Ref(NAMESPACES, "", namespace)), timeout=START_TIMEOUT))
            except NotFound:
                log.warning("namespace does not exist", namespace=namespace, help="check the name, or create it")
