"""The Secret that holds the self-signed certificate: read, made and written.

Several replicas may start at once: one of them writes, the others find what it wrote.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime

from msgspec import Raw
from structlog.types import FilteringBoundLogger

from fairlead.engine.certificates import pairs
from fairlead.engine.certificates.pairs import CertificateRequest, Pair
from fairlead.engine.certificates.trouble import CertificateTrouble
from fairlead.engine.certificates.whole_secret import WholeSecret, body_of, read_secret
from fairlead.engine.decide.certificate import Broken, CertificateFacts, Make, Use, fate_of, successor_of
from kubeloop import clock, request
from kubeloop.client import Client
from kubeloop.errors import AlreadyExists, Conflict
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref

Maker = Callable[[CertificateRequest, datetime], Pair]


def pair_of(stored: WholeSecret) -> Pair:
    return Pair(stored.data["cert"], stored.data["key"], stored.data["ca"])


class StoredCertificate:
    """A self-signed certificate in a Secret."""

    def __init__(
        self,
        client: Client,
        secret: Ref,
        wanted: CertificateRequest,
        log: FilteringBoundLogger,
        make: Maker = pairs.make,
        *,
        labels: Mapping[str, str],
    ) -> None:
        """`labels` are those of a Secret that is made here."""
        self._client = client
        self._secret = secret
        self._wanted = wanted
        self._log = log
        self._make = make
        self._labels = labels
        self._worth: tuple[dict[str, bytes], CertificateFacts] | None = None
        """Entries last looked at and what they are worth: checking a key takes long, and they seldom change."""

    async def obtain(self) -> Pair:
        """The stored pair, or a new one that is stored now; raises CertificateTrouble, or KubeError."""
        stored = await self._read()
        match self._fate(stored):
            case Use():
                assert stored is not None  # noqa: S101  only what exists is used
                self._log.info("certificate read", secret=self._secret.name)
                return pair_of(stored)
            case Broken(text):
                raise CertificateTrouble(text)
            case Make(why):
                return await self._store(stored, await self._made(why))

    async def renewed(self, old: Pair) -> Pair:
        """A pair that comes after this one: what another process has stored meanwhile, else a new one.

        The same again while the Secret holds a usable one that no operator of the contract has made.
        """
        stored = await self._read()
        is_served = stored is not None and stored.data.get("cert") == old.certificate
        facts = None if stored is None else self._facts(stored.data)
        match successor_of(self._fate(stored), facts, is_served=is_served):
            case Broken(text):
                raise CertificateTrouble(text)
            case Make(why):
                fresh = pairs.succeeding(await self._made(why), old, clock.now())
                return await self._store(stored, fresh)
            case Use():
                assert stored is not None  # noqa: S101  only what exists is used
                return pair_of(stored)

    def _fate(self, stored: WholeSecret | None) -> Use | Make | Broken:
        facts = None if stored is None else self._facts(stored.data)
        return fate_of(facts, self._secret.name, self._wanted.dns_name, clock.now())

    def _facts(self, entries: dict[str, bytes]) -> CertificateFacts:
        if self._worth is None or self._worth[0] != entries:
            self._worth = entries, pairs.facts_of(entries)
        return self._worth[1]

    async def _made(self, why: str) -> Pair:
        self._log.info("certificate being made", secret=self._secret.name, why=why)
        return await asyncio.to_thread(self._make, self._wanted, clock.now())

    async def _store(self, old: WholeSecret | None, pair: Pair) -> Pair:
        try:
            if old is None:
                await self._client.call(request.create(SECRETS, self._secret.namespace, self._body({}, pair)))
            else:
                await self._client.call(request.replace(self._secret, self._body(old.fields, pair, old.data)))
        except (AlreadyExists, Conflict) as error:
            stored = await self._read()
            if stored is not None and isinstance(self._fate(stored), Use):
                self._log.info("certificate read", secret=self._secret.name, why="another process stored it first")
                return pair_of(stored)
            text = f"Secret {self._secret.name} was written by somebody else meanwhile and cannot be used"
            raise CertificateTrouble(f"{text}: repair it, or delete it to have a new certificate made") from error
        self._log.info("certificate stored", secret=self._secret.name)
        return pair

    def _body(self, fields: dict[str, Raw], pair: Pair, data: dict[str, bytes] | None = None) -> bytes:
        made = {
            "apiVersion": SECRETS.api_version,
            "kind": SECRETS.kind,
            "metadata": {"name": self._secret.name, "namespace": self._secret.namespace, "labels": self._labels},
            "type": "Opaque",
        }
        return body_of({**made, **fields}, {**(data or {}), **pair.entries()})

    async def _read(self) -> WholeSecret | None:
        return await read_secret(self._client, self._secret)
