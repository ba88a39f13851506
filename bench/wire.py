"""A TLS connection to a webhook, as whoever asks many times keeps it open."""

from __future__ import annotations

import asyncio
import ssl


class Connection:
    """To a port of this machine; one request at a time, opened anew when it breaks."""

    def __init__(self, port: int, server_name: str, context: ssl.SSLContext) -> None:
        self._port = port
        self._server_name = server_name
        self._context = context
        self._open: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._open is None:
            self._open = await asyncio.open_connection(
                "127.0.0.1", self._port, ssl=self._context, server_hostname=self._server_name
            )
        return self._open

    def close(self) -> None:
        if self._open is not None:
            self._open[1].transport.abort()
            self._open = None

    async def ask(self, message: bytes) -> tuple[int, bytes]:
        """The status and the body of the answer; raises OSError or EOFError when there is none."""
        reader, writer = await self.open()
        writer.write(message)
        head = await reader.readuntil(b"\r\n\r\n")
        status, length = parsed(head)
        return status, await body_of(reader, length)


def parsed(head: bytes) -> tuple[int, int | None]:
    """Status and length of body of an answer, None for one that comes in chunks; raises ValueError for any other."""
    first, *lines = head.decode("latin-1").split("\r\n")
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    status = int(first.split(" ")[1])
    if fields.get("transfer-encoding", "").lower() == "chunked":
        return status, None
    if "content-length" not in fields:
        raise ValueError(f"an answer without a length: {first}")
    return status, int(fields["content-length"])


async def body_of(reader: asyncio.StreamReader, length: int | None) -> bytes:
    """Go's server sends in chunks what is longer than its buffer."""
    if length is not None:
        return await reader.readexactly(length)
    body = b""
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readuntil(b"\r\n")
    return body
