"""The certificate of all webhooks of an operator (section 3.8): who makes it, who trusts it, and what is shown.

Every replica reads it where it is kept and watches who trusts it; the leader makes, publishes and exchanges it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec import structs

from fairlead.contracts.apiversions.certificate_metrics import CertificateMetrics
from fairlead.contracts.apiversions.kinds import CA_MANAGER, CERTIFICATE_LABELS, FORMER_SECRET, PART, ROTATION_NOUN
from fairlead.contracts.apiversions.rotation_explain import given_by_others, made_here
from fairlead.contracts.apiversions.settings import ApiVersionsSettings, CertificateSettings
from fairlead.core.decision import Decision
from fairlead.core.explain import Explain
from fairlead.engine.certificates.bundle_targets import BundleTargets
from fairlead.engine.certificates.followed import FollowedCertificate
from fairlead.engine.certificates.given_entries import FileEntries, GivenEntries, SecretEntries
from fairlead.engine.certificates.issuing import service_names
from fairlead.engine.certificates.rotation import Rotation, RotationOptions
from fairlead.engine.controller import Controller
from fairlead.engine.decide.given_certificate import GivenSnapshot
from fairlead.engine.decide.rotation_snapshot import CertificateTimes, RotationSnapshot
from fairlead.engine.part import PartContext
from kubeloop.objects.core import PODS, SECRETS
from kubeloop.objects.meta import Ref

SERVICE = "fairlead"
"""Of the webhooks, where nobody names another."""


class WebhookCertificates:
    """Of one process."""

    def __init__(
        self, context: PartContext, given: ApiVersionsSettings, environment: Mapping[str, str] = os.environ
    ) -> None:
        kept = given.certificates
        service, namespace = given.service_name or SERVICE, given.service_namespace or context.home
        names, secret = service_names(service, namespace), Ref(SECRETS, context.home, kept.secret)
        self._secret = secret
        is_made_here = kept.source == "self-signed" and not kept.folder
        client, caches = context.replica_client or context.client, context.caches
        self._metrics = context.metrics.of(CertificateMetrics)
        self.targets = BundleTargets(caches, service, namespace, given.service_port, context.trust)
        """Who is to trust what is shown."""
        entries: GivenEntries = SecretEntries(client, caches, secret)
        if kept.folder:
            entries = FileEntries(Path(kept.folder))
        # Where nobody names a Service, API servers are told a URL by somebody else, whose name is not known here.
        name = names[0] if given.service_name or is_made_here else ""
        self.shown = FollowedCertificate(
            entries, name, self.targets, kept.reload_interval, context.log, self._metrics.count_reload
        )
        """What this replica serves webhooks with."""
        self.rotation = Rotation(
            RotationOptions(
                secret=secret,
                is_made_here=is_made_here,
                names=names,
                service=service,
                namespace=namespace,
                port=given.port,
                times=times_of(kept),
                manager=CA_MANAGER,
                about=told_about(context, given, environment),
                labels=CERTIFICATE_LABELS,
                former=Ref(SECRETS, context.home, FORMER_SECRET),
            ),
            context.client,
            caches,
            self.targets,
            self.shown,
            context.log,
        )
        self._metrics.show(self.shown, self.targets)

    @property
    def controllers(self) -> tuple[Controller[Any], ...]:
        return (structs.replace(self.rotation.controller, explain=self._explained, part=PART, noun=ROTATION_NOUN),)

    def _explained(self, seen: RotationSnapshot | GivenSnapshot, decision: Decision, now: datetime) -> Explain:
        if isinstance(seen, RotationSnapshot):
            return made_here(seen, decision, now)
        return given_by_others(self._secret.namespace, self._secret.name, seen, decision, now)

    async def prepare(self) -> None:
        """Before leading: definitions are to say whom to trust."""
        await self.rotation.prepare()

    def bundle(self) -> bytes:
        """PEM of the authorities for a definition that begins to name this operator."""
        return self.rotation.bundle()

    def obstacle(self) -> str:
        """Why API servers must not call this replica; empty when they may."""
        return self.shown.unready


def times_of(kept: CertificateSettings) -> CertificateTimes:
    return CertificateTimes(
        validity=timedelta(seconds=kept.validity),
        rotate_before=timedelta(seconds=kept.rotate_before),
        authority_validity=timedelta(seconds=kept.authority_validity),
        authority_rotate_before=timedelta(seconds=kept.authority_rotate_before),
        overlap=timedelta(seconds=kept.overlap),
    )


def told_about(context: PartContext, given: ApiVersionsSettings, environment: Mapping[str, str] = os.environ) -> Ref:
    """What Events are about that concern the operator itself: its pod, or the Secret where the process is none."""
    if name := given.pod_name or environment.get("POD_NAME", ""):
        return Ref(PODS, environment.get("POD_NAMESPACE", "") or context.home, name)
    return Ref(SECRETS, context.home, given.certificates.secret)
