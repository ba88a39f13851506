"""Certificates of one test authority, for servers and clients on the loopback."""

from __future__ import annotations

import ssl
from functools import cache
from pathlib import Path

from kubesim.pki import Authority, Pair


@cache
def authority() -> Authority:
    return Authority()


@cache
def signed(user: str) -> Pair:
    """What a client shows."""
    return authority().client(user)


def ca() -> bytes:
    return authority().certificate


def server_context(folder: Path, *names: str, ask_client: bool = False) -> ssl.SSLContext:
    pair = authority().server(names)
    path = folder / "server.pem"
    path.write_bytes(pair.certificate + pair.key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=ca().decode())
    context.load_cert_chain(path)
    if ask_client:
        context.verify_mode = ssl.CERT_REQUIRED
    return context
