"""How webhooks are secured, from the options: which certificate, in whose trust, and what the registrations say."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

from msgspec import Struct
from structlog.types import FilteringBoundLogger

from fairlead.contracts.zones.contract import CONTRACT
from fairlead.engine.assembly import agent_of, headers_of, place_of
from fairlead.engine.certificates.ca_injection import Injector, policies
from fairlead.engine.certificates.pairs import CertificateRequest
from fairlead.engine.certificates.served import CertificateFiles, Certificates, FromFiles, SelfSigned
from fairlead.engine.certificates.stored_secret import StoredCertificate
from fairlead.engine.decide.ca_injection import TrustScope
from fairlead.engine.metrics import Metrics
from fairlead.engine.options import OperatorOptions, WebhookOptions
from fairlead.engine.serving.server import EVERYWHERE
from fairlead.engine.watch_troubles import Troubles
from kubeloop.client import Client
from kubeloop.informer import Informer
from kubeloop.objects.admissionregistration import WebhookConfiguration
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import Transport


class ProcessContext(Struct, frozen=True):
    """What a process stands on."""

    options: OperatorOptions
    home: str
    """The namespace for what belongs to the operator when all namespaces are served."""
    transport: Transport
    metrics: Metrics
    log: FilteringBoundLogger

    @property
    def client(self) -> Client:
        """For every replica: without leadership and without a share of the limit."""
        headers = headers_of(self.options, self.home)
        return Client(
            self.transport, user_agent=agent_of(self.options), headers=headers, observe=self.metrics.observe_call
        )


class Secured(Struct, frozen=True):
    port: int
    certificates: Certificates
    observer: Injector | None = None
    """Sees the registrations where the certificates do not."""
    host: str = EVERYWHERE

    async def run(self) -> None:
        """Returns when the process is to end because its certificate has expired."""
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(self.observer.run()) if self.observer is not None else None
            await self.certificates.run()
            if watching is not None:
                watching.cancel()


def secured_of(webhooks: WebhookOptions, ground: ProcessContext) -> Secured:
    client, log = ground.client, ground.log

    def informer(resource: Resource, labels: str) -> Informer[WebhookConfiguration]:
        troubles = Troubles(resource, "", log)
        return Informer(
            client, resource, WebhookConfiguration, labels=labels, trouble=troubles.failed, restored=troubles.restored
        )

    if CONTRACT.trust is None:
        raise TypeError("webhooks are served whose contract says nothing of trust")
    served = TrustScope(CONTRACT.trust, ground.options.namespaces, place_of(ground.options, ground.home))
    injector = Injector(client, served, log, informer, keeps=webhooks.renews)
    ground.metrics.show_policies(lambda: policies(injector.entries()))
    if webhooks.certificate_file:
        files = CertificateFiles(Path(webhooks.certificate_file), Path(webhooks.key_file))
        return Secured(webhooks.port, FromFiles(files, log, follows=webhooks.renews), injector)
    injects = webhooks.injects
    made = SelfSigned(_stored(webhooks, ground), injector if injects else None, log, renews=webhooks.renews)
    return Secured(webhooks.port, made, None if injects else injector)


def _stored(webhooks: WebhookOptions, ground: ProcessContext) -> StoredCertificate:
    home = place_of(ground.options, ground.home)
    name = webhooks.dns_name or f"{ground.options.process}.{home}.svc"
    wanted = CertificateRequest(name, webhooks.organisation, timedelta(seconds=webhooks.lifetime))
    return StoredCertificate(
        ground.client, Ref(SECRETS, home, webhooks.secret), wanted, ground.log, labels=CONTRACT.labels
    )
