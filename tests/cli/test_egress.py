"""How the API server of `fairlead up --real` reaches what is in the cluster."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fairlead.cli.embedded.egress import LOCAL, Egress
from kubeloop.calls import Call, Reply
from kubesim.network import Network

OPEN = b"HTTP/1.1 200 OK\r\n\r\n"
LARGE = b"x" * (4 << 20)


def asked(folder: Path, head: str, body: bytes = b"", *, egress: Egress) -> bytes:
    """What comes back until the connection ends; the body is sent once the head is answered with a connection."""

    async def scenario() -> bytes:
        async with egress.listening(folder / "egress.sock"):
            reader, writer = await asyncio.open_unix_connection(str(folder / "egress.sock"))
            try:
                writer.write(f"{head}\r\nHost: 127.0.0.1\r\n\r\n".encode())
                said = await reader.readuntil(b"\r\n\r\n")
                if said == OPEN:
                    writer.write(body)
                return said + await reader.read()
            finally:
                writer.close()

    return asyncio.run(scenario())


async def pod(call: Call) -> Reply:
    return Reply(200, f"{call.method} {call.url} {call.body.decode()}".encode(), (("X-Pod", "one"),))


def test_at_the_address_of_a_pod_its_program_answers(tmp_path: Path) -> None:
    network = Network()
    network.serve("10.2.1.1:8081", pod)
    body = b"POST /ready?a=b HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"

    said = asked(tmp_path, "CONNECT 10.2.1.1:8081 HTTP/1.1", body, egress=Egress(network))

    assert said.startswith(OPEN + b"HTTP/1.1 200 OK\r\n")
    assert b"X-Pod: one\r\n" in said
    assert said.endswith(b"POST /ready?a=b hi")


def test_a_pod_without_a_program_is_told_over_http(tmp_path: Path) -> None:
    body = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

    said = asked(tmp_path, "CONNECT 10.2.1.1:80 HTTP/1.1", body, egress=Egress(Network()))

    assert said.startswith(OPEN + b"HTTP/1.1 502 ")
    assert b"no such host" in said


def test_a_service_of_ours_gets_every_byte_both_ways(tmp_path: Path) -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readexactly(len(LARGE)))
        await writer.drain()
        writer.close()

    async def scenario() -> bytes:
        egress = Egress(Network())
        server = await asyncio.start_server(echo, LOCAL, 0)
        egress.forward("10.0.0.7", server.sockets[0].getsockname()[1])
        async with server, egress.listening(tmp_path / "egress.sock"):
            reader, writer = await asyncio.open_unix_connection(str(tmp_path / "egress.sock"))
            writer.write(b"CONNECT 10.0.0.7:443 HTTP/1.1\r\n\r\n")
            assert await reader.readuntil(b"\r\n\r\n") == OPEN
            writer.write(LARGE)
            found = await reader.read()
            writer.close()
            return found

    assert asyncio.run(scenario()) == LARGE


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("CONNECT 10.0.0.9:443 HTTP/1.1", b"502 nobody answers for the Service at 10.0.0.9"),
        ("CONNECT 127.0.0.1:10250 HTTP/1.1", b"502 no program runs in the pods of this cluster: see kubectl describe"),
        ("GET / HTTP/1.1", b"400 this is no CONNECT"),
    ],
    ids=["a Service of others", "a kubelet", "another method"],
)
def test_where_nobody_answers_the_status_says_why(tmp_path: Path, head: str, status: bytes) -> None:
    said = asked(tmp_path, head, egress=Egress(Network()))

    assert said == b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n"


def test_a_service_whose_server_has_ended_is_told(tmp_path: Path) -> None:
    egress = Egress(Network())
    egress.forward("10.0.0.7", 1)

    said = asked(tmp_path, "CONNECT 10.0.0.7:443 HTTP/1.1", egress=egress)

    assert said.startswith(b"HTTP/1.1 502 nobody listens on port 1\r\n")
