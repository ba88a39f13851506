"""Which TLS a server speaks."""

from __future__ import annotations

import ssl

from msgspec import Struct


class TlsLimits(Struct, frozen=True):
    """What is left open is as Python and OpenSSL have it."""

    only_newest: bool = False
    """Whether nothing below TLS 1.3 is spoken."""
    ciphers: tuple[str, ...] = ()
    """Of TLS 1.2, by the names of OpenSSL; empty: as usual."""

    def apply(self, context: ssl.SSLContext) -> None:
        if self.only_newest:
            context.minimum_version = ssl.TLSVersion.TLSv1_3
        if self.ciphers:
            context.set_ciphers(":".join(self.ciphers))


USUAL_TLS = TlsLimits()
