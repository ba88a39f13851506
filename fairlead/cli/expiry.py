"""When the certificate of a server expired, which the failed handshake does not say."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from urllib.parse import urlsplit

EXPIRED = 10
"""OpenSSL's code for it."""
SECONDS = 2.0


def expired(error: BaseException | None, server: str) -> str:
    """A sentence if that is behind the error, else empty; asks the server for its certificate once more."""
    while error is not None:
        inner = getattr(error, "certificate_error", error)
        if isinstance(inner, ssl.SSLCertVerificationError) and inner.verify_code == EXPIRED:
            return _sentence(server)
        error = error.__cause__
    return ""


def _sentence(server: str) -> str:
    ended = _end(server)
    if ended is None:
        return f"a certificate of {server} has expired: renew it"
    if ended > datetime.now(UTC):
        return f"the certificate authority of {server} has expired: renew it"
    return f"the certificate of {server} expired at {ended:%Y-%m-%dT%H:%M:%SZ}: renew it"


def _end(server: str) -> datetime | None:
    from cryptography.x509 import load_pem_x509_certificate

    try:
        place = urlsplit(server)
        shown = ssl.get_server_certificate((place.hostname or "", place.port or 443), timeout=SECONDS)
        return load_pem_x509_certificate(shown.encode()).not_valid_after_utc
    except (OSError, ValueError):
        return None
