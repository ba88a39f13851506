"""Names that are fairlead's own, on objects of any kind: their domain, and what tells those of one CRD apart."""

from __future__ import annotations

from hashlib import sha256

DOMAIN = "fairlead.dev"


def short_hash(crd: str) -> str:
    """What tells names of objects that belong to a CRD apart."""
    return sha256(crd.encode()).hexdigest()[:10]
