"""Environments: generations of an environment, promoted one after the other when the hash of its spec changes."""

from __future__ import annotations

from fairlead.contracts.environments.kinds import GROUP, LEASE, OWN_LABELS
from fairlead.engine.contract import Contract

CONTRACT = Contract(
    name="environments",
    about="generations of Materialize environments",
    lease=LEASE,
    labels=OWN_LABELS,
    groups=frozenset({GROUP}),
)
