"""The transport verifies servers and shows client certificates, over real TLS."""

from __future__ import annotations

import asyncio
import ssl
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from kubeloop.errors import TransportError
from kubeloop.http_transport import HttpTransport
from kubeloop.kubeconfig import ClusterConfig
from tests.kubeloop.certificates import ca, server_context, signed
from tests.kubeloop.serving import GET, HERE, answered, ok, refused, sent, serving


def test_the_server_is_verified_by_the_authority_as_data_or_file(tmp_path: Path) -> None:
    context = server_context(tmp_path, "127.0.0.1")
    (tmp_path / "ca.crt").write_bytes(ca())

    [by_data] = sent(ClusterConfig(server="", ca=ca()), context=context)
    [by_file] = sent(ClusterConfig(server="", ca_file=str(tmp_path / "ca.crt")), context=context)

    assert by_data.status == by_file.status == 200


def test_a_certificate_that_is_not_trusted_has_a_sentence_of_its_own(tmp_path: Path) -> None:
    unknown = refused(HERE, context=server_context(tmp_path, "127.0.0.1"))
    other_name = refused(ClusterConfig(server="", ca=ca()), context=server_context(tmp_path, "api.test"))

    for text in (unknown, other_name):
        assert text.startswith("the certificate of https://127.0.0.1:")
        assert "check certificate-authority, tls-server-name and the server's address" in text
    assert "self-signed certificate" in unknown
    assert "IP address mismatch" in other_name


def test_the_name_to_verify_may_differ_from_the_address(tmp_path: Path) -> None:
    context = server_context(tmp_path, "api.test")

    [response] = sent(ClusterConfig(server="", ca=ca(), tls_server_name="api.test"), context=context)

    assert response.status == 200


def test_verification_can_be_turned_off(tmp_path: Path) -> None:
    [response] = sent(ClusterConfig(server="", insecure=True), context=server_context(tmp_path, "api.test"))

    assert response.status == 200


def test_an_authority_that_changed_is_read_again_after_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "ca.crt"
    path.write_bytes(signed("someone else").certificate)

    async def scenario() -> int:
        async with serving(ok, server_context(tmp_path, "127.0.0.1")) as address:
            transport = HttpTransport(ClusterConfig(server=address, ca_file=str(path)))
            with pytest.raises(TransportError, match="is not trusted"):
                await transport.send(GET)
            path.write_bytes(ca())
            response = await transport.send(GET)
            await transport.close()
            return response.status

    assert asyncio.run(scenario()) == 200


def test_a_client_certificate_is_shown_and_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = server_context(tmp_path, "127.0.0.1", ask_client=True)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    modes: list[int] = []
    load = ssl.SSLContext.load_cert_chain

    def watched(self: ssl.SSLContext, path: str, **more: object) -> None:
        modes.append(Path(path).stat().st_mode & 0o777)
        load(self, path, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", watched)
    pair = signed("jane")

    [response] = sent(ClusterConfig(server="", ca=ca(), certificate=pair.certificate, key=pair.key), context=context)

    assert answered(response)["peer"] == "jane"
    assert modes == [0o600]
    assert list(scratch.iterdir()) == []


def test_a_client_certificate_needs_no_folder_that_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container's root file system may be read-only, and nothing is mounted where temporary files go."""
    context = server_context(tmp_path, "127.0.0.1", ask_client=True)
    pair = signed("jane")
    config = ClusterConfig(server="", ca=ca(), certificate=pair.certificate, key=pair.key)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))

    [response] = sent(config, context=context)

    assert answered(response)["peer"] == "jane"


def test_a_pair_that_is_read_while_it_is_written_leaves_the_one_before_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubeloop.auth.FILES_LAST", 0.0)
    certificate, key = tmp_path / "crt", tmp_path / "key"
    jane, joe = signed("jane"), signed("joe")

    async def scenario() -> list[str]:
        async with serving(ok, server_context(tmp_path, "127.0.0.1", ask_client=True)) as address:
            certificate.write_bytes(jane.certificate)
            key.write_bytes(jane.key)
            config = ClusterConfig(server=address, ca=ca(), certificate_file=str(certificate), key_file=str(key))
            transport = HttpTransport(config)
            seen = [answered(await transport.send(GET))["peer"]]
            certificate.write_bytes(joe.certificate)
            seen.append(answered(await transport.send(GET))["peer"])
            key.write_bytes(joe.key)
            seen.append(answered(await transport.send(GET))["peer"])
            await transport.close()
            return seen

    assert asyncio.run(scenario()) == ["jane", "jane", "joe"]


def test_a_rotated_client_certificate_is_shown_on_new_connections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubeloop.auth.FILES_LAST", 0.0)
    certificate, key = tmp_path / "crt", tmp_path / "key"

    def rotate(name: str) -> None:
        pair = signed(name)
        certificate.write_bytes(pair.certificate)
        key.write_bytes(pair.key)

    async def scenario() -> list[str]:
        async with serving(ok, server_context(tmp_path, "127.0.0.1", ask_client=True)) as address:
            rotate("jane")
            config = ClusterConfig(server=address, ca=ca(), certificate_file=str(certificate), key_file=str(key))
            transport = HttpTransport(config)
            seen = [answered(await transport.send(GET))["peer"]]
            rotate("joe")
            seen.append(answered(await transport.send(GET))["peer"])
            await transport.close()
            return seen

    assert asyncio.run(scenario()) == ["jane", "joe"]


def test_material_that_is_no_certificate_is_a_config_error(tmp_path: Path) -> None:
    context = server_context(tmp_path, "127.0.0.1")
    one, other = signed("jane"), signed("joe")
    (tmp_path / "ca.crt").write_text("nothing")

    assert "certificate-authority-data holds no certificate" in refused(
        ClusterConfig(server="", ca=b"nothing"), context=context
    )
    assert f"{tmp_path / 'ca.crt'} holds no certificate" in refused(
        ClusterConfig(server="", ca_file=str(tmp_path / "ca.crt")), context=context
    )
    assert "client-certificate-data and its key cannot be used" in refused(
        ClusterConfig(server="", ca=ca(), certificate=one.certificate, key=other.key), context=context
    )


def test_a_key_with_a_password_is_refused_without_asking_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = server_context(tmp_path, "127.0.0.1")
    passwords: list[bytes] = []
    load = ssl.SSLContext.load_cert_chain

    def watched(self: ssl.SSLContext, path: str, *, password: Callable[[], bytes]) -> None:
        passwords.append(password())  # without it OpenSSL asks on the terminal
        load(self, path, password=password)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", watched)
    pair = signed("jane")
    key = serialization.load_pem_private_key(pair.key, None)
    locked = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"secret")
    )

    text = refused(
        ClusterConfig(server="", ca=ca(), certificate=pair.certificate, key=locked),
        context=context,
    )

    assert "need no password" in text
    assert passwords == [b""]


def test_a_client_certificate_that_the_server_does_not_take_is_a_tls_failure(tmp_path: Path) -> None:
    text = refused(ClusterConfig(server="", ca=ca()), context=server_context(tmp_path, "127.0.0.1", ask_client=True))

    assert "https://127.0.0.1:" in text
    assert "does not agree on TLS" in text or "broke the connection" in text
