"""UUIDs as texts: what the API server takes for one, in the one form that texts are compared in."""

from __future__ import annotations

import re
from hashlib import sha1

OID = bytes.fromhex("6ba7b8129dad11d180b400c04fd430c8")
"""The name space of object identifiers."""

_PARTS = re.compile(r"([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})", re.ASCII)


def parse(text: object) -> str | None:
    """Lower-case with hyphens; None for what `format: uuid` refuses.

    Like the API server it takes any case, and each hyphen may be missing.
    """
    found = _PARTS.fullmatch(text.lower()) if isinstance(text, str) and text.isascii() else None
    return None if found is None else "-".join(found.groups())


def uuid5(name: str, space: bytes = OID) -> str:
    """Always the same UUID for the same name."""
    digest = bytearray(sha1(space + name.encode(), usedforsecurity=False).digest()[:16])
    digest[6] = digest[6] & 0x0F | 0x50  # version 5
    digest[8] = digest[8] & 0x3F | 0x80  # the variant of RFC 9562
    text = digest.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
