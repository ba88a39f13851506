"""Sign-ins: a password goes from its Secret to the server, cookies come back, and sessions are used again."""

from __future__ import annotations

import asyncio
from base64 import b64encode

import msgspec
import pytest

from fairlead.core.ask import Ask, Bad, Good, Http, SignIn
from fairlead.engine.driver.questions import AskContext, asker
from fairlead.engine.driver.sessions import Sessions
from kubeloop import request
from kubeloop.calls import Call, NoReply, Reply
from kubeloop.client import Client
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref
from kubesim.cluster import Cluster
from kubesim.time import run

SECRET = Ref(SECRETS, "default", "backend")
SIGN_IN = SignIn("http://db:6876/api/login", "mz_system", SECRET, "password")
STATUS = Ask(Http("GET", "http://db:6876/api/leader/status", sign_in=SIGN_IN))


class _Server:
    """Wants a sign-in with the password; every call is noted."""

    def __init__(self) -> None:
        self.password = "open sesame"
        self.session = 0
        self.calls: list[str] = []

    async def __call__(self, call: Call) -> Reply:
        path = call.url.removeprefix("http://db:6876")
        self.calls.append(path)
        if path == "/api/login":
            given = msgspec.json.decode(call.body)
            if given != {"username": "mz_system", "password": self.password}:
                return Reply(401)
            self.session += 1
            return Reply(200, headers=(("Set-Cookie", f"session={self.session}; HttpOnly; Path=/"),))
        return Reply(200, b"{}") if call.header("Cookie") == [f"session={self.session}"] else Reply(401)


async def _world(data: dict[str, str]) -> Client:
    client = Client(Cluster(seed=1).transport())
    await _write(client, data)
    return client


async def _write(client: Client, data: dict[str, str], version: str = "") -> None:
    metadata = {"name": SECRET.name, "namespace": SECRET.namespace} | ({"resourceVersion": version} if version else {})
    encoded = {key: b64encode(value.encode()).decode() for key, value in data.items()}
    body = msgspec.json.encode({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": encoded})
    if version:
        await client.call(request.replace(SECRET, body))
    else:
        await client.call(request.create(SECRETS, SECRET.namespace, body))


async def _version(client: Client) -> str:
    found = msgspec.json.decode((await client.call(request.get(SECRET))).body)
    return str(found["metadata"]["resourceVersion"])


def test_one_sign_in_serves_many_calls() -> None:
    async def main() -> None:
        server = _Server()
        ask = asker(AskContext(await _world({"password": server.password}), caller=server, sessions=Sessions()))

        answers = [await ask(STATUS) for _ in range(3)]

        assert all(isinstance(answer, Good) for answer in answers)
        assert server.calls == ["/api/login", *["/api/leader/status"] * 3]

    run(main(), seed=1)


def test_a_session_that_the_server_forgot_is_opened_anew() -> None:
    async def main() -> None:
        server = _Server()
        ask = asker(AskContext(await _world({"password": server.password}), caller=server, sessions=Sessions()))
        await ask(STATUS)

        server.session += 1  # it restarted

        assert isinstance(await ask(STATUS), Good)
        assert server.calls[-3:] == ["/api/leader/status", "/api/login", "/api/leader/status"]

    run(main(), seed=1)


def test_a_changed_secret_opens_a_new_session() -> None:
    async def main() -> None:
        server = _Server()
        client = await _world({"password": server.password})
        ask = asker(AskContext(client, caller=server, sessions=Sessions()))
        await ask(STATUS)
        server.password = "another"

        await _write(client, {"password": "another"}, await _version(client))

        assert isinstance(await ask(STATUS), Good)
        assert server.calls.count("/api/login") == 2

    run(main(), seed=1)


def test_without_the_key_nobody_signs_in() -> None:
    async def main() -> None:
        server = _Server()
        ask = asker(AskContext(await _world({"other": "x"}), caller=server, sessions=Sessions()))

        answer = await ask(STATUS)

        assert answer == Bad("failed", "it answered with status 401", 401)
        assert server.calls == ["/api/leader/status"]

    run(main(), seed=1)


def test_a_refused_sign_in_sends_nothing_else_and_tells_no_password() -> None:
    async def main() -> None:
        server = _Server()
        ask = asker(AskContext(await _world({"password": "wrong"}), caller=server, sessions=Sessions()))

        answer = await ask(STATUS)

        assert answer == Bad("sign-in", "POST http://db:6876/api/login: it answered with status 401")
        assert server.calls == ["/api/login"]

    run(main(), seed=1)


@pytest.mark.parametrize("effect", [True, False])
def test_a_server_that_is_away_is_one_answer(effect: bool) -> None:
    async def away(call: Call) -> Reply:
        raise NoReply(f"{call.shown}: no connection")

    async def main() -> None:
        ask = asker(AskContext(await _world({"password": "x"}), caller=away, sessions=Sessions()))

        answer = await ask(Ask(STATUS.to, effect=effect))

        assert isinstance(answer, Bad)
        assert answer.kind == "sign-in"
        assert "no connection" in answer.text

    run(main(), seed=1)


def test_a_secret_that_is_not_there_is_told() -> None:
    async def main() -> None:
        server = _Server()
        ask = asker(AskContext(Client(Cluster(seed=1).transport()), caller=server, sessions=Sessions()))

        answer = await ask(STATUS)

        assert isinstance(answer, Bad)
        assert answer.kind == "sign-in"
        assert "secret/backend" in answer.text
        assert server.calls == []

    run(main(), seed=1)


def test_the_deadline_of_a_round_holds_for_a_sign_in_too() -> None:
    async def silent(call: Call) -> Reply:
        await asyncio.sleep(1000)
        raise AssertionError

    async def main() -> None:
        ask = asker(AskContext(await _world({"password": "x"}), caller=silent, sessions=Sessions()))

        answer = await ask(Ask(STATUS.to, timeout=10))

        assert isinstance(answer, Bad)
        assert answer.kind == "timeout"

    run(main(), seed=1)
