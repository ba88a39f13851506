"""Mistakes that people make: each is one sentence that says what helps."""

from __future__ import annotations

import ssl
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from msgspec import structs

from fairlead.cli import exits
from fairlead.cli.main import main
from kubeloop.durations import parse_go, parse_prometheus
from tests.builders import a_zone, pods_of
from tests.cli.worlds import World, kubeconfig_of, served

A = a_zone("a", current="new")
COMMANDS = pytest.mark.parametrize(
    "words",
    [["get"], ["explain", "ingester"], ["watch", "--timeout=20s"], ["status", "ingester"], ["pause", "ingester"]],
    ids=lambda words: words[0],
)


def said(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    (line,) = captured.err.splitlines()
    assert captured.out == ""
    return line


class Page(BaseHTTPRequestHandler):
    """A server of something else."""

    status = 200

    def do_GET(self) -> None:
        body = b"<html>welcome</html>"
        self.send_response(self.status)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (as its base has it)
        """Says nothing."""


class Absent(Page):
    status = 404


class Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A command that has seen enough leaves, which is no error."""


@contextmanager
def serving(handler: type[Page], tls: ssl.SSLContext | None = None) -> Iterator[int]:
    with Server(("127.0.0.1", 0), handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join(10)


@COMMANDS
@pytest.mark.parametrize("handler", [Page, Absent])
def test_a_server_that_is_no_kubernetes(
    words: list[str], handler: type[Page], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "config"
    with serving(handler) as port:
        config.write_text(yaml.safe_dump(kubeconfig_of(f"http://127.0.0.1:{port}")))
        code = main([*words, "--kubeconfig", str(config)])

    line = said(capsys)
    assert code == exits.ERROR
    assert line.startswith(f"fairlead: no Kubernetes API answers at http://127.0.0.1:{port} (")
    assert line.endswith("): check the server's address in the kubeconfig")


def expired_certificate(folder: Path) -> tuple[bytes, ssl.SSLContext]:
    """Valid until the end of 2020; its own authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "old")])
    end = datetime(2020, 12, 31, 23, 59, 59, tzinfo=UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(end - timedelta(days=365))
        .not_valid_after(end)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = made.public_bytes(serialization.Encoding.PEM)
    chain = folder / "chain.pem"
    form, secret = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    chain.write_bytes(pem + key.private_bytes(serialization.Encoding.PEM, form, secret))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    return pem, context


@COMMANDS
def test_a_server_certificate_that_has_expired(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    authority, tls = expired_certificate(tmp_path)
    config = tmp_path / "config"
    with serving(Page, tls) as port:
        content = kubeconfig_of(f"https://127.0.0.1:{port}")
        cluster = {"server": f"https://127.0.0.1:{port}", "certificate-authority-data": b64encode(authority).decode()}
        config.write_text(yaml.safe_dump(content | {"clusters": [{"name": "here", "cluster": cluster}]}))
        code = main([*words, "--kubeconfig", str(config)])

    assert code == exits.ERROR
    assert said(capsys) == (
        f"fairlead: the certificate of https://127.0.0.1:{port} expired at 2020-12-31T23:59:59Z: renew it"
    )


@pytest.mark.parametrize("words", [["get"], ["get", "-o", "json"], ["explain", "ingester"], ["watch"]])
def test_a_namespace_that_does_not_exist(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with served(World(A, pods_of(A, "new")), tmp_path) as server:
        code = main([*words, "-n", "nope", "--kubeconfig", server.kubeconfig])

    assert code == exits.NOT_FOUND
    assert said(capsys) == ("fairlead: namespace nope does not exist: check the name, or look at all of them with -A")


@pytest.mark.parametrize(
    "words",
    [["status", "ingester"], ["pause", "ingester"], ["undo", "ingester"], ["history", "ingester"], ["uninstall"]],
)
def test_a_command_about_one_namespace_does_not_advise_an_option_that_it_lacks(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with served(World(A, pods_of(A, "new")), tmp_path) as server:
        code = main([*words, "-n", "nope", "--kubeconfig", server.kubeconfig])

    assert code == exits.NOT_FOUND
    assert said(capsys) == (
        "fairlead: namespace nope does not exist: check the name, `fairlead get -A` looks at all of them"
    )


@pytest.mark.parametrize("words", [["explain", "ingester"], ["watch", "ingester-zone-a"]])
def test_a_rollout_that_is_in_another_namespace(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = structs.replace(A, metadata=structs.replace(A.metadata, namespace="mimir"))
    with served(World(there), tmp_path) as server:
        code = main([*words, "--kubeconfig", server.kubeconfig])

    assert code == exits.NOT_FOUND
    assert said(capsys) == f"fairlead: {words[1]} is not in namespace test, but in namespace mimir: add -n mimir"


@pytest.mark.parametrize("key", ["interval", "pods-timeout"])
def test_a_number_where_a_duration_belongs(key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(f"zones:\n  {key}: 5\n")

    code = main(["operator", "--config", str(config)])

    assert code == exits.USAGE
    assert said(capsys) == f"fairlead: zones.{key} of {config} is 5: write a duration such as 5s"


@pytest.mark.parametrize("words", [["operator", "--interval", "5"], ["watch", "--timeout", "5"]])
def test_an_option_without_a_unit(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code = main(words)

    assert code == exits.USAGE
    assert said(capsys) == f'fairlead: {words[1]}: the duration "5" has no unit: write a duration such as 5s'


def test_durations_of_annotations_and_objects_say_the_same() -> None:
    for parse in (parse_go, parse_prometheus):
        with pytest.raises(ValueError, match='the duration "5" has no unit: write a duration such as 5s'):
            parse("5")


def test_a_demo_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["up", "--demo", "foo"])

    line = said(capsys)
    assert code == exits.USAGE
    assert (
        line
        == 'fairlead: no demo is named "foo": choose zones, drain, environments, leaderworker, plans or apiversions'
    )


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["get", "--namepsace", "x"], "--namespace"),
        (["get", "--all-namespace"], "--all-namespaces"),
        (["watch", "--forver"], "--forever"),
        (["explain", "x", "--outptu=json"], "--output"),
        (["up", "-demo"], "--demo"),
    ],
)
def test_a_mistyped_option_is_answered_with_the_right_one(
    words: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(words)

    assert code == exits.USAGE
    assert f"(did you mean {meant}?)" in said(capsys)
