"""What a process holds for each TLS connection that is open."""

from __future__ import annotations

import asyncio
import ssl
from asyncio import sslproto
from pathlib import Path

import pytest

from fairlead.engine import process
from kubesim.pki import Authority

LONG = b"x" * 1_000_000


def test_buffers_are_small_and_long_bodies_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sslproto.SSLProtocol, "max_size", sslproto.SSLProtocol.max_size)
    authority = Authority()
    pair = authority.server(("127.0.0.1",))
    (tmp_path / "server.pem").write_bytes(pair.certificate + pair.key)
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(tmp_path / "server.pem")
    trusted = ssl.create_default_context(cadata=authority.certificate.decode())
    got: list[tuple[int, bytes]] = []

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readexactly(len(LONG)))
        await writer.drain()
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(echo, "127.0.0.1", 0, ssl=served)
        async with server:
            port = server.sockets[0].getsockname()[1]
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusted)
            held = len(writer.transport._ssl_protocol._ssl_buffer)  # type: ignore[attr-defined]
            writer.write(LONG)
            got.append((held, await reader.read()))
            writer.close()

    process._run_loop(main())

    assert got == [(process.TLS_BUFFER_BYTES, LONG)]
