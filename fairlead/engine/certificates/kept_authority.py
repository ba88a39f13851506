"""The certificate of webhooks where its authority is kept beside it, in a Secret that the installation brings.

Every replica looks at the Secret when it changes, and every twelve hours; the first that finds it wanting fills it, and
all serve what it holds: from the Secret itself, since the copy that is mounted into a pod lags behind. A certificate of
a new authority is served once every configuration trusts that authority, beside the one before. When all replicas have
had the time to serve it, the one before goes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime

from msgspec import Struct
from structlog.types import FilteringBoundLogger

from fairlead.engine.certificates import signing
from fairlead.engine.certificates.ca_injection import Injector
from fairlead.engine.certificates.pairs import Pair
from fairlead.engine.certificates.served import Credentials
from fairlead.engine.certificates.trouble import CertificateTrouble
from fairlead.engine.certificates.whole_secret import WholeSecret, read_secret
from fairlead.engine.decide.certificate import KeepServing, Serve, handover
from fairlead.engine.decide.kept_authority import LOOKED_AT, AuthorityFate, Keep, Renew, Sign, fate_of, is_settled
from fairlead.engine.options import KeptAuthority
from kubeloop import clock, request
from kubeloop.caches import Caches
from kubeloop.client import Client
from kubeloop.errors import Conflict, Forbidden, KubeError, NotFound
from kubeloop.informer import Change
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Meta, Ref

RETRY = 5.0
"""Seconds until a Secret that cannot be read or filled is tried again, and configurations that do not trust yet."""
TRIES = 5
"""How often a Secret that others write at the same time is read again."""
UNTRUSTED = "not every webhook configuration trusts the certificate"


class AuthoritySecret:
    """A Secret with an authority and a certificate for `dns_name`."""

    def __init__(
        self, client: Client, secret: Ref, names: KeptAuthority, dns_name: str, log: FilteringBoundLogger
    ) -> None:
        self.secret = secret
        self._client = client
        self._names = names
        self._name = dns_name
        self._log = log

    async def obtain(self) -> Pair:
        """What the Secret holds, filled if need be; raises CertificateTrouble or KubeError."""
        for _ in range(TRIES):
            stored = await self._read()
            fate = self._fate(stored.data)
            if isinstance(fate, Keep):
                return signing.pair_of(stored.data)
            entries = await asyncio.to_thread(self._made, fate, stored.data, clock.now())
            with suppress(Conflict):  # another replica was faster
                await self._write(stored, entries)
                self._log.info("certificate stored", secret=str(self.secret), why=fate.why)
                return signing.pair_of(entries)
        raise CertificateTrouble(f"{self.secret} is written by others all the time: see who does, and end it")

    def _fate(self, data: Mapping[str, bytes]) -> AuthorityFate:
        authority = signing.worth_of_signer(signing.signer_of(data), self._names)
        return fate_of(authority, signing.worth_of_pair(signing.pair_of(data), self._name), clock.now())

    def is_settled(self, pair: Pair) -> bool:
        return is_settled(signing.worth_of_pair(pair, self._name), clock.now())

    def _made(self, fate: Sign | Renew, data: Mapping[str, bytes], now: datetime) -> dict[str, bytes]:
        signer = signing.signer_of(data) if isinstance(fate, Sign) else signing.make_signer(self._names, now)
        return signing.entries_of(signer, signing.sign(signer, self._name, now))

    async def _write(self, stored: WholeSecret, entries: Mapping[str, bytes]) -> None:
        try:
            await self._client.call(request.replace(self.secret, stored.body(entries)))
        except Forbidden as error:
            raise CertificateTrouble(f"{error}: grant update of secrets in {self.secret.namespace}") from error
        except NotFound as error:
            raise self._absent() from error

    async def _read(self) -> WholeSecret:
        try:
            stored = await read_secret(self._client, self.secret)
        except Forbidden as error:
            raise CertificateTrouble(f"{error}: grant get of secrets in {self.secret.namespace}") from error
        if stored is None:
            raise self._absent()
        return stored

    def _absent(self) -> CertificateTrouble:
        return CertificateTrouble(
            f"Secret {self.secret.name} is missing in namespace {self.secret.namespace}: create it empty, or install it"
            " again; the operator fills it and may not create it"
        )


class _Noticed(Struct, frozen=True):
    """All that is kept of a Secret that is watched."""

    metadata: Meta


class FromKeptAuthority:
    """Served from that Secret; `injector` has it trusted, None leaves that to others. `caches` watch the Secret."""

    def __init__(
        self, stored: AuthoritySecret, injector: Injector | None, caches: Caches, log: FilteringBoundLogger
    ) -> None:
        self._stored = stored
        self._injector = injector
        self._caches = caches
        self._log = log
        self._credentials: Credentials | None = None
        self._changed = asyncio.Event()
        self._said = ""
        secret = stored.secret
        informer = caches.informer(
            SECRETS, _Noticed, namespace=secret.namespace, fields=f"metadata.name={secret.name}", optional=True
        )
        informer.subscribe(self._notice)

    async def start(self) -> Credentials:
        """Once it is there and trusted: rounds and readiness wait for that. What is in the way is told and retried."""
        while True:
            pair = await self._obtained()
            if pair is not None and await self._trusted(pair):
                self._credentials = Credentials(pair)
                return self._credentials
            if pair is not None:
                self._tell(UNTRUSTED)
            await asyncio.sleep(RETRY)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._caches.run())
            if self._injector is not None:
                tasks.create_task(self._injector.run())
            tasks.create_task(self._keep())

    async def _keep(self) -> None:
        credentials = self._credentials
        if credentials is None:
            raise TypeError("certificates run before they have started")
        wait = LOOKED_AT.total_seconds()
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._changed.wait()
            self._changed.clear()
            pair = await self._obtained()
            wait = LOOKED_AT.total_seconds() if pair is not None else RETRY
            if pair is not None and pair != credentials.pair:
                wait = await self._exchange(pair, credentials)
            elif pair is not None and self._stored.is_settled(pair):
                await self._trusted(pair)

    async def _exchange(self, pair: Pair, credentials: Credentials) -> float:
        """Serves the pair if clients trust it; the seconds until the Secret is looked at again."""
        if pair.authority != credentials.pair.authority:
            now = clock.now()
            match handover(credentials.facts, is_trusted=await self._trusted(pair), now=now):
                case Serve(at, is_trusted=is_trusted):
                    if not is_trusted:
                        self._tell("webhook configurations may not trust the certificate, and the one before it ends")
                    await asyncio.sleep(max((at - now).total_seconds(), 0.0))
                case KeepServing(until):
                    self._tell(UNTRUSTED)
                    return max((until - clock.now()).total_seconds(), RETRY)
        credentials.swap(pair)
        self._said = ""
        self._log.info("certificate renewed", not_after=str(credentials.facts.not_after))
        return LOOKED_AT.total_seconds()

    async def _obtained(self) -> Pair | None:
        """None when there is none to be had now, which has been told."""
        try:
            pair = await self._stored.obtain()
        except (KubeError, CertificateTrouble) as error:
            self._tell(str(error))
            return None
        return pair

    async def _trusted(self, pair: Pair) -> bool:
        if self._injector is None:
            return True
        return await self._injector.trust(pair.authority, alone=self._stored.is_settled(pair))

    def _tell(self, problem: str) -> None:
        """A lasting problem once."""
        if problem != self._said:
            self._said = problem
            self._log.error("certificate not served yet", error=problem)

    def _notice(self, _: Change[_Noticed]) -> None:
        self._changed.set()
