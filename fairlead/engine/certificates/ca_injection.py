"""Keeps the certificate authority in every webhook configuration that asks for it.

Every replica does it, whether it leads or not, because the API server may call any of them; the patch is the same from
all. A configuration that somebody keeps clearing gets its bundle again each time, at a bounded pace. What may not be
listed or watched is logged and tried again in the background: it never keeps the operator from starting.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from msgspec import structs
from structlog.types import FilteringBoundLogger

from fairlead.engine.certificates import pairs
from fairlead.engine.decide.ca_injection import TrustScope, injected
from fairlead.engine.driver.perform import request_for
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.errors import Conflict, Invalid, KubeError, NotFound
from kubeloop.informer import Change, Informer
from kubeloop.objects.admissionregistration import MUTATING, VALIDATING, Entry, WebhookConfiguration
from kubeloop.objects.meta import Resource
from kubeloop.queue import Queue
from kubeloop.worker import work

KINDS = (VALIDATING, MUTATING)
SPACING = 1.0
"""Least seconds between two patches of one configuration."""
WRITE_TIMEOUT = 10.0

Key: TypeAlias = tuple[Resource, str]


def selector(served: TrustScope) -> str:
    """Configurations that name one of the namespaces; none given means any."""
    label = served.labels.namespace
    match served.namespaces:
        case ():
            return label
        case (only,):
            return f"{label}={only}"
        case several:
            return f"{label} in ({','.join(several)})"


class Injector:
    """Watches the configurations of the namespaces served; `informer` makes what watches.

    `keeps`: authorities that other replicas may still show stay in the bundles; else they hold ours and no other.
    """

    def __init__(
        self,
        client: Client,
        served: TrustScope,
        log: FilteringBoundLogger,
        informer: Callable[[Resource, str], Informer[WebhookConfiguration]],
        *,
        keeps: bool = False,
    ) -> None:
        self._client = client
        self._served = served
        self._log = log
        self._queue: Queue[Key] = Queue(spacing=SPACING)
        self._keeps = keeps
        self._authority = b""
        self._informers = {kind: informer(kind, selector(served)) for kind in KINDS}
        for kind, each in self._informers.items():
            each.subscribe(self._waker(kind))

    async def trust(self, authority: bytes) -> bool:
        """Has clients trust these authorities; whether every configuration that is there now is known to do so.

        What does not yet is tried again while this runs.
        """
        self._authority = authority
        trusted = [await self._trust(kind) for kind in KINDS]
        for kind, one in self._informers.items():
            for held in one.store.items():
                self._queue.add((kind, held.metadata.name))
        return all(trusted)

    async def _trust(self, kind: Resource) -> bool:
        try:
            found = await self._client.list(kind, WebhookConfiguration, labels=selector(self._served))
        except KubeError as error:
            self._log.warning("webhook configurations not updated", kind=kind.kind, error=str(error))
            return False
        trusted = True
        for each in found.items:
            try:
                trusted = await self._inject(kind, each) and trusted
            except KubeError as error:
                trusted = False
                self._failed((kind, each.metadata.name), error)
        return trusted

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for each in self._informers.values():
                tasks.create_task(each.run())
            tasks.create_task(work(self._queue, self._reconcile, workers=1, failed=self._failed))

    def entries(self) -> Iterator[tuple[Resource, Entry]]:
        """Every webhook entry of the watched configurations, whether or not it wants the bundle."""
        for kind, each in self._informers.items():
            for found in each.store.items():
                for entry in found.webhooks:
                    yield kind, entry

    def _waker(self, kind: Resource) -> Callable[[Change[WebhookConfiguration]], None]:
        def changed(change: Change[WebhookConfiguration]) -> None:
            if change.new is not None:
                self._queue.add((kind, change.new.metadata.name))

        return changed

    async def _reconcile(self, key: Key) -> float | None:
        kind, name = key
        held = self._informers[kind].store.get("", name)
        if held is not None:
            await self._inject(kind, held)
        return None

    async def _inject(self, kind: Resource, found: WebhookConfiguration) -> bool:
        """Whether it trusts what it is to trust."""
        if not self._authority:
            return False
        patch = injected(found, kind, self._authority, self._served, self._beside if self._keeps else None)
        if patch is None:
            return True
        try:
            await self._client.call(
                structs.replace(request_for(patch), timeout=WRITE_TIMEOUT, retry_when_throttled=False)
            )
        except (NotFound, Conflict, Invalid) as error:  # changed or gone since it was seen; the watch tells how
            self._log.info("webhook configuration changed meanwhile", name=found.metadata.name, error=str(error))
            return isinstance(error, NotFound)
        self._log.info("ca bundle injected", kind=kind.kind, name=found.metadata.name, changed=patch.change_to)
        return True

    def _beside(self, held: str) -> str:
        """The bundle for an entry that has this one."""
        try:
            decoded = b64decode(held)
        except ValueError:
            decoded = b""
        return b64encode(pairs.trusting(self._authority, decoded, clock.now())).decode()

    def _failed(self, key: Key, error: Exception) -> None:
        self._log.warning("ca bundle not injected", kind=key[0].kind, name=key[1], error=str(error))


def policies(entries: Iterable[tuple[Resource, Entry]]) -> Iterator[tuple[str, str, str, int]]:
    """Type, webhook, policy and 0 or 1, two samples for each entry; an unset policy counts as Fail."""
    for kind, entry in entries:
        actual = entry.failure_policy or "Fail"
        for policy in ("Fail", "Ignore"):
            yield kind.kind.removesuffix("Configuration"), entry.name, policy, int(policy == actual)
