"""The admissionregistration group: webhook configurations, as far as their trust and their failure policy go."""

from __future__ import annotations

from msgspec import Struct

from kubeloop.objects.meta import Meta, Resource

_GROUP = "admissionregistration.k8s.io"
VALIDATING = Resource(
    _GROUP, "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", namespaced=False
)
MUTATING = Resource(_GROUP, "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", namespaced=False)


class Service(Struct, frozen=True):
    namespace: str = ""


class ClientConfig(Struct, frozen=True, rename="camel"):
    ca_bundle: str = ""
    service: Service | None = None
    """None: the webhook is called by a URL."""


class WebhookEntry(Struct, frozen=True, rename="camel"):
    name: str
    client_config: ClientConfig = ClientConfig()
    failure_policy: str = ""
    """Empty counts as Fail."""


class WebhookConfiguration(Struct, frozen=True):
    metadata: Meta
    webhooks: tuple[WebhookEntry, ...] = ()
