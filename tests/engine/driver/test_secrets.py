"""Secrets on their way in: sealed when they are read, and by no other way."""

from __future__ import annotations

from base64 import b64encode

import msgspec
import pytest

from fairlead.core.ask import Answer, Ask, Bad, Good, Listing, Read, ReadSecret
from fairlead.engine.driver.questions import AskContext, asker
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref
from kubeloop.request import Request, Response
from kubeloop.sealing import seal
from kubesim.time import run
from tests.kubeloop.scripted import Scripted

SECRET = Ref(SECRETS, "ns", "backend")


def answered(ask: Ask, body: bytes) -> Answer:
    server = Scripted()

    async def saying(_sent: Request, _when: str) -> Response:
        return Response(200, body)

    async def scenario() -> Answer:
        return await asker(AskContext(server.client()))(ask)

    server.fault = saying
    return run(scenario())


def test_what_a_secret_holds_comes_sealed() -> None:
    data = {"password": b64encode(b"sesame").decode(), "empty": "", "raw": b64encode(b"\xff").decode()}
    body = msgspec.json.encode({"metadata": {"name": "backend"}, "data": data})

    answer = answered(Ask(ReadSecret(SECRET)), body)

    assert answer == Good(sealed=(("password", seal(b"sesame")), ("empty", seal(b"")), ("raw", seal(b"\xff"))))
    assert "sesame" not in repr(answer)
    assert data["password"] not in repr(answer)


@pytest.mark.parametrize("body", [b'{"metadata": {}}', b'{"metadata": {}, "data": null}'])
def test_a_secret_may_hold_nothing(body: bytes) -> None:
    assert answered(Ask(ReadSecret(SECRET)), body) == Good()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>c2VzYW1l</html>",
        b"\xff\xfe",
        b"[]",
        b'{"data": {"password": "c2VzYW1l"}}',
        b'{"metadata": {}, "data": {"password": "c2VzYW1l%"}}',
        b'{"metadata": {}, "data": {"password": 5}}',
        b'{"metadata": {}, "x": ' + b"[" * 100_000,
    ],
)
def test_what_is_no_secret_is_a_failure_that_quotes_nothing(body: bytes) -> None:
    answer = answered(Ask(ReadSecret(SECRET)), body)

    assert answer == Bad("unreachable", "get secrets/backend in namespace ns: the answer is no Secret")


@pytest.mark.parametrize("ask", [Ask(Read(SECRET)), Ask(Listing(SECRETS, "ns"))])
def test_a_secret_is_read_in_no_other_way(ask: Ask) -> None:
    with pytest.raises(TypeError, match="ReadSecret"):
        answered(ask, b"{}")
