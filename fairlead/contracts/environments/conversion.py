"""The kinds of environments on the API server: their definitions, the webhook that converts them, and what is stored.

Section 2.8, section 3.1, section 3.14 and section 3.15. The webhook and the watch over the definitions belong to every
replica; writing them and migrating objects to the one that leads.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fairlead.contracts.environments.conversion_rules import RULES, RULES_NAME
from fairlead.contracts.environments.install.definitions import definitions
from fairlead.contracts.environments.kinds import MANAGER
from fairlead.contracts.environments.metrics import EnvironmentMetrics
from fairlead.contracts.environments.migration import StoredEnvironments
from fairlead.contracts.environments.settings import ConversionOptions
from fairlead.engine.certificates.authority import AuthorityFiles, FromAuthority, Publication
from fairlead.engine.certificates.secured import Secured
from fairlead.engine.certificates.served import Credentials
from fairlead.engine.conversion.health import alive, healthy
from fairlead.engine.conversion.webhook import LARGEST_REVIEW, MOST_HELD, AnsweredReview, ConversionHandler, Elsewhere
from fairlead.engine.conversion.worker import Worker
from fairlead.engine.decide.registration import ConversionWebhook
from fairlead.engine.kinds.registration import Registration
from fairlead.engine.part import PartContext
from fairlead.engine.serving.https_server import HttpsServer, Limits
from fairlead.engine.serving.routes import Routes

PATH = "/convert"
HEALTH = "/healthz"
LIFE = "/livez"
"""Asked apart: a process that converts nothing because nobody trusts it yet is not made better by a restart."""
LARGEST = {PATH: LARGEST_REVIEW}
TIMEOUT = 30.0
"""Seconds for a conversion: the API server gives up after so many."""
ENDING = 5.0
"""Seconds that conversions under way get at the end, which the contract says."""


class Converting:
    """Of one process."""

    def __init__(self, options: ConversionOptions, context: PartContext, metrics: EnvironmentMetrics) -> None:
        self._options = options
        self._metrics = metrics
        self._log = log = context.log
        self.stored = StoredEnvironments(context, metrics)
        webhook = ConversionWebhook(
            name=options.service_name,
            namespace=options.service_namespace,
            port=options.service_port,
            path=PATH,
            url=options.url,
        )
        self._publication = Publication(options.reload_interval)
        files = AuthorityFiles(Path(options.certificate_file), Path(options.key_file), Path(options.authority_file))
        self._dns_name = webhook.server_name
        self._certificates = FromAuthority(
            files, self._publication, options.reload_interval, log, name=webhook.server_name
        )
        self.registration = Registration(
            context.client,
            context.caches,
            definitions(options.columns),
            webhook,
            self._publication,
            log,
            manager=MANAGER,
            heed=self.stored.heed,
        )

    def server(self) -> HttpsServer:
        """Where the API server has objects converted; in its own process also large reviews, where they come in."""
        return HttpsServer(
            "conversion",
            Secured(self._options.port, self._certificates, host=self._options.host),
            self._routes,
            TIMEOUT,
            limits=Limits(ENDING, LARGEST, MOST_HELD),
            dns_name=self._dns_name,
            handler=self._conversion(None),
        )

    @asynccontextmanager
    async def _routes(self, credentials: Credentials) -> AsyncIterator[Routes]:
        worker = Worker(RULES_NAME)
        try:
            yield {
                PATH: self._conversion(worker),
                HEALTH: healthy(credentials, self._publication, RULES),
                LIFE: alive(),
            }
        finally:
            await worker.close()

    def _conversion(self, elsewhere: Elsewhere | None) -> ConversionHandler:
        """The webhook; without `elsewhere` large reviews are converted where they come in."""
        return ConversionHandler(RULES, self._log, elsewhere, self._converted)

    def _converted(self, reviewed: AnsweredReview) -> None:
        self._metrics.conversions.labels("success" if reviewed.succeeded else "failure").inc()
