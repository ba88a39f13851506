"""The Caller over real sockets: pod endpoints, metric queries and webhooks, through aiohttp.

Every failure is a NoReply whose one sentence names the call, what happened and, where that helps, what to check.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections import OrderedDict

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from kubeloop.calls import Call, NoReply, Reply, TooLate
from kubeloop.http_failures import cause_of, distrust_of
from kubeloop.lookups import resolver
from kubeloop.proxies import proxy_at, proxy_in
from kubeloop.redirects import following

LARGEST_BODY = 16 * 1024 * 1024
PER_HOST = 32
"""Connections to one host at the same time; further calls wait for one, within their own time."""
IDLE_SECONDS = 30.0
_AUTHORITIES = 64
_CHUNK = 64 * 1024


class HttpCaller:
    """A Caller; belongs to the event loop that it is first used in, and to be closed there.

    A call goes out once: nothing is sent again when a connection breaks. `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` are
    read at each call that names no proxy of its own.
    """

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None
        self._contexts: OrderedDict[tuple[bytes, bool], ssl.SSLContext] = OrderedDict()
        """TLS contexts by the authority they trust and whether they check it, the last used at the end."""

    async def __call__(self, call: Call) -> Reply:
        """The reply after redirects; the time of the call covers all of it."""
        try:
            async with asyncio.timeout(call.timeout):
                return await following(self._send, call)
        except TimeoutError:
            raise TooLate(f"{call.shown}: no answer in {call.timeout:g} seconds") from None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _send(self, call: Call) -> Reply:
        url = _url(call)
        context = await self._context(call) if url.scheme == "https" else True
        proxy, proxy_headers = _proxy(call, url)
        headers = CIMultiDict(call.headers)
        if url.scheme == "http":
            headers.extend(proxy_headers)  # without a tunnel the proxy reads the request itself
        try:
            async with self._opened().request(
                call.method,
                url,
                data=call.body or None,
                headers=headers,
                ssl=context,
                proxy=proxy,
                proxy_headers=proxy_headers,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=None),
            ) as response:
                body = await _body(call, response) if call.heeds_body else b""
                return Reply(response.status, body, tuple(response.headers.items()))
        except (aiohttp.ClientError, OSError, ValueError) as error:
            if isinstance(error, TimeoutError):
                raise
            if isinstance(error, ssl.SSLCertVerificationError):
                # The file of the machine's authorities may have changed: it is read again next time.
                self._contexts.pop((call.authority, call.verified), None)
            raise NoReply(f"{call.shown}: {_why(error, proxy)}") from None

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(
                limit=0, limit_per_host=PER_HOST, keepalive_timeout=IDLE_SECONDS, resolver=resolver()
            )
            self._session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
            # aiohttp would send again on its own when a connection breaks, although the first may have been heard.
            self._session._retry_connection = False  # noqa: SLF001
        return self._session

    async def _context(self, call: Call) -> ssl.SSLContext:
        key = call.authority, call.verified
        known = self._contexts.get(key)
        if known is None:
            known = await asyncio.to_thread(_trusting, call)
            self._contexts[key] = known
            if len(self._contexts) > _AUTHORITIES:
                self._contexts.popitem(last=False)
        self._contexts.move_to_end(key)
        return known


def _url(call: Call) -> URL:
    try:
        url = URL(call.url)
        usable = url.scheme in ("http", "https") and bool(url.host)
    except ValueError:
        usable = False
    if not usable:
        raise NoReply(f"{call.shown}: the address must be http:// or https:// with a host")
    return url


def _trusting(call: Call) -> ssl.SSLContext:
    """Trusts the authority of the call alone, or the machine's when it names none; anybody where nothing is checked."""
    if not call.verified:
        anybody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
        return anybody
    try:
        return ssl.create_default_context(cadata=call.authority.decode("ascii") if call.authority else None)
    except (ssl.SSLError, ValueError) as error:
        why = f"the certificate authority to trust holds no certificate that can be used ({error}): it must be PEM"
        raise NoReply(f"{call.shown}: {why}") from None


def _proxy(call: Call, url: URL) -> tuple[URL | None, dict[str, str]]:
    address = call.proxy or proxy_in(os.environ, url.scheme, url.host or "", url.port or 0)
    if not address:
        return None, {}
    try:
        return proxy_at(address)
    except ValueError as error:
        raise NoReply(f"{call.shown}: {error}") from None


async def _body(call: Call, response: aiohttp.ClientResponse) -> bytes:
    """The whole body; what is larger than we read is cut off without reading the rest."""
    parts: list[bytes] = []
    length, most = 0, min(call.largest or LARGEST_BODY, LARGEST_BODY)
    async for chunk in response.content.iter_chunked(_CHUNK):
        length += len(chunk)
        if length > most:
            response.close()
            raise NoReply(f"{call.shown}: the answer is larger than {most // 2**20} MB")
        parts.append(chunk)
    return b"".join(parts)


def _why(error: Exception, proxy: URL | None) -> str:
    match error:
        case ssl.SSLCertVerificationError():
            return f"the certificate is not trusted ({distrust_of(error)}): check its authority and the names in it"
        case aiohttp.ClientProxyConnectionError() | aiohttp.ClientHttpProxyError():
            return f"the proxy {proxy} does not let us through ({cause_of(error)}): check HTTP_PROXY and HTTPS_PROXY"
        case aiohttp.InvalidURL():
            return "the address cannot be used"
        case aiohttp.ClientConnectorDNSError():
            return "no such host"
        case ssl.SSLError() | aiohttp.ClientSSLError():
            return f"no agreement on TLS ({cause_of(error)})"
        case aiohttp.ClientConnectorError():
            return f"no connection ({cause_of(error)})"
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientPayloadError() | ConnectionError():
            return "the connection was cut off before the whole answer was there"
        case _:
            return f"no answer that can be understood ({cause_of(error)})"
