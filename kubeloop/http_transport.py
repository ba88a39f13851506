"""The transport to a real cluster: aiohttp, TLS, proxies, credentials.

What aiohttp raises becomes a TransportError with one sentence: the server, what happened, what would help. A request is
written to the network once; only after a 401, which says that nothing was done, once more with renewed credentials.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit
from weakref import WeakSet

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from kubeloop.auth import Credential, auth_of
from kubeloop.errors import ConfigError, TransportError
from kubeloop.http_failures import cause_of, distrust_of
from kubeloop.kubeconfig import ClusterConfig
from kubeloop.memory_file import as_file
from kubeloop.proxies import proxy_at, proxy_in
from kubeloop.redirects import shown_target
from kubeloop.request import Request, Response, Stream

CONNECT_SECONDS = 10.0
CLOSE_SECONDS = 1.0
SILENCE_SECONDS = 10.0
"""How long past its own end a watch may be silent before its connection counts as dead."""
WATCH_SECONDS = 3600.0
"""The longest that a server keeps a watch open which names no time-out."""
LARGE_BYTES = 1 << 20
"""A larger body is sent in pieces, between which others have their turn."""
IDLE_SECONDS = 30.0
"""Idle connections are dropped after this, well before the API server's 90 seconds: it must not close one in use."""


class Lines:
    """The lines of an open watch, however long."""

    def __init__(self, response: aiohttp.ClientResponse, server: str) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = _headers(response)
        self._response = response
        self._server = server

    async def __aiter__(self) -> AsyncIterator[bytes]:
        begun: list[bytes] = []  # pieces of the line that has not ended yet
        try:
            async for chunk in self._response.content.iter_any():
                first, *rest = chunk.split(b"\n")
                begun.append(first)
                for piece in rest:
                    yield b"".join(begun)
                    begun = [piece]
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise TransportError(sentence(error, self._server)) from error
        if line := b"".join(begun):
            yield line


class HttpTransport:
    """Sends to the cluster of a ClusterConfig; belongs to the event loop that it is first used in."""

    def __init__(self, config: ClusterConfig) -> None:
        self._config = config
        self._auth = auth_of(config)
        self._proxy, self._proxy_headers = _proxy(config)
        self._impersonation = impersonation_headers(config)
        self._session: aiohttp.ClientSession | None = None
        self._sockets: WeakSet[socket.socket] = WeakSet()
        """All that were made and are not forgotten by everybody else."""
        self._tls: tuple[tuple[bytes, bytes], ssl.SSLContext] | None = None

    @property
    def host(self) -> str:
        """Host and port of the API server."""
        return urlsplit(self._config.server).netloc

    async def send(self, request: Request) -> Response:
        limits = aiohttp.ClientTimeout(total=request.timeout, sock_connect=CONNECT_SECONDS)
        async with self._opened(request, limits) as response:
            try:
                body = await response.read()
            except (aiohttp.ClientError, OSError, ValueError) as error:
                raise TransportError(sentence(error, self._config.server)) from error
            return Response(response.status, body, _headers(response))

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._stream(request)

    async def close(self) -> None:
        await self._auth.close()
        if self._session is not None:
            await self._session.close()
            await self._ended()

    async def _ended(self) -> None:
        """Waits for connections whose requests were cancelled: aiohttp lets go of them before they are closed."""
        until = asyncio.get_running_loop().time() + CLOSE_SECONDS
        while any(made.fileno() != -1 for made in self._sockets) and asyncio.get_running_loop().time() < until:  # noqa: ASYNC110  nothing tells
            await asyncio.sleep(0.005)

    def _socket(self, address: tuple[Any, ...]) -> socket.socket:
        made = _keeping_alive(address)
        self._sockets.add(made)
        return made

    @asynccontextmanager
    async def _stream(self, request: Request) -> AsyncIterator[Stream]:
        seconds = float(dict(request.query).get("timeoutSeconds", WATCH_SECONDS))
        limits = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=seconds + SILENCE_SECONDS)
        async with self._opened(request, limits) as response:
            yield Lines(response, self._config.server)

    @asynccontextmanager
    async def _opened(self, request: Request, limits: aiohttp.ClientTimeout) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer up to its headers."""
        credential = await self._auth.credential()
        response = await self._request(request, credential, limits)
        try:
            if response.status == 401 and await self._auth.renewed(credential):
                response.release()
                response = await self._request(request, await self._auth.credential(), limits)
            if response.status in (301, 302, 303, 307, 308):
                elsewhere = shown_target(response.headers.get("Location", "")) or "elsewhere"
                raise TransportError(
                    f"{self._config.server} redirects to {elsewhere}: the kubeconfig must name the API server itself"
                )
            yield response
        finally:
            # Gives the connection back. One with bytes still to come, such as a watch that is left early, is cut off:
            # a polite end of TLS would outlive the loop.
            connection = response.connection
            if connection is not None and connection.transport is not None and not response.content.at_eof():
                connection.transport.abort()
            response.release()

    async def _request(
        self, request: Request, credential: Credential, limits: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        if self._session is None:
            self._session = _session(self._socket)
        try:
            return await self._session.request(
                request.method,
                # The target is encoded already; yarl would normalise it.
                URL(self._config.server + request.target, encoded=True),
                data=_payload(request.body),
                headers=self._headers(request, credential),
                timeout=limits,
                ssl=await self._context(credential),
                server_hostname=self._config.tls_server_name or None,
                proxy=self._proxy,
                proxy_headers=self._proxy_headers,
                allow_redirects=False,
            )
        except (aiohttp.ClientError, OSError, ValueError) as error:
            if isinstance(error, ssl.SSLCertVerificationError):
                self._tls = None  # the authority's file may have changed: read it again next time
            raise TransportError(sentence(error, self._config.server, self._proxy)) from error

    def _headers(self, request: Request, credential: Credential) -> CIMultiDict[str]:
        headers = CIMultiDict(request.headers)
        headers.extend(self._impersonation)
        if not self._config.server.startswith("https:"):
            headers.extend(self._proxy_headers)  # without a tunnel the proxy reads the request itself
        if request.content_type:
            headers["Content-Type"] = request.content_type
        if credential.authorization:
            headers["Authorization"] = credential.authorization
        if not self._config.compression:
            headers["Accept-Encoding"] = "identity"
        return headers

    async def _context(self, credential: Credential) -> ssl.SSLContext | bool:
        """The TLS context for a client certificate; connections are pooled by context, so an old one fades away.

        A certificate and a key that were read while somebody was writing them may not belong together: the pair before
        is shown until they do.
        """
        if not self._config.server.startswith("https:"):
            return True
        shown, before = (credential.certificate, credential.key), self._tls
        if before is not None and before[0] == shown:
            return before[1]
        try:
            self._tls = shown, await asyncio.to_thread(tls_context, self._config, credential)
        except ConfigError:
            if before is None:
                raise
            return before[1]
        return self._tls[1]


def _payload(body: bytes) -> bytes | BytesIO | None:
    return BytesIO(body) if len(body) > LARGE_BYTES else body or None


def tls_context(config: ClusterConfig, credential: Credential) -> ssl.SSLContext:
    """How to verify the server and, with a client certificate, how to show who we are; reads files."""
    try:
        authority = config.ca or (Path(config.ca_file).read_bytes() if config.ca_file else b"")
        context = ssl.create_default_context(cadata=authority.decode("ascii") if authority else None)
    except (OSError, ValueError) as error:
        where = config.ca_file or "certificate-authority-data"
        raise ConfigError(f"{where} holds no certificate that can be used ({error}): it must be PEM") from error
    if config.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if credential.certificate:
        _load_certificate(context, config, credential)
    return context


def _load_certificate(context: ssl.SSLContext, config: ClusterConfig, credential: Credential) -> None:
    try:
        with as_file(credential.certificate + b"\n" + credential.key) as path:
            # Without a password OpenSSL would ask for one on the terminal.
            context.load_cert_chain(path, password=lambda: b"")
    except (OSError, ValueError) as error:
        where = config.certificate_file or "client-certificate-data"
        raise ConfigError(
            f"{where} and its key cannot be used ({error}): they must be PEM, belong together and need no password"
        ) from error


def impersonation_headers(config: ClusterConfig) -> tuple[tuple[str, str], ...]:
    """Headers that make requests count as another user's."""
    asked = config.impersonation
    if not asked.user:
        return ()
    headers = [("Impersonate-User", asked.user)]
    headers += [("Impersonate-Uid", asked.uid)] if asked.uid else []
    headers += [("Impersonate-Group", group) for group in asked.groups]
    headers += [(f"Impersonate-Extra-{quote(key, safe='')}", value) for key, value in asked.extra]
    return tuple(headers)


def _proxy(config: ClusterConfig) -> tuple[URL | None, dict[str, str]]:
    """The proxy of the kubeconfig, else of the environment, and the header for the name and password in its address."""
    server = URL(config.server)
    address = config.proxy or proxy_in(os.environ, server.scheme, server.host or "", server.port or 0)
    if not address:
        return None, {}
    try:
        return proxy_at(address)
    except ValueError as error:
        raise ConfigError(str(error)) from error


def sentence(error: Exception, server: str, proxy: URL | None = None) -> str:
    """What went wrong between us and the server, and what would help."""
    match error:
        case ssl.SSLCertVerificationError():
            return (
                f"the certificate of {server} is not trusted ({distrust_of(error)}): check certificate-authority,"
                " tls-server-name and the server's address in the kubeconfig"
            )
        case aiohttp.ClientProxyConnectionError() | aiohttp.ClientHttpProxyError():
            return f"the proxy {proxy} does not let us through to {server} ({error}): check proxy-url or HTTPS_PROXY"
        case aiohttp.ClientConnectorDNSError():
            return f"the host name in {server} cannot be resolved: check the server's address in the kubeconfig"
        case ssl.SSLError() | aiohttp.ClientSSLError():
            return f"{server} does not agree on TLS ({cause_of(error)}): check the address and the client certificate"
        case aiohttp.ConnectionTimeoutError():
            return f"{server} cannot be reached within {CONNECT_SECONDS:g} seconds: check the address and the network"
        case TimeoutError():
            return f"{server} was silent for too long: the connection is taken as broken"
        case aiohttp.ClientResponseError():
            return f"{server} answered what nobody can read ({cause_of(error)}): does a proxy answer in its place?"
        case aiohttp.InvalidURL() | ValueError():
            return f"nothing can be sent to {server} ({error}): check its address and the user in the kubeconfig"
        case aiohttp.ClientConnectorError():
            return f"{server} cannot be reached ({cause_of(error)}): is the cluster running and the address right?"
        case _:
            return f"{server} broke the connection ({cause_of(error)})"


def _headers(response: aiohttp.ClientResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}


def _session(socket_factory: Callable[[tuple[Any, ...]], socket.socket]) -> aiohttp.ClientSession:
    # Every watch holds a connection, so their number has no limit.
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_SECONDS, socket_factory=socket_factory)
    session = aiohttp.ClientSession(
        connector=connector, cookie_jar=aiohttp.DummyCookieJar(), raise_for_status=False, auto_decompress=True
    )
    # aiohttp would send PUT and DELETE again on its own when a connection breaks, past the write gate and although the
    # first may have been carried out.
    session._retry_connection = False  # noqa: SLF001
    return session


def _keeping_alive(address: tuple[Any, ...]) -> socket.socket:
    """A socket on which a peer that is gone is noticed within about a minute, also when nothing is sent."""
    family, kind, protocol, *_ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made
