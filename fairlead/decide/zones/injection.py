"""Section 3.14: which webhook configurations get the certificate authority, and the smallest patch that gives it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Collection

import msgspec

from fairlead.api.admissionregistration import WebhookConfiguration
from fairlead.api.meta import Ref, Resource
from fairlead.api.zones import INJECT_CA, NAMESPACE
from fairlead.decide.act import Does, Patch, PatchKind


def is_ours(found: WebhookConfiguration, namespaces: Collection[str]) -> bool:
    """Whether it wants the bundle of the operator of one of these namespaces; none named means all."""
    labels = found.metadata.labels
    if labels.get(INJECT_CA) != "true" or NAMESPACE not in labels:
        return False
    return not namespaces or labels[NAMESPACE] in namespaces


def injected(
    found: WebhookConfiguration, resource: Resource, authority: bytes, bundle_of: Callable[[str], str] | None = None
) -> Patch | None:
    """Rule 47: every entry gets the bundle; None when every entry has it.

    `bundle_of` says, from the bundle of an entry, which one it is to have; without it that is the authority alone.

    Rule 48: only the bundles are touched, and each entry is tested to be the one that was seen, so that a change of
    somebody else in the meantime makes the patch fail instead of being undone.
    """
    alone = b64encode(authority).decode()
    steps = []
    for place, entry in enumerate(found.webhooks):
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
