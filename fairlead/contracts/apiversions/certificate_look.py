"""A look at the certificate of an operator's webhooks from outside: its Secret, and who names a Service beside it."""

from __future__ import annotations

from base64 import b64decode

import msgspec
from msgspec import Raw, Struct

from fairlead.contracts.apiversions.decide.certificate_report import CertificateReport, report
from fairlead.core.ask import Good
from fairlead.engine.certificates import pairs
from fairlead.engine.certificates.bundle_targets import CONVERSION, KEEPERS, ConvertedDefinition
from fairlead.engine.certificates.pairs import Pair
from fairlead.engine.certificates.secret_facts import certificates_in, stored_of
from fairlead.engine.certificates.whole_secret import read_secret
from fairlead.engine.command import Precondition
from fairlead.engine.decide.bundles import BundleTarget, Place
from fairlead.engine.decide.registration import DEFINITIONS
from fairlead.engine.decide.rotation_snapshot import KEY, LEAF, StoredSecret
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.errors import Forbidden
from kubeloop.objects.admissionregistration import MUTATING, VALIDATING, WebhookConfiguration
from kubeloop.objects.meta import Ref
from kubeloop.sealing import seal


class CertificateLook(Struct, frozen=True):
    stored: StoredSecret
    names: tuple[str, ...]
    """Of the certificate."""


async def stored_certificate(client: Client, secret: Ref) -> CertificateLook:
    """What the Secret holds; raises Precondition where there is none."""
    found = await read_secret(client, secret)
    if found is None:
        raise Precondition(
            f"there is no Secret {secret.name} in namespace {secret.namespace}:"
            " name the operator's namespace with -n, or the Secret with --secret"
        )
    facts = pairs.inspected(Pair(found.data.get(LEAF, b""), found.data.get(KEY, b"")))
    # Whether the names are the right ones is asked of whoever calls, by the Service that each names.
    name = next(iter(facts.names), "")
    version = _version(found.fields["metadata"])
    answer = Good(version=version, sealed=tuple((key, seal(value)) for key, value in found.data.items()))
    return CertificateLook(stored_of(answer, name, clock.now()), facts.names)


async def look(client: Client, secret: Ref) -> CertificateReport:
    """The whole report; what may not be listed trusts nobody as far as anybody knows."""
    seen = await stored_certificate(client, secret)
    targets = [*await _definitions(client, secret.namespace), *await _configurations(client, secret.namespace)]
    return report(f"{secret.namespace}/{secret.name}", seen.stored, seen.names, targets, clock.now())


async def _definitions(client: Client, namespace: str) -> list[BundleTarget]:
    try:
        listed = await client.list(DEFINITIONS, ConvertedDefinition)
    except Forbidden:
        return []
    made = []
    for each in listed.items:
        webhook = each.spec.conversion.webhook
        service = None if webhook is None else webhook.client_config.service
        if webhook is None or service is None or service.namespace != namespace:
            continue
        meta = each.metadata
        keeper = next((one for one in KEEPERS if one in meta.annotations), "")
        place = Place(CONVERSION, certificates_in(_decoded(webhook.client_config.ca_bundle)))
        made.append(BundleTarget(Ref(DEFINITIONS, "", meta.name), meta.resource_version, (place,), keeper))
    return made


async def _configurations(client: Client, namespace: str) -> list[BundleTarget]:
    made = []
    for resource in (VALIDATING, MUTATING):
        try:
            listed = await client.list(resource, WebhookConfiguration)
        except Forbidden:
            continue
        for each in listed.items:
            places = tuple(
                Place("", certificates_in(_decoded(entry.client_config.ca_bundle)), entry.name)
                for entry in each.webhooks
                if entry.client_config.service is not None and entry.client_config.service.namespace == namespace
            )
            if places:
                made.append(BundleTarget(Ref(resource, "", each.metadata.name), each.metadata.resource_version, places))
    return made


def _decoded(bundle: str) -> bytes:
    try:
        return b64decode(bundle)
    except ValueError:
        return b""


class _Meta(Struct, frozen=True, rename="camel"):
    resource_version: str = ""


_META = msgspec.json.Decoder(_Meta)


def _version(metadata: Raw) -> str:
    return _META.decode(metadata).resource_version
