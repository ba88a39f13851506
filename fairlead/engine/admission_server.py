"""The server of admission webhooks, from the options: which certificate, in whose trust, and what registrations say."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path

from fairlead.engine.certificates.ca_injection import Injector, policies
from fairlead.engine.certificates.kept_authority import AuthoritySecret, FromKeptAuthority
from fairlead.engine.certificates.pairs import CertificateRequest
from fairlead.engine.certificates.secured import Secured
from fairlead.engine.certificates.served import CertificateFiles, Certificates, Credentials, FromFiles, SelfSigned
from fairlead.engine.certificates.stored_secret import StoredCertificate
from fairlead.engine.leases import labels_of, place_of
from fairlead.engine.manager import Manager
from fairlead.engine.options import KeptAuthority, WebhookOptions
from fairlead.engine.process_context import ProcessContext
from fairlead.engine.serving.https_server import HttpsServer, joined
from fairlead.engine.serving.review_groups import joined_routes
from fairlead.engine.serving.routes import Routes
from fairlead.engine.traces import traced_handler
from fairlead.engine.trust_scopes import trust_scope
from fairlead.engine.watch_troubles import WatchTroubles
from kubeloop.caches import Caches
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref


def admission_server(given: WebhookOptions, manager: Manager, context: ProcessContext) -> HttpsServer:
    """With the routes that parts share with admission."""
    webhooks, trace, shared = manager.webhooks, manager.trace, manager.shared_routes

    @asynccontextmanager
    async def opened(credentials: Credentials) -> AsyncIterator[Routes]:
        async with AsyncExitStack() as stack:
            opened = [(each.group, await stack.enter_async_context(each.opened(credentials))) for each in shared]
            found = {**webhooks.routes, **joined_routes(opened)}
            yield {path: traced_handler(handler, f"webhook {path}", trace) for path, handler in found.items()}

    return HttpsServer(
        "webhooks",
        secured_of(given, context, manager.certificates),
        opened,
        max((webhooks.timeout, *(each.timeout for each in shared))),
        limits=joined([each.limits for each in shared]),
        checks_cluster=True,
        afterwards=webhooks.afterwards,
        tls=given.tls,
    )


def secured_of(webhooks: WebhookOptions, context: ProcessContext, kept: Certificates | None = None) -> Secured:
    """`kept` is what a part keeps for all webhooks of the process; None: the options say what is served."""
    injector = _injector(webhooks, context)
    if kept is not None:
        return Secured(webhooks.port, kept, injector, webhooks.host)
    if webhooks.certificate_file:
        files = CertificateFiles(Path(webhooks.certificate_file), Path(webhooks.key_file))
        followed = FromFiles(files, context.log, follows=webhooks.renews)
        return Secured(webhooks.port, followed, injector, webhooks.host)
    if webhooks.authority is not None:
        return Secured(webhooks.port, _kept(webhooks.authority, webhooks, injector, context), host=webhooks.host)
    injects = webhooks.injects
    made = SelfSigned(_stored(webhooks, context), injector if injects else None, context.log, renews=webhooks.renews)
    return Secured(webhooks.port, made, None if injects else injector, webhooks.host)


def _injector(webhooks: WebhookOptions, context: ProcessContext) -> Injector | None:
    """None where no contract has configurations that want the authority."""
    served = trust_scope(context.options, context.home)
    if served is None:
        return None
    client, log = context.client, context.log
    caches = Caches(client, lambda selection, _: WatchTroubles(selection.resource, "", log))
    injector = Injector(client, served, log, caches, keeps=webhooks.renews)
    context.metrics.show_policies(lambda: policies(injector.entries()))
    return injector


def _kept(
    authority: KeptAuthority, webhooks: WebhookOptions, injector: Injector | None, context: ProcessContext
) -> FromKeptAuthority:
    home = place_of(context.options, context.home)
    secret = Ref(SECRETS, home, webhooks.secret)
    name = webhooks.dns_name or f"{context.options.process}.{home}.svc"
    client, log = context.client, context.log
    caches = Caches(client, lambda selection, _: WatchTroubles(selection.resource, home, log))
    stored = AuthoritySecret(client, secret, authority, name, log)
    return FromKeptAuthority(stored, injector if webhooks.injects else None, caches, log)


def _stored(webhooks: WebhookOptions, context: ProcessContext) -> StoredCertificate:
    home = place_of(context.options, context.home)
    name = webhooks.dns_name or f"{context.options.process}.{home}.svc"
    lifetime = timedelta(seconds=webhooks.lifetime)
    wanted = CertificateRequest(name, webhooks.organisation, lifetime, context.options.process)
    secret = Ref(SECRETS, home, webhooks.secret)
    return StoredCertificate(context.client, secret, wanted, context.log, labels=labels_of(context.options))
