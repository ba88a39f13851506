"""A certificate that is made at the start and kept nowhere: for a server whose clients do not check who it is."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from structlog.types import FilteringBoundLogger

from fairlead.engine.certificates import pairs
from fairlead.engine.certificates.pairs import CertificateRequest, Pair
from fairlead.engine.certificates.served import Credentials, renewal
from kubeloop import clock

LIFETIME = timedelta(days=365)


class InMemory:
    """Renewed while it is served."""

    def __init__(self, name: str, log: FilteringBoundLogger) -> None:
        self._wanted = CertificateRequest(name, name, LIFETIME, name)
        self._log = log
        self._credentials: Credentials | None = None

    async def start(self) -> Credentials:
        self._credentials = Credentials(await self._made())
        return self._credentials

    async def run(self) -> None:
        credentials = self._credentials
        if credentials is None:
            raise TypeError("certificates run before they have started")
        while True:
            await renewal(credentials.facts)
            credentials.swap(await self._made())
            self._log.info("certificate renewed", not_after=str(credentials.facts.not_after))

    async def _made(self) -> Pair:
        return await asyncio.to_thread(pairs.make, self._wanted, clock.now())
