"""The transport goes through the proxy that the kubeconfig or the environment names."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest
from aiohttp import web

from kubeloop.errors import ConfigError
from kubeloop.http_transport import HttpTransport
from kubeloop.kubeconfig import ClusterConfig
from kubeloop.proxies import proxy_in
from tests.kubeloop.certificates import ca, server_context
from tests.kubeloop.serving import GET, answered, ok, serving


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


def test_a_proxy_of_another_kind_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="the proxy socks5://host:1 must be an http:// or https:// address"):
        HttpTransport(ClusterConfig(server="https://api", proxy="socks5://joe:secret@host:1"))


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("squid:3128", "squid:3128"),
        ("joe:secret@squid:3128", "squid:3128"),
        ("squid", "squid"),
        ("http://", "http://"),
        ("http://joe:secret@", "http://"),
        ("http://joe:secret@[::1", "http://[::1"),
    ],
)
def test_a_proxy_without_scheme_or_host_is_a_config_error_that_shows_no_password(address: str, shown: str) -> None:
    with pytest.raises(ConfigError) as caught:
        HttpTransport(ClusterConfig(server="https://api", proxy=address))

    assert str(caught.value) == f"the proxy {shown} must be an http:// or https:// address"


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
        ("http", "a-0.a.mimir.svc.cluster.local.", ".svc,.cluster.local", ""),
        ("http", "a-0.a.mimir.svc.cluster.local", ".cluster.local.", ""),
        ("http", "localhost.", "", ""),
        ("https", "API.test", "api.TEST", ""),
        ("https", "fd00::7", "[fd00::7]", ""),
        ("https", "fd00::7", "[fd00::7]:6443", ""),
        ("https", "fd00::7", "[fd00::7]:443", "http://proxy:3128"),
        ("https", "api.test", ".", "http://proxy:3128"),
    ],
)
def test_the_environment_names_a_proxy_and_its_exceptions(scheme: str, host: str, exempt: str, proxy: str) -> None:
    assert proxy_in({**ENVIRONMENT, "NO_PROXY": exempt}, scheme, host, 6443) == proxy


def test_without_variables_there_is_no_proxy() -> None:
    assert proxy_in({}, "https", "api.test", 443) == ""
