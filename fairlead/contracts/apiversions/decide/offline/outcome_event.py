"""The Event about a CRD that tells how an offline upgrade has ended."""

from __future__ import annotations

from hashlib import sha256

import msgspec

from fairlead.contracts.apiversions.decide.offline.step_context import StepContext
from fairlead.contracts.apiversions.decide.offline.upgrade_journal import MANAGER, UpgradePhase
from fairlead.core.act import Create, Does
from fairlead.core.domain import DOMAIN
from fairlead.engine.decide.registration import DEFINITIONS
from kubeloop.objects.core import EVENTS

NAMESPACE = "default"
"""Of Events about what has no namespace."""


def event_of(context: StepContext, phase: UpgradePhase) -> Create:
    """One for each upgrade and its end, however often it is told."""
    journal = context.journal
    begun = "" if journal.introduced_at is None else journal.introduced_at.isoformat()
    mark = sha256(f"{journal.uid} {begun} {phase.value}".encode()).hexdigest()[:16]
    text, reason = f"every object is in {journal.new}", "OfflineUpgradeSucceeded"
    if phase is UpgradePhase.ROLLED_BACK:
        text = journal.lost or f"every object is in {journal.old} as it was"
        reason = "OfflineUpgradeRolledBack"
    name = f"{journal.crd}.{mark}"
    tree = {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "eventTime": context.now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "reportingController": f"{DOMAIN}/{MANAGER}",
        "reportingInstance": MANAGER,
        "action": "OfflineUpgrade",
        "reason": reason,
        "regarding": {
            "apiVersion": DEFINITIONS.api_version,
            "kind": DEFINITIONS.kind,
            "name": journal.crd,
            "uid": journal.uid,
        },
        "note": text,
        "type": "Normal",
    }
    body = msgspec.json.encode(tree)
    return Create(resource=EVENTS, namespace=NAMESPACE, name=name, body=body, does=Does.TELL_OUTCOME, optional=True)
