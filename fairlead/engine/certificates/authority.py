"""A certificate from files together with the authority that clients are to trust, and how both are exchanged.

Publish before serve: a certificate is shown only when every definition that names this webhook trusts its issuer, so
no conversion fails while files change. Replicas read their files at different times; what the others may still show
stays trusted for two intervals. Only the replica that leads writes; all of them look.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from msgspec import Struct, structs
from structlog.types import FilteringBoundLogger

from fairlead.engine.certificates import pairs
from fairlead.engine.certificates.pairs import Pair
from fairlead.engine.certificates.served import CertificateFiles, Credentials
from fairlead.engine.certificates.trouble import CertificateTrouble
from fairlead.engine.decide.certificate import has_ended
from fairlead.engine.decide.trust import Trust, covers, is_enough, may_follow
from kubeloop import clock

SETTLING = 10.0
"""Seconds, at most half an interval, from the moment a new authority is published to the first use of its certificate:
API servers learn of a changed definition by a watch."""
RETRY = 1.0
"""Seconds until files that do not fit together are read again: they may be in the middle of being exchanged."""
RETRIES = 30


class AuthorityFiles(Struct, frozen=True):
    certificate: Path
    key: Path
    authority: Path

    def read(self, now: datetime) -> Pair:
        """Raises CertificateTrouble when they cannot be read or used; whether they trust each other is not asked."""
        pair = CertificateFiles(self.certificate, self.key).read(now)
        begins = pairs.inspected(pair).not_before
        if begins is not None and begins > now:
            raise CertificateTrouble(f"{self.certificate} is not valid before {begins}: set the clock, or renew it")
        try:
            authority = self.authority.read_bytes()
        except OSError as error:
            raise CertificateTrouble(f"{error.filename}: {error.strerror}; name a file that can be read") from error
        if not pairs.authorities(authority):
            raise CertificateTrouble(f"{self.authority} holds no certificate: give the PEM of the authority")
        return structs.replace(pair, authority=authority)


class Publication:
    """What clients trust and what they are to trust; `interval` is the seconds between two looks at the files."""

    def __init__(self, interval: float) -> None:
        self._trust = Trust(timedelta(seconds=interval))
        self._file = b""
        """The authority file as last read."""
        self._held: dict[str, bytes] = {}
        """The bundle of each definition that has one."""
        self._changed = asyncio.Event()
        self._handlers: list[Callable[[], None]] = []
        self._told_time: tuple[datetime, float] | None = None
        """The time of day and the loop's time when both were last asked for."""

    def _now(self) -> datetime:
        """The time of day; if it was set, what is counted by it has been moved along."""
        now, moment = clock.now(), clock.monotonic()
        if self._told_time is not None:
            before, then = self._told_time
            by = (now - before) - timedelta(seconds=moment - then)
            if abs(by) >= clock.SLEWED:
                self._trust = self._trust.clock_set(by)
        self._told_time = now, moment
        return now

    def subscribe(self, handler: Callable[[], None]) -> None:
        """Called when other authorities are wanted than before."""
        self._handlers.append(handler)

    def offer(self, authority: bytes) -> None:
        """These are in the file, and soon behind what is served."""
        if authority != self._file:
            self._file, now = authority, self._now()
            self._trust = self._trust.offered(dict(pairs.authorities(authority)), now)
            self._tell()

    def served(self, pair: Pair) -> None:
        """This is shown to new connections from now on."""
        now, ends = self._now(), self._trust.ends
        behind = {pem: end for pem, end in ends.items() if pairs.is_trusted(pair.certificate, pem)}
        self._trust = self._trust.shown(behind, now)
        self._tell()

    def saw(self, name: str, held: bytes | None) -> None:
        """The definition of this name has this bundle; None: it names no webhook."""
        if self._held.get(name) == held:
            return
        if held is None:
            self._held.pop(name, None)
        else:
            self._held[name] = held
        now, ends = self._now(), None if held is None else dict(pairs.authorities(held))
        self._trust = self._trust.seen(name, ends, now)
        self._changed.set()
        self._changed = asyncio.Event()

    def wanted(self) -> bytes:
        """The bundle to publish: the file as it is, and behind it what must be trusted besides."""
        now = self._now()
        besides = [each.pem for each in self._trust.besides(now)]
        gap = b"" if not besides or self._file.endswith(b"\n") else b"\n"
        return self._file + gap + b"".join(besides)

    def is_enough(self, wanted: bytes, held: bytes) -> bool:
        """Whether a bundle holds what is wanted, so that there is nothing to write."""
        return is_enough(dict(pairs.authorities(wanted)), dict(pairs.authorities(held)), clock.now())

    def trusts(self, pair: Pair) -> bool:
        """Whether every definition trusts the pair's issuer; true while none names this webhook."""
        return all(pairs.is_trusted(pair.certificate, held) for held in self._held.values() if held)

    async def trusting(self, pair: Pair) -> None:
        """Returns once they do."""
        while not self.trusts(pair):
            await self._changed.wait()

    def next_change(self) -> float | None:
        """Seconds until another bundle is wanted only because time has passed."""
        now = self._now()
        at = self._trust.next_change(now)
        return None if at is None else (at - now).total_seconds()

    def _tell(self) -> None:
        for handler in self._handlers:
            handler()


class FromAuthority:
    """Certificates of which the authority is published; read again every `interval` seconds.

    `name` is what clients call the server; empty leaves it unchecked.
    """

    def __init__(
        self,
        files: AuthorityFiles,
        publication: Publication,
        interval: float,
        log: FilteringBoundLogger,
        *,
        name: str = "",
    ) -> None:
        self._name = name
        self._files = files
        self._publication = publication
        self._interval = interval
        self._log = log
        self._credentials: Credentials | None = None
        self._said = ""

    async def start(self) -> Credentials:
        """What the files hold is served at once, since there is nothing else; raises CertificateTrouble."""
        pair = await self._read()
        if not pairs.is_trusted(pair.certificate, pair.authority):
            where = f"{self._files.authority} did not issue {self._files.certificate}"
            raise CertificateTrouble(f"{where}: give the certificate of the authority that signed it")
        self._credentials = Credentials(pair)
        if not covers(self._credentials.facts.names, self._name):
            self._log.error("certificate is for other names", name=self._name, help="API servers will not accept it")
        self._publication.offer(pair.authority)
        self._publication.served(pair)
        return self._credentials

    async def run(self) -> None:
        """Until cancelled: files are others' to renew, so their end is not the end of the process."""
        credentials = self._credentials
        if credentials is None:
            raise TypeError("certificates run before they have started")
        while True:
            await asyncio.sleep(self._interval)
            pair = await self._readable()
            if pair is not None and pair != credentials.pair:
                await self._take(pair, credentials)

    async def _readable(self) -> Pair | None:
        """What the files hold once they fit together; None when they do not for long."""
        for _ in range(RETRIES):
            try:
                pair = await self._read()
            except CertificateTrouble as error:
                if str(error) != self._said:  # say a lasting problem once
                    self._said = str(error)
                    self._log.warning("certificate files not usable", error=self._said)
                await asyncio.sleep(RETRY)
                continue
            self._said = ""
            return pair
        return None

    async def _take(self, pair: Pair, credentials: Credentials) -> None:
        self._publication.offer(pair.authority)
        if not self._may_follow(pair, credentials):
            return
        if not self._publication.trusts(pair):
            self._log.info("certificate waits until its authority is published")
            with suppress(TimeoutError):
                async with asyncio.timeout(self._interval):
                    await self._publication.trusting(pair)
                    await asyncio.sleep(min(SETTLING, self._interval / 2))
            if not self._publication.trusts(pair) and not has_ended(credentials.facts, clock.now()):
                self._log.error("certificate not served yet", error="not every definition trusts its authority")
                return
        credentials.swap(pair)
        self._publication.served(pair)
        self._log.info("certificate files read again", not_after=str(credentials.facts.not_after))

    def _may_follow(self, pair: Pair, credentials: Credentials) -> bool:
        """Whether clients that accept the name of what is served will accept that of the pair."""
        names = pairs.inspected(pair).names
        if may_follow(names, credentials.facts.names, self._name):
            return True
        self._log.error("certificate not served", error=f"it is not for {self._name} but for {', '.join(names)}")
        return False

    async def _read(self) -> Pair:
        now = clock.now()
        return await asyncio.to_thread(self._files.read, now)
