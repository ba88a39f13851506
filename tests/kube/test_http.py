"""The transport over real sockets: an aiohttp server on the loopback, TLS with certificates made here."""

from __future__ import annotations

import asyncio
import socket
import ssl
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from ipaddress import ip_address
from pathlib import Path

import msgspec
import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from msgspec import Struct

from fairlead.api.core import PODS
from fairlead.api.meta import Ref
from fairlead.kube import http
from fairlead.kube import request as requests
from fairlead.kube.client import Client
from fairlead.kube.errors import ConfigError, KubeError, TransportError, Unauthorized
from fairlead.kube.http import HttpTransport, proxy_in
from fairlead.kube.kubeconfig import ClusterConfig, Impersonation
from fairlead.kube.request import Request, Response

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
POD = Ref(PODS, "ns", "cart-0", "u1")
GET = requests.get(POD)


class Pair(Struct, frozen=True):
    certificate: bytes
    key: bytes


@cache
def authority() -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    made = _begun(name, name, key.public_key()).add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
    return made.add_extension(usage, True).sign(key, hashes.SHA256()), key


@cache
def signed(common_name: str, *names: str) -> Pair:
    issuer, issuer_key = authority()
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    alternatives = [
        x509.IPAddress(ip_address(name)) if name[0].isdigit() else x509.DNSName(name) for name in names or ("none",)
    ]
    made = _begun(subject, issuer.subject, key.public_key()).add_extension(
        x509.SubjectAlternativeName(alternatives), False
    )
    made = made.add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), False)
    return Pair(_pem(made.sign(issuer_key, hashes.SHA256())), _key_pem(key))


def _begun(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), False)
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def ca() -> bytes:
    return _pem(authority()[0])


def server_context(folder: Path, *names: str, ask_client: bool = False) -> ssl.SSLContext:
    pair = signed("server", *names)
    path = folder / "server.pem"
    path.write_bytes(pair.certificate + pair.key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=ca().decode())
    context.load_cert_chain(path)
    if ask_client:
        context.verify_mode = ssl.CERT_REQUIRED
    return context


@asynccontextmanager
async def serving(handler: Handler, context: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """The address of a server that answers everything with the handler."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        yield f"{'https' if context else 'http'}://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def ok(request: web.Request) -> web.Response:
    """What the server saw of the request."""
    peer = request.transport.get_extra_info("peercert") if request.transport else None
    subject = dict(part[0] for part in peer["subject"])["commonName"] if peer else ""
    return web.json_response(
        {"path": request.raw_path, "headers": [list(pair) for pair in request.headers.items()], "peer": subject}
    )


def answered(response: Response) -> dict[str, str]:
    tree = msgspec.json.decode(response.body)
    headers: dict[str, str] = {}
    for name, value in tree["headers"]:
        headers[name.lower()] = f"{headers[name.lower()]},{value}" if name.lower() in headers else value
    return {"path": tree["path"], "peer": tree["peer"], **headers}


def sent(
    config: ClusterConfig,
    request: Request = GET,
    handler: Handler = ok,
    context: ssl.SSLContext | None = None,
    *,
    times: int = 1,
) -> list[Response]:
    """Sends to a server started for it; the config's server is replaced by its address."""

    async def scenario() -> list[Response]:
        async with serving(handler, context) as address:
            transport = HttpTransport(msgspec.structs.replace(config, server=address + config.server))
            try:
                return [await transport.send(request) for _ in range(times)]
            finally:
                await transport.close()

    return asyncio.run(scenario())


def refused(config: ClusterConfig, handler: Handler = ok, context: ssl.SSLContext | None = None) -> str:
    with pytest.raises(KubeError) as caught:
        sent(config, handler=handler, context=context)
    return str(caught.value)


HERE = ClusterConfig(server="")


def test_a_request_arrives_as_it_was_built() -> None:
    seen: list[tuple[str, str, bytes, str]] = []

    async def record(request: web.Request) -> web.Response:
        seen.append((request.method, request.raw_path, await request.read(), request.headers["Content-Type"]))
        return web.Response(status=201, body=b"made", headers={"X-Kind": "pod"})

    name = Ref(PODS, "ns", "a/b c")
    [response] = sent(HERE, requests.apply(name, b"{}", "me+you"), record)

    path = "/api/v1/namespaces/ns/pods/a%2Fb%20c?fieldManager=me%2Byou&force=false"
    assert seen == [("PATCH", path, b"{}", "application/apply-patch+yaml")]
    assert (response.status, response.body, response.headers["x-kind"]) == (201, b"made", "pod")


def test_a_server_may_live_below_a_path() -> None:
    [response] = sent(ClusterConfig(server="/clusters/c1"))

    assert answered(response)["path"] == "/clusters/c1/api/v1/namespaces/ns/pods/cart-0"


def test_a_failure_status_is_an_answer() -> None:
    async def busy(_request: web.Request) -> web.Response:
        return web.Response(status=503, headers={"Retry-After": "7"})

    [response] = sent(HERE, handler=busy)

    assert (response.status, response.headers["retry-after"]) == (503, "7")


def test_requests_are_in_the_name_of_the_user_to_act_for() -> None:
    impersonation = Impersonation("jane", "7", ("ops", "dev"), (("scopes/x", "read"),))

    [response] = sent(ClusterConfig(server="", token="t", impersonation=impersonation))

    headers = answered(response)
    assert headers["authorization"] == "Bearer t"
    assert headers["impersonate-user"] == "jane"
    assert headers["impersonate-uid"] == "7"
    assert headers["impersonate-group"] == "ops,dev"
    assert headers["impersonate-extra-scopes%2fx"] == "read"


def test_compression_is_used_unless_it_is_turned_off() -> None:
    async def large(request: web.Request) -> web.Response:
        response = web.Response(body=b"pod" * 10_000)
        if "gzip" in request.headers["Accept-Encoding"]:
            response.enable_compression(web.ContentCoding.gzip)
        return response

    [packed] = sent(HERE, handler=large)
    [plain] = sent(ClusterConfig(server="", compression=False), handler=large)

    assert packed.body == plain.body == b"pod" * 10_000
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers


def test_a_redirect_is_not_followed() -> None:
    async def away(_request: web.Request) -> web.Response:
        raise web.HTTPFound("https://login.test/")

    assert "redirects to https://login.test/: the kubeconfig must name the API server itself" in refused(HERE, away)


def test_connections_are_used_again() -> None:
    ports: list[int] = []

    async def record(request: web.Request) -> web.Response:
        assert request.transport is not None
        ports.append(request.transport.get_extra_info("peername")[1])
        return web.Response(body=b"{}")

    sent(HERE, handler=record, times=5)

    assert len(set(ports)) == 1


@pytest.mark.parametrize("method", ["PUT", "DELETE", "POST", "PATCH"])
def test_a_write_reaches_the_server_once_when_its_connection_breaks(method: str) -> None:
    """aiohttp by itself repeats PUT and DELETE on a reused connection; the first may have been carried out."""
    arrived: list[str] = []

    async def drop_writes(request: web.Request) -> web.Response:
        arrived.append(request.method)
        if request.method != "GET":
            assert request.transport is not None
            request.transport.close()
        return web.Response(body=b"{}")

    async def scenario() -> None:
        async with serving(drop_writes) as address:
            client = Client(HttpTransport(ClusterConfig(server=address)))
            await client.call(GET)
            with pytest.raises(TransportError, match=r"broke the connection.*whether it was carried out is not known"):
                await client.call(Request(method, GET.path, body=b"{}"))
            await client.close()

    asyncio.run(scenario())

    assert arrived == ["GET", method]


def tokens_accepted(*accepted: str) -> Handler:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(status=200 if request.headers.get("Authorization") in accepted else 401)

    return handler


def test_a_token_file_that_changed_is_tried_once_after_a_refusal(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old")

    async def scenario() -> tuple[int, int]:
        async with serving(tokens_accepted("Bearer new")) as address:
            transport = HttpTransport(ClusterConfig(server=address, token_file=str(token)))
            first = await transport.send(GET)
            token.write_text("new")
            second = await transport.send(GET)
            await transport.close()
            return first.status, second.status

    assert asyncio.run(scenario()) == (401, 200)


def test_a_watch_too_is_opened_again_with_a_renewed_token(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old")

    async def scenario() -> int:
        async with serving(tokens_accepted("Bearer new")) as address:
            client = Client(HttpTransport(ClusterConfig(server=address, token_file=str(token))))
            with pytest.raises(Unauthorized):
                await client.call(GET)
            token.write_text("new")
            async with client.stream(requests.watch(PODS)) as opened:
                status = opened.status
            await client.close()
            return status

    assert asyncio.run(scenario()) == 200


def test_a_fixed_token_is_sent_once() -> None:
    seen: list[str] = []

    async def refuse(request: web.Request) -> web.Response:
        seen.append(request.headers["Authorization"])
        return web.Response(status=401)

    [response] = sent(ClusterConfig(server="", token="t"), handler=refuse)

    assert response.status == 401
    assert seen == ["Bearer t"]


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


def test_a_rotated_client_certificate_is_shown_on_new_connections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairlead.kube.auth.FILES_LAST", 0.0)
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


def unreachable(server: str, **more: str) -> str:
    async def scenario() -> None:
        transport = HttpTransport(ClusterConfig(server=server, **more))  # type: ignore[arg-type]
        try:
            await transport.send(GET)
        finally:
            await transport.close()

    with pytest.raises(TransportError) as caught:
        asyncio.run(scenario())
    return str(caught.value)


def test_nobody_at_the_address_says_what_to_check(unused_port: int) -> None:
    text = unreachable(f"https://127.0.0.1:{unused_port}")

    assert text.startswith(f"https://127.0.0.1:{unused_port} cannot be reached (")
    assert "is the cluster running and the address right?" in text


def test_a_name_that_does_not_resolve_says_so() -> None:
    text = unreachable("https://no-such-host.invalid:6443")

    assert text == (
        "the host name in https://no-such-host.invalid:6443 cannot be resolved:"
        " check the server's address in the kubeconfig"
    )


def test_plain_http_behind_an_https_address_is_a_tls_failure() -> None:
    async def scenario() -> str:
        async with serving(ok) as address:
            transport = HttpTransport(ClusterConfig(server=address.replace("http:", "https:")))
            with pytest.raises(TransportError) as caught:
                await transport.send(GET)
            await transport.close()
            return str(caught.value)

    assert "does not agree on TLS (" in asyncio.run(scenario())


@pytest.fixture
def unused_port() -> Iterator[int]:
    """A port on which nobody listens, held so that nobody else can begin to."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield int(held.getsockname()[1])


async def hang(request: web.Request) -> web.Response:
    with suppress(ConnectionError):
        await asyncio.sleep(60)
    return web.Response()


def test_a_request_that_takes_too_long_is_given_up() -> None:
    with pytest.raises(TransportError, match="was silent for too long"):
        sent(HERE, msgspec.structs.replace(GET, timeout=0.05), hang)


def streaming(*chunks: bytes | None) -> Handler:
    """Sends the chunks; None breaks the connection in the middle."""

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for chunk in chunks:
            if chunk is None:
                assert request.transport is not None
                request.transport.close()
                return response
            await response.write(chunk)
        return response

    return handler


def lines(handler: Handler, request: Request | None = None) -> list[bytes]:
    async def scenario() -> list[bytes]:
        async with serving(handler) as address:
            transport = HttpTransport(ClusterConfig(server=address))
            try:
                async with transport.stream(request or requests.watch(PODS, timeout_seconds=5)) as opened:
                    return [line async for line in opened]
            finally:
                await transport.close()

    return asyncio.run(scenario())


def test_lines_of_a_watch_come_whole_however_they_are_cut() -> None:
    assert lines(streaming(b"one\ntw", b"o\n", b"th", b"re", b"e\nfour\n")) == [b"one", b"two", b"three", b"four"]


def test_a_line_of_a_watch_may_be_long() -> None:
    long = b"x" * 300_000

    assert lines(streaming(b"short\n", long + b"\n", b"end\n")) == [b"short", long, b"end"]


def test_a_watch_that_breaks_is_a_transport_error() -> None:
    with pytest.raises(TransportError, match="broke the connection"):
        lines(streaming(b"one\n", None))


def test_a_refused_watch_has_the_answer_as_its_lines() -> None:
    async def gone(_request: web.Request) -> web.Response:
        return web.Response(status=410, body=b'{"reason":"Expired"}', headers={"Retry-After": "1"})

    async def scenario() -> tuple[int, str, list[bytes]]:
        async with serving(gone) as address:
            transport = HttpTransport(ClusterConfig(server=address))
            async with transport.stream(requests.watch(PODS)) as opened:
                found = opened.status, opened.headers["retry-after"], [line async for line in opened]
            await transport.close()
            return found

    assert asyncio.run(scenario()) == (410, "1", [b'{"reason":"Expired"}'])


def test_a_silent_watch_ends_shortly_after_its_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "SILENCE_SECONDS", 0.1)

    async def silent(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"one\n")
        return await hang(request)

    with pytest.raises(TransportError, match="was silent for too long: the connection is taken as broken"):
        lines(silent, requests.watch(PODS, timeout_seconds=0))


def test_leaving_a_watch_early_does_not_disturb_the_next_request() -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            return web.Response(body=b"pod")
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"one\ntwo\n")
        return await hang(request)

    async def scenario() -> list[bytes]:
        async with serving(endless) as address:
            transport = HttpTransport(ClusterConfig(server=address))
            seen: list[bytes] = []
            async with transport.stream(requests.watch(PODS)) as opened:
                async for line in opened:
                    seen.append(line)
                    break
            seen.append((await transport.send(GET)).body)
            await transport.close()
            return seen

    assert asyncio.run(scenario()) == [b"one", b"pod"]


def test_a_proxy_of_the_kubeconfig_is_used_with_its_password() -> None:
    seen: list[tuple[str, str]] = []

    async def proxy(request: web.Request) -> web.Response:
        seen.append((str(request.url), request.headers.get("Proxy-Authorization", "")))
        return web.Response(body=b"by proxy")

    async def scenario() -> bytes:
        async with serving(proxy) as address:
            config = ClusterConfig(server="http://api.test:8080", proxy=address.replace("//", "//joe:secret@"))
            transport = HttpTransport(config)
            response = await transport.send(GET)
            await transport.close()
            return response.body

    assert asyncio.run(scenario()) == b"by proxy"
    assert seen == [(f"http://api.test:8080{GET.path}", "Basic am9lOnNlY3JldA==")]


def test_a_tunnel_through_a_proxy_carries_tls_from_end_to_end(tmp_path: Path) -> None:
    asked: list[tuple[str, str]] = []
    context = server_context(tmp_path, "127.0.0.1")

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        method, target, _ = head.splitlines()[0].split()
        asked.append((method, next(line for line in head.splitlines() if line.startswith("Proxy-Authorization"))))
        host, port = target.split(":")
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        async with asyncio.TaskGroup() as group:
            group.create_task(copied(reader, far_writer))
            group.create_task(copied(far_reader, writer))

    async def scenario() -> str:
        async with serving(ok, context) as address, await asyncio.start_server(tunnel, "127.0.0.1", 0) as proxy:
            port = proxy.sockets[0].getsockname()[1]
            config = ClusterConfig(server=address, ca=ca(), token="t", proxy=f"http://joe:secret@127.0.0.1:{port}")
            transport = HttpTransport(config)
            response = await transport.send(GET)
            await transport.close()
            return answered(response)["authorization"]

    assert asyncio.run(scenario()) == "Bearer t"
    assert asked == [("CONNECT", "Proxy-Authorization: Basic am9lOnNlY3JldA==")]


async def copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while chunk := await reader.read(65536):
            writer.write(chunk)
            await writer.drain()
    writer.close()


def test_a_proxy_that_does_not_answer_is_named_without_its_password(unused_port: int) -> None:
    proxy = f"http://joe:secret@127.0.0.1:{unused_port}"

    text = unreachable("https://api.test:6443", proxy=proxy)

    assert text.startswith(f"the proxy http://127.0.0.1:{unused_port} does not let us through to https://api.test:6443")
    assert "secret" not in text


def test_a_proxy_of_another_kind_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="the proxy socks5://host:1 must be an http:// or https:// address"):
        HttpTransport(ClusterConfig(server="https://api", proxy="socks5://joe:secret@host:1"))


ENVIRONMENT = {"HTTPS_PROXY": "http://proxy:3128", "http_proxy": "plain:80", "HTTP_PROXY": "http://not-this"}


@pytest.mark.parametrize(
    ("scheme", "host", "exempt", "proxy"),
    [
        ("https", "api.test", "", "http://proxy:3128"),
        ("http", "api.test", "", "http://plain:80"),
        ("https", "localhost", "", ""),
        ("https", "127.0.0.1", "", ""),
        ("https", "::1", "", ""),
        ("https", "api.test", "*", ""),
        ("https", "api.test", "other,api.test", ""),
        ("https", "api.test", " .test", ""),
        ("https", "api.test", "*.test", ""),
        ("https", "api.test", "pi.test", "http://proxy:3128"),
        ("https", "api.test", "api.test:6443", ""),
        ("https", "api.test", "api.test:443", "http://proxy:3128"),
        ("https", "10.3.2.1", "10.0.0.0/8", ""),
        ("https", "11.3.2.1", "10.0.0.0/8", "http://proxy:3128"),
        ("https", "fd00::7", "fd00::/8", ""),
        ("https", "10.3.2.1", "10.3.2.1", ""),
        ("https", "api.test", ",", "http://proxy:3128"),
    ],
)
def test_the_environment_names_a_proxy_and_its_exceptions(scheme: str, host: str, exempt: str, proxy: str) -> None:
    assert proxy_in({**ENVIRONMENT, "NO_PROXY": exempt}, scheme, host, 6443) == proxy


def test_without_variables_there_is_no_proxy() -> None:
    assert proxy_in({}, "https", "api.test", 443) == ""


def test_every_part_together_over_tls(tmp_path: Path) -> None:
    """A typed list and a watch through the client, as the operator uses them."""

    async def api(request: web.Request) -> web.StreamResponse:
        if "watch" in request.query:
            return await streaming(b'{"type":"ADDED"}\n')(request)
        return web.json_response({"metadata": {"resourceVersion": "5"}, "items": []})

    async def scenario() -> tuple[str, list[bytes]]:
        async with serving(api, server_context(tmp_path, "127.0.0.1")) as address:
            client = Client(HttpTransport(ClusterConfig(server=address, ca=ca(), token="t")))
            listed = await client.list(PODS, dict)
            async with client.stream(requests.watch(PODS)) as opened:
                seen = [line async for line in opened]
            await client.close()
            return listed.resource_version, seen

    assert asyncio.run(scenario()) == ("5", [b'{"type":"ADDED"}'])
