"""The certificate of webhooks as a replica shows it: read where it is kept, exchanged without a restart.

A pair is taken over only whole and usable, and shown only when everybody who calls here trusts it; until then what was
shown before goes on being shown. That there is none yet keeps nothing from starting: the leader may have to make it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from structlog.types import FilteringBoundLogger

from fairlead.engine.certificates.bundle_targets import BundleTargets
from fairlead.engine.certificates.given_entries import GivenEntries
from fairlead.engine.certificates.pairs import Pair
from fairlead.engine.certificates.secret_facts import certificates_in, leaf_of, pair_of, trouble_with
from fairlead.engine.certificates.served import Credentials
from fairlead.engine.decide.bundles import Certificate
from fairlead.engine.decide.exchange import Show, ShowLater, exchange
from kubeloop import clock
from kubeloop.errors import KubeError

RETRY = 1.0
"""Seconds until what does not fit together is read again: it may be in the middle of being exchanged."""
RETRIES = 30
LOOKED_AT = 5.0
"""Seconds until an API server that does not answer is asked again."""


class FollowedCertificate:
    """Shown under `name`; looked at when it changes, and every `interval` seconds."""

    def __init__(
        self,
        entries: GivenEntries,
        name: str,
        targets: BundleTargets,
        interval: float,
        log: FilteringBoundLogger,
        count: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`count` is told `success` or `failure` of every pair that is taken over or not."""
        self.where = entries.where
        self.offered: Pair | None = None
        """The last usable pair that was read."""
        self.problem = "has not been read yet"
        """Why what was read last is not usable; empty when it is."""
        self.credentials = Credentials(None)
        self._entries = entries
        self._name = name
        self._targets = targets
        self._interval = interval
        self._log = log
        self._count = count
        self._refused: tuple[str, Pair | None] = ("", None)
        """What was said last, and of which pair."""
        self._tries = 0
        self._woken = asyncio.Event()
        self._handlers: list[Callable[[], None]] = []
        entries.subscribe(self._woken.set)
        targets.subscribe(self._woken.set)

    def subscribe(self, handler: Callable[[], None]) -> None:
        """Called when another pair is offered or shown, or what was offered cannot be used."""
        self._handlers.append(handler)

    async def start(self) -> Credentials:
        """With what is there; a process without a certificate starts all the same, and is not ready."""
        await self._look()
        return self.credentials

    async def run(self) -> None:
        """Until cancelled: the end of a certificate is not the end of the process."""
        wait: float | None = 0.0
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._woken.wait()
            self._woken.clear()
            wait = await self._look()

    @property
    def unready(self) -> str:
        """Why a server with this certificate must not be called; empty when it may."""
        facts, now = self.credentials.facts, clock.now()
        if facts.problem:
            return f"the certificate cannot be used: {self.where} {self.problem or facts.problem}"
        if facts.not_before is None or facts.not_after is None or not facts.not_before <= now < facts.not_after:
            return f"the certificate is valid from {facts.not_before} to {facts.not_after} only: renew it"
        if not self._targets.is_known:
            return "it is not known yet who trusts the certificate"
        if not self._targets.trusts(self.credentials.pair):
            return "the authority of the certificate is not yet in the caBundle of everybody who calls"
        return ""

    @property
    def shown(self) -> Certificate | None:
        return leaf_of(self.credentials.pair.certificate)

    @property
    def authorities(self) -> tuple[Certificate, ...]:
        """Of what is offered."""
        return () if self.offered is None else certificates_in(self.offered.authority)

    async def _look(self) -> float:
        """Seconds until the next look."""
        try:
            pair, problem = await self._read()
        except (KubeError, OSError) as error:
            return self._unread(str(error))
        if problem:
            return self._refuse(pair, problem)
        self._tries, self._refused = 0, ("", None)
        is_new = pair != self.offered or self.problem
        self.offered, self.problem = pair, ""
        if is_new:
            self._tell()
        return self._interval if pair is None else self._exchange(pair)

    async def _read(self) -> tuple[Pair | None, str]:
        """What is there, and why it cannot be used."""
        entries = await self._entries.read()
        if entries is None:
            return None, "is not there"
        pair = pair_of(entries)
        now = clock.now()
        return pair, await asyncio.to_thread(trouble_with, pair, self._name, now)

    def _unread(self, error: str) -> float:
        """That the API server does not answer says nothing of what is kept there."""
        if self.offered is None:
            self.problem = f"cannot be read: {error}"
        if self._refused != (error, None):
            self._refused = error, None
            self._log.warning("certificate not read", where=self.where, error=error, help="it is tried again")
        return min(self._interval, LOOKED_AT)

    def _refuse(self, pair: Pair | None, problem: str) -> float:
        """What was shown before goes on being shown; a pair that does not fit together may be half-written."""
        self._tries += 1
        may_be_halfway = pair is not None and not self._entries.is_whole and self._tries <= RETRIES
        if may_be_halfway and self._refused != (problem, pair):
            return RETRY
        if self._refused != (problem, pair):
            self._refused = problem, pair
            self.problem = problem
            if pair is None:  # nobody offers anything, which is no failed exchange
                self._log.info("certificate awaited", where=self.where, error=problem)
            else:
                self._count("failure")
                self._log.warning(
                    "certificate not usable", where=self.where, error=problem, help="what was served is served on"
                )
            self._tell()
        self._tries = 0
        return self._interval

    def _exchange(self, pair: Pair) -> float:
        if pair == self.credentials.pair:
            return self._interval
        now = clock.now()
        match exchange(self.credentials.facts, self._targets.trusted_since(pair), now):
            case Show():
                self.credentials.swap(pair)
                self._count("success")
                self._log.info("certificate served", not_after=str(self.credentials.facts.not_after))
                self._tell()
                return self._interval
            case ShowLater(until):
                if until is None:
                    return self._interval
                return min(max((until - now).total_seconds(), 0.0), self._interval)

    def _tell(self) -> None:
        for handler in self._handlers:
            handler()
