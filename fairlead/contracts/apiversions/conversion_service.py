"""The conversion webhook of one process: what API servers ask, answered from the rules in force (section 2.1)."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from structlog.types import FilteringBoundLogger

from fairlead.contracts.apiversions.metrics import ConversionMetrics
from fairlead.contracts.apiversions.rule_book import RuleBook
from fairlead.contracts.apiversions.settings import ReviewLimits
from fairlead.engine.certificates.served import Credentials
from fairlead.engine.conversion.health import alive
from fairlead.engine.conversion.pool import Pool
from fairlead.engine.conversion.review import Manner
from fairlead.engine.conversion.webhook import MOST_HELD, ConversionHandler, ReviewTerms
from fairlead.engine.part import SharedRoutes
from fairlead.engine.serving.https_server import Limits
from fairlead.engine.serving.routes import Routes
from kubeloop import clock

PATH, HEALTH = "/convert", "/healthz"
MANNER = Manner(in_words=True, tallies=True)
MOST_PROCESSES = 4
ENDING = 5.0
"""Seconds that conversions under way get at the end (section 3.10)."""
REQUEST_SECONDS = 30.0
"""After which API servers give up."""


class ConversionService:
    def __init__(
        self, book: RuleBook, limits: ReviewLimits, metrics: ConversionMetrics, log: FilteringBoundLogger
    ) -> None:
        self._book = book
        self._limits = limits
        self._credentials: Credentials | None = None
        terms = ReviewTerms(
            largest=limits.largest,
            longest=limits.timeout,
            at_once=limits.concurrent,
            manner=MANNER,
            obstacle=book.obstacle,
            learn=book.learn,
        )
        self._handler = ConversionHandler(book.in_force, log, terms=terms, counted=metrics.count)

    def routes(self) -> SharedRoutes:
        held = max(MOST_HELD, self._limits.largest * 3 // 2)
        return SharedRoutes(
            opened=self._opened,
            handlers=self._routes,
            timeout=REQUEST_SECONDS,
            limits=Limits(ENDING, {PATH: self._limits.largest}, held, frozenset({PATH, HEALTH})),
        )

    @property
    def _routes(self) -> Routes:
        return {PATH: self._handler, HEALTH: alive()}

    def obstacle(self) -> str:
        """Why this replica should get no reviews; empty: it may (section 2.1)."""
        credentials = self._credentials
        if credentials is None:
            return "webhooks are not served yet"
        facts, now = credentials.facts, clock.now()
        if facts.problem:
            return f"the certificate cannot be used: it {facts.problem}"
        if facts.not_after is None or now >= facts.not_after:
            return f"the certificate has expired on {facts.not_after}: renew it"
        return self._book.obstacle()

    @asynccontextmanager
    async def _opened(self, credentials: Credentials) -> AsyncIterator[Routes]:
        self._credentials = credentials
        most = min(self._limits.concurrent, os.cpu_count() or 1, MOST_PROCESSES)
        pool = Pool(most, MANNER, self._limits.timeout)
        self._book.use(pool)
        try:
            yield self._routes
        finally:
            self._book.use(None)
            await pool.close()
