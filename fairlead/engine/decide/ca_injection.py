"""Which webhook configurations get the certificate authority, and the smallest patch that gives it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable

import msgspec
from msgspec import Struct

from fairlead.core.act import Does, Patch, PatchKind
from kubeloop.objects.admissionregistration import Entry, WebhookConfiguration
from kubeloop.objects.meta import Ref, Resource


class TrustLabels(Struct, frozen=True):
    """By which labels a webhook configuration asks for the authority of the certificate of webhooks."""

    wish: str
    """Exactly `true`: it is to have it."""
    namespace: str
    """Which operator it asks, by its namespace."""


class TrustScope(Struct, frozen=True):
    """Whose webhooks an operator answers."""

    labels: TrustLabels
    namespaces: tuple[str, ...]
    """Empty: all of the cluster."""
    home: str = ""
    """Where the operator itself is, which counts when all are served."""

    def wants(self, found: WebhookConfiguration, entry: Entry) -> bool:
        """Whether the entry is to trust this operator.

        The label names an operator by its namespace. One that serves all namespaces is named by none of them, and
        others may serve some of them: it takes what calls a Service of its own namespace, or names that namespace.
        """
        labels, namespace = found.metadata.labels, self.labels.namespace
        if labels.get(self.labels.wish) != "true" or namespace not in labels:
            return False
        if self.namespaces:
            return labels[namespace] in self.namespaces
        service = entry.client_config.service
        return self.home == (labels[namespace] if service is None else service.namespace)


def injected(
    found: WebhookConfiguration,
    resource: Resource,
    authority: bytes,
    served: TrustScope,
    bundle_of: Callable[[str], str] | None = None,
) -> Patch | None:
    """Every entry that wants the bundle gets it; None when it is everywhere.

    `bundle_of` says, from the bundle of an entry, which one it is to have; without it that is the authority alone.

    Only the bundles are touched, and each entry is tested to be the one that was seen, so that a change of
    somebody else in the meantime makes the patch fail instead of being undone.
    """
    alone = b64encode(authority).decode()
    steps = []
    for place, entry in enumerate(found.webhooks):
        if not served.wants(found, entry):
            continue
        held = entry.client_config.ca_bundle
        bundle = alone if bundle_of is None else bundle_of(held)
        if held != bundle:
            at = f"/webhooks/{place}"
            steps.append({"op": "test", "path": f"{at}/name", "value": entry.name})
            steps.append({"op": "add", "path": f"{at}/clientConfig/caBundle", "value": bundle})
    if not steps:
        return None
    return Patch(
        ref=Ref(resource, "", found.metadata.name, found.metadata.uid),
        does=Does.INJECT_CA,
        kind=PatchKind.JSON,
        body=msgspec.json.encode([{"op": "test", "path": "/metadata/uid", "value": found.metadata.uid}, *steps]),
        change_to=f"{len(steps) // 2} of {len(found.webhooks)} entries",
    )
