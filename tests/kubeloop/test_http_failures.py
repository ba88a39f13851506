"""A server or proxy that the transport cannot reach is an error that says what to check."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import Iterator

import msgspec
import pytest

from kubeloop.errors import TransportError
from kubeloop.http_transport import HttpTransport
from kubeloop.kubeconfig import ClusterConfig
from tests.kubeloop.serving import GET, HERE, hang, ok, sent, serving


@pytest.fixture
def unused_port() -> Iterator[int]:
    """A port on which nobody listens, held so that nobody else can begin to."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield int(held.getsockname()[1])


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

    said = asyncio.run(scenario())

    assert "does not agree on TLS (" in said
    assert os.strerror(errno.EPERM).lower() not in said  # OpenSSL's numbers are not the system's


def test_a_request_that_takes_too_long_is_given_up() -> None:
    with pytest.raises(TransportError, match="was silent for too long"):
        sent(HERE, msgspec.structs.replace(GET, timeout=0.05), hang)


def test_a_proxy_that_does_not_answer_is_named_without_its_password(unused_port: int) -> None:
    proxy = f"http://joe:secret@127.0.0.1:{unused_port}"

    text = unreachable("https://api.test:6443", proxy=proxy)

    assert text.startswith(f"the proxy http://127.0.0.1:{unused_port} does not let us through to https://api.test:6443")
    assert "secret" not in text
