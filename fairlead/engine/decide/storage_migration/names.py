"""What the objects of a migration are called: its journal, which offline upgrades keep as well, and its Lease."""

from __future__ import annotations

from fairlead.core.domain import DOMAIN, short_hash

JOURNAL = "journal"
"""The entry of the ConfigMap."""
JOURNAL_LABEL = f"{DOMAIN}/journal"
"""Exactly `true` on ConfigMaps in which migrations and offline upgrades keep where they are."""
JOURNAL_LABELS = {"app.kubernetes.io/managed-by": "fairlead", JOURNAL_LABEL: "true"}


def migration_name(crd: str) -> str:
    """Of the journal's ConfigMap, and of the Lease that excludes two runs."""
    return f"fairlead-migration-{short_hash(crd)}"


def journal_entry(crd: str) -> str:
    """The record that the journal is."""
    return f"{migration_name(crd)}/{JOURNAL}"
