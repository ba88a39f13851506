"""Webhook configurations as they are read: which requests they are about, and where their webhooks are reached."""

from __future__ import annotations

import base64

import msgspec
from msgspec import Struct

from kubeloop.objects.meta import LabelSelector, Resource
from kubesim.store.versions import Version


class Condition(Struct, frozen=True):
    """An expression by its name."""

    name: str
    expression: str


VERSIONS = ("v1", "v1beta1")


class WebhookRule(Struct, frozen=True, rename="camel"):
    operations: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    api_versions: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    scope: str = "*"
    resource_names: tuple[str, ...] = ()
    """Only of policies; none means all."""

    def matches(self, operation: str, resource: Resource, subresource: str, namespace: str) -> bool:
        """Whether the rule is about such a request; requests for a namespace are not namespaced."""
        inside = bool(namespace) and resource.plural != "namespaces"
        return (
            self.scope in ("*", "Namespaced" if inside else "Cluster")
            and _listed(self.operations, operation)
            and _listed(self.api_groups, resource.group)
            and _listed(self.api_versions, resource.version)
            and any(_names(each, resource.plural, subresource) for each in self.resources)
        )

    def mentions(self, operation: str, plural: str, subresource: str) -> bool:
        """Whether the rule is about such a request for some group and version."""
        return _listed(self.operations, operation) and any(_names(each, plural, subresource) for each in self.resources)

    def names(self, name: str) -> bool:
        """Whether the rule is about an object of that name."""
        return not self.resource_names or name in self.resource_names


def _listed(items: tuple[str, ...], wanted: str) -> bool:
    return "*" in items or wanted in items


def _names(pattern: str, plural: str, subresource: str) -> bool:
    resource, _, part = pattern.partition("/")
    return resource in ("*", plural) and part in ("*", subresource)


class Service(Struct, frozen=True):
    name: str
    namespace: str
    path: str = ""
    port: int = 443


class ClientConfig(Struct, frozen=True, rename="camel"):
    url: str = ""
    service: Service | None = None
    ca_bundle: str = ""

    @property
    def address(self) -> str:
        """Where the webhook is reached."""
        if self.service is None:
            return self.url
        path = self.service.path if self.service.path.startswith("/") else f"/{self.service.path}"
        return f"https://{self.service.name}.{self.service.namespace}.svc:{self.service.port}{path}"

    @property
    def authority(self) -> bytes:
        """The certificates to trust, as PEM."""
        return base64.b64decode(self.ca_bundle)


class Hook(Struct, frozen=True, rename="camel"):
    """One entry of a configuration, its defaults filled in."""

    name: str
    client_config: ClientConfig
    side_effects: str
    admission_review_versions: tuple[str, ...]
    failure_policy: str
    match_policy: str
    timeout_seconds: int
    rules: tuple[WebhookRule, ...] = ()
    namespace_selector: LabelSelector = LabelSelector()
    object_selector: LabelSelector = LabelSelector()
    reinvocation_policy: str = "Never"
    match_conditions: tuple[Condition, ...] = ()


class _Configuration(Struct, frozen=True):
    webhooks: tuple[Hook, ...] = ()


def hooks_of(configuration: Version) -> tuple[Hook, ...]:
    return msgspec.json.decode(configuration.body, type=_Configuration).webhooks
