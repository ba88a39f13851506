"""Addresses: as they may be shown, and whose they are."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from msgspec import Struct

_BEFORE_HOST = re.compile(r"^((?:[A-Za-z][A-Za-z0-9+.-]*:)?//)?[^/]*@")


def shown_url(text: str) -> str:
    """The address without user, password, query and fragment, which are nobody's business in a log; never raises.

    `https://me:secret@pod:80/path?token=x` is `https://pod:80/path`.
    """
    return _BEFORE_HOST.sub(lambda found: found[1] or "", re.split("[?#]", text, maxsplit=1)[0])


class Origin(Struct, frozen=True):
    """Who answers at an address; what is secret to one is for no other."""

    scheme: str
    host: str
    port: int | None
    """None where the address has none and its scheme has no usual one."""


_USUAL = {"http": 80, "https": 443}


def origin_of(url: str) -> Origin:
    """`https://me@Pod.ns.:443/path` and `https://pod.ns/` have the same; raises ValueError for what is no address."""
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    port = _USUAL.get(scheme) if parts.port is None else parts.port
    return Origin(scheme, (parts.hostname or "").rstrip("."), port)
