"""A TLS handshake, to see which certificate is served at an address: nothing is sent over it and nobody is trusted."""

from __future__ import annotations

import asyncio
import ssl

from kubeloop.calls import NoReply


async def served_leaf(host: str, port: int, server_name: str = "") -> bytes:
    """PEM of the certificate itself, without those that vouch for it; raises NoReply.

    `server_name` is asked for instead of the host: a server may show each name another certificate.
    """
    shown = f"{host}:{port}"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        _, writer = await asyncio.open_connection(host, port, ssl=context, server_hostname=server_name or host)
    except ssl.SSLError as error:
        raise NoReply(f"{shown}: no TLS handshake ({error.reason or error})") from None
    except (OSError, ValueError) as error:
        raise NoReply(f"{shown}: cannot be reached ({error})") from None
    try:
        shaken: ssl.SSLObject = writer.get_extra_info("ssl_object")
        found = shaken.getpeercert(binary_form=True)
    finally:
        transport = writer.transport
        transport.abort()
    if found is None:
        raise NoReply(f"{shown}: shows no certificate")
    return ssl.DER_cert_to_PEM_cert(found).encode()
