"""The certificate that the webhooks are served with, from its first use to its end.

Where it ends there are two ways. The contract's process stops at the moment of expiry and is started anew by its
Deployment, which makes the next certificate. The other way renews it long before, in this order: stored, trusted by
every webhook configuration together with the one before, then served; connections that are open stay open. Until every
configuration trusts it the one before is served, and only its end changes that. A certificate that somebody else put
into the Secret is theirs to renew: it is looked at again and again, like files are.
"""

from __future__ import annotations

import asyncio
import ssl
from datetime import datetime
from pathlib import Path
from typing import Protocol

from msgspec import Struct
from structlog.types import FilteringBoundLogger

from fairlead.engine.certificates import pairs
from fairlead.engine.certificates.ca_injection import Injector
from fairlead.engine.certificates.pairs import Pair
from fairlead.engine.certificates.stored_secret import StoredCertificate
from fairlead.engine.certificates.trouble import CertificateTrouble
from fairlead.engine.decide.certificate import (
    CertificateFacts,
    KeepServing,
    Serve,
    handover,
    has_ended,
    is_ours_to_renew,
    is_premature,
    is_reminder_due,
    until_end,
    until_renewal,
)
from kubeloop import clock
from kubeloop.errors import KubeError

LONGEST_SLEEP = 300.0
"""Seconds after which the clock is looked at again, for it may have been set."""
LOOKED_AT = 60.0
"""Seconds until a failed renewal is tried again, and between two looks at a Secret that others keep."""
FILES_LOOKED_AT = 30.0
"""Seconds between two looks at certificate files."""


class Credentials:
    """The TLS context of a server. New connections get the certificate of the last `swap`; open ones keep theirs.

    Without a pair there is none yet, and every handshake fails.
    """

    def __init__(self, pair: Pair | None) -> None:
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.pair = pair or Pair(b"", b"")
        self.facts = CertificateFacts(problem="is not there yet")
        if pair is not None:
            self.swap(pair)

    @property
    def ends_at(self) -> float:
        """Unix time of the earliest end among the certificates served."""
        return 0.0 if self.facts.not_after is None else self.facts.not_after.timestamp()

    def swap(self, pair: Pair) -> None:
        pairs.load(self.context, pair)
        self.pair = pair
        self.facts = pairs.inspected(pair)


class Certificates(Protocol):
    """What a server of webhooks needs."""

    async def start(self) -> Credentials:
        """Ready to serve and trusted by the configurations; raises CertificateTrouble or KubeError."""

    async def run(self) -> None:
        """Keeps the certificate in order; returns when the process is to end because it has expired."""


class SelfSigned:
    """Made by us, kept in a Secret; `injector` has it trusted, None leaves that to others."""

    def __init__(
        self, stored: StoredCertificate, injector: Injector | None, log: FilteringBoundLogger, *, renews: bool
    ) -> None:
        self._stored = stored
        self._injector = injector
        self._log = log
        self._renews = renews
        self._credentials: Credentials | None = None
        self._reminded: datetime | None = None

    async def start(self) -> Credentials:
        pair = await self._stored.obtain()
        await self._trust(pair)
        self._credentials = Credentials(pair)
        return self._credentials

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            background = [tasks.create_task(self._injector.run())] if self._injector is not None else []
            await (self._renew() if self._renews else _expiry(self._shown(), self._log))
            for task in background:
                task.cancel()

    async def _renew(self) -> None:
        credentials = self._shown()
        while True:
            await self._wait(credentials.facts)
            self._remind(credentials.facts)
            try:
                pair = await self._stored.renewed(credentials.pair)
            except (KubeError, CertificateTrouble) as error:
                self._log.error("certificate not renewed", error=str(error), not_after=str(credentials.facts.not_after))
                await asyncio.sleep(LOOKED_AT)
                continue
            if pair != credentials.pair and await self._may_be_served(pair, credentials.facts):
                credentials.swap(pair)
                self._reminded = None
                self._log.info("certificate renewed", not_after=str(credentials.facts.not_after))

    async def _wait(self, served: CertificateFacts) -> None:
        """Returns when a successor is to be looked for."""
        if not is_ours_to_renew(served):
            await asyncio.sleep(LOOKED_AT)
            return
        await renewal(served)

    async def _may_be_served(self, pair: Pair, served: CertificateFacts) -> bool:
        """Whether clients trust it; when they do not, some time has passed, unless the one served is about to end."""
        is_trusted, now = await self._trust(pair), clock.now()
        match handover(served, is_trusted=is_trusted, now=now):
            case Serve(at, is_trusted=True):
                await asyncio.sleep((at - now).total_seconds())
                return True
            case Serve():
                said = "webhook configurations may not trust the renewed certificate, and the one before it ends"
                self._log.error(
                    "certificate served untrusted", error=said, help="write its authority into them by hand"
                )
                return True
            case KeepServing(until, last):
                said = "not every webhook configuration trusts it"
                self._log.error("certificate not served yet", error=said, until=str(last))
                await asyncio.sleep((until - now).total_seconds())
                return False

    def _remind(self, served: CertificateFacts) -> None:
        now = clock.now()
        if is_reminder_due(served, self._reminded, now):
            self._reminded = now
            self._log.warning(
                "certificate ends soon",
                not_after=str(served.not_after),
                help="the operator did not make it: put its successor into the Secret, or delete the Secret",
            )

    async def _trust(self, pair: Pair) -> bool:
        return self._injector is None or await self._injector.trust(pair.authority)

    def _shown(self) -> Credentials:
        if self._credentials is None:
            raise TypeError("certificates run before they have started")
        return self._credentials


class CertificateFiles(Struct, frozen=True):
    certificate: Path
    key: Path

    def read(self, now: datetime) -> Pair:
        """Raises CertificateTrouble when they cannot be read or used."""
        try:
            pair = Pair(self.certificate.read_bytes(), self.key.read_bytes())
        except OSError as error:
            raise CertificateTrouble(f"{error.filename}: {error.strerror}; name a file that can be read") from error
        facts = pairs.inspected(pair)
        where = f"the pair of {self.certificate} and {self.key}"
        if facts.problem:
            raise CertificateTrouble(f"{where} {facts.problem}: give a PEM certificate with its PEM key")
        if has_ended(facts, now):
            raise CertificateTrouble(f"{where} has expired on {facts.not_after}: renew it")
        return pair


class FromFiles:
    """Made by others. `follows`: files that change are used as soon as they are usable; else they are read once."""

    def __init__(self, files: CertificateFiles, log: FilteringBoundLogger, *, follows: bool) -> None:
        self._files = files
        self._log = log
        self._follows = follows
        self._credentials: Credentials | None = None

    async def start(self) -> Credentials:
        self._credentials = Credentials(await self._read())
        return self._credentials

    async def run(self) -> None:
        credentials = self._credentials
        if credentials is None:
            raise TypeError("certificates run before they have started")
        if not self._follows:
            return await _expiry(credentials, self._log)
        said = ""
        while True:
            await asyncio.sleep(FILES_LOOKED_AT)
            try:
                pair = await self._read()
            except CertificateTrouble as error:
                if str(error) != said:  # half-written files are read again; say a lasting problem once
                    said = str(error)
                    self._log.warning("certificate files not usable", error=said)
                continue
            said = ""
            if pair != credentials.pair:
                credentials.swap(pair)
                self._log.info("certificate files read again", not_after=str(credentials.facts.not_after))

    async def _read(self) -> Pair:
        now = clock.now()
        return await asyncio.to_thread(self._files.read, now)


async def _expiry(credentials: Credentials, log: FilteringBoundLogger) -> None:
    """Returns when the certificate that is served is of no use to anybody; the next process replaces it."""
    served = credentials.facts
    if served.not_after is None:
        raise TypeError("a certificate is served whose end is not known")
    while left := until_end(served, clock.now()):  # noqa: ASYNC110  (the clock may be set meanwhile)
        await asyncio.sleep(min(left.total_seconds(), LONGEST_SLEEP))
    message, end = "certificate expired", {"not_after": str(served.not_after)}
    if is_premature(served, clock.now()):
        message, end = "certificate not valid yet", {"not_before": str(served.not_before)}
    log.info(message, **end, help="the process ends to be started anew")


async def renewal(served: CertificateFacts) -> None:
    """Returns when it is time to renew the certificate."""
    while left := until_renewal(served, clock.now()):  # noqa: ASYNC110  (the clock may be set meanwhile)
        await asyncio.sleep(min(left.total_seconds(), LONGEST_SLEEP))
    if left is None:
        raise TypeError("a certificate is served whose life is not known")
