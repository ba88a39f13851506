"""Servers that point elsewhere, over real sockets: passwords, sessions and effects stay where they belong."""

from __future__ import annotations

import asyncio
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest
from aiohttp import web

from fairlead.core.ask import Answer, Ask, Bad, Good, Http, SignIn
from fairlead.engine.driver.questions import AskContext, asker
from fairlead.engine.driver.sessions import Sessions
from kubeloop import request
from kubeloop.client import Client
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref
from kubesim.cluster import Cluster
from tests.kubeloop.called import a_caller, server_context, serving

REDIRECTS = (301, 302, 303, 307, 308)
PASSWORD = "open sesame"
SECRET = Ref(SECRETS, "default", "backend")


class Site:
    """A server with a sign-in; what is asked of it at one of the paths is sent elsewhere."""

    def __init__(self, *, cookie: str = "session=1; Path=/", moved: str = "", status: int = 307) -> None:
        self.target = ""
        self.heard: list[tuple[str, str, str]] = []
        """Method and path, cookies, body."""
        self._cookie = cookie
        self._moved = moved
        self._status = status

    async def answer(self, asked: web.Request) -> web.Response:
        self.heard.append((f"{asked.method} {asked.path}", asked.headers.get("Cookie", ""), await asked.text()))
        if asked.path == self._moved and self.target:
            return web.Response(status=self._status, headers={"Location": self.target + asked.path})
        if asked.path == "/api/login":
            return web.Response(headers={"Set-Cookie": self._cookie})
        return web.json_response({"status": "IsLeader"})


@asynccontextmanager
async def a_client() -> AsyncIterator[Client]:
    cluster = Cluster(seed=1)
    client = Client(cluster.transport())
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": SECRET.name, "namespace": SECRET.namespace},
        "data": {"password": b64encode(PASSWORD.encode()).decode()},
    }
    await client.call(request.create(SECRETS, SECRET.namespace, msgspec.json.encode(body)))
    yield client


def asked(
    here: Site,
    there: Site,
    question: tuple[str, str],
    *,
    tls: tuple[bool, bool] = (False, False),
    signs_in: bool = True,
    follows: bool = False,
) -> Answer:
    """The answer of `here`, which points to `there`."""
    method, path = question

    def context(wanted: bool) -> ssl.SSLContext | None:
        return server_context("127.0.0.1") if wanted else None

    async def script() -> Answer:
        async with (
            serving(there.answer, context(tls[1])) as target,
            serving(here.answer, context(tls[0])) as base,
            a_client() as client,
            a_caller() as caller,
        ):
            here.target = target
            sign_in = SignIn(f"{base}/api/login", "mz_system", SECRET, "password") if signs_in else None
            call = Http(method, base + path, sign_in=sign_in, verified=False, follows=follows)
            ask = asker(AskContext(client, caller=caller, sessions=Sessions()))
            return await ask(Ask(call, effect=method == "POST", timeout=20))

    return asyncio.run(script())


@pytest.mark.parametrize("tls", [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("status", REDIRECTS)
@pytest.mark.parametrize("follows", [True, False])
def test_a_sign_in_tells_its_password_to_nobody_else(status: int, tls: tuple[bool, bool], *, follows: bool) -> None:
    here, there = Site(moved="/api/login", status=status), Site()

    answer = asked(here, there, ("POST", "/api/leader/promote"), tls=tls, follows=follows)

    assert isinstance(answer, Bad)
    assert answer.kind == "sign-in"
    assert f"status {status}, a redirect to {here.target}/api/login that is not followed" in answer.text
    assert there.heard == []
    assert [heard[0] for heard in here.heard] == ["POST /api/login"]


@pytest.mark.parametrize("question", [("GET", "/api/leader/status"), ("POST", "/api/leader/promote")])
@pytest.mark.parametrize("status", REDIRECTS)
@pytest.mark.parametrize("signs_in", [True, False])
def test_what_another_server_says_is_no_answer(question: tuple[str, str], status: int, *, signs_in: bool) -> None:
    here, there = Site(moved=question[1], status=status), Site()

    answer = asked(here, there, question, signs_in=signs_in)

    assert isinstance(answer, Bad)
    assert (answer.kind, answer.code) == ("failed", status)
    assert answer.text.endswith(f"a redirect to {here.target}{question[1]} that is not followed")
    assert there.heard == []


@pytest.mark.parametrize("status", REDIRECTS)
def test_a_session_stays_with_its_server_even_where_redirects_are_followed(status: int) -> None:
    here, there = Site(moved="/api/leader/status", status=status), Site()

    answer = asked(here, there, ("GET", "/api/leader/status"), follows=True)

    assert isinstance(answer, Bad)
    assert there.heard == []
    assert [(heard[0], heard[1]) for heard in here.heard][-1] == ("GET /api/leader/status", "session=1")


@pytest.mark.parametrize("status", REDIRECTS)
def test_a_question_that_may_be_answered_elsewhere_is(status: int) -> None:
    here, there = Site(moved="/api/v1/query", status=status), Site()

    answer = asked(here, there, ("GET", "/api/v1/query"), signs_in=False, follows=True)

    assert answer == Good(b'{"status": "IsLeader"}')


@pytest.mark.parametrize(("tls", "sent"), [(True, "session=1"), (False, "")])
def test_a_cookie_for_tls_alone_is_not_sent_without_it(sent: str, *, tls: bool) -> None:
    here = Site(cookie="session=1; Secure; HttpOnly")

    asked(here, Site(), ("GET", "/api/leader/status"), tls=(tls, False))

    assert here.heard[-1][:2] == ("GET /api/leader/status", sent)


@pytest.mark.parametrize(
    "url", ["https://db:6876/status", "http://db:6877/status", "http://other:6876/status", "http://[", "status"]
)
def test_a_session_serves_no_call_to_another_origin(url: str) -> None:
    async def script() -> Answer:
        async with a_client() as client, a_caller() as caller:
            sign_in = SignIn("http://db:6876/api/login", "mz_system", SECRET, "password")
            ask = asker(AskContext(client, caller=caller, sessions=Sessions()))
            return await ask(Ask(Http("GET", url, sign_in=sign_in)))

    answer = asyncio.run(script())

    assert isinstance(answer, Bad)
    assert answer.kind == "sign-in"
    assert answer.text.endswith("a session of http://db:6876/api/login holds for that server alone")
