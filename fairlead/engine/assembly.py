"""What an operator is made of, from its options: clients, records, part, webhooks, manager; on any transport.

Apart from servers, signals and certificates, so that the same operator runs in a process and in virtual time.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any

from msgspec import structs
from structlog.types import FilteringBoundLogger

from fairlead import __version__
from fairlead.contracts.environments import kinds as of_environments
from fairlead.contracts.environments.conversion import Converting
from fairlead.contracts.environments.kinds import GROUP
from fairlead.contracts.environments.metrics import EnvironmentMetrics
from fairlead.contracts.zones.controllers import zones
from fairlead.contracts.zones.kinds import OWN_LABELS
from fairlead.contracts.zones.metrics import ZoneMetrics
from fairlead.contracts.zones.phased_controller import with_phased
from fairlead.engine.controller import Controller
from fairlead.engine.driver.answer_cache import AnswerCache
from fairlead.engine.driver.questions import AskContext
from fairlead.engine.driver.sessions import Sessions
from fairlead.engine.event_notes import telling
from fairlead.engine.manager import Manager, Pace
from fairlead.engine.measured_calls import measured
from fairlead.engine.metrics import Metrics
from fairlead.engine.options import OperatorOptions
from fairlead.engine.serving.cluster_label import HEADER
from fairlead.engine.webhooks.admission import AdmissionContext
from fairlead.engine.webhooks.afterwards import Afterwards
from fairlead.engine.webhooks.handlers import Webhooks
from kubeloop import request
from kubeloop.calls import Caller
from kubeloop.client import Client
from kubeloop.election import Election
from kubeloop.elections import Elections
from kubeloop.errors import Forbidden, KubeError, NotFound
from kubeloop.events import Recorder
from kubeloop.objects.core import LEASES, NAMESPACES
from kubeloop.objects.meta import Ref
from kubeloop.rate_limit import Limiter
from kubeloop.record_sweep import Sweep
from kubeloop.records import LeaseRecords, MemoryRecords, Records
from kubeloop.request import Transport

RECORD_TIMEOUT = 10.0
"""Seconds for reading or writing a record."""
ENVIRONMENTS_LEASE = of_environments.LEASE
START_TIMEOUT = 10.0
"""Seconds that the API server may take to answer the first question."""


def place_of(options: OperatorOptions, home: str) -> str:
    """The namespace of what belongs to the operator itself, `home` when all namespaces are served.

    The smallest name, so that the same namespaces in another order are the same operator.
    """
    return min(options.namespaces, default=options.home or home)


def leases_of(options: OperatorOptions) -> tuple[str, ...]:
    """All that are held while acting: each contract's, so that its other operator does not act at the same time."""
    if options.lease is None:
        return ()
    contracts = (ENVIRONMENTS_LEASE,) if "environments" in options.parts else ()
    return tuple(dict.fromkeys((options.lease, *contracts)))


def labels_of(options: OperatorOptions, lease: str) -> Mapping[str, str]:
    """Say which part's a Lease is, so that whoever removes that part finds it and leaves those of others alone."""
    environments = lease == ENVIRONMENTS_LEASE or "zones" not in options.parts
    return of_environments.OWN_LABELS if environments else OWN_LABELS


def agent_of(options: OperatorOptions) -> str:
    return f"{options.process}/{__version__}"


def headers_of(options: OperatorOptions, home: str) -> tuple[tuple[str, str], ...]:
    """Of every call, to the API server and to pods: where it belongs."""
    return ((HEADER, place_of(options, home)),)


async def assemble(
    options: OperatorOptions,
    home: str,
    transport: Transport,
    metrics: Metrics,
    log: FilteringBoundLogger,
    caller: Caller | None = None,
) -> Manager:
    """The manager for these options on this transport, once the cluster has shown that it answers."""
    manager, preflight = put_together(options, home, transport, metrics, log, caller)
    await preflight()
    return manager


def put_together(
    options: OperatorOptions,
    home: str,
    transport: Transport,
    metrics: Metrics,
    log: FilteringBoundLogger,
    caller: Caller | None = None,
) -> tuple[Manager, Callable[[], Coroutine[Any, Any, None]]]:
    """The manager, and what asks the cluster whether the manager can work; nothing has been asked yet.

    `home` is the namespace for the lease when all namespaces are served; `caller` makes the calls to pods.
    """
    headers = headers_of(options, home)

    def limited(gate: Callable[[], None] | None = None) -> Client:
        """A client with a share of its own of the limit."""
        return Client(
            transport,
            user_agent=agent_of(options),
            limiter=Limiter(options.qps, options.burst, metrics.count_limited),
            gate=gate,
            timeout=options.client_timeout,
            headers=headers,
            observe=metrics.observe_call,
        )

    unlimited = Client(transport, user_agent=agent_of(options), headers=headers, observe=metrics.observe_call)
    election = _elections(options, home, unlimited, log)
    client = limited(election.gate if election is not None else None)
    recorder = Recorder(client.uncounted(), options.process, options.identity)
    metrics.show_dropped_events(lambda: recorder.dropped)
    converting = _converting(options, client, metrics, log, recorder)
    parts = _parts(options, client, metrics, log, converting)
    outside = AskContext(
        client,
        caller=None if caller is None else measured(caller, metrics, (metrics.of(ZoneMetrics).counts,)),
        records=_records(options, home, unlimited),
        kept=AnswerCache(),
        sessions=Sessions(),
        gate=election.gate if election is not None else None,
        headers=headers,
        mistaken=lambda error: log.error("asking failed by a mistake of the operator", exc_info=error),
    )
    manager = Manager(
        parts,
        outside,
        converting=converting,
        log=log,
        recorder=recorder,
        pace=Pace(options.interval),
        election=election,
        webhooks=_webhooks(parts, outside, limited, options.settings.request_timeout, recorder, log),
        rejoins=options.rejoins,
        leads=_leads(options, metrics),
        leader_tasks=_duties(options, home, client, log),
    )
    return manager, lambda: _preflight(unlimited, parts, options, log)


def _leads(options: OperatorOptions, metrics: Metrics) -> Callable[[bool], None]:
    def leads(leading: bool) -> None:
        metrics.lead(options.parts, leading)
        metrics.of(ZoneMetrics).leads(leading)
        if options.environments is not None:
            metrics.of(EnvironmentMetrics).leads(leading)

    metrics.lead(options.parts, False)
    return leads


def _converting(
    options: OperatorOptions, client: Client, metrics: Metrics, log: FilteringBoundLogger, recorder: Recorder
) -> Converting | None:
    if options.environments is None or options.environments.conversion is None:
        return None
    return Converting(options.environments.conversion, client, metrics.of(EnvironmentMetrics), log, recorder.tell)


def _parts(
    options: OperatorOptions,
    client: Client,
    metrics: Metrics,
    log: FilteringBoundLogger,
    converting: Converting | None,
) -> tuple[Controller[Any], ...]:
    """What the options name, in their order."""
    parts: list[Controller[Any]] = []
    if "zones" in options.parts:
        settings = structs.replace(options.settings, reconcile_interval=options.interval)
        part = zones(client, options.namespaces, settings, metrics.of(ZoneMetrics), log)
        parts.append(
            with_phased(part, client, options.namespaces, settings, log) if settings.phased_deployments else part
        )
    if options.environments is not None and "environments" in options.parts:
        from fairlead.contracts.environments.controllers import (  # noqa: PLC0415  (a process loads what it runs)
            environments,
        )

        mixed = (lambda: False) if converting is None else (lambda: converting.is_mixed)
        first, *others = environments(client, options.environments.settings, metrics.of(EnvironmentMetrics), log, mixed)
        if converting is not None:
            first = structs.replace(
                first,
                before_leading=converting.registering.register,
                replica_tasks=(converting.registering.run,),
                leader_tasks=(converting.migrating.keep,),
            )
        parts += [first, *others]
    return tuple(parts)


def _elections(options: OperatorOptions, home: str, client: Client, log: FilteringBoundLogger) -> Elections | None:
    leases = [Ref(LEASES, place_of(options, home), name) for name in leases_of(options)]
    if not leases:
        return None

    def standing(lease: Ref) -> Election:
        labels, waits, stuck = labels_of(options, lease.name), _waiting(lease, log), _stuck(lease, log)
        return Election(client, lease, options.identity, labels=labels, waits=waits, stuck=stuck)

    return Elections([standing(lease) for lease in leases])


def _records(options: OperatorOptions, home: str, client: Client) -> Records:
    """A Lease says that there may be several replicas: what one of them marks, the others must see."""
    if options.lease is None:
        return MemoryRecords()
    labels = labels_of(options, options.lease)
    return LeaseRecords(client.within(RECORD_TIMEOUT), place_of(options, home), options.lease, labels)


def _duties(
    options: OperatorOptions, home: str, client: Client, log: FilteringBoundLogger
) -> tuple[Callable[[], Coroutine[Any, Any, None]], ...]:
    """Only zones keep records: the other contract's role need not grant what sweeping takes."""
    if options.lease is None or "zones" not in options.parts:
        return ()
    place = place_of(options, home)

    def told(error: KubeError) -> None:
        help_ = f"to have them deleted, grant list and delete of leases in namespace {place}"
        log.info("Leases of records that are over stay for now", error=str(error), help=help_)

    labels = labels_of(options, options.lease)
    return (Sweep(client.uncounted(), place, options.lease, labels, told).keep,)


def _webhooks(
    parts: tuple[Controller[Any], ...],
    outside: AskContext,
    client: Callable[[], Client],
    timeout: float,
    recorder: Recorder,
    log: FilteringBoundLogger,
) -> Webhooks:
    """Whatever is shared with rounds is shared without their gate: reviews are answered by every replica."""
    bench = AdmissionContext(timeout, Afterwards(log), log, telling(recorder))
    endpoints = tuple(endpoint for part in parts for endpoint in part.endpoints)
    return Webhooks(endpoints, structs.replace(outside, gate=None), client, bench)


def _waiting(lease: Ref, log: FilteringBoundLogger) -> Callable[[str, KubeError | None], None]:
    """Says who is waited for, or what is in the way: an operator that does not act must not be silent about it."""

    def waits(holder: str, error: KubeError | None) -> None:
        if error is None:
            log.info("waiting for the lease", lease=str(lease), holder=holder)
        else:
            log.warning("cannot acquire the Lease", lease=str(lease), error=str(error))

    return waits


def _stuck(lease: Ref, log: FilteringBoundLogger) -> Callable[[str], None]:
    def told(problem: str) -> None:
        if problem:
            place = f"namespace {lease.namespace}"
            help_ = f"grant get, create and update of leases in {place}, and see that the API server answers"
            log.error("not ready: the Lease cannot be acquired", lease=str(lease), error=problem, help=help_)
        else:
            log.info("the Lease can be acquired again", lease=str(lease))

    return told


async def _preflight(
    client: Client, parts: tuple[Controller[Any], ...], options: OperatorOptions, log: FilteringBoundLogger
) -> None:
    """Asks once for what the informers will ask for ever, so that a wrong address or a missing right ends the start.

    A namespace that does not exist answers with empty lists; that it may be misspelt is worth a warning.
    """
    for namespace in options.namespaces or ("",):
        for resource in dict.fromkeys(informer.resource for part in parts for informer in part.informers):
            if resource.group == GROUP:
                continue  # defined by this operator, once it leads
            page = request.list_page(resource, namespace, limit=1)
            await client.call(structs.replace(page, timeout=START_TIMEOUT))
    for namespace in options.namespaces:
        with suppress(Forbidden):  # the contract's role has no right to read namespaces
            try:
                await client.call(structs.replace(request.get(Ref(NAMESPACES, "", namespace)), timeout=START_TIMEOUT))
            except NotFound:
                log.warning("namespace does not exist", namespace=namespace, help="check the name, or create it")
