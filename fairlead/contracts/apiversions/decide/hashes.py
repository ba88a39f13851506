"""The short name of a definition in the names of what goes with it (section 2.5)."""

from __future__ import annotations

import hashlib

DIGITS = 10


def short_hash(crd: str) -> str:
    return hashlib.sha256(crd.encode()).hexdigest()[:DIGITS]


def kept_rules_name(crd: str) -> str:
    """Of the ConfigMap with the text of its last good rule set."""
    return f"fairlead-rules-{short_hash(crd)}"
