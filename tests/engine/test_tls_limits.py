"""Which TLS a server speaks."""

from __future__ import annotations

import ssl

from fairlead.engine.serving.tls_limits import TlsLimits


def test_what_is_left_open_is_as_usual() -> None:
    context, usual = (ssl.create_default_context(ssl.Purpose.CLIENT_AUTH) for _ in range(2))

    TlsLimits().apply(context)

    assert context.minimum_version == usual.minimum_version
    assert context.get_ciphers() == usual.get_ciphers()


def test_nothing_below_the_newest_is_spoken_where_that_is_asked_for() -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)

    TlsLimits(only_newest=True).apply(context)

    assert context.minimum_version == ssl.TLSVersion.TLSv1_3


def test_only_the_named_ciphers_are_offered_below_the_newest() -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)

    TlsLimits(ciphers=("ECDHE-RSA-AES128-GCM-SHA256",)).apply(context)

    older = [each["name"] for each in context.get_ciphers() if each["protocol"] != "TLSv1.3"]
    assert older == ["ECDHE-RSA-AES128-GCM-SHA256"]
