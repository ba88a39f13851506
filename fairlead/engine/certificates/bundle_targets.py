"""All by which API servers learn whom to trust when they call this operator, as watches show it.

Those are the definitions that name the Service in their conversion, and the webhook configurations that ask for the
authority. Every replica looks, because none shows a certificate that is not trusted everywhere; the leader writes.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct, field

from fairlead.engine.certificates import pairs
from fairlead.engine.certificates.pairs import Pair
from fairlead.engine.certificates.secret_facts import certificates_in
from fairlead.engine.decide.bundles import BundleTarget, Certificate, Place
from fairlead.engine.decide.ca_injection import TrustScope
from fairlead.engine.decide.registration import DEFINITIONS, INJECTED
from kubeloop import clock
from kubeloop.caches import Caches
from kubeloop.informer import Change, Informer
from kubeloop.objects.admissionregistration import MUTATING, VALIDATING, WebhookConfiguration
from kubeloop.objects.meta import Meta, Ref

ALWAYS = datetime(1, 1, 1, tzinfo=UTC)
"""Since when what nobody disputes is so."""
CONVERSION = "/spec/conversion/webhook/clientConfig"
KEEPERS = tuple(f"cert-manager.io/{each}" for each in INJECTED)


class _Service(Struct, frozen=True):
    name: str = ""
    namespace: str = ""
    port: int = 443


class _ClientConfig(Struct, frozen=True, rename="camel"):
    service: _Service | None = None
    ca_bundle: str = ""


class _Webhook(Struct, frozen=True, rename="camel"):
    client_config: _ClientConfig = field(default=_ClientConfig())


class _Conversion(Struct, frozen=True):
    strategy: str = ""
    webhook: _Webhook | None = None


class _Spec(Struct, frozen=True):
    conversion: _Conversion = _Conversion()


class _Meta(Meta, frozen=True, rename="camel"):
    annotations: dict[str, str] = {}


class ConvertedDefinition(Struct, frozen=True):
    """A definition, as far as its conversion goes."""

    metadata: _Meta
    spec: _Spec = _Spec()

    def bundle_for(self, service: str, namespace: str, port: int) -> str | None:
        """Its `caBundle`; None where this port of the Service does not convert it."""
        conversion = self.spec.conversion
        if conversion.strategy != "Webhook" or conversion.webhook is None:
            return None
        config = conversion.webhook.client_config
        return config.ca_bundle if config.service == _Service(service, namespace, port) else None


class BundleTargets:
    """Of one port of a Service: behind another of its ports somebody else may serve, with another certificate.

    `scope` says which webhook configurations count, None that none do.
    """

    def __init__(
        self, caches: Caches, service: str, namespace: str, port: int, scope: TrustScope | None = None
    ) -> None:
        self._service, self._namespace, self._port, self._scope = service, namespace, port, scope
        self._definitions = caches.informer(
            DEFINITIONS, ConvertedDefinition, annotations=frozenset(KEEPERS), optional=True, apart=True
        )
        self._configurations: dict[Any, Informer[WebhookConfiguration]] = {}
        if scope is not None:
            labels = scope.selector
            self._configurations = {
                resource: caches.informer(resource, WebhookConfiguration, labels=labels, optional=True)
                for resource in (VALIDATING, MUTATING)
            }
        self._everywhere: dict[str, clock.Moment] = {}
        """PEM of authorities that all bundles hold, and since when."""
        self._handlers: list[Callable[[], None]] = []
        for each in self.informers:
            each.subscribe(self._changed)

    @property
    def informers(self) -> tuple[Informer[Any], ...]:
        return (self._definitions, *self._configurations.values())

    @property
    def is_known(self) -> bool:
        """Whether all of them have been seen once, or cannot be."""
        return all(each.settled.is_set() for each in self.informers)

    def subscribe(self, handler: Callable[[], None]) -> None:
        """Called after every change of what counts here."""
        self._handlers.append(handler)

    def targets(self) -> tuple[BundleTarget, ...]:
        return tuple(sorted(self._found(), key=lambda each: (each.ref.resource.plural, each.ref.name)))

    def trusts(self, pair: Pair) -> bool:
        """Whether every bundle trusts the pair; one that is still empty trusts nobody, and is written by the leader."""
        held = {place.held for target in self._found() for place in target.places if place.held}
        return all(pairs.is_trusted(pair.certificate, _pem(each)) for each in held)

    def trusted_since(self, pair: Pair) -> datetime | None:
        """Since when all bundles hold an authority of the pair; None: they do not."""
        self._look()
        if not self._everywhere:
            return ALWAYS if self.trusts(pair) else None
        found = [
            since.at for pem, since in self._everywhere.items() if pairs.is_trusted(pair.certificate, pem.encode())
        ]
        return min(found, default=None)

    def held_since(self, authority: Certificate | None) -> datetime | None:
        """Since when all bundles hold this one."""
        self._look()
        since = None if authority is None else self._everywhere.get(authority.pem)
        return None if since is None else since.at

    def _found(self) -> Iterator[BundleTarget]:
        for definition in self._definitions.store.items():
            bundle = definition.bundle_for(self._service, self._namespace, self._port)
            if bundle is not None and definition.metadata.deletion_timestamp is None:
                meta = definition.metadata
                keeper = next((each for each in KEEPERS if each in meta.annotations), "")
                ref = Ref(DEFINITIONS, "", meta.name)
                yield BundleTarget(ref, meta.resource_version, (Place(CONVERSION, _held(bundle)),), keeper)
        for resource, informer in self._configurations.items():
            for found in informer.store.items():
                if places := self._places(found):
                    yield BundleTarget(Ref(resource, "", found.metadata.name), found.metadata.resource_version, places)

    def _places(self, found: WebhookConfiguration) -> tuple[Place, ...]:
        scope = self._scope
        if scope is None:
            return ()
        return tuple(
            Place(f"/webhooks/{at}/clientConfig", _held(entry.client_config.ca_bundle), entry.name, f"/webhooks/{at}")
            for at, entry in enumerate(found.webhooks)
            if scope.wants(found, entry)
        )

    def _look(self) -> None:
        """Notes since when authorities are held everywhere."""
        held = [each.held for each in self._found()]
        common = frozenset.intersection(*held) if held else frozenset()
        now = clock.Moment()  # of the first look as well: whoever wrote it may have done so a moment ago
        self._everywhere = {pem: self._everywhere.get(pem, now) for pem in sorted(common)}

    def _changed(self, _: Change[Any]) -> None:
        self._look()
        for handler in self._handlers:
            handler()


def _held(bundle: str) -> tuple[Certificate, ...]:
    try:
        return certificates_in(b64decode(bundle))
    except ValueError:
        return ()


def _pem(held: tuple[Certificate, ...]) -> bytes:
    return "".join(each.pem for each in held).encode()
