"""The kinds of environments on the listener that converts for all parts of a process (apiversions section 2.2).

Where that listens on the port which environments are told, it answers their reviews, with its certificate, and their
definitions are registered beside whoever else writes them, with its Service and its authorities.
The field manager stays theirs, and a conversion that names somebody else is overwritten, as their contract says.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from msgspec import structs

from fairlead.contracts.environments.conversion_rules import RULES, RULES_NAME
from fairlead.contracts.environments.install.definitions import definitions
from fairlead.contracts.environments.kinds import GROUP, LEASE, MANAGER
from fairlead.contracts.environments.metrics import EnvironmentMetrics
from fairlead.contracts.environments.migration import StoredEnvironments
from fairlead.contracts.environments.settings import ConversionOptions
from fairlead.engine.certificates.served import Credentials
from fairlead.engine.conversion.webhook import AnsweredReview, ConversionHandler, Elsewhere
from fairlead.engine.conversion.worker import Worker
from fairlead.engine.decide.registration import is_converted
from fairlead.engine.kinds.registration import Owned, Registration
from fairlead.engine.part import PartContext, SharedRoutes
from fairlead.engine.serving.https_server import Limits
from fairlead.engine.serving.routes import Routes
from fairlead.engine.shared_conversion import SharedBundle, SharedConversion
from kubeloop.objects.core import LEASES
from kubeloop.objects.meta import Ref

NAME = "environment-definitions"
PATH = "/convert"
TIMEOUT, ENDING = 30.0, 5.0
HELP = "webhook-service-*, tls-* and webhook-cert-reload-interval of environments do not count; those of webhooks do"


def shared_with(options: ConversionOptions, context: PartContext) -> SharedConversion | None:
    """The listener for all parts, where it has the port that environments are told; None: they have their own."""
    shared = context.conversion
    if shared is None or options.url or options.port == 0:  # any free port is none that somebody has
        return None
    return shared if shared.port == options.port else None


class SharedConverting:
    """Of one process."""

    def __init__(
        self, options: ConversionOptions, shared: SharedConversion, context: PartContext, metrics: EnvironmentMetrics
    ) -> None:
        context.log.info("conversion shared", port=shared.port, service=shared.webhook.server_name, help=HELP)
        self.stored = StoredEnvironments(context, metrics)
        self.routes = SharedReviews(shared, context, metrics).routes
        owned = Owned(
            owner=structs.replace(shared.owner, manager=MANAGER, takes_over=True),
            replicas=shared.replicas,
            tell=context.tell,
            lease=Ref(LEASES, context.home, LEASE),
        )
        self.registration = Registration(
            context.client,
            context.caches,
            definitions(options.columns),
            shared.webhook,
            SharedBundle(shared),
            context.log,
            manager=MANAGER,
            heed=self.stored.heed,
            name=NAME,
            owned=owned,
        )


class SharedReviews:
    """Answers for environments on the listener for all parts.

    Also where they have one of their own: while replicas are exchanged, or somebody goes back to that, definitions name
    the one that not all replicas were told of.
    """

    def __init__(self, shared: SharedConversion, context: PartContext, metrics: EnvironmentMetrics) -> None:
        self._metrics = metrics
        self._reviews = shared.reviews
        self._log = context.log
        for each in filter(is_converted, definitions()):
            shared.takes(each)

    def routes(self) -> SharedRoutes:
        return SharedRoutes(
            opened=self._opened,
            handlers={PATH: self._conversion(None)},
            timeout=TIMEOUT,
            limits=Limits(ENDING),
            group=GROUP,
        )

    @asynccontextmanager
    async def _opened(self, _: Credentials) -> AsyncIterator[Routes]:
        worker = Worker(RULES_NAME, self._reviews.manner, self._reviews.longest)
        try:
            yield {PATH: self._conversion(worker)}
        finally:
            await worker.close()

    def _conversion(self, elsewhere: Elsewhere | None) -> ConversionHandler:
        return ConversionHandler(RULES, self._log, elsewhere, self._converted, self._reviews)

    def _converted(self, reviewed: AnsweredReview) -> None:
        self._metrics.conversions.labels("success" if reviewed.succeeded else "failure").inc()
