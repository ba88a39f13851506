"""What an operator is made of, from its options: clients, records, parts, webhooks, manager; on any transport.

Apart from servers, signals and certificates, so that the same operator runs in a process and in virtual time.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs
from structlog.types import FilteringBoundLogger

from fairlead import __version__
from fairlead.core.act import EventNote
from fairlead.engine.blocked_metric import telling_blocked
from fairlead.engine.contract import deciders_of
from fairlead.engine.controller import USUAL_TELLING, Controller
from fairlead.engine.driver.answer_cache import AnswerCache
from fairlead.engine.driver.questions import AskContext
from fairlead.engine.driver.sessions import Sessions
from fairlead.engine.event_notes import Notes
from fairlead.engine.guarded import guarded
from fairlead.engine.lease_terms import VersionTerms
from fairlead.engine.leases import elections, place_of, records, sweeps
from fairlead.engine.manager import Manager, Pace
from fairlead.engine.measured_calls import measured
from fairlead.engine.metrics import Metrics
from fairlead.engine.notices import Notices
from fairlead.engine.options import OperatorOptions
from fairlead.engine.part import Part, PartContext
from fairlead.engine.recording import RoundRecorder
from fairlead.engine.serving.cluster_label import HEADER
from fairlead.engine.trust_scopes import trust_scope
from fairlead.engine.watch_troubles import WatchTroubles
from fairlead.engine.webhooks.admission import AdmissionContext
from fairlead.engine.webhooks.afterwards import Afterwards
from fairlead.engine.webhooks.handlers import Webhooks
from kubeloop import request
from kubeloop.caches import Caches
from kubeloop.calls import Caller
from kubeloop.client import Client
from kubeloop.errors import ApiError, Forbidden, KubeError, NotFound
from kubeloop.events import Recorder
from kubeloop.missed_rights import MissedRights
from kubeloop.objects.core import NAMESPACES
from kubeloop.objects.meta import Ref, Resource
from kubeloop.rate_limit import Limiter
from kubeloop.request import Transport
from kubeloop.watch import Selection

if TYPE_CHECKING:
    from fairlead.engine.shared_conversion import SharedConversion  # a process without servers loads no certificates

START_TIMEOUT = 10.0
"""Seconds that the API server may take to answer the first question."""


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
    metrics.host = getattr(transport, "host", "")
    rights = MissedRights()
    clients = _Clients(options, home, transport, metrics, rights)
    unlimited = clients.unlimited()
    terms = VersionTerms(options, unlimited, log)
    election = elections(options, home, unlimited, log, terms)
    client = clients.limited(election.gate if election is not None else None)
    recorder = Recorder(client.uncounted(), options.process, options.identity, refused=partial(_refused, log))
    metrics.show_dropped_events(lambda: recorder.dropped)
    caches = _caches(client, log)

    def tell(note: EventNote) -> None:
        notes.tell(USUAL_TELLING, note)

    recording = _recording(options, log)
    context = PartContext(
        caches,
        client,
        options.namespaces,
        options.interval,
        metrics,
        log,
        home=place_of(options, home),
        replica_client=unlimited,
        tell=tell,
        rights=rights,
        trust=trust_scope(options, home),
        conversion=_conversion(options, place_of(options, home)),
        record=recording.record if recording is not None else None,
    )
    parts = _parts(options, context)
    counts = tuple(part.counts for part in parts if part.counts is not None)
    outside = AskContext(
        client,
        caller=None if caller is None else measured(caller, metrics, counts),
        records=records(options, home, unlimited),
        kept=AnswerCache(),
        sessions=Sessions(),
        gate=election.gate if election is not None else None,
        headers=clients.headers,
        mistaken=lambda error: log.error("asking failed by a mistake of the operator", exc_info=error),
    )
    notes = Notes(recorder, Notices(outside, log))
    manager = Manager(
        parts,
        outside,
        caches,
        log=log,
        notes=notes,
        pace=Pace(options.interval, resync=options.resync),
        election=election,
        webhooks=_webhooks(parts, outside, clients.limited, notes, log, recording),
        rejoins=options.rejoins,
        leads=_leads(parts, metrics, rights),
        registered=terms.registered,
        leaves=lambda: terms.told,
        leader_tasks=sweeps(options, home, client, log),
        recording=recording,
    )
    return manager, lambda: _preflight(unlimited, parts, options, log)


class _Clients:
    """Of the API server, for one process: all say who asks and where it belongs, and hear of rights that lack."""

    def __init__(
        self, options: OperatorOptions, home: str, transport: Transport, metrics: Metrics, rights: MissedRights
    ) -> None:
        self.headers = headers_of(options, home)
        self._options = options
        self._transport = transport
        self._metrics = metrics
        self._heard = rights.heard

    def unlimited(self) -> Client:
        return Client(
            self._transport,
            user_agent=agent_of(self._options),
            headers=self.headers,
            observe=self._metrics.observe_call,
            heard=self._heard,
        )

    def limited(self, gate: Callable[[], None] | None = None) -> Client:
        """A client with a share of its own of the limit."""
        return Client(
            self._transport,
            user_agent=agent_of(self._options),
            limiter=Limiter(self._options.qps, self._options.burst, self._metrics.count_limited),
            gate=gate,
            timeout=self._options.client_timeout,
            headers=self.headers,
            observe=self._metrics.observe_call,
            heard=self._heard,
        )


def _refused(log: FilteringBoundLogger, error: ApiError) -> None:
    lacks_right = isinstance(error, Forbidden) and "being terminated" not in str(error)
    right = "allow create and patch of events, in events.k8s.io or core; " if lacks_right else ""
    log.warning("an Event was refused", error=str(error), help=f"{right}nothing waits for Events")


def _caches(client: Client, log: FilteringBoundLogger) -> Caches:
    def troubles(selection: Selection, is_optional: Callable[[], bool]) -> WatchTroubles:
        return WatchTroubles(selection.resource, selection.namespace, log, is_optional)

    return Caches(client, troubles)


def _parts(options: OperatorOptions, context: PartContext) -> tuple[Part, ...]:
    """What the options name, in their order."""
    made = [each.contract.part.get()(context, each.settings) for each in options.parts]
    blocked, foreign = context.metrics.blocked, context.metrics.foreign

    def wrapped(each: Controller[Any]) -> Controller[Any]:
        return telling_blocked(guarded(each, options.versions, foreign), blocked)

    return tuple(structs.replace(part, controllers=tuple(map(wrapped, part.controllers))) for part in made)


def _conversion(options: OperatorOptions, home: str) -> SharedConversion | None:
    """The listener of the first part that has one for all of them."""
    made = (each.contract.conversion.get()(each.settings, home) for each in options.parts if each.contract.conversion)
    return next(filter(None, made), None)


def _recording(options: OperatorOptions, log: FilteringBoundLogger) -> RoundRecorder | None:
    if not options.record:
        return None
    return RoundRecorder(Path(options.record), deciders_of(each.contract for each in options.parts), log)


def _leads(parts: Sequence[Part], metrics: Metrics, rights: MissedRights) -> Callable[[bool], None]:
    names = tuple(part.name for part in parts)

    def leads(leading: bool) -> None:
        metrics.lead(names, leading)
        for part in parts:
            part.leads(leading)
        if not leading:
            rights.forget()

    metrics.lead(names, False)
    return leads


def _webhooks(
    parts: tuple[Part, ...],
    outside: AskContext,
    client: Callable[[], Client],
    notes: Notes,
    log: FilteringBoundLogger,
    recording: RoundRecorder | None,
) -> Webhooks:
    """Whatever is shared with rounds is shared without their gate: reviews are answered by every replica."""
    record = recording.record if recording is not None else None
    context = AdmissionContext(Afterwards(log), log, notes.tell, record=record)
    endpoints = tuple(endpoint for part in parts for endpoint in part.endpoints)
    return Webhooks(endpoints, structs.replace(outside, gate=None), client, context)


def _not_served(resource: Resource, options: OperatorOptions) -> KubeError | None:
    """What to install, where the kind is one of a contract that others register."""
    mine = (each.contract for each in options.parts if resource.group in each.contract.groups and each.contract.kinds)
    found = next(mine, None)
    if found is None:
        return None
    otherwise = ", or leave the part out" if len(options.parts) > 1 else ""
    return KubeError(
        f"the cluster does not serve {resource.plural} of {resource.group}: install the kinds of part {found.name}"
        f" (`fairlead crds --part {found.name} | kubectl apply --server-side -f -`){otherwise}"
    )


async def _preflight(
    client: Client, parts: tuple[Part, ...], options: OperatorOptions, log: FilteringBoundLogger
) -> None:
    """Asks once for what the informers will ask for ever, so that a wrong address or a missing right ends the start.

    A namespace that does not exist answers with empty lists; that it may be misspelt is worth a warning.
    """
    later = {group for each in options.parts if each.contract.registers for group in each.contract.groups}
    informers = (one for part in parts for each in part.controllers for one in each.informers)
    resources = [one for one in dict.fromkeys(each.resource for each in informers) if one.group not in later]
    for namespace in options.namespaces or ("",):
        for resource in resources:
            page = request.list_page(resource, namespace, limit=1)
            try:
                await client.call(structs.replace(page, timeout=START_TIMEOUT))
            except NotFound as error:
                raise _not_served(resource, options) or error from None
    for namespace in options.namespaces:
        with suppress(Forbidden):  # the contract's role has no right to read namespaces
            try:
                await client.call(structs.replace(request.get(Ref(NAMESPACES, "", namespace)), timeout=START_TIMEOUT))
            except NotFound:
                log.warning("namespace does not exist", namespace=namespace, help="check the name, or create it")
