"""A Part: what one contract runs in one process of the operator, as a value.

Its controllers decide; the rest is what a process needs beside rounds: webhooks, servers, tasks, and who counts what.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct, field
from structlog.types import FilteringBoundLogger

from fairlead.core.act import EventNote
from fairlead.core.decision import Decide
from fairlead.core.replay import DecidedRound
from fairlead.engine.controller import Controller
from fairlead.engine.decide.ca_injection import TrustScope
from fairlead.engine.measured_calls import CallCounter
from fairlead.engine.metrics import Metrics
from fairlead.engine.serving.https_server import USUAL_LIMITS, HttpsServer, Limits
from fairlead.engine.serving.routes import Routes
from fairlead.engine.webhooks.admission import WebhookEndpoint
from kubeloop.caches import Caches
from kubeloop.client import Client
from kubeloop.missed_rights import MissedRights

if TYPE_CHECKING:
    # A process without servers need not load certificates.
    from fairlead.engine.certificates.served import Certificates, Credentials
    from fairlead.engine.shared_conversion import SharedConversion

Task: TypeAlias = Callable[[], Awaitable[None]]


class GivesBack(Exception):
    """This replica cannot lead for now: its Lease is given back, and stood for again after so many seconds."""

    def __init__(self, seconds: float, reason: str) -> None:
        super().__init__(reason)
        self.seconds = seconds


class PartContext(Struct, frozen=True):
    """What a contract makes its part from, beside its settings."""

    caches: Caches
    """Of the process: whoever reads the same asks them for it."""
    client: Client
    """Writes only while this replica leads."""
    namespaces: tuple[str, ...]
    """Empty: all namespaces."""
    interval: float | None
    """Least seconds between two rounds of a rollout; None: as facts allow."""
    metrics: Metrics
    log: FilteringBoundLogger
    home: str = ""
    """The namespace of what belongs to the operator itself."""
    replica_client: Client | None = None
    """Writes whether or not this replica leads; None: as `client`."""
    tell: Callable[[EventNote], None] = lambda _: None
    """Makes Events of what no round tells."""
    rights: MissedRights = field(default_factory=MissedRights)
    """What the API server says that the process may not do."""
    trust: TrustScope | None = None
    """Which webhook configurations are to trust this process; None: none do."""
    conversion: SharedConversion | None = None
    """The listener that converts for all parts; None: there is none."""
    record: Callable[[DecidedRound], None] | None = None
    """Keeps what is decided outside of rounds; None: nobody does."""


class SharedRoutes(Struct, frozen=True, kw_only=True):
    """What a part answers on the one HTTPS server that admission has too, whether or not the manager runs."""

    opened: Callable[[Credentials], AbstractAsyncContextManager[Routes]]
    """What is answered, for as long as it is."""
    handlers: Routes
    """The same for a cluster in the same process."""
    timeout: float
    """Seconds that a request may take."""
    limits: Limits = USUAL_LIMITS
    group: str = ""
    """The API group whose reviews alone it answers, on paths that another part has for all others; empty: all."""


class Part(Struct, frozen=True, kw_only=True):
    name: str
    """That of the contract."""
    controllers: tuple[Controller[Any], ...]
    endpoints: tuple[WebhookEndpoint[Any], ...] = ()
    """Its admission webhooks."""
    servers: tuple[HttpsServer, ...] = ()
    """What it serves beside admission, on ports of its own."""
    shared_routes: tuple[SharedRoutes, ...] = ()
    """What it serves beside admission, on the port of that."""
    certificates: Certificates | None = None
    """What all webhooks of the process are served with; None: the part keeps nothing of that."""
    obstacle: Callable[[], str] = lambda: ""
    """Why this replica does not answer what API servers ask of it, whoever leads; empty: it does."""
    remarks: Callable[[], Iterable[str]] = tuple
    """What whoever asks for all words is told of a replica that is ready all the same; a sentence each."""
    before_leading: tuple[Task, ...] = ()
    """What the leader does before the caches can be filled: a definition must be there to be listed."""
    before_rounds: tuple[Task, ...] = ()
    """The same, where only the rounds and tasks of this part wait for it, and not those of others; may raise GivesBack.
    """
    replica_tasks: tuple[Task, ...] = ()
    """What every replica does, whether it leads or not."""
    leader_tasks: tuple[Task, ...] = ()
    """What the leader does beside the rounds, for as long as it leads."""
    jobs: Mapping[str, Decide[Any]] = {}
    """By the name that they are kept under: what decides the steps of tasks."""
    leads: Callable[[bool], None] = lambda _: None
    """Told when this replica takes the lead and when it gives it up."""
    takes_over: Callable[[float], None] = lambda _: None
    """Told, before this replica takes the lead, until which loop time another one was seen to have it."""
    counts: CallCounter | None = None
    """Told of every call outside the cluster's API; those that it does not count are calls to pods."""
