"""Certificates of a control plane."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

from kubesim.pki import Authority, Pair


def test_client_trusts_the_servers_of_its_authority_under_each_of_their_names(tmp_path: Path) -> None:
    authority = Authority()
    server = authority.server(("127.0.0.1", "localhost"))

    shaken = [shake_hands(tmp_path, authority.certificate, server, name) for name in ("127.0.0.1", "localhost")]

    assert shaken == ["127.0.0.1", "localhost"]


@pytest.mark.parametrize("name", ["127.0.0.2", "example.com"])
def test_server_under_another_name_is_refused(name: str, tmp_path: Path) -> None:
    authority = Authority()
    server = authority.server(("127.0.0.1", "localhost"))

    with pytest.raises(ssl.SSLCertVerificationError, match="mismatch"):
        shake_hands(tmp_path, authority.certificate, server, name)


def test_server_of_another_authority_is_refused(tmp_path: Path) -> None:
    server = Authority().server(("localhost",))

    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(tmp_path, Authority().certificate, server, "localhost")


def test_user_and_groups_are_common_name_and_organizations() -> None:
    pair = Authority().client("ana", ("testers", "readers"))

    subject = x509.load_pem_x509_certificate(pair.certificate).subject
    assert values(subject, NameOID.COMMON_NAME) == ["ana"]
    assert values(subject, NameOID.ORGANIZATION_NAME) == ["testers", "readers"]


def shake_hands(folder: Path, ca: bytes, pair: Pair, name: str) -> str:
    """A TLS handshake over a socket pair, fed by hand; the name that was agreed on."""
    (folder / "server.crt").write_bytes(pair.certificate)
    (folder / "server.key").write_bytes(pair.key)
    listening = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    listening.load_cert_chain(folder / "server.crt", folder / "server.key")
    calling = ssl.create_default_context(cadata=ca.decode())
    ours, theirs = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = calling.wrap_bio(ours, theirs, server_hostname=name)
    server = listening.wrap_bio(theirs, ours, server_side=True)
    pending: Sequence[ssl.SSLObject] = (client, server)
    while pending:
        pending = [side for side in pending if not finished(side)]
    return name


def finished(side: ssl.SSLObject) -> bool:
    try:
        side.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True


def values(subject: x509.Name, kind: x509.ObjectIdentifier) -> list[str | bytes]:
    return [attribute.value for attribute in subject.get_attributes_for_oid(kind)]
