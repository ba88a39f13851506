"""Garbage in files, in what programs print, and on the wire of a real server: one sentence, and a KubeError."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import msgspec
import pytest
from aiohttp import web

from kubeloop.auth import auth_of
from kubeloop.errors import ConfigError, TransportError
from kubeloop.http_transport import HttpTransport
from kubeloop.kubeconfig import ClusterConfig, ExecPlugin, Impersonation, in_cluster, load
from tests.kubeloop.garbage import DEEP, GARBAGE
from tests.kubeloop.serving import GET, HERE, sent, serving

PLUGIN = ExecPlugin("client.authentication.k8s.io/v1", sys.executable, interactive_mode="Never")


def printing(output: bytes) -> ClusterConfig:
    script = f"import sys; sys.stdout.buffer.write({output!r})" if len(output) < 9000 else "print('[' * 100000)"
    return ClusterConfig(server="", user="me", exec=msgspec.structs.replace(PLUGIN, args=("-c", script)))


@pytest.mark.parametrize("output", GARBAGE.values(), ids=GARBAGE)
def test_a_credentials_program_that_prints_garbage_is_named(output: bytes) -> None:
    with pytest.raises(ConfigError, match="of user 'me' did not print an ExecCredential"):
        asyncio.run(auth_of(printing(output)).credential())


@pytest.mark.parametrize(
    ("status", "says"),
    [
        ({"token": "a\nX-Evil: 1"}, "printed is no token"),
        ({"token": "a\u00e9"}, "printed is no token"),
        ({"token": "a", "expirationTimestamp": "2030-01-01T00:00:00"}, "did not print an ExecCredential"),
        ({"token": "a", "expirationTimestamp": "soon"}, "did not print an ExecCredential"),
    ],
)
def test_a_credentials_program_whose_answer_cannot_be_used_is_named(status: dict[str, str], says: str) -> None:
    printed = {"apiVersion": PLUGIN.api_version, "kind": "ExecCredential", "status": status}

    with pytest.raises(ConfigError, match=says):
        asyncio.run(auth_of(printing(msgspec.json.encode(printed))).credential())


def test_a_credentials_program_that_cannot_even_be_called_is_named() -> None:
    plugin = msgspec.structs.replace(PLUGIN, env=(("A", "b\0c"),))

    with pytest.raises(ConfigError, match="cannot be started: embedded null byte; check its env and args"):
        asyncio.run(auth_of(ClusterConfig(server="", user="me", exec=plugin)).credential())


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a\nb", b"a\x00b", "tok\u00e9n".encode()])
def test_a_token_file_of_garbage_is_named_and_later_ignored(tmp_path: Path, content: bytes) -> None:
    """The last good token stays in use: whoever rotates the file may not be done."""
    path = tmp_path / "token"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="token is no token: it must be one line of plain characters"):
        asyncio.run(auth_of(ClusterConfig(server="", token_file=str(path))).credential())

    async def scenario() -> list[str]:
        path.write_bytes(b"good\n")
        auth = auth_of(ClusterConfig(server="", token_file=str(path)))
        first = await auth.credential()
        path.write_bytes(content)
        assert not await auth.renewed(first)
        return [first.authorization, (await auth.credential()).authorization]

    assert asyncio.run(scenario()) == ["Bearer good", "Bearer good"]


KUBECONFIGS = {
    **{name: body for name, body in GARBAGE.items() if name not in ("nothing", "null")},
    "a date that is none": b"contexts: [{name: 2020-99-99}]",
    "a number without end": b"current-context: " + b"9" * 5000,
    "nested too deeply": b"[" * DEEP,
}


@pytest.mark.parametrize("content", KUBECONFIGS.values(), ids=KUBECONFIGS)
def test_a_kubeconfig_of_garbage_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "config"
    path.write_bytes(content)

    with pytest.raises(ConfigError) as caught:
        load([path])

    assert len(str(caught.value)) < 6000


def a_kubeconfig(folder: Path, **cluster: str) -> Path:
    path = folder / "config"
    tree = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {}}],
    }
    path.write_bytes(msgspec.json.encode(tree))
    return path


@pytest.mark.parametrize(
    "server", ["https://[", "https://", "https://host:port", "https://host:99999", "https://a\u0000b"]
)
def test_a_server_that_is_no_address_is_named(tmp_path: Path, server: str) -> None:
    with pytest.raises(ConfigError, match="of cluster 'c' is no address: it needs a host name"):
        load([a_kubeconfig(tmp_path, server=server)])


def test_an_authority_that_is_no_base64_is_named(tmp_path: Path) -> None:
    path = a_kubeconfig(tmp_path, server="https://here", **{"certificate-authority-data": "\u00e9\u00e9"})

    with pytest.raises(ConfigError, match="-data is not base64"):
        load([path])


def test_a_namespace_of_the_service_account_that_is_no_text_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    for name in ("token", "ca.crt", "namespace"):
        (tmp_path / name).write_bytes(b"\xff")

    with pytest.raises(ConfigError, match="namespace is no text: it must be UTF-8"):
        in_cluster(tmp_path)


@pytest.mark.parametrize("body", [b"no gzip at all", b"\x1f\x8b\x08" + b"\xff" * 200])
def test_an_answer_packed_wrongly_is_a_transport_error(body: bytes) -> None:
    async def packed(_request: web.Request) -> web.Response:
        return web.Response(body=body, headers={"Content-Encoding": "gzip"})

    with pytest.raises(TransportError):
        sent(HERE, handler=packed)


RAW = {
    "no HTTP at all": b"\x16\x03\x01\x02\x00garbage\r\n\r\n",
    "a status line of garbage": b"HTTP/1.1 \xff\xfe NO\r\n\r\n",
    "a status without end": b"HTTP/1.1 99999999 OK\r\n\r\n",
    "headers that are no text": b"HTTP/1.1 200 OK\r\nX: \xff\xfe\r\nContent-Length: 2\r\n\r\n{}",
    "a length that is none": b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n{}",
    "a length beyond all": b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n{}",
    "chunks of garbage": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
    "a header without end": b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
    "a redirect of garbage": b"HTTP/1.1 302 Found\r\nLocation: http://[\xff\r\nContent-Length: 0\r\n\r\n",
    "nothing": b"",
}


@pytest.mark.parametrize("answer", RAW.values(), ids=RAW)
@pytest.mark.parametrize("watching", [True, False])
def test_bytes_of_any_kind_on_the_wire_are_a_transport_error_or_an_answer(answer: bytes, *, watching: bool) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()

    async def scenario() -> str:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        transport = HttpTransport(ClusterConfig(server=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"))
        try:
            if not watching:
                return str((await transport.send(GET)).status)
            async with transport.stream(GET) as stream:
                return str([line async for line in stream])
        except TransportError as error:
            return str(error)
        finally:
            await transport.close()
            server.close()

    said = asyncio.run(scenario())

    said.encode()  # a log can hold it
    assert len(said) < 1000


@pytest.mark.parametrize("user", ["a\nb", "a\rb", "a\0b"])
def test_a_header_that_cannot_be_sent_is_a_transport_error(user: str) -> None:
    async def scenario() -> None:
        async def ok(_request: web.Request) -> web.Response:
            return web.Response()

        async with serving(ok) as address:
            transport = HttpTransport(ClusterConfig(server=address, impersonation=Impersonation(user)))
            try:
                await transport.send(GET)
            finally:
                await transport.close()

    with pytest.raises(TransportError, match="nothing can be sent to"):
        asyncio.run(scenario())
