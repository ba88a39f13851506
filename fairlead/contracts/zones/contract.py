"""Zones: StatefulSets that are spread over availability zones, rolled without ever disturbing two zones at once."""

from __future__ import annotations

from fairlead.contracts.zones.kinds import API_GROUP, INJECT_CA, NAMESPACE, OWN_LABELS
from fairlead.engine.contract import Contract, TrustLabels

CONTRACT = Contract(
    name="zones",
    about="groups of StatefulSets over zones",
    labels=OWN_LABELS,
    groups=frozenset({API_GROUP}),
    trust=TrustLabels(INJECT_CA, NAMESPACE),
)
