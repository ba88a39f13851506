"""What keeps certificates from being served; apart from what works with them, which takes memory to import."""

from __future__ import annotations


class CertificateTrouble(Exception):
    """There is no certificate to serve; the text says what to do."""
